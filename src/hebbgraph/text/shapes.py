"""One character per word says what kind of word it is.

``"He met Ada Lovelace, author of ERR-12."`` reads ``SlCC|lkX.``; names, codes and
runs of content words are then short patterns over that string, at the speed of the
regular expression engine and with one dictionary lookup a word.

===== ==============================================================================
``C`` capitalised word; ``A`` all capitals; ``X`` code or identifier; ``M`` month or day
``W`` capitalised stop word that often opens a name ("Will", "U.S.")
``K`` capitalised connector; ``T`` capitalised article; ``S`` other capitalised stop word
``k`` connector ("of", "von"); ``t`` article after one ("de *la*"); ``s`` stop word
``l`` content word in lower case, or in a script without case; ``n`` number
``u`` run of unspaced characters (see salience.py); ``p`` possessive: the name ends here
``.`` sentence end; ``|`` other break; ``(`` and ``)`` round brackets
===== ==============================================================================
"""

from __future__ import annotations

import re
from itertools import chain
from typing import NamedTuple

import regex

from hebbgraph.text import stopwords
from hebbgraph.text.characters import UNSPACED
from hebbgraph.text.tokens import MAX_TOKEN_CHARACTERS, stop_words, tokenize
from hebbgraph.text.words import WordCache

__all__ = [
    "ENGLISH_MARKERS",
    "MIN_MARKERS",
    "ShapedText",
    "WordShape",
    "dominant_language",
    "shape_text",
    "split_words",
    "word_analyser",
]

_HEADING_CHARACTERS = 60

_CONNECTORS = frozenset([*tokenize(stopwords.CONNECTORS), "&"])
_INNER_ARTICLES = frozenset(tokenize(stopwords.INNER_ARTICLES))
_CAPITAL_CONNECTORS = frozenset(tokenize(stopwords.CAPITAL_CONNECTORS))
_HONORIFICS = frozenset(tokenize(stopwords.HONORIFICS))
_ABBREVIATIONS = frozenset(tokenize(stopwords.ABBREVIATIONS))
_DATES = frozenset([*tokenize(stopwords.MONTHS), *tokenize(stopwords.WEEKDAYS)])
_ARTICLES = frozenset(("the", "a", "an"))
_OPENERS = frozenset(("will", "us", "it", "who"))

# Latin languages are told apart by words that the others do not use.
_MARKERS = {
    "german": frozenset(tokenize("der die das und ist nicht mit eine von den im zu sich auf für")),
    "french": frozenset(tokenize("le les des est dans une et du pour qui au sur par aux cette")),
    "spanish": frozenset(tokenize("el los las es en una y del por que con para fue como su")),
    "italian": frozenset(tokenize("il di che è della nel per una gli con del sono alla dei si")),
    "portuguese": frozenset(tokenize("o os em uma é do da não para com que dos ao pelo foi")),
}
ENGLISH_MARKERS = tuple(tokenize("the of and to is was that for with by from were are this it"))
_ENGLISH_MARKERS = frozenset(ENGLISH_MARKERS)
MIN_MARKERS = 3
"""A text with so many different ones of ``ENGLISH_MARKERS`` is English."""

# What may surround a word without changing how the word itself is read.
_LEADING = "([{\"'“‘«*#"
_TRAILING = ',;:!?)]}"”»*'
# Bodies without inner breaks, read and kept by themselves.
_SOLID = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")
_HYPHENATED = re.compile("[A-Za-z]+(?:-[A-Za-z]+)+")
_CORE = regex.compile(r"[\p{L}\p{N}](?:.*[\p{L}\p{M}\p{N}+#])?", regex.DOTALL)
_INNER_BREAK = re.compile(
    r"([/\\—–…:;|()\[\]{}\"“”«»<>=*?!،؛؟。！？、，：；「」『』《》〈〉（）【】।॥]+"
    r"|,(?![0-9])|--+|\.\.+)"
)
_UNSPACED_RUN = regex.compile(rf"([{UNSPACED}](?:[{UNSPACED}\p{{M}}]|[・·](?=[{UNSPACED}]))*+)")
_NUMBER = re.compile(r"[0-9][0-9.,'’:-]*[^\W\d_]{0,2}")
_DOTTED_NAME = re.compile(r"[a-z_]\w+(?:\.[a-z_]\w+)+")
_POSSESSIVE = re.compile(r"(?<=\w)(?:['’]s|s['’]|['’])\Z")
_MARK = {"(": "(", ")": ")"} | dict.fromkeys(".!?。！？؟।॥…", ".")

WordShape = tuple[tuple[str, ...], str]


