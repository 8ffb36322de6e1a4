"""Text to tokens, tokens to lexical terms, phrases to keys.

Phrases are matched on tokens. Chunks and queries are tokenised alike, in any language. Words are
analysed independently of each other, so the costly parts (folding, stemming) are cached by word.
"""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from itertools import chain, dropwhile
from operator import add
from typing import Any, Generic, TypeVar

import regex
import Stemmer

from hebbgraph.text.characters import UNSPACED, fold, is_unspaced

_Value = TypeVar("_Value")
_MOST = 1 << 17  # words of a cache


class WordCache(dict[str, _Value], Generic[_Value]):
    """A pure function of a word, as a dict: ``f[word]``. What is known runs no Python code.

    Long strings are not kept: they take memory and rarely recur.
    """

    def __init__(self, compute: Callable[[str], _Value]) -> None:
        self._compute = compute

    def __missing__(self, word: str) -> _Value:
        value = self._compute(word)
        if len(self) >= _MOST:
            self.clear()
        if len(word) <= MAX_TOKEN_CHARACTERS:
            self[word] = value
        return value


MAX_TOKEN_CHARACTERS = 64
MAX_PHRASE_WORDS = 12
MAX_PHRASE_CHARACTERS = 200


def _grammar(letter: str, first: str, rest: str, other: str) -> str:
    """Build the token pattern; possessive quantifiers keep matching linear."""
    run = f"{first}{rest}*+"
    return (
        rf"[cg]\+\+(?!{rest})|[cfj]\#(?!{rest})"  # C++, C#
        rf"|{letter}{{1,2}}&{letter}{{1,2}}(?!{rest}|[&_])"  # R&D, AT&T
        rf"|{letter}{rest}*+(?:_++{run})*+(?:[-.][0-9]{rest}*+)++"  # ERR-1234, v2.3.1
        rf"|[0-9]++(?:\.[0-9]++)++{rest}*+"  # 3.14, 192.168.0.1
        rf"|{run}(?:_++{run})*+{other}"  # words, foo_bar
    )


#: A token of a script without spaces.
_SINGLE = rf"[[{UNSPACED}]&&[\p{{L}}\p{{N}}]]\p{{M}}*"
_WORD_CHARACTER = rf"[[\p{{L}}\p{{N}}]--[{UNSPACED}]]"
# The first branch is the common case: no joining punctuation follows the word.
_ASCII_TOKEN = re.compile(
    rf"[a-z0-9]++(?![-._&+#])|{_grammar('[a-z]', '[a-z0-9]', '[a-z0-9]', '')}"
)
_TOKEN = regex.compile(
    _grammar(
        rf"[\p{{L}}--[{UNSPACED}]]",
        _WORD_CHARACTER,
        rf"(?:{_WORD_CHARACTER}|\p{{M}})",
        rf"|{_SINGLE}+",
    ),
    regex.V1,
)
_HAS_LETTER = regex.compile(r"\p{L}")

# Each pattern opens with a literal, so the engine can skip ahead.
_LETTER = r"[^\W\d_]"
_CLITIC = re.compile(r"'(?<=\w')(?:s|ll|re|ve|d|m)(?![\w'])")
_ELISION = re.compile(r"(?<![\w'])([ldjmtsnc]|qu|dell|dall|nell|sull|all|un)'(?=[^\W\d_]{2})")
_INNER_APOSTROPHE = re.compile(r"'(?<=\w')(?=\w)")
_MAYBE_DOTTED = re.compile(rf"\.{_LETTER}\.")
_DOTTED = re.compile(rf"(?<![\w.])(?:{_LETTER}\.){{2,}}+{_LETTER}?(?!\w)")
_THOUSANDS = re.compile(r",(?<=[0-9],)(?=[0-9]{3}(?![0-9]))")

#: Punctuation that can be stripped from a word without changing how it is tokenised.
_AROUND = ',.;:!?()[]"“”'


