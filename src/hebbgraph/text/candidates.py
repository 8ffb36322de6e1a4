"""Pass 1: the phrases that one chunk proposes as tags, judged by its own text alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, repeat
from typing import NamedTuple

from hebbgraph.text.characters import fold
from hebbgraph.text.definitions import subjects
from hebbgraph.text.names import UNIT_KEYS, Kind, add_names, is_headline
from hebbgraph.text.salience import spaced_terms, unspaced_names, unspaced_terms
from hebbgraph.text.shapes import ShapedText, dominant_language, is_english, shape_text
from hebbgraph.text.syllables import SYLLABIC, is_syllabic
from hebbgraph.text.tokens import phrase_key

__all__ = ["Candidate", "Kind", "candidates", "proposals"]

FEW_NAMES = 3
"""A chunk with fewer names and codes than this also proposes salient terms.

Proposing terms for every chunk lowered recall@5 without an embedder from .91 to .84 on
2WikiMultiHopQA; proposing none lowered recall@10 on one-sentence news facts from .79 to
.72.
"""

MAX_NAMES = 1000
"""Maximal number of names and codes per chunk, so that no huge listing floods the vocabulary."""

_LANGUAGE_SAMPLE_WORDS = 200  # a text's language is guessed from so many leading words
_PARENTHESIS = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_BRACKET = re.compile(r"[(\[（【]")
_COMMA = re.compile("[,，、]")
_SEVERAL_WORDS = re.compile("[^ ]+ ").match
_LONG_WORDS = re.compile(r"\w{4,}")
_STEM = 5  # characters; "Islamism" is told by "Islamic"
_NOT_LATIN = re.compile("[^\\W\\d_\\u0041-\\u024f\\u1e00-\\u1eff]")
_CODES = re.compile(r"\b(?=[A-Z]*\d)[A-Z\d]*[A-Z][A-Z\d]*\b")  # "X9", but no year
_SHORT_NAMES = re.compile(r"\b[A-Z]{3,8}\b")
_INITIALS = re.compile(r"\b[A-Z](?=[a-z])")
_OPENING = 200  # characters


class Candidate(NamedTuple):
    """The key of a phrase that a chunk proposes, and the reason."""

    key: str
    kind: Kind


def _title_keys(title: str) -> Iterator[str]:
    """Yield the keys of a title: whole, without parentheses, and up to the first comma.

    "PEP 557: Data Classes" is named by both halves. Splitting every title at its colon lowered
    recall@5 on 2WikiMultiHopQA by .002, and raised it by .001 on news facts at most.
    """
    yield phrase_key(title)
    bare = _PARENTHESIS.sub(" ", title) if _BRACKET.search(title) else title
    if bare != title:
        yield phrase_key(bare)
    if _COMMA.search(bare):
        yield phrase_key(_COMMA.split(bare, maxsplit=1)[0])
    number, colon, name = bare.partition(": ")
    if colon and number[-1:].isdigit():
        yield from filter(_SEVERAL_WORDS, map(phrase_key, (number, name)))


def _is_told(title: str, text: str) -> bool:
    """Return whether a text may speak of its title, which it then does not contradict.

    It may if it holds a long word of it (accents aside) or a code, or opens with what its letters
    stand for. Titles without long words, or not in Latin script, cannot be told to be wrong.

    >>> [_is_told("Sailing ships", text) for text in ("She is a barque.", "Sailing takes wind.")]
    [False, True]
    >>> _is_told("NASA", "The National Aeronautics and Space Administration is an agency.")
    True
    """
    words = _LONG_WORDS.findall(title.lower())
    lower = text.lower()
    if not words:
        return True
    for word in words:
        if word[:_STEM] in lower:
            return True
    if not (title.isascii() and text.isascii()):  # else folding is lowering
        if _NOT_LATIN.search(title):
            return True
        bare = fold(text)
        if any(word[:_STEM] in bare for word in _LONG_WORDS.findall(fold(title))):
            return True
    codes = _CODES.findall(title)
    if codes and not set(codes).isdisjoint(_CODES.findall(text)):
        return True
    short = _SHORT_NAMES.findall(title)
    if not short:
        return False
    initials = "".join(_INITIALS.findall(text[:_OPENING]))
    return any(word in initials for word in short)


def candidates(text: str, title: str = "", tags: Iterable[str] = ()) -> list[Candidate]:
    """Propose tags for one chunk, from the chunk alone.

    Parameters
    ----------
    text, title : str
        Either may be empty.
    tags : iterable of str
        Tags given by the caller or a model.

    Returns
    -------
    list of Candidate
        Each proposed key once, with the first reason that applies of title, subject,
        acronym or code, name, capital, opener, term; then the given tags that are not
        titles, whether the text proposes them or not. If an untitled chunk opens by
        defining a name, that name is its subject and counts like a title. So it does if the text
        holds no word of the title, which then counts like a given tag. A chunk with fewer
        than three names in its text, or in German, where all nouns are capitalised, proposes
        up to 24 salient terms; text in scripts without spaces, up to 64.

    Notes
    -----
    A candidate is only a proposal. It enters the vocabulary, and becomes a tag of every
    chunk that mentions it, once it is a title or subject of one chunk or a candidate of
    two. A given tag belongs to this chunk only.

    A title that the text contradicts is a heading far above, or a mistake. Believing it led to
    the wrong chunk: with titles shuffled between the passages of HotpotQA, recall@5 without an
    embedder was .585, against .745 of BM25; without such titles it is .810.

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
    # Candidate._make, without a Python call per candidate.
    proposed = list(map(tuple.__new__, repeat(Candidate), found.items()))
    return proposed + [Candidate(key, "given") for key in given]


