"""The names in a text, read off its shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import compress
from typing import Literal

from hebbgraph.text.salience import VERBAL
from hebbgraph.text.shapes import ShapedText
from hebbgraph.text.syllables import SYLLABIC, is_syllable
from hebbgraph.text.tokens import WordCache, key_from_tokens

Kind = Literal["title", "subject", "given", "name", "capital", "opener", "term", "noun", "mention"]
"""Why a phrase was proposed. A *capital* is one capitalised word; an *opener* occurs only at the
start of sentences, or may be a verb ("Installing"). A *noun* is a term of one word, a *mention* a
noun that occurs once. Codes and acronyms are names."""

_LONGEST_NAME = 7  # words; longer spans are headlines, and are split

_WORD = "(?:[CA]p?|X(?!X))"  # a list of codes is not a name
_LINK = "(?:k[kt]{0,2}|[TS]{1,2})"
# Matches in linear time, since the next character always decides the branch. Each
# alternative begins with its own character, so the engine can skip to the next start.
NAME_SPAN = re.compile(
    rf"(?:Cp?+|Ap?+|X(?!X)|n{_WORD}|M{_WORD}|W{_WORD}|S(?<=[lsktnCAX]S){_WORD})"
    rf"(?:M|{_WORD}|{_LINK}{_WORD})*+n?+"
)
"""A possible name: capitalised words, their connectors, and a number before or after."""

#: Marks after which any word may be capitalised, and the mark after which the first word is, even
#: if a bullet, a quote or a bracket comes between.
_SENTENCE_STARTS, _SENTENCE_END = ".|(", "."

_PART = re.compile("[CAX]+")

#: The evidence of a name that each kind is.
_STRENGTH: dict[Kind, int] = {"opener": 0, "capital": 1, "name": 2}
_Part = tuple[int, int]


@WordCache
def unit_key(joined: str) -> str:
    """Return the key of a unit, or of several joined by spaces."""
    return key_from_tokens(joined.split())


def _variants(shape: str) -> Iterator[_Part]:
    """Yield a capitalised span, and the span without doubtful ends."""
    words = len(shape) - shape.count("p")
    if words > _LONGEST_NAME:
        for part in _PART.finditer(shape):  # a headline: split at connectors
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
    if owner > 0:  # "Germany's Angela Merkel": owner and owned
        yield start, owner
        yield owner + 1, stop


@WordCache
def _english_parts(span: str) -> tuple[_Part, ...] | None:
    """Return the names in a capitalised span of English; None for a single word."""
    return None if span in ("C", "A", "X", "Cp", "Ap") else tuple(_variants(span))


@WordCache
def _other_parts(span: str) -> tuple[_Part, ...] | None:
    """Return those of another language; connectors ("von") may lie outside a name there."""
    parts = _english_parts[span]
    if parts is None or "k" not in span:
        return parts
    between = (part.span() for part in _PART.finditer(span))
    return parts + tuple((start, stop) for start, stop in between if stop - start > 1)


def _kind(shape: str, key: str) -> Kind:
    """Return the kind of a name with this shape."""
    if shape != "C":
        return "name"
    return "opener" if key.endswith(VERBAL) else "capital"


def add_names(names: dict[str, Kind], shaped: ShapedText, language: str) -> None:
    """Add the kinds of a text's codes, then of its names, in text order; the strongest kind wins.

    The empty key stands for phrases that cannot be tags.
    """
    units, shape = shaped
    if "X" in shape:
        for unit in compress(units, map("X".__eq__, shape)):
            names.setdefault(unit_key[unit], "name")
    parts_of = _english_parts if language == "english" else _other_parts
    in_lower_case = set(compress(units, map("l".__eq__, shape)))
    padded = 2 * _SENTENCE_END + shape  # with the two marks or words before each word
    for match in NAME_SPAN.finditer(shape):
        span = match[0]
        start = match.start()
        parts = parts_of[span]
        if parts is not None:
            for first, last in parts:
                key = unit_key[" ".join(units[start + first : start + last])]
                _add(names, key, _kind(span[first:last], key))
            continue
        unit = units[start]
        key = unit_key[unit]
        kind = _kind(span[0], key)
        # A single capitalised word says little in German, and a syllable is not a word.
        if span[0] == "C" and (
            language == "german" or (language == SYLLABIC and is_syllable(unit))
        ):
            continue
        before = padded[start : start + 2]
        opens = span[0] == "C" and before[1] in _SENTENCE_STARTS
        if (opens or span[0] == "A") and unit in in_lower_case:
            continue
        if opens and _SENTENCE_END in before:
            kind = "opener"
        _add(names, key, kind)


def _add(names: dict[str, Kind], key: str, kind: Kind) -> None:
    if _STRENGTH[kind] > _STRENGTH[names.setdefault(key, kind)]:
        names[key] = kind
