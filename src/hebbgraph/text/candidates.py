"""Pass 1: the phrases that one chunk, read alone, proposes as tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, repeat
from typing import NamedTuple

from hebbgraph.text.acronyms import acronym_expansions
from hebbgraph.text.definitions import defines_name, name_start
from hebbgraph.text.names import NAME_SPAN, UNIT_KEYS, Kind, add_names
from hebbgraph.text.salience import spaced_terms, unspaced_names, unspaced_terms
from hebbgraph.text.shapes import ShapedText, dominant_language, shape_text
from hebbgraph.text.tokens import phrase_key

__all__ = [
    "LANGUAGE_SAMPLE_WORDS",
    "Candidate",
    "Kind",
    "acronym_expansions",
    "candidates",
    "collect_candidates",
    "group_by_kind",
    "needs_shape",
    "proposals",
]

FEW_NAMES = 3
"""A chunk with fewer names and codes than this also proposes salient terms.

With terms everywhere, recall@5 without embedder fell from .91 to .84 on 2WikiMultiHopQA;
with none, recall@10 on the one-sentence news facts fell from .79 to .72.
"""

MAX_NAMES = 1000
"""Names and codes of one chunk; a listing of a megabyte would flood the vocabulary."""

LANGUAGE_SAMPLE_WORDS = 200
"""Words of a text that tell its language."""

_PARENTHESIS = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_BRACKET = re.compile(r"[(\[（【]")
_COMMA = re.compile("[,，、]")


class Candidate(NamedTuple):
    """A phrase that a chunk proposes: its key, and why."""

    key: str
    kind: Kind


def _title_keys(title: str) -> Iterator[str]:
    """Yield a title's keys: whole, without its parenthesis, up to its first comma."""
    yield phrase_key(title)
    bare = _PARENTHESIS.sub(" ", title) if _BRACKET.search(title) else title
    if bare != title:
        yield phrase_key(bare)
    if _COMMA.search(bare):
        yield phrase_key(_COMMA.split(bare, maxsplit=1)[0])


def _subject(shaped: ShapedText, language: str) -> str:
    """Return the name that a text opens by defining; empty, if it does not."""
    first = name_start(shaped, language)
    name = NAME_SPAN.match(shaped.shape, first)
    if name is None or not defines_name(shaped, name.end(), language):
        return ""
    return UNIT_KEYS[" ".join(shaped.units[first : name.end()])]


def candidates(text: str, title: str = "", tags: Iterable[str] = ()) -> list[Candidate]:
    """Propose tags for one chunk, from the chunk alone.

    Parameters
    ----------
    text, title : str
        Of the chunk; either may be empty.
    tags : iterable of str
        Tags that the caller or a model gave.

    Returns
    -------
    list of Candidate
        Each key once; where a phrase is proposed for several reasons, the first of
        title, subject, acronym or code, name, term stays. A chunk without a title that
        opens by defining a name has that for its subject, which counts like a title. Then
        the given ones that are no title, be they proposed by the text or not: they take
        nothing away. A chunk with fewer than three names in its text, and one in German,
        whose nouns all have capitals, proposes up to 24 salient terms beside them; text in
        scripts without spaces up to 64.

    Notes
    -----
    A key is a proposal only: it becomes known, and a tag of every chunk that mentions it,
    when it is a title or subject or is proposed by a second chunk. What was given is a tag
    of this chunk, and of no other for that.

    Examples
    --------
    >>> [c.key for c in candidates("In 1979 Gábor led the Berlin Film Festival jury.")][:2]
    ['gabor', 'berlin film festival']
    >>> candidates("The Petrel (launched 1871) is a barque.")[0]
    Candidate(key='petrel', kind='subject')
    >>> candidates("", title="Angi Vera (film)")
    [Candidate(key='angi vera film', kind='title'), Candidate(key='angi vera', kind='title')]
    """
    found, given = _proposed(text, title, tags)
    # What Candidate._make does, without a Python call for each.
    proposed = list(map(tuple.__new__, repeat(Candidate), found.items()))
    return proposed + [Candidate(key, "given") for key in given]


def proposals(text: str, title: str = "", tags: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return the keys of :func:`candidates` by kind, each list in their order.

    Examples
    --------
    >>> proposals("", title="Angi Vera (film)", tags=["cinema"])
    {'title': ['angi vera film', 'angi vera'], 'given': ['cinema']}
    """
    return group_by_kind(*_proposed(text, title, tags))


def group_by_kind(found: Mapping[str, Kind], given: list[str]) -> dict[str, list[str]]:
    """Return keys by their kind, and those that were given."""
    kinds: dict[str, list[str]] = {}
    for key, kind in found.items():
        if kind in kinds:
            kinds[kind].append(key)
        else:
            kinds[kind] = [key]
    if given:
        kinds["given"] = given
    return kinds


def _proposed(text: str, title: str, tags: Iterable[str]) -> tuple[dict[str, Kind], list[str]]:
    """Return each key that text and title propose with its kind, and the given keys."""
    shaped = shape_text(text, "english")
    language = dominant_language(shaped.units[:LANGUAGE_SAMPLE_WORDS])
    if language != "english":
        shaped = shape_text(text, language)
    names: dict[str, Kind] = {}
    add_names(names, shaped, language)
    in_text = len(names) - ("" in names)
    if title:
        add_names(names, shape_text(title, language), language)
    return collect_candidates(text, title, tags, names, in_text, shaped, language)


def collect_candidates(
    text: str,
    title: str,
    tags: Iterable[str],
    names: Mapping[str, Kind],
    in_text: int,
    shaped: ShapedText,
    language: str,
) -> tuple[dict[str, Kind], list[str]]:
    """Put what a chunk proposes in order.

    Parameters
    ----------
    text, title, tags
        See :func:`candidates`.
    names : mapping
        What :func:`~hebbgraph.text.names.add_names` finds in the text, then the title.
    in_text : int
        How many of them are in the text.
    shaped : ShapedText
        The text; only looked at where :func:`needs_shape` says so.
    language : str

    Returns
    -------
    found : dict
        Each key that text and title propose, with its kind.
    given : list of str
        Keys of the tags that are no title.
    """
    found: dict[str, Kind] = {}
    for key in _title_keys(title) if title else ():
        found.setdefault(key, "title")
    given = [key for key in dict.fromkeys(map(phrase_key, tags)) if key and key not in found]
    for short, long in acronym_expansions(text):
        found.setdefault(short, "acronym")
        found.setdefault(long, "name")
    if not title and (subject := _subject(shaped, language)):
        found[subject] = "subject"
    more = dict(islice(names.items(), MAX_NAMES)) if len(names) > MAX_NAMES else names
    found = {**found, **more, **found}  # those that were there keep place and kind

    if "u" in shaped.shape:
        for name in unspaced_names(text):
            found.setdefault(phrase_key(name), "name")
        for term in unspaced_terms(text):
            found.setdefault(UNIT_KEYS[term], "term")
    if in_text < FEW_NAMES or language == "german":
        for term in spaced_terms(shaped.units, shaped.shape):
            found.setdefault(UNIT_KEYS[term], "term")
    found.pop("", None)
    return found, given


def needs_shape(title: str, in_text: int) -> bool:
    """Tell whether an English text in scripts with spaces is looked at for more than names."""
    return not title or in_text < FEW_NAMES
