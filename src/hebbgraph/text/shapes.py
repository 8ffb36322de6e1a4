"""The shape of a text: one character per word for the kind of the word.

``"He met Ada Lovelace, author of ERR-12."`` has the shape ``SlCC|lkX.``. Names, codes and
runs of content words are then short regular expressions over that string, at the cost
of one dictionary lookup per word.

===== ==============================================================================
``C`` capitalised word; ``A`` all capitals; ``X`` code or identifier; ``M`` month or day
``W`` capitalised stop word that often begins a name ("Will", "U.S.")
``T`` capitalised article; ``S`` other capitalised stop word
``k`` connector ("of", "von"); ``t`` article after one ("de *la*"); ``s`` stop word
``l`` content word in lower case, or in a script without case; ``n`` number
``u`` run of unspaced characters (see salience.py); ``p`` possessive, ends a name
``.`` sentence end; ``|`` other break; ``(`` and ``)`` round brackets
===== ==============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

import regex

from hebbgraph.text.characters import UNSPACED, bounded_words
from hebbgraph.text.syllables import SYLLABIC, is_function_syllable, is_syllabic
from hebbgraph.text.tokens import (
    ARTICLES,
    MAX_TOKEN_CHARACTERS,
    STOP_WORDS,
    WORD_LISTS,
    WordCache,
    stop_words,
    tokenize,
    word_set,
)

_HEADING_CHARACTERS = 60

_ABBREVIATIONS, _LABELS = word_set("abbreviations"), word_set("labels")
_OPENERS = frozenset(("will", "us", "it", "who"))

_SAMPLE = 200  # tokens by which a text tells its language
_WORDS_PER_MARKER = 20

# A word without inner breaks, between punctuation that does not change how it is analysed.
_SOLID = re.compile(r"""([(\[{"'“‘«*#`]*+)([^\W_](?:[\w'’-]*[^\W_])?)((?:[,;:!?)\]}"”»*`.]+)?)""")
_CORE = regex.compile(r"[\p{L}\p{N}](?:.*[\p{L}\p{M}\p{N}+#])?", regex.DOTALL)
_INNER_BREAK = re.compile(
    r"([/\\—–…:;|()\[\]{}\"“”«»<>=*?!،؛؟。！？、，：；「」『』《》〈〉（）【】।॥]+"
    r"|,(?![0-9])|--+|\.\.+)"
)
_UNSPACED_RUN = regex.compile(rf"([{UNSPACED}](?:[{UNSPACED}\p{{M}}]|[・·](?=[{UNSPACED}]))*+)")
_NUMBER = re.compile(r"[0-9][0-9.,'’:-]*[^\W\d_]{0,2}")
_POSSESSIVE = re.compile(r"(?<=\w)(?:['’]s|s['’]|['’])\Z")
_MARK = {"(": "(", ")": ")"} | dict.fromkeys(".!?。！？؟।॥…", ".")

# Links, paths and markup, which are no words.
_LINK = re.compile(
    r"(?i)(?:[a-z][a-z0-9+.-]*://|\bwww\.|\bmailto:)\S*"
    r"|[\w.+-]++@\w[\w-]*+(?:\.[\w-]++)+"
    r"|^[\"'(\[`]*(?:\.{1,2}|~)?[/\\](?:[\w.~-]++[/\\]?)++"  # /usr/lib, ./run.sh
    r"|\b[a-z]:\\\S*"
    r"|\b[\w.~-]++(?:[/\\][\w.~-]++){2,}[/\\]?"  # src/text/names
    r"|^[\"'(\[`]*</?[a-z][\w-]*+|\b[\w-]++=\"[^\"]*+|&#?[a-z0-9]++;"  # <div, class="x", &nbsp;
    r"|:[a-z][\w:+.-]{0,40}:(?=`)"  # :func:`main`
)
_MAY_BE_LINK = re.compile(r"(?i)[/\\@=<&]|www\.|:`").search
_LONGEST_LINK = 500  # characters; the patterns take quadratic time on words without links

_WordShape = tuple[tuple[str, ...], str]


class ShapedText(NamedTuple):
    """A text as units (tokens of one word, joined by spaces; empty for marks) and shape."""

    units: list[str]
    shape: str


def _marks(punctuation: str) -> str:
    """Reduce the punctuation on one side of a word to at most one mark of each kind."""
    if len(punctuation) < 2:
        return _MARK.get(punctuation, "|") if punctuation else ""
    kinds = {_MARK.get(char, "|") for char in punctuation}
    # Beside a full stop or a bracket, a quote or comma adds nothing.
    return "".join(mark for mark in ")(." if mark in kinds) or "|"


class _Analyser:
    """Splits words into units with their shapes, in one language, which it caches by word."""

    def __init__(self, language: str) -> None:
        self.analyses = WordCache(self._analyse)
        stops = stop_words(language)
        #: Shapes of lower-case words other than content words.
        self._lower = (
            dict.fromkeys(stops, "s")
            | dict.fromkeys(word_set("inner_articles"), "t")
            | dict.fromkeys([*word_set("connectors"), "&"], "k")
        )
        #: Shapes of capitalised words that are not evidence of a name.
        self._capital = (
            dict.fromkeys(stops, "S")
            | dict.fromkeys(_LABELS, "S")
            | dict.fromkeys(_OPENERS, "W")
            | dict.fromkeys(ARTICLES, "T")
            | dict.fromkeys(word_set("honorifics"), "s")  # "Mr" neither begins nor continues a name
            | dict.fromkeys(word_set("dates"), "M")
        )
        self._shouted = dict.fromkeys(stops | _LABELS, "S") | dict.fromkeys(_OPENERS, "W")

    def _analyse(self, word: str) -> _WordShape:
        if word.isascii() and word.isalpha():
            unit = word.lower()[:MAX_TOKEN_CHARACTERS]
            return (unit,), self._letters(word, unit)
        if word[-2:] in ("'s", "’s") and word[:-2].isalpha():
            units, shape = self.analyses[word[:-2]]
            return ((*units, ""), shape + "p") if shape in "CA" else (units, shape)
        solid = _SOLID.fullmatch(word)
        if solid is None or solid[2] == word:
            return self._general(word)
        before, core, after = solid.groups()
        units, shape = self.analyses[core]
        if after.startswith(".") and _is_abbreviation(core, units[0]):
            after = after[1:]
        left, right = _marks(before), _marks(after)
        return ("",) * len(left) + units + ("",) * len(right), left + shape + right

    def _general(self, word: str) -> _WordShape:
        """Analyse any word, including brackets, slashes and mixed scripts."""
        if word == "&":
            return ("&",), "k"
        units: list[str] = []
        shapes: list[str] = []

        def mark(punctuation: str) -> None:
            if marks := _marks(punctuation):
                units.extend([""] * len(marks))
                shapes.append(marks)

        if len(word) <= _LONGEST_LINK and _MAY_BE_LINK(word):
            word = _LINK.sub("|", word)
        # AC/DC and TCP/IP are one name; and/or and Oslo/Bergen are two words.
        pieces = [word] if "/" in word and word.isupper() else _INNER_BREAK.split(word)
        for position, piece in enumerate(pieces):
            match = None if position % 2 else _CORE.search(piece)
            if match is None:
                mark(piece)
                continue
            mark(piece[: match.start()])
            core, after = match[0], piece[match.end() :]
            runs = [core] if core.isascii() else _UNSPACED_RUN.split(core)
            for number, run in enumerate(runs):
                if number % 2:
                    units.append(run)
                    shapes.append("u")
                elif run:
                    last = number == len(runs) - 1
                    more, shape, rest = self._piece(run, after if last else "")
                    units += more
                    shapes.append(shape)
                    after = rest if last else after
            mark(after)
        return tuple(units), "".join(shapes)

    def _piece(self, core: str, after: str) -> tuple[tuple[str, ...], str, str]:
        """Analyse a word without inner breaks; return the rest of what follows it, too."""
        dotted = after.startswith(".") and "." in core
        unit = " ".join(tokenize(core + "." if dotted else core))
        if not unit:
            return (), "", after
        shape = self._letters(core, unit) if core.isalpha() else self._any(core, unit)
        if after.startswith(".") and ("." in core or _is_abbreviation(core, unit)):
            return (unit,), shape, after[1:]
        if shape in "CA" and _POSSESSIVE.search(core + after[:1]):
            return (unit, ""), shape + "p", after[1:] if after[:1] in ("'", "’") else after
        return (unit,), shape, after

    def _any(self, core: str, unit: str) -> str:
        """Classify a word that contains digits, hyphens, dots or apostrophes."""
        if _NUMBER.fullmatch(core):
            return "n"
        if "_" in unit or unit[-1] in "+#":
            return "X"
        if any(map(str.isdigit, core)):
            if " " not in unit:
                return "X"
            return "C" if core[0].isupper() else "n"
        return self._letters(core, unit)

    def _letters(self, core: str, unit: str) -> str:
        """Classify a word that consists of letters, or of several such words."""
        if core.islower():
            return self._lower.get(unit) or ("s" if len(unit) == 1 else "l")
        if not core[0].isupper() and not core[0].istitle():
            if core == core.lower():  # a script without case
                return self._lower.get(unit, "l")
            return self._capital.get(unit, "C")  # iPhone, eBay; but mM
        if len(unit) == 1:
            return {"i": "S", "a": "T"}.get(unit, "C")
        return self._shouted.get(unit, "A") if core.isupper() else self._capital.get(unit, "C")


class _SyllabicAnalyser(_Analyser):
    """Classifies syllables with their tone marks: "có" is a function word, "cò" an egret."""

    def _letters(self, core: str, unit: str) -> str:
        """Classify a syllable; stop words of other languages ("la", "van", "do") do not apply."""
        stops = is_function_syllable(core)
        if core.islower():
            return "s" if stops or len(unit) == 1 else "l"
        if stops:
            return "S"
        return "A" if len(unit) > 1 and core.isupper() else "C"


def _is_abbreviation(core: str, unit: str) -> bool:
    return unit in _ABBREVIATIONS or (len(core) == 1 and core.isupper())


@cache
def _analyser(language: str) -> _Analyser:
    return (_SyllabicAnalyser if language == SYLLABIC else _Analyser)(language)


_LISTS = [*STOP_WORDS.items(), *WORD_LISTS["letters"].items()]
_LANGUAGES = sorted({language for language, _ in _LISTS})
_ENGLISH = _LANGUAGES.index("english")
_INITIALS = frozenset("bcdfghjklmnpqrstvwxz")  # elided words, and variables in code
_MOST_TIED = 4
#: The languages that a function word or letter tells, a byte each, so that words add up quickly.
_TELLS: dict[str, int] = {}
for _language, _words in _LISTS:
    for _word in set(_words) - _INITIALS:
        _TELLS[_word] = _TELLS.get(_word, 0) | 1 << 8 * _LANGUAGES.index(_language)


def languages_of(tokens: Iterable[str], text: str) -> list[str]:
    """Return the language of a text by its function words and letters; several that tie, or none.

    >>> languages_of("wat is de hoogste berg".split(), ""), languages_of(["berg"], "berg")
    (['dutch'], [])
    """
    if is_syllabic(text):
        return [SYLLABIC]
    found = set(islice(tokens, _SAMPLE))
    if not text.isascii():
        found.update(char for char in set(text[: 10 * _SAMPLE].casefold()) if not char.isascii())
    packed = sum(map(_TELLS.__getitem__, found & _TELLS.keys()))
    counts = packed.to_bytes(len(_LANGUAGES), "little")
    most = max(counts)
    if counts[_ENGLISH] == most:
        return ["english"] if most else []
    best = [name for name, n in zip(_LANGUAGES, counts, strict=True) if n == most]
    return best if len(best) <= _MOST_TIED and most * _WORDS_PER_MARKER >= len(found) else []


def _end_lines(text: str) -> str:
    """Return a text with a full stop after each short line, as headings and list items end."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    return "\n".join([f"{line} ." if len(line) < _HEADING_CHARACTERS else line for line in lines])


def shape_text(text: str, language: str) -> ShapedText:
    """Return the units and the shape of a text, by the stop words of a language.

    >>> shape_text("Shawn's friend, the Duke of York.", "english").shape
    'Cpl|tCkC.'
    """
    records = list(map(_analyser(language).analyses.__getitem__, bounded_words(_end_lines(text))))
    return ShapedText(
        list(chain.from_iterable([record[0] for record in records])),
        "".join([record[1] for record in records]),
    )