def proposals(text: str, title: str = "", tags: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return the keys of :func:`candidates` grouped by kind.

    Examples
    --------
    >>> proposals("", title="Angi Vera (film)", tags=["cinema"])
    {'title': ['angi vera film', 'angi vera'], 'given': ['cinema']}
    """
    found, given = _proposed(text, title, tags)
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
    """Return the kind of each key that text and title propose, and the given keys."""
    if is_syllabic(text):
        language = SYLLABIC
        shaped = shape_text(text, language)
    else:
        shaped = shape_text(text, "english")
        language = dominant_language(shaped.units[:_LANGUAGE_SAMPLE_WORDS])
        if language != "english":
            shaped = shape_text(text, language)
    names: dict[str, Kind] = {}
    add_names(names, shaped, language)
    in_text = len(names) - ("" in names)
    if title and not is_headline((titled := shape_text(title, language)).shape):
        add_names(names, titled, language)
    found, given = _entitled(text, title, tags, names, shaped, language)
    more = dict(islice(names.items(), MAX_NAMES)) if len(names) > MAX_NAMES else names
    found = {**found, **more, **found}  # existing keys keep their place and kind
    if "u" in shaped.shape:
        for name in unspaced_names(text):
            found.setdefault(phrase_key(name), "name")
        for term in unspaced_terms(text):
            found.setdefault(UNIT_KEYS[term], "term")
    if in_text < FEW_NAMES or language == "german":
        known = "" if language == "english" and not is_english(shaped.units) else language
        for term, count in spaced_terms(shaped.units, shaped.shape, known).items():
            # What a chunk is about, it names again: one mention of one word says little.
            kind: Kind = "term"
            if " " not in term and known == "english":
                kind = "mention" if count == 1 else "noun"
            found.setdefault(UNIT_KEYS[term], kind)
    found.pop("", None)
    return found, given


def _entitled(
    text: str,
    title: str,
    tags: Iterable[str],
    names: Mapping[str, Kind],
    shaped: ShapedText,
    language: str,
) -> tuple[dict[str, Kind], list[str]]:
    """Return the titles or subjects of a chunk, and the keys of given tags that are neither."""
    titles = dict.fromkeys(_title_keys(title)) if title else {}
    defined = [] if title and _is_told(title, text) else subjects(shaped, language)
    if title and all(names.get(name, "opener") == "opener" for name in defined):
        defined = []  # of which a title says more
    found: dict[str, Kind] = {} if defined else dict.fromkeys(titles, "title")
    given = [key for key in dict.fromkeys(map(phrase_key, tags)) if key and key not in found]
    if defined:
        found.update(dict.fromkeys(defined, "subject"))
        given += [key for key in titles if key and key not in defined and key not in given]
    return found, given
