"""The shape of a text: one character per word for the kind of the word.

``"He met Ada Lovelace, author of ERR-12."`` has the shape ``SlCC|lkX.``. Names, codes and
runs of content words are then short regular expressions over that string, at the cost
of one dictionary lookup per word.

===== ==============================================================================
``C`` capitalised word; ``A`` all capitals; ``X`` code or identifier; ``M`` month or day
``W`` capitalised stop word that often begins a name ("Will", "U.S.")
``K`` capitalised connector; ``T`` capitalised article; ``S`` other capitalised stop word
``k`` connector ("of", "von"); ``t`` article after one ("de *la*"); ``s`` stop word
``l`` content word in lower case, or in a script without case; ``n`` number
``u`` run of unspaced characters (see salience.py); ``p`` possessive, ends a name
``.`` sentence end; ``|`` other break; ``(`` and ``)`` round brackets
===== ==============================================================================
"""

from __future__ import annotations

import re
from itertools import chain
from typing import NamedTuple

import regex

from hebbgraph.text import stopwords
from hebbgraph.text.artefacts import is_artefact, without_links
from hebbgraph.text.characters import UNSPACED, bounded_words
from hebbgraph.text.syllables import SYLLABIC, is_function_syllable
from hebbgraph.text.tokens import MAX_TOKEN_CHARACTERS, WordCache, stop_words, tokenize

__all__ = ["ShapedText", "dominant_language", "is_english", "shape_text"]

_HEADING_CHARACTERS = 60

_CONNECTORS = frozenset([*tokenize(stopwords.CONNECTORS), "&"])
_INNER_ARTICLES = frozenset(tokenize(stopwords.INNER_ARTICLES))
_CAPITAL_CONNECTORS = frozenset(tokenize(stopwords.CAPITAL_CONNECTORS))
_HONORIFICS = frozenset(tokenize(stopwords.HONORIFICS))
_ABBREVIATIONS = frozenset(tokenize(stopwords.ABBREVIATIONS))
_DATES = frozenset([*tokenize(stopwords.MONTHS), *tokenize(stopwords.WEEKDAYS)])
_LABELS = frozenset(tokenize(stopwords.LABELS))
_ARTICLES = frozenset(("the", "a", "an"))
_OPENERS = frozenset(("will", "us", "it", "who"))

# Function words that distinguish languages in Latin script.
_MARKERS = {
    "german": frozenset(tokenize("der die das und ist nicht mit eine von den im zu sich auf für")),
    "french": frozenset(tokenize("le les des est dans une et du pour qui au sur par aux cette")),
    "spanish": frozenset(tokenize("el los las es en una y del por que con para fue como su")),
    "italian": frozenset(tokenize("il di che è della nel per una gli con del sono alla dei si")),
    "portuguese": frozenset(tokenize("o os em uma é do da não para com que dos ao pelo foi")),
}
_ENGLISH_MARKERS = frozenset(
    tokenize("the of and to is was that for with by from were are this it")
)
_MIN_MARKERS = 3  # a text with this many distinct markers is English
_WORDS_PER_MARKER = 20

# More words of English alone: instructions and dialogues address somebody and hold few of the
# markers.
_ALSO_ENGLISH = frozenset(
    tokenize("you your what when which would should their there they how if who while")
)

# Punctuation around a word that does not change the analysis of the word itself.
_LEADING = "([{\"'“‘«*#"
_TRAILING = ',;:!?)]}"”»*'
# Words without inner breaks, analysed and cached by themselves.
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
_RECEIVER = re.compile(r"\b(self|cls|this)\.(?=\w)")
_POSSESSIVE = re.compile(r"(?<=\w)(?:['’]s|s['’]|['’])\Z")
_MARK = {"(": "(", ")": ")"} | dict.fromkeys(".!?。！？؟।॥…", ".")

_WordShape = tuple[tuple[str, ...], str]