def _split_folded(text: str) -> list[str]:
    """Split folded text into tokens. No pattern matches across whitespace."""
    if "'" in text:
        text = _CLITIC.sub("", text)
        if "'" in text:
            text = _INNER_APOSTROPHE.sub("", _ELISION.sub(r"\1 ", text))
    if _MAYBE_DOTTED.search(text):
        text = _DOTTED.sub(lambda match: match[0].replace(".", ""), text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    tokens: list[str] = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    if len(text) > MAX_TOKEN_CHARACTERS and max(map(len, tokens), default=0) > MAX_TOKEN_CHARACTERS:
        return [token[:MAX_TOKEN_CHARACTERS].rstrip("-._&") for token in tokens]
    return tokens


@WordCache
def _tokenize_word(word: str) -> tuple[str, ...]:
    """Tokenise text without whitespace."""
    core = word.strip(_AROUND)
    if core.isalnum() and core.isascii():
        return (core.lower()[:MAX_TOKEN_CHARACTERS],)
    return tuple(_split_folded(fold(word)))


def tokenize(text: str) -> list[str]:
    """Split a text into normalised tokens, in reading order.

    Text is folded first (see :func:`hebbgraph.text.characters.fold`). Possessive ``'s`` and other
    clitics are dropped, elided articles become their own token (``l'homme`` → ``l``, ``homme``),
    other apostrophes vanish (``O'Brien`` → ``obrien``). Dotted acronyms lose their dots. Hyphenated
    words are split; codes (letters, then ``-`` or ``.`` and a digit), identifiers with underscores,
    decimal numbers, ``C++``, ``C#`` and ``R&D`` stay whole. Scripts without spaces yield one token
    per character, marks included. Tokens are cut after 64 characters;
    ``tokenize(" ".join(tokens)) == tokens``.

    >>> tokenize("Shawn's U.S. film 'Spider-Man', ERR-1234 in foo_bar v2.3.1 (C++)")
    ['shawn', 'us', 'film', 'spider', 'man', 'err-1234', 'in', 'foo_bar', 'v2.3.1', 'c++']
    """
    if text.isascii():
        return _split_folded(text.lower())
    # Folding costs more than splitting, and words repeat.
    return list(chain.from_iterable(map(_tokenize_word.__getitem__, text.split())))


# -- word lists -------------------------------------------------------------------

WORD_LISTS: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
)
"""Lists of words in ordinary spelling, some by language; ``words.toml`` says what each is for."""


def word_set(name: str) -> frozenset[str]:
    """Return the tokens of a word list."""
    return frozenset(tokenize(WORD_LISTS[name]))


def word_sets(name: str) -> dict[str, frozenset[str]]:
    """Return the tokens of the word lists of this name, by language."""
    return {language: frozenset(tokenize(words)) for language, words in WORD_LISTS[name].items()}


# -- lexical terms ----------------------------------------------------------------

