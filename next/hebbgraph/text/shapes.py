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
from itertools import chain
from typing import NamedTuple

import regex

from hebbgraph.text import stopwords
from hebbgraph.text.characters import UNSPACED, bounded_words
from hebbgraph.text.syllables import SYLLABIC, is_function_syllable
from hebbgraph.text.tokens import MAX_TOKEN_CHARACTERS, WordCache, stop_words, tokenize

__all__ = ["ShapedText", "dominant_language", "is_english", "shape_text"]

_HEADING_CHARACTERS = 60

_CONNECTORS = frozenset([*tokenize(stopwords.CONNECTORS), "&"])
_INNER_ARTICLES = frozenset(tokenize(stopwords.INNER_ARTICLES))
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
# Instructions and dialogues hold few of the first row.
_ENGLISH_MARKERS = frozenset(
    tokenize(
        "the of and to is was that for with by from were are this it"
        " you your what when which would should their there they how if who while"
    )
)
_MIN_MARKERS = 3  # a text with this many distinct markers is English
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
_RECEIVER = re.compile(r"\b(self|cls|this)\.(?=\w)")
_POSSESSIVE = re.compile(r"(?<=\w)(?:['’]s|s['’]|['’])\Z")
_MARK = {"(": "(", ")": ")"} | dict.fromkeys(".!?。！？؟।॥…", ".")

# Links, paths, files, markup, hashes and literals, which are no words.
_LINK = re.compile(
    r"(?i)(?:[a-z][a-z0-9+.-]*://|\bwww\.|\bmailto:)\S*"
    r"|[\w.+-]++@\w[\w-]*+(?:\.[\w-]++)+"
    r"|^[\"'(\[`]*(?:\.{1,2}|~)?[/\\](?:[\w.~-]++[/\\]?)++"  # /usr/lib, ./run.sh
    r"|\b[a-z]:\\\S*"
    r"|\b[\w.~-]++(?:[/\\][\w.~-]++){2,}[/\\]?"  # src/text/names
    r"|^[\"'(\[`]*</?[a-z][\w-]*+|\b[\w-]++=\"[^\"]*+|&#?[a-z0-9]++;"  # <div, class="x", &nbsp;
    r"|:[a-z][\w:+.-]{0,40}:(?=`)"  # :func:`main`
)
_FILE = re.compile(
    r"(?i)(?:[\w-]++[./\\])+(?:adoc|avi|bat|bmp|c|cc|cfg|conf|cpp|cs|css|csv|dll|docx?|exe|gif|go|gz"
    r"|h|hpp|html?|ico|ini|ipynb|jar|java|jpe?g|json|jsx?|kt|lock|log|lua|m?js|markdown|md|mov|mp[34]"
    r"|odt|pdf|php|png|pptx?|ps1|py|pyc|rb|rs|rst|scss|sh|so|sql|svg|swift|tar|tex|tgz|tiff?|toml"
    r"|tsx?|txt|wasm|wav|webp|whl|xhtml|xlsx?|xml|ya?ml|zip"
    r"|com|edu|gov|info|io|net|org|dev)"
)
_HASH = re.compile(
    r"(?i)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_LITERAL = re.compile(
    r"(?i)0[xob][0-9a-f_]+[a-z0-9]*|[0-9][0-9_]*_[a-z0-9_]*|u(?:\+|(?=[a-f]*\d))[0-9a-f]{4,6}"
    r"|(?-i:[a-z][0-9])"  # x1
)
_MAY_BE_LINK = re.compile(r"(?i)[/\\@=<&]|www\.|:`").search
_LONGEST_ARTEFACT = 500  # characters; the patterns take quadratic time on words without links

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
    """Splits words into units and determines their shapes, in one language.

    ``analyses`` caches both by word, and those of words without the punctuation around them.
    """

    def __init__(self, language: str) -> None:
        self.analyses: WordCache[_WordShape] = WordCache(self._analyse)
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
            | dict.fromkeys(_LABELS, "S")
            | dict.fromkeys(_OPENERS, "W")
            | dict.fromkeys(_ARTICLES, "T")
            | dict.fromkeys(_HONORIFICS, "s")  # "Mr" neither begins nor continues a name
            | dict.fromkeys(_DATES, "M")
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

        word = _without_links(word)
        if "." in word:
            word = _RECEIVER.sub(r"\1|", word)
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
        if not core.isalpha() and _is_artefact(core):
            return ("",), "|", after
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
            return "S" if unit == "i" else "T" if unit == "a" else "C"
        return (self._shouted.get(unit, "A")) if core.isupper() else self._capital.get(unit, "C")


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


_ANALYSERS: dict[str, _Analyser] = {}


def is_english(units: list[str]) -> bool:
    """Return whether a text has function words of English: one if short, else up to three."""
    enough = min(_MIN_MARKERS, 1 + len(units) // _WORDS_PER_MARKER)
    return len(_ENGLISH_MARKERS.intersection(units)) >= enough


def dominant_language(tokens: list[str]) -> str:
    """Guess the language of a text in Latin script by its function words; English when unsure.

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
    r"""Return a text with a full stop after each short line, as headings and list items end.

    >>> _end_lines("Owls\nhunt")
    'Owls .\nhunt .'
    """
    if "\n" not in text:
        return text
    lines = text.split("\n")
    return "\n".join([f"{line} ." if len(line) < _HEADING_CHARACTERS else line for line in lines])


def shape_text(text: str, language: str) -> ShapedText:
    """Return the units and the shape of a text, by the stop words of a language.

    >>> shape_text("Shawn's friend, the Duke of York.", "english").shape
    'Cpl|tCkC.'
    """
    analyser = _ANALYSERS.get(language)
    if analyser is None:
        kind = _SyllabicAnalyser if language == SYLLABIC else _Analyser
        analyser = _ANALYSERS.setdefault(language, kind(language))
    records = list(map(analyser.analyses.__getitem__, bounded_words(_end_lines(text))))
    return ShapedText(
        list(chain.from_iterable([record[0] for record in records])),
        "".join([record[1] for record in records]),
    )


def _without_links(word: str) -> str:
    """Replace each link, path or piece of markup in a word by a bar.

    >>> _without_links("[guide](https://a.example/b)."), _without_links("TCP/IP")
    ('[guide](|', 'TCP/IP')
    >>> _without_links("./src/main.rs"), _without_links("<div"), _without_links("Vec<T>")
    ('|', '|', 'Vec<T>')
    >>> _without_links(":func:`main`"), _without_links("std::vector")
    ('|`main`', 'std::vector')
    """
    if len(word) > _LONGEST_ARTEFACT or not _MAY_BE_LINK(word):
        return word
    return _LINK.sub("|", word)


def _is_artefact(word: str) -> bool:
    """Return whether a word is a file, a host, a hash or a literal.

    Error codes, versions and identifiers are not.

    >>> [_is_artefact(word) for word in ("main.rs", "docs.example.org", "9f86d08", "0xff")]
    [True, True, True, True]
    >>> [_is_artefact(word) for word in ("os.path", "E0382", "cve-2021-44228", "v2.3.1", "h5n1")]
    [False, False, False, False, False]
    """
    if len(word) > _LONGEST_ARTEFACT:
        return False
    if ("." in word or "/" in word) and _FILE.fullmatch(word):
        return True
    return bool(_HASH.fullmatch(word) or _LITERAL.fullmatch(word))