class ShapedText(NamedTuple):
    """The units of a text (a word's tokens joined by spaces; empty for marks), and its shape."""

    units: list[str]
    shape: str


def _lower_shapes(stops: frozenset[str]) -> dict[str, str]:
    """Shape of each word in lower case that is no content word."""
    return (
        dict.fromkeys(stops, "s")
        | dict.fromkeys(_INNER_ARTICLES, "t")
        | dict.fromkeys(_CONNECTORS, "k")
    )


def _capital_shapes(stops: frozenset[str]) -> dict[str, str]:
    """Shape of each capitalised word that does not open a name by itself."""
    return (
        dict.fromkeys(stops, "S")
        | dict.fromkeys(stops & _CAPITAL_CONNECTORS, "K")
        | dict.fromkeys(_OPENERS, "W")
        | dict.fromkeys(_ARTICLES, "T")
        | dict.fromkeys(_HONORIFICS, "s")  # "Mr" joins nothing and opens nothing
        | dict.fromkeys(_DATES, "M")
    )


class _Classifier:
    """What kind of word a word without punctuation around it is, in one language."""

    def __init__(self, language: str) -> None:
        stops = stop_words(language)
        self._lower = _lower_shapes(stops)
        self._capital = _capital_shapes(stops)
        self._shouted = dict.fromkeys(stops, "S") | dict.fromkeys(_OPENERS, "W")

    def plain(self, core: str, unit: str) -> str:
        """Classify a word of letters alone."""
        if core.islower():
            return self._lower.get(unit) or ("s" if len(unit) == 1 else "l")
        if not core[0].isupper() and not core[0].istitle():
            if core == core.lower():  # a script without case
                return self._lower.get(unit, "l")
            return "C"  # iPhone, eBay
        if len(unit) == 1:
            return "S" if unit == "i" else "T" if unit == "a" else "C"
        if core.isupper():
            return self._shouted.get(unit, "A")
        return self._capital.get(unit, "C")

    def any(self, core: str, unit: str) -> str:
        """Classify a word that may hold digits, hyphens, dots, apostrophes."""
        if core.isalpha():
            return self.plain(core, unit)
        if _NUMBER.fullmatch(core):
            return "n"
        if "_" in unit or unit[-1] in "+#" or _DOTTED_NAME.fullmatch(core):
            return "X"
        if any(char.isdigit() for char in core):
            if " " not in unit:
                return "X"
            return "C" if core[0].isupper() else "n"
        return self.plain(core, unit)


def _marks(punctuation: str) -> str:
    """Shape the punctuation on one side of a word: at most one mark of each kind."""
    if not punctuation or len(punctuation) == 1:
        return _MARK.get(punctuation, "|") if punctuation else ""
    kinds = {_MARK.get(char, "|") for char in punctuation}
    if len(kinds) == 1:
        return kinds.pop()
    # A quote or comma beside a full stop adds nothing to it.
    return "".join(mark for mark in ")(." if mark in kinds) or "|"


def _is_abbreviation(core: str, unit: str) -> bool:
    return unit in _ABBREVIATIONS or (len(core) == 1 and core.isupper()) or "." in core


def _piece(core: str, after: str, classify: _Classifier) -> tuple[list[str], list[str], str]:
    """Analyse one word without breaks inside; ``after`` is what its end left unread."""
    dotted = after.startswith(".") and "." in core
    unit = " ".join(tokenize(core + "." if dotted else core))
    if not unit:
        return [], [], after
    shape = classify.any(core, unit)
    if after.startswith(".") and _is_abbreviation(core, unit):
        return [unit], [shape], after[1:]
    if shape in "CA" and _POSSESSIVE.search(core + after[:1]):
        return [unit, ""], [shape, "p"], after[1:] if after[:1] in ("'", "’") else after
    return [unit], [shape], after


def _general(word: str, classify: _Classifier) -> WordShape:
    """Analyse any word: brackets, slashes, mixed scripts, possessives."""
    if word == "&":
        return ("&",), "k"
    units: list[str] = []
    shapes: list[str] = []

    def mark(punctuation: str) -> None:
        marks = _marks(punctuation)
        units.extend([""] * len(marks))
        shapes.append(marks)

    # AC/DC and TCP/IP are names, and/or and Oslo/Bergen two words.
    pieces = [word] if "/" in word and word.isupper() else _INNER_BREAK.split(word)
    for position, piece in enumerate(pieces):
        if position % 2:
            mark(piece)
            continue
        found = _CORE.search(piece)
        if found is None:
            mark(piece)
            continue
        core, after = found[0], piece[found.end() :]
        mark(piece[: found.start()])
        runs = [core] if core.isascii() else _UNSPACED_RUN.split(core)
        for number, run in enumerate(runs):
            if number % 2:
                units.append(run)
                shapes.append("u")
            elif run:
                last = number == len(runs) - 1
                more_units, more_shapes, rest = _piece(run, after if last else "", classify)
                units += more_units
                shapes += more_shapes
                after = rest if last else after
        mark(after)
    return tuple(units), "".join(shapes)