_MOST_BYTES = 128
#: Scripts by code points, and the language whose stemmer they have.
_SCRIPTS = (
    (0x0000, 0x024F, "english"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
)
#: In whose place other languages are stemmed that are not in Latin script.
_SAME_SCRIPT = {"nepali": "hindi"}
_CODE_PART = re.compile(r"[-._&+#]+")
#: The language of texts that each have their own; their words are stemmed as English, too.
AUTO = "auto"
#: What Snowball's stems still have where words are short: "brugg", "stugan", "huset".
_DOUBLED = re.compile(r"(?<=([^aeiou]))\1$")
_LEFT_OVER = dict.fromkeys(
    ("swedish", "danish", "norwegian"), re.compile(r"(?<=\w{3})(?:[ae]n|et|[nt])$")
) | {"portuguese": re.compile(r"(?<=\w\w)(?:es|[ao])$")}
#: Last letters of a stem that change: "huis", "huizen"; "lápiz", "lápices"; "actif", "active"
_LAST = str.maketrans("zcv", "ssf")
#: The, and, in, to, from …, which Hebrew writes with the next word; endings; letters at the end.
_HEBREW_PREFIX = re.compile(r"^[והבלכמש]{1,4}(?=\w{3})")
_HEBREW_ENDING = re.compile(r"(?<=\w{3})(?:ימ|ות|[התי])$")
_FINAL_LETTERS = str.maketrans("םןץףך", "מנצפכ")
_KOREAN = re.compile("[가-힣]{2,}")
_KOREAN_ENDING = re.compile(rf"(?<=\w\w)(?:{'|'.join(WORD_LISTS['korean_endings'].split())})$")


class _Terms:
    """Single tokens to their terms, in one language."""

    def __init__(self, language: str) -> None:
        names = {name: name for _, _, name in _SCRIPTS}
        own = language if language in names else _SAME_SCRIPT.get(language, "english")
        names[own] = "english" if language == AUTO else language
        self._is_english = names["english"] == "english"
        self._left_over = _LEFT_OVER.get(language, _DOUBLED)
        # Snowball stemmers reuse one buffer, hence the lock. Callers cache, so their cache is off.
        self._stemmers: dict[str, Any] = {
            script: Stemmer.Stemmer(name, 0) for script, name in names.items() if language != "none"
        }
        self._lock = threading.Lock()

    def __call__(self, token: str) -> tuple[str, ...] | None:
        """Return the terms of a token; None if they depend on its neighbours."""
        if is_unspaced(token):
            return None
        if "가" <= token[-1] <= "힣":
            return _korean_terms(token)
        parts = [part for part in _CODE_PART.split(token) if part]
        if len(parts) < 2 or token[0].isdigit():
            return (_bounded(self._stem(token)),)
        # Index a code by its parts, and whole without what joins it: "r17" is "R-17".
        whole = token.replace("-", "").replace("_", "")
        return tuple(map(_bounded, map(self._stem, [whole, *parts])))

    def _stem(self, word: str) -> str:
        if "א" <= word[0] <= "ת":
            return _hebrew_stem(word) if self._stemmers else word
        code = ord(word[0])
        script = next((name for low, high, name in _SCRIPTS if low <= code <= high), "")
        if script == "arabic" and word.startswith("ال"):  # or the stemmer keeps "ه" for "ة"
            word = re.sub("ه$", "ة", word)
        # Vowel signs of Devanagari are marks, for which isalpha() is False.
        if script not in self._stemmers or not (word.isalpha() or script == "hindi"):
            return word
        stem = self._by_snowball(script, word)
        if script != "english" or self._is_english:
            return stem
        # Without accents, one pass may leave an ending: "fermee", "ferme", "ferm".
        stem = self._left_over.sub("", self._by_snowball(script, stem))
        return stem[:-1] + stem[-1:].translate(_LAST)

    def _by_snowball(self, script: str, word: str) -> str:
        with self._lock:
            return str(self._stemmers[script].stemWord(word)) or word


def _hebrew_stem(word: str) -> str:
    word = word.translate(_FINAL_LETTERS).replace("יי", "י")
    return _HEBREW_PREFIX.sub("", _HEBREW_ENDING.sub("", word))


def _korean_terms(word: str) -> tuple[str, ...]:
    """Return the pairs of syllables of a Korean word without its endings; of two also the first."""
    stem, left = word, ""
    while stem != left:
        left, stem = stem, _KOREAN_ENDING.sub("", stem)
    if len(stem) == 2 and _KOREAN_ENDING.search(f"__{stem[1]}"):
        return (stem[0], stem)
    return tuple(map(add, stem, stem[1:])) if _KOREAN.fullmatch(stem) else (stem,)


def _bounded(term: str) -> str:
    """Truncate a term to 128 bytes of UTF-8, at a character boundary."""
    if len(term) * 4 <= _MOST_BYTES:
        return term
    return term.encode("utf-8", "ignore")[:_MOST_BYTES].decode("utf-8", "ignore")


_TERMS: dict[str, WordCache[tuple[str, ...] | None]] = {}


def lexical_terms(tokens: list[str], language: str = "english") -> list[str]:
    """Turn tokens into the terms of word search.

    Words are stemmed with the Snowball stemmer of their script: Latin by ``language`` (``"none"``
    for no stemming at all), Cyrillic as Russian, Arabic, Devanagari as Hindi, Greek; Hebrew loses
    prefixes and endings. A code yields itself without hyphens, and its parts. A run of characters
    of an unspaced script yields its overlapping bigrams, as does a Korean word without its endings;
    a single character stays as it is.

    If ``p`` occurs contiguously in ``t``, and ``p`` neither begins nor ends with a lone unspaced
    character, then ``lexical_terms(p)`` occurs contiguously in ``lexical_terms(t)``.
    :func:`phrase_key` accepts only such phrases.

    >>> lexical_terms(tokenize("Synapses learning at ERR-12, 東京都"))
    ['synaps', 'learn', 'at', 'err12', 'err', '12', '東京', '京都']
    """
    if language not in _TERMS:
        _TERMS[language] = WordCache(_Terms(language))
    cached = list(map(_TERMS[language].__getitem__, tokens))
    if None not in cached:
        return list(chain.from_iterable(cached))  # type: ignore[arg-type]
    terms: list[str] = []
    run: list[str] = []  # the current run of unspaced characters
    for token, own in zip([*tokens, ""], [*cached, ()], strict=True):
        if own is None:
            run.append(token)
            continue
        if run:
            terms.extend(map(_bounded, map(add, run, run[1:])) if len(run) > 1 else run)
            run = []
        terms.extend(own)
    return terms


# -- keys -------------------------------------------------------------------------


_STOP_WORDS = word_sets("stop_words")
STOP_WORDS = _STOP_WORDS | word_sets("function_words")
_CONTENT_ELSEWHERE = word_set("content_elsewhere") - STOP_WORDS["english"]
_ANY_LANGUAGE = frozenset().union(*_STOP_WORDS.values()) - _CONTENT_ELSEWHERE
ARTICLES = frozenset(("the", "a", "an"))


@cache
def stop_words(language: str = "") -> frozenset[str]:
    """Return the stop words for a text in ``language``, as tokens.

    They include the stop words of all languages, except those that are content words
    in English ("war", "die", "pour"): these count only in their own language.
    """
    return _ANY_LANGUAGE | STOP_WORDS.get(language, frozenset())


def key_from_tokens(tokens: list[str]) -> str:
    """Return the key of a phrase given as tokens; see :func:`phrase_key`."""
    if not tokens:
        return ""
    tokens = [*dropwhile(ARTICLES.__contains__, tokens[:-2]), *tokens[-2:]]
    if len(tokens) == 1 and (len(tokens[0]) < 2 or tokens[0] in _ANY_LANGUAGE):
        return ""
    key = " ".join(tokens)
    if len(key) > MAX_PHRASE_CHARACTERS:
        return ""
    if key.isascii():
        words = float(len(tokens))
    else:
        unspaced = [is_unspaced(token) for token in tokens]
        words = len(tokens) - sum(unspaced) / 2
        # A lone unspaced character at an edge is part of a bigram in running text.
        first, last = unspaced[:2], unspaced[-2:]
        if first in ([True], [True, False]) or last == [False, True]:
            return ""
    if words > MAX_PHRASE_WORDS:
        return ""
    if not key.islower() and _HAS_LETTER.search(key) is None:  # islower() misses uncased letters
        return ""
    if len(key) >= MAX_TOKEN_CHARACTERS and max(map(len, tokens)) >= MAX_TOKEN_CHARACTERS:
        return ""  # possibly truncated, so different words would share this key
    return key


def phrase_key(phrase: str) -> str:
    """Normalise a phrase to the key of its tag: its tokens, joined by single spaces.

    A leading English article is dropped if two or more words follow ("the hunger games" → "hunger
    games"; "the island" stays). The key is empty if the phrase cannot be a tag: it has no letter
    (numbers and years), is a single character or stop word, exceeds 12 words (two unspaced
    characters count as one) or 200 characters, holds a word of 64 characters or more, or begins or
    ends with a lone unspaced character, which word search could not find.
    ``phrase_key(phrase_key(p)) == phrase_key(p)``.

    >>> phrase_key("The Hunger Games"), phrase_key("The"), phrase_key("1984")
    ('hunger games', '', '')
    """
    return key_from_tokens(tokenize(phrase))


_BETWEEN_UNSPACED = regex.compile(rf"(?<={_SINGLE}) (?={_SINGLE})", regex.V1)


def display(key: str) -> str:
    """Return the readable form of a key, without spaces between unspaced characters.

    >>> display("iphone 東 京 大 学"), display("hunger games")
    ('iphone 東京大学', 'hunger games')
    """
    return str(_BETWEEN_UNSPACED.sub("", key))
