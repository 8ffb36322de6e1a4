"""Pass 1: the phrases that one chunk, read alone, proposes as tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import compress, islice, repeat
from typing import Literal, NamedTuple

from hebbgraph.tagging.acronyms import acronym_expansions
from hebbgraph.tagging.caching import WordCache
from hebbgraph.tagging.definitions import article_before, defines
from hebbgraph.tagging.salience import spaced_terms, unspaced_names, unspaced_terms
from hebbgraph.tagging.segment import key_of, phrase_key
from hebbgraph.tagging.shapes import Shaped, dominant_language, shape_text

__all__ = ["Candidate", "Kind", "acronym_expansions", "candidates", "proposals"]

Kind = Literal["title", "subject", "given", "name", "code", "acronym", "term"]
"""Why a phrase was proposed."""

FEW_NAMES = 3
"""A chunk with fewer names and codes than this also proposes salient terms.

With terms everywhere, recall@5 without embedder fell from .91 to .84 on 2WikiMultiHopQA;
with none, recall@10 on the one-sentence news facts fell from .79 to .72.
"""

MAX_NAMES = 1000
"""Names and codes of one chunk; a listing of a megabyte would flood the vocabulary."""

_LONGEST_NAME = 7  # words; what is longer is a headline or a heading, and is cut
_LONGEST_ACRONYM = 6
_READ_FOR_LANGUAGE = 200  # words

_WORD = "(?:[CA]p?|X(?!X))"  # a list of codes is no name
_LINK = "(?:k[kt]{0,2}|[KTS]{1,2})"
_SPAN = re.compile(
    rf"(?:n|M|W|(?<=[lsktnCAX])S)?{_WORD}(?:M|{_WORD}|{_LINK}{_WORD})*n?"
)  # linear: at every step the next character decides the branch
_PART = re.compile("[CAX]+")
_PLAIN = re.compile("[CX][CAX]*|AC[CAX]*")
_SHOUTED = re.compile("A{4}|^A{2,}$")
_PARENTHESIS = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_BRACKET = re.compile(r"[(\[（【]")
_COMMA = re.compile("[,，、]")


class Candidate(NamedTuple):
    """A phrase that a chunk proposes: its key, and why."""

    key: str
    kind: Kind


_KEYS = WordCache(lambda joined: key_of(joined.split()))


def _title_keys(title: str) -> Iterator[str]:
    """Yield a title's keys: whole, without its parenthesis, up to its first comma."""
    yield phrase_key(title)
    bare = _PARENTHESIS.sub(" ", title) if _BRACKET.search(title) else title
    if bare != title:
        yield phrase_key(bare)
    if _COMMA.search(bare):
        yield phrase_key(_COMMA.split(bare, maxsplit=1)[0])


_Part = tuple[int, int]


def _variants(shape: str) -> Iterator[_Part]:
    """Yield the parts of a capitalised span: whole, and without what may not belong."""
    words = len(shape) - shape.count("p")
    if words > _LONGEST_NAME or _SHOUTED.search(shape):
        for part in _PART.finditer(shape):  # a headline: only what no small word joins
            if len(part[0]) <= 3:
                yield part.span()
        return
    if shape[0] != "n" or words > 2:  # "1978 World Cup", but not "in 1979 Gábor"
        yield 0, len(shape)
    start = 1 if shape[0] in "nMWS" else 0
    stop = len(shape)
    while stop > start + 1 and shape[stop - 1] in "nMp":
        stop -= 1
    if start or stop < len(shape):
        yield start, stop
    owner = shape.find("p", start, stop)
    if owner > 0:  # "Germany's Angela Merkel": the owner, and what is owned
        yield start, owner
        yield owner + 1, stop


def _english_parts(span: str) -> tuple[_Part, ...] | None:
    """Return the parts of a capitalised span that are names; None for a single word."""
    if len(span) == 1 or (len(span) == 2 and span[1] == "p"):
        return None
    if len(span) <= 3 and _PLAIN.fullmatch(span):
        return ((0, len(span)),)
    return tuple(_variants(span))


