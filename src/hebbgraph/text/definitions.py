"""Detect texts that open by defining a name, which is then their subject.

"The Petrel (launched 1871) is a barque": the first sentence of many untitled texts says what a
title would say. Only definitions count: a form of *to be* followed by an article. A name that
merely opens a text ("Meta said on Tuesday", "Meta is planning") is an actor in it.
"""

from __future__ import annotations

import re

from hebbgraph.text.names import NAME_SPAN, UNIT_KEYS
from hebbgraph.text.shapes import ShapedText
from hebbgraph.text.tokens import word_set, word_sets

_COPULAS, _ARTICLES = word_sets("copulas"), word_sets("articles")
_PREPOSITIONS = word_set("prepositions")
_READ = 40  # units; other names, dates and places may separate name and verb
_LONGEST = 8  # words of a name that are not all capitalised: "Escape from the Dark"
#: A full name: three or more capitalised words, then brackets with numbers.
_IN_FULL = re.compile(r"C{3,5}(?=[^(.]{0,6}\([^)]*n)")
#: A nickname in quotes, and the family name: 'Ada M. "Petrel" Renn (born 1871)'.
_NICKNAME = re.compile(r"C[CT]{0,2}\|(C)\|(C{1,2})(?=\([^)]*n)")
_NO_MARK = re.compile(r"[^(|.)]*")
_ENDS = "CAXSMnl"
_AS = frozenset(("as", "name"))
_KNOWN_WITHIN = 6  # units
_SUFFIXES = frozenset(("jr", "sr"))


def _defining_verb(shaped: ShapedText, stop: int, language: str) -> int | None:
    """Return the position of the form of *to be* before an article that defines a leading name."""
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
            return at if units[at + 1] in articles else None
    return None


def subjects(shaped: ShapedText, language: str) -> list[str]:
    """Return the keys of the name that a text opens by defining; empty if it does not.

    A text uses the full name of its subject; other texts and questions use shorter names. So the
    keys are the leading capitalised words, and if the name goes on in other words, everything up
    to the verb, a bracket or a comma (that alone after a single capitalised word). For a person,
    recognised by numbers in brackets ("Ada Moss Renn (born 1871)"), also first and last name, and
    a nickname in quotes with the last name. Then any name that follows "known as".

    >>> from hebbgraph.text.shapes import shape_text
    >>> def read(text):
    ...     return subjects(shape_text(text, "english"), "english")
    >>> read("Escape from the Dark (1976) is a film."), read("Petrel is sinking.")
    (['escape from the dark'], [])
    >>> read("Ada Moss Renn (born 1871), better known as Petrel, is a sailor.")
    ['ada moss renn', 'ada renn', 'petrel']
    """
    units, shape = shaped
    first = len(shape) - len(shape.lstrip("|("))
    first += first < len(units) and units[first] in _ARTICLES.get(language, ())
    span = NAME_SPAN.match(shape, first)
    verb = None if span is None else _defining_verb(shaped, span.end(), language)
    if span is None or verb is None:
        return []
    after = span.end()
    stop = min(_NO_MARK.match(shape, first).end(), verb)  # type: ignore[union-attr]
    names = [units[first:after]]
    if _goes_on(shaped, after, stop) and stop - first <= _LONGEST:
        names = [units[first:stop]] if after - first == 1 else [*names, units[first:stop]]
    elif _IN_FULL.match(shape, first) and len(units[first]) > 1:
        last = after - 1
        last -= units[last] in _SUFFIXES
        names.append([units[first], units[last]])
    elif nicknamed := _NICKNAME.match(shape, first):
        family = units[nicknamed.start(2) : nicknamed.end(2)]
        names += ([units[at], *family] for at in (first, nicknamed.start(1)))
    if "known" in units[stop:verb]:
        names.append(_known_as(shaped, units.index("known", stop), verb))
    return list(filter(None, dict.fromkeys(UNIT_KEYS[" ".join(name)] for name in names)))


def _known_as(shaped: ShapedText, known: int, stop: int) -> list[str]:
    """Return the words of the name after "known as" or "known by the stage name"."""
    units, shape = shaped
    for at in range(known + 1, min(known + _KNOWN_WITHIN, stop - 1)):
        if units[at] in _AS:
            start = at + 1 + (shape[at + 1] in "|T")
            name = NAME_SPAN.match(shape, start)
            return [] if name is None else units[start : name.end()]
    return []


def _goes_on(shaped: ShapedText, start: int, stop: int) -> bool:
    """Return whether a name may continue over these units: they form no clause and end whole."""
    units, shape = shaped
    return (
        start < stop
        and shape[stop - 1] in _ENDS
        and all(units[at] in _PREPOSITIONS for at in range(start, stop) if shape[at] == "s")
    )
