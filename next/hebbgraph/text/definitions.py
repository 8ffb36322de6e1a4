"""Detect texts that open by defining a name, which is then their subject.

"The Petrel (launched 1871) is a barque": the first sentence of many untitled texts says what a
title would say. Only definitions count: a form of *to be* followed by an article. A name that
merely opens a text ("Meta said on Tuesday", "Meta is planning") is an actor in it. Treating such
names as titles too lost .04 recall@5 on untitled news; definitions alone lose nothing.
"""

from __future__ import annotations

import re

from hebbgraph.text import stopwords
from hebbgraph.text.names import NAME_SPAN, UNIT_KEYS
from hebbgraph.text.shapes import ShapedText
from hebbgraph.text.tokens import tokenize

__all__ = ["subjects"]

_COPULAS = {name: frozenset(tokenize(words)) for name, words in stopwords.COPULAS.items()}
_ARTICLES = {name: frozenset(tokenize(words)) for name, words in stopwords.ARTICLES.items()}
_PLURAL = frozenset(tokenize(stopwords.PLURAL_COPULAS))
_AND = frozenset(stopwords.CONJUNCTIONS.split())
_PREPOSITIONS = frozenset(tokenize(stopwords.PREPOSITIONS))
_READ = 40  # units; other names, dates and places may separate name and verb
_LONGEST = 8  # words of a name that are not all capitalised: "Escape from the Dark"
#: A full name: three or more capitalised words, then brackets with numbers.
_IN_FULL = re.compile(r"C{3,5}(?=[^(.]{0,6}\([^)]*n)")
#: A nickname in quotes, and the family name: 'Ada M. "Petrel" Renn (born 1871)'.
_NICKNAME = re.compile(r"C[CT]{0,2}\|(C)\|(C{1,2})(?=\([^)]*n)")
_ALL_CAPITALS = re.compile("(?=.*[CAX].*[CAX])[SKTW](?=.{2})[CAXSKTWMkn]+")
_NO_MARK = re.compile(r"[^(|.)]*")
_ENDS = "CAXSMnl"
_AS = frozenset(("as", "name"))
_KNOWN_WITHIN = 6  # units
_SUFFIXES = frozenset(("jr", "sr"))


def _name_start(shaped: ShapedText, language: str) -> int:
    """Return the position where a leading name starts, after quotes, brackets and article."""
    units, shape = shaped
    at = len(shape) - len(shape.lstrip("|("))
    return at + (at < len(units) and units[at] in _ARTICLES.get(language, ()))


def _defining_verb(shaped: ShapedText, stop: int, language: str) -> int | None:
    """Return the position of the verb that defines the leading name, which ends at ``stop``.

    None if the first sentence does not define it: there is no form of *to be* before an article
    outside brackets, or the subject is plural. Languages missing from
    :data:`hebbgraph.text.stopwords.COPULAS` define nothing.

    >>> from hebbgraph.text.shapes import shape_text
    >>> _defining_verb(shape_text("Petrel (c. 1871) is a barque.", "english"), 1, "english")
    6
    >>> _defining_verb(shape_text("Moss and Renn were the first.", "english"), 1, "english")
    """
    copulas, articles = _COPULAS.get(language, ()), _ARTICLES.get(language, ())
    units, shape = shaped
    inside = False
    for at in range(stop, min(stop + _READ, len(units) - 1)):
        if shape[at] in "()":
            inside = shape[at] == "("
        elif inside:
            continue
        elif shape[at] == ".":
            return None
        elif units[at] in copulas:
            is_plural = units[stop] in _AND and units[at] in _PLURAL
            return at if units[at + 1] in articles and not is_plural else None
    return None


def subjects(shaped: ShapedText, language: str) -> list[str]:
    """Return the keys of the name that a text opens by defining; empty if it does not.

    A text uses the full name of its subject; other texts and questions use shorter names.

    Parameters
    ----------
    shaped : ShapedText
    language : str

    Returns
    -------
    list of str
        The leading capitalised words. If the name goes on in other words, everything up to the
        verb, a bracket or a comma is a key too, or the only one after a single capitalised word.
        For a person, recognised by numbers in brackets ("Ada Moss Renn (born 1871)"), also first
        and last name, and a nickname in quotes with the last name. Then any name that the
        sentence gives after "known as".

    Examples
    --------
    >>> from hebbgraph.text.shapes import shape_text
    >>> def read(text):
    ...     return subjects(shape_text(text, "english"), "english")
    >>> read("Escape from the Dark (1976) is a film."), read("Petrel is sinking.")
    (['escape from the dark'], [])
    >>> read("Ada Moss Renn (born 1871), better known as Petrel, is a sailor.")
    ['ada moss renn', 'ada renn', 'petrel']
    """
    units, shape = shaped
    first = _name_start(shaped, language)
    span = NAME_SPAN.match(shape, first)
    after = first if span is None else span.end()
    verb = _defining_verb(shaped, after, language)
    if verb is None:
        return []

    def key(start: int, stop: int) -> str:
        return UNIT_KEYS[" ".join(units[start:stop])]

    stop = min(_NO_MARK.match(shape, first).end(), verb)  # type: ignore[union-attr]
    if span is None:  # "Never Cry Wolf"
        whole = _ALL_CAPITALS.fullmatch(shape, first, stop)
        return [] if whole is None else [key(first, stop)]
    keys = [key(first, after)]
    if _goes_on(shaped, after, stop) and stop - first <= _LONGEST:
        longer = key(first, stop)
        keys = [longer] if " " not in keys[0] else [keys[0], longer]
    elif _IN_FULL.match(shape, first) and len(units[first]) > 1:
        last = after - 1
        last -= units[last] in _SUFFIXES
        keys.append(UNIT_KEYS[f"{units[first]} {units[last]}"])
    elif nicknamed := _NICKNAME.match(shape, first):
        family = " ".join(units[nicknamed.start(2) : nicknamed.end(2)])
        given_names = units[first], units[nicknamed.start(1)]
        keys += (UNIT_KEYS[f"{given} {family}"] for given in given_names)
    if "known" in units[stop:verb]:
        keys += _known_as(shaped, units.index("known", stop), verb)
    return [key for key in dict.fromkeys(keys) if key]


def _known_as(shaped: ShapedText, known: int, stop: int) -> list[str]:
    """Return the key of the name after "known as" or "known by the stage name"."""
    units, shape = shaped
    for at in range(known + 1, min(known + _KNOWN_WITHIN, stop - 1)):
        if units[at] in _AS:
            start = at + 1 + (shape[at + 1] in "|T")
            name = NAME_SPAN.match(shape, start)
            return [] if name is None else [UNIT_KEYS[" ".join(units[start : name.end()])]]
    return []


def _goes_on(shaped: ShapedText, start: int, stop: int) -> bool:
    """Return whether a name may continue over these units: they form no clause and end whole."""
    units, shape = shaped
    return (
        start < stop
        and shape[stop - 1] in _ENDS
        and all(units[at] in _PREPOSITIONS for at in range(start, stop) if shape[at] == "s")
    )