class ShapedText(NamedTuple):
    """A text as units (tokens of one word, joined by spaces; empty for marks) and shape."""

    units: list[str]
    shape: str


class _Classifier:
    """Classifies words without surrounding punctuation, in one language."""

    def __init__(self, language: str) -> None:
        stops = stop_words(language)
        #: Shapes of lower-case words other than content words.
        self._lower = (
            dict.fromkeys(stops, "s")
            | dict.fromkeys(_INNER_ARTICLES, "t")
            | dict.fromkeys(_CONNECTORS, "k")
        )
        #: Shapes of capitalised words that are not evidence of a name.
        self._capital = (
            dict.fromkeys(stops, "S")
            | dict.fromkeys(stops & _CAPITAL_CONNECTORS, "K")
            | dict.fromkeys(_LABELS, "S")
            | dict.fromkeys(_OPENERS, "W")
            | dict.fromkeys(_ARTICLES, "T")
            | dict.fromkeys(_HONORIFICS, "s")  # "Mr" neither begins nor continues a name
            | dict.fromkeys(_DATES, "M")
        )
        self._shouted = dict.fromkeys(stops | _LABELS, "S") | dict.fromkeys(_OPENERS, "W")

    def plain(self, core: str, unit: str) -> str:
        """Classify a word that consists of letters only."""
        if core.islower():
            return self._lower.get(unit) or ("s" if len(unit) == 1 else "l")
        if not core[0].isupper() and not core[0].istitle():
            if core == core.lower():  # a script without case
                return self._lower.get(unit, "l")
            return self._capital.get(unit, "C")  # iPhone, eBay; but mM
        if len(unit) == 1:
            return "S" if unit == "i" else "T" if unit == "a" else "C"
        if core.isupper():
            return self._shouted.get(unit, "A")
        return self._capital.get(unit, "C")

    def any(self, core: str, unit: str) -> str:
        """Classify a word that may contain digits, hyphens, dots or apostrophes."""
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


class _SyllabicClassifier(_Classifier):
    """Classifies syllables with their tone marks: "có" is a function word, "cò" an egret."""

    def plain(self, core: str, unit: str) -> str:
        """Classify a syllable; stop words of other languages ("la", "van", "do") do not apply."""
        stops = is_function_syllable(core)
        if core.islower():
            return "s" if stops or len(unit) == 1 else "l"
        if stops:
            return "S"
        return "A" if len(unit) > 1 and core.isupper() else "C"


def _marks(punctuation: str) -> str:
    """Reduce the punctuation on one side of a word to at most one mark of each kind."""
    if not punctuation or len(punctuation) == 1:
        return _MARK.get(punctuation, "|") if punctuation else ""
    kinds = {_MARK.get(char, "|") for char in punctuation}
    if len(kinds) == 1:
        return kinds.pop()
    # Beside a full stop, a quote or comma adds nothing.
    return "".join(mark for mark in ")(." if mark in kinds) or "|"


def _is_abbreviation(core: str, unit: str) -> bool:
    return unit in _ABBREVIATIONS or (len(core) == 1 and core.isupper()) or "." in core


def _piece(core: str, after: str, classify: _Classifier) -> tuple[list[str], list[str], str]:
    """Analyse a word without inner breaks; ``after`` is the punctuation that follows it."""
    dotted = after.startswith(".") and "." in core
    unit = " ".join(tokenize(core + "." if dotted else core))
    if not unit:
        return [], [], after
    if not core.isalpha() and is_artefact(core):
        return [""], ["|"], after
    shape = classify.any(core, unit)
    if after.startswith(".") and _is_abbreviation(core, unit):
        return [unit], [shape], after[1:]
    if shape in "CA" and _POSSESSIVE.search(core + after[:1]):
        return [unit, ""], [shape, "p"], after[1:] if after[:1] in ("'", "’") else after
    return [unit], [shape], after