def _other_parts(span: str) -> tuple[_Part, ...] | None:
    """Do so for another language: "Angela Merkel von der Stadt" is also who is not of it."""
    parts = _english_parts(span)
    if parts is None or "k" not in span:
        return parts
    found = (part.span() for part in _PART.finditer(span))
    return parts + tuple((start, stop) for start, stop in found if stop - start > 1)


# Spans have few shapes.
_ENGLISH_PARTS = WordCache(_english_parts, capacity=1 << 12)
_OTHER_PARTS = WordCache(_other_parts, capacity=1 << 12)
_IS_LOWER = bytes(code == ord("l") for code in range(256))


def _in_lower_case(shaped: Shaped) -> set[str]:
    """Words that the text also writes in lower case: there, a capital is the sentence's."""
    return set(compress(shaped.units, shaped.shape.encode().translate(_IS_LOWER)))


def _add_names(names: dict[str, Kind], shaped: Shaped, language: str) -> None:
    """Add the codes, then the names and acronyms, in the order of the text."""
    units, shape = shaped
    if "X" in shape:
        for unit in compress(units, map("X".__eq__, shape)):
            names.setdefault(_KEYS[unit], "code")
    parts_of = _ENGLISH_PARTS if language == "english" else _OTHER_PARTS
    in_lower_case: set[str] | None = None  # worked out when first asked for
    for match in _SPAN.finditer(shape):
        span = match[0]
        start = match.start()
        parts = parts_of[span]
        if parts is not None:
            for first, last in parts:
                names.setdefault(_KEYS[" ".join(units[start + first : start + last])], "name")
            continue
        unit = units[start]
        if span[0] == "C":
            # One capital alone says little in German, and where a sentence starts.
            if language == "german":
                continue
            if start == 0 or shape[start - 1] in ".|(":
                if in_lower_case is None:
                    in_lower_case = _in_lower_case(shaped)
                if unit in in_lower_case:
                    continue
        key = _KEYS[unit]
        short = span[0] == "A" and len(key) <= _LONGEST_ACRONYM
        names.setdefault(key, "acronym" if short else "name")


def _subject(shaped: Shaped, language: str) -> str:
    """Return the name that a text opens by defining; empty, if it does not."""
    first = article_before(shaped, language)
    name = _SPAN.match(shaped.shape, first)
    if name is None or not defines(shaped, name.end(), language):
        return ""
    return _KEYS[" ".join(shaped.units[first : name.end()])]


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
    found, given = _proposed(text, title, tags)
    by_kind: dict[str, list[str]] = {}
    for key, kind in found.items():
        if kind in by_kind:
            by_kind[kind].append(key)
        else:
            by_kind[kind] = [key]
    if given:
        by_kind["given"] = given
    return by_kind


def _proposed(text: str, title: str, tags: Iterable[str]) -> tuple[dict[str, Kind], list[str]]:
    """Return each key that text and title propose with its kind, and the given keys."""
    found: dict[str, Kind] = {}
    for key in _title_keys(title) if title else ():
        found.setdefault(key, "title")
    given = [key for key in dict.fromkeys(map(phrase_key, tags)) if key and key not in found]

    shaped = shape_text(text, "english")
    language = dominant_language(shaped.units[:_READ_FOR_LANGUAGE])
    if language != "english":
        shaped = shape_text(text, language)
    for short, long in acronym_expansions(text):
        found.setdefault(short, "acronym")
        found.setdefault(long, "name")
    if not title and (subject := _subject(shaped, language)):
        found[subject] = "subject"
    names: dict[str, Kind] = {}
    _add_names(names, shaped, language)
    in_text = len(names) - ("" in names)
    if title:
        _add_names(names, shape_text(title, language), language)
    for key, kind in islice(names.items(), MAX_NAMES):
        found.setdefault(key, kind)

    if "u" in shaped.shape:
        for name in unspaced_names(text):
            found.setdefault(phrase_key(name), "name")
        for term in unspaced_terms(text):
            found.setdefault(_KEYS[term], "term")
    if in_text < FEW_NAMES or language == "german":
        for term in spaced_terms(shaped.units, shaped.shape):
            found.setdefault(_KEYS[term], "term")
    found.pop("", None)
    return found, given