class WordAnalyser:
    """Units and shape of a word, in one language.

    Attributes
    ----------
    analyses : WordCache
        Of words that were met, and of their cores.
    """

    def __init__(self, language: str) -> None:
        self._classify = _Classifier(language)
        self.analyses: WordCache[WordShape] = WordCache(self.analyse)

    def analyse(self, word: str) -> WordShape:
        """Work the units and the shape of a word out."""
        if word.isalpha() and word.isascii():
            unit = word.lower()[:MAX_TOKEN_CHARACTERS]
            return (unit,), self._classify.plain(word, unit)
        # "film," is "film" and a mark, and "film" is most likely known.
        last, stem = word[-1], word[:-1]
        if last in ",." and stem.isalpha():
            if last == ",":
                units, shape = self.analyses[stem]
                return (*units, ""), shape + "|"
            if len(stem) > 1 and stem.lower() not in _ABBREVIATIONS:
                units, shape = self.analyses[stem]
                return (*units, ""), shape + "."
        core = word.rstrip(_TRAILING)
        if core.endswith("."):
            stem = core[:-1]
            if len(stem) > 1 and stem.isalpha() and stem.lower() not in _ABBREVIATIONS:
                core = stem
        body = core.lstrip(_LEADING)
        if body == word:
            return self._compound(word)
        if not body or not _SOLID.fullmatch(body):
            return _general(word, self._classify)
        units, shape = self.analyses[body]
        left = _marks(word[: len(core) - len(body)])
        right = _marks(word[len(core) :])
        return ("",) * len(left) + units + ("",) * len(right), left + shape + right

    def _compound(self, word: str) -> WordShape:
        """Read the usual words that are not letters alone, and leave the rest."""
        if word.isascii():
            if word.isdigit():
                return (word[:MAX_TOKEN_CHARACTERS],), "n"
            if _HYPHENATED.fullmatch(word) and len(word) < MAX_TOKEN_CHARACTERS:
                unit = word.lower().replace("-", " ")
                return (unit,), self._classify.plain(word, unit)
        if word[-2:] in ("'s", "’s") and word[:-2].isalpha():
            units, shape = self.analyses[word[:-2]]
            return ((*units, ""), shape + "p") if shape in "CA" else (units, shape)
        return _general(word, self._classify)


_ANALYSERS: dict[str, WordAnalyser] = {}


def word_analyser(language: str) -> WordAnalyser:
    """Return what tells the units and the shape of a word without whitespace."""
    return _ANALYSERS.get(language) or _ANALYSERS.setdefault(language, WordAnalyser(language))


def dominant_language(tokens: list[str]) -> str:
    """Guess which Latin language's function words a text uses; English when unsure.

    Examples
    --------
    >>> dominant_language("der hund und die katze sind nicht im haus".split())
    'german'
    """
    english = len(_ENGLISH_MARKERS.intersection(tokens))
    if english >= MIN_MARKERS:
        return "english"
    counts = {name: len(markers.intersection(tokens)) for name, markers in _MARKERS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > max(1, english) else "english"


def split_words(text: str) -> list[str]:
    """Split at whitespace; a short line (a heading, a list item) ends like a sentence."""
    if "\n" not in text:
        return text.split()
    words: list[str] = []
    for line in text.split("\n"):
        words += line.split()
        if len(line) < _HEADING_CHARACTERS:
            words.append(".")
    return words


def shape_text(text: str, language: str) -> ShapedText:
    """Return the units and the shape of a text.

    Parameters
    ----------
    text : str
        Of one chunk, or its title.
    language : str
        Whose stop words hold; see :func:`dominant_language`.

    Returns
    -------
    ShapedText
        ``len(units) == len(shape)``.

    Examples
    --------
    >>> shape_text("Shawn's friend, the Duke of York.", "english").shape
    'Cpl|tCkC.'
    """
    records = list(map(word_analyser(language).analyses.__getitem__, split_words(text)))
    return ShapedText(
        list(chain.from_iterable([record[0] for record in records])),
        "".join([record[1] for record in records]),
    )