def _general(word: str, classify: _Classifier) -> _WordShape:
    """Analyse any word, including brackets, slashes, mixed scripts and possessives."""
    if word == "&":
        return ("&",), "k"
    units: list[str] = []
    shapes: list[str] = []

    def mark(punctuation: str) -> None:
        if punctuation:
            marks = _marks(punctuation)
            units.extend([""] * len(marks))
            shapes.append(marks)

    word = without_links(word)
    if "." in word:
        word = _RECEIVER.sub(r"\1|", word)
    # AC/DC and TCP/IP are one name; and/or and Oslo/Bergen are two words.
    pieces = [word] if "/" in word and word.isupper() else _INNER_BREAK.split(word)
    for position, piece in enumerate(pieces):
        if position % 2:
            mark(piece)
            continue
        match = _CORE.search(piece)
        if match is None:
            mark(piece)
            continue
        core, after = match[0], piece[match.end() :]
        mark(piece[: match.start()])
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


class _WordAnalyser:
    """Splits a word into units and determines its shape, in one language.

    Attributes
    ----------
    analyses : WordCache
        Analyses of words, and of their cores without punctuation.
    """

    def __init__(self, language: str) -> None:
        self._classify = (_SyllabicClassifier if language == SYLLABIC else _Classifier)(language)
        self.analyses: WordCache[_WordShape] = WordCache(self.analyse)

    def analyse(self, word: str) -> _WordShape:
        """Return the units and the shape of a word."""
        if word.isalpha() and word.isascii():
            unit = word.lower()[:MAX_TOKEN_CHARACTERS]
            return (unit,), self._classify.plain(word, unit)
        # "film," is "film" and a mark, and "film" is most likely cached.
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

    def _compound(self, word: str) -> _WordShape:
        """Analyse common words with digits, hyphens or a possessive; pass on the rest."""
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


_ANALYSERS: dict[str, _WordAnalyser] = {}


def is_english(units: list[str]) -> bool:
    """Return whether a text has function words of English: one if short, else up to three."""
    enough = min(_MIN_MARKERS, 1 + len(units) // _WORDS_PER_MARKER)
    markers = _ENGLISH_MARKERS.intersection(units) | _ALSO_ENGLISH.intersection(units)
    return len(markers) >= enough


def dominant_language(tokens: list[str]) -> str:
    """Guess the language of a text in Latin script by its function words.

    Returns ``"english"`` when unsure.

    Examples
    --------
    >>> dominant_language("der hund und die katze sind nicht im haus".split())
    'german'
    """
    english = len(_ENGLISH_MARKERS.intersection(tokens))
    if english >= _MIN_MARKERS:
        return "english"
    counts = {name: len(markers.intersection(tokens)) for name, markers in _MARKERS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > max(1, english) else "english"


def _end_lines(text: str) -> str:
    r"""Return a text with a full stop, as a word of its own, after each short line.

    Headings and list items end like sentences.

    Examples
    --------
    >>> _end_lines("Owls\nhunt")
    'Owls .\nhunt .'
    """
    if "\n" not in text:
        return text
    lines = text.split("\n")
    return "\n".join([f"{line} ." if len(line) < _HEADING_CHARACTERS else line for line in lines])


def shape_text(text: str, language: str) -> ShapedText:
    """Return the units and the shape of a text.

    Parameters
    ----------
    text : str
        Text or title of one chunk.
    language : str
        Language whose stop words apply; see :func:`dominant_language`.

    Returns
    -------
    ShapedText
        ``len(units) == len(shape)``.

    Examples
    --------
    >>> shape_text("Shawn's friend, the Duke of York.", "english").shape
    'Cpl|tCkC.'
    """
    analyser = _ANALYSERS.get(language) or _ANALYSERS.setdefault(language, _WordAnalyser(language))
    records = list(map(analyser.analyses.__getitem__, bounded_words(_end_lines(text))))
    return ShapedText(
        list(chain.from_iterable([record[0] for record in records])),
        "".join([record[1] for record in records]),
    )
