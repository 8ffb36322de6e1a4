"""Text to tokens, tokens to lexical terms, phrases to keys.

Tokens are what phrases are matched in; they are the same for a chunk and a query,
whatever the language. The text is split at whitespace first and every word is analysed
by itself, so an answer can be kept: words repeat (Zipf), and one dictionary lookup a
word is several times faster than any pattern over the text.
"""

from __future__ import annotations

import re
import threading
from itertools import chain, pairwise
from typing import Any

import regex
import Stemmer

from hebbgraph.errors import ParameterError
from hebbgraph.tagging import stopwords
from hebbgraph.tagging.caching import WordCache
from hebbgraph.tagging.folding import fold

__all__ = [
    "MAX_PHRASE_CHARACTERS",
    "MAX_PHRASE_WORDS",
    "MAX_TOKEN_CHARACTERS",
    "display",
    "is_unspaced",
    "lexical_terms",
    "phrase_key",
    "stop_words",
    "tokenize",
]

MAX_TOKEN_CHARACTERS = 64
MAX_TERM_BYTES = 128
MAX_PHRASE_WORDS = 12
MAX_PHRASE_CHARACTERS = 200

# Scripts written without spaces between words. The length mark and the ideographic
# iteration marks belong to no script, or to several.
UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}"
    r"\p{Script=Khmer}\p{Script=Myanmar}ー々〆〇"
)


def _grammar(letter: str, first: str, rest: str, other: str) -> str:
    """Build the token pattern; possessive quantifiers keep it linear in the text."""
    run = f"{first}{rest}*+"
    return (
        rf"[cg]\+\+(?!{rest})|[cfj]\#(?!{rest})"  # C++, C#
        rf"|{letter}{{1,2}}&{letter}{{1,2}}(?!{rest}|[&_])"  # R&D, AT&T
        rf"|{letter}{rest}*+(?:_++{run})*+(?:[-.][0-9]{rest}*+)++"  # ERR-1234, v2.3.1
        rf"|[0-9]++(?:\.[0-9]++)++{rest}*+"  # 3.14, 192.168.0.1
        rf"|{run}(?:_++{run})*+{other}"  # words, foo_bar
    )


_WORD_CHARACTER = rf"[[\p{{L}}\p{{N}}]--[{UNSPACED}]]"
_ASCII_TOKEN = re.compile(_grammar("[a-z]", "[a-z0-9]", "[a-z0-9]", ""))
_TOKEN = regex.compile(
    _grammar(
        rf"[\p{{L}}--[{UNSPACED}]]",
        _WORD_CHARACTER,
        rf"(?:{_WORD_CHARACTER}|\p{{M}})",
        rf"|[[{UNSPACED}]&&[\p{{L}}\p{{N}}]]\p{{M}}*+",
    ),
    regex.V1,
)
_UNSPACED_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+", regex.V1)
_HAS_LETTER = regex.compile(r"\p{L}")

_LETTER = r"[^\W\d_]"
_CLITIC = re.compile(r"'(?<=\w')(?:s|ll|re|ve|d|m)(?![\w'])")
_ELISION = re.compile(r"(?<![\w'])([ldjmtsnc]|qu|dell|dall|nell|sull|all|un)'(?=[^\W\d_]{2})")
_INNER_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_DOTTED = re.compile(rf"(?<![\w.])(?:{_LETTER}\.){{2,}}+{_LETTER}?(?!\w)")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


_EDGES = ".,;:!?()[]{}\"'*-/<>=|`~^$%@\\_"  # not + and #, which belong to C++ and C#


def _analyse(word: str) -> tuple[str, ...]:
    """Tokens of one word, which holds no whitespace (folding may still bring some)."""
    if word.isascii():
        word = word.lower()
        core = word.strip(_EDGES)
        if core.isalnum():  # most words: nothing but punctuation around them
            return (core[:MAX_TOKEN_CHARACTERS],)
    else:
        word = fold(word)
    if "'" in word:
        word = _CLITIC.sub("", word)
        word = _ELISION.sub(r"\1 ", word)
        word = _INNER_APOSTROPHE.sub("", word)
    if "." in word:
        word = _DOTTED.sub(lambda match: match[0].replace(".", ""), word)
    if "," in word:
        word = _THOUSANDS.sub("", word)
    tokens = (_ASCII_TOKEN if word.isascii() else _TOKEN).findall(word)
    if len(word) <= MAX_TOKEN_CHARACTERS:
        return tuple(tokens)
    return tuple(token[:MAX_TOKEN_CHARACTERS].rstrip("-._&") for token in tokens)


_TOKENS = WordCache(_analyse)


def tokenize(text: str) -> list[str]:
    """Split a text into normalised tokens, in reading order.

    Case, width, accents, Arabic vowel marks and alef variants, and ё are folded (see
    :func:`hebbgraph.tagging.folding.fold`). A possessive ``'s`` and other clitics go,
    elided articles become their own token (``l'homme`` → ``l``, ``homme``), other
    apostrophes vanish (``O'Brien`` → ``obrien``). Dotted acronyms lose their dots.
    Hyphenated words are split; codes (letters, then ``-`` or ``.`` and a digit),
    identifiers with underscores, decimal numbers, ``C++``, ``C#`` and ``R&D`` stay
    whole. Scripts without spaces give one token a character, marks included.

    Parameters
    ----------
    text : str
        Anything, of any length.

    Returns
    -------
    list of str
        None is empty, holds whitespace, or is longer than 64 characters (the rest of
        a longer one is dropped). ``tokenize(" ".join(tokens)) == tokens``.

    Examples
    --------
    >>> tokenize("Shawn's U.S. film 'Spider-Man', ERR-1234 in foo_bar v2.3.1 (C++)")
    ['shawn', 'us', 'film', 'spider', 'man', 'err-1234', 'in', 'foo_bar', 'v2.3.1', 'c++']
    >>> tokenize("Gábor は 東京へ")
    ['gabor', 'は', '東', '京', 'へ']
    """
    return list(chain.from_iterable(map(_TOKENS.__getitem__, text.split())))


# -- lexical terms ----------------------------------------------------------------

_SCRIPTS = (
    (0x0000, 0x024F, "latin"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "devanagari"),
)
_SCRIPT_STEMMERS = {
    "greek": "greek",
    "cyrillic": "russian",
    "arabic": "arabic",
    "devanagari": "hindi",
}
# Languages whose own script is not Latin take the place of that script's default.
_SCRIPT_OF = {
    "greek": "greek",
    "russian": "cyrillic",
    "arabic": "arabic",
    "persian": "arabic",
    "hindi": "devanagari",
    "nepali": "devanagari",
}
_CODE_PART = re.compile(r"[-._&+#]+")
_UNSPACED_MARK = None  # instead of terms: an unspaced character, paired with the next


class _Terms:
    """The terms of a single token, in one language."""

    def __init__(self, language: str) -> None:
        names: dict[str, str] = {}
        if language != "none":
            names = dict(_SCRIPT_STEMMERS)
            own = _SCRIPT_OF.get(language)
            names[own or "latin"] = language
            names.setdefault("latin", "english")
        # Not re-entrant (one buffer each), hence the lock; our cache makes theirs idle.
        self._stemmers: dict[str, Any] = {
            script: Stemmer.Stemmer(name, 0) for script, name in names.items()
        }
        self._lock = threading.Lock()

    def _stem(self, word: str) -> str:
        code = ord(word[0])
        for low, high, script in _SCRIPTS:
            if low <= code <= high and word.isalpha() and script in self._stemmers:
                with self._lock:
                    return self._stemmers[script].stemWord(word) or word
        if "\u0900" <= word[0] <= "\u097f" and "devanagari" in self._stemmers:
            with self._lock:  # vowel signs are marks, so such words are not isalpha()
                return self._stemmers["devanagari"].stemWord(word) or word
        return word

    def __call__(self, token: str) -> tuple[str, ...] | None:
        if token.isascii() and token.isalpha():
            return (_cap(self._stem(token)),)
        if is_unspaced(token):
            return _UNSPACED_MARK
        parts = [part for part in _CODE_PART.split(token) if part]
        if len(parts) > 1 and not token[0].isdigit():
            # A code is found whole and by its parts.
            return (_cap(token), *(_cap(self._stem(part)) for part in parts))
        return (_cap(self._stem(token)),)


def _cap(term: str) -> str:
    if len(term) * 4 <= MAX_TERM_BYTES:
        return term
    return term.encode("utf-8", "ignore")[:MAX_TERM_BYTES].decode("utf-8", "ignore")


_TERMS: dict[str, WordCache[tuple[str, ...] | None]] = {}


def _terms_in(language: str) -> WordCache[tuple[str, ...] | None]:
    if language != "none" and language not in Stemmer.algorithms():
        raise ParameterError(
            f"language must be 'none' or one of {', '.join(Stemmer.algorithms())}, got {language!r}"
        )
    return _TERMS.setdefault(language, WordCache(_Terms(language)))


def lexical_terms(tokens: list[str], language: str = "english") -> list[str]:
    """Turn tokens into the terms of the lexical index.

    Words are stemmed with the Snowball stemmer of their script: Latin by `language`,
    Cyrillic as Russian, Arabic, Devanagari as Hindi, Greek. A code gives itself and
    its parts. A run of characters of unspaced scripts gives its overlapping pairs; a
    run of one stays alone.

    Parameters
    ----------
    tokens : list of str
        From :func:`tokenize`.
    language : str
        A Snowball language, or ``"none"`` for no stemming in any script.

    Returns
    -------
    list of str
        Without whitespace inside, at most 128 bytes of UTF-8 each. If ``p`` occurs
        contiguously in ``t`` and neither the first nor the last run of ``p`` is a
        lone unspaced character, ``lexical_terms(p)`` occurs contiguously in
        ``lexical_terms(t)``; :func:`phrase_key` accepts only such phrases.

    Raises
    ------
    ParameterError
        If `language` is unknown.

    Examples
    --------
    >>> lexical_terms(tokenize("Synapses learning at ERR-12, 東京都"))
    ['synaps', 'learn', 'at', 'err-12', 'err', '12', '東京', '京都']
    """
    cache = _TERMS.get(language)
    if cache is None:
        cache = _terms_in(language)
    found = list(map(cache.__getitem__, tokens))
    if _UNSPACED_MARK not in found:
        return list(chain.from_iterable(found))  # type: ignore[arg-type]
    terms: list[str] = []
    start = -1  # of the run of unspaced characters that we are in
    for position, value in enumerate([*found, ()]):
        if value is _UNSPACED_MARK:
            if start < 0:
                start = position
            continue
        if start >= 0:
            run = tokens[start:position]
            if len(run) == 1:
                terms.append(_cap(run[0]))
            terms.extend(map(_cap, map("".join, pairwise(run))))
            start = -1
        terms.extend(value)
    return terms


# -- keys -------------------------------------------------------------------------


def is_unspaced(token: str) -> bool:
    """Whether a token is a character of a script written without spaces."""
    return token >= "\u0e00" and _UNSPACED_TOKEN.match(token) is not None


_STOP_WORDS = {name: frozenset(tokenize(words)) for name, words in stopwords.STOP_WORDS.items()}
_CONTENT_ELSEWHERE = frozenset(tokenize(stopwords.CONTENT_ELSEWHERE)) - _STOP_WORDS["english"]
_ANY_LANGUAGE = frozenset().union(*_STOP_WORDS.values()) - _CONTENT_ELSEWHERE
_ARTICLES = frozenset(("the", "a", "an"))


def stop_words(language: str = "") -> frozenset[str]:
    """Return the stop words that hold in a text of `language`, as tokens.

    English ones always count, and those of other languages but for words that mean
    something in English ("war", "die", "pour"), which count in their own language.

    Examples
    --------
    >>> "die" in stop_words(), "die" in stop_words("german"), "und" in stop_words()
    (False, True, True)
    """
    return _ANY_LANGUAGE | _STOP_WORDS.get(language, frozenset())


def key_of(tokens: list[str]) -> str:
    """Return the key of a phrase given as tokens; see :func:`phrase_key`."""
    if not tokens:
        return ""
    if tokens[0] in _ARTICLES and len(tokens) > 2:
        start = 1
        while len(tokens) - start > 2 and tokens[start] in _ARTICLES:
            start += 1
        tokens = tokens[start:]
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
        # A lone unspaced character at an edge is indexed as part of pairs elsewhere.
        if (unspaced[0] and not all(unspaced[:2])) or (unspaced[-1] and not all(unspaced[-2:])):
            return ""
    if words > MAX_PHRASE_WORDS:
        return ""
    if not key.islower() and _HAS_LETTER.search(key) is None:  # no case, so look closer
        return ""
    if len(key) >= MAX_TOKEN_CHARACTERS and max(map(len, tokens)) >= MAX_TOKEN_CHARACTERS:
        return ""  # perhaps cut short, so other words would share its key
    return key


def phrase_key(phrase: str) -> str:
    """Normalise a phrase to the key of its tag.

    Parameters
    ----------
    phrase : str
        A title, a tag that a caller or a model gave, or a key.

    Returns
    -------
    str
        Its tokens joined by one space, without an English article before two or more
        words ("the hunger games" → "hunger games"; "the island" stays). Empty if the
        phrase is no usable tag: no letter (numbers and years alone are no tags), one
        character, one stop word, more than 12 words (two unspaced characters count as
        one) or 200 characters, a word of 64 characters or more, or a lone unspaced
        character at an edge, which the lexical index could not find again.
        ``phrase_key(phrase_key(p)) == phrase_key(p)``.

    Examples
    --------
    >>> phrase_key("The Hunger Games"), phrase_key("The"), phrase_key("1984")
    ('hunger games', '', '')
    >>> phrase_key("東京大学")
    '東 京 大 学'
    """
    return key_of(tokenize(phrase))


def display(key: str) -> str:
    """Return the readable form of a key: no spaces between unspaced characters.

    Examples
    --------
    >>> display("iphone 東 京 大 学"), display("hunger games")
    ('iphone 東京大学', 'hunger games')
    """
    if key.isascii():
        return key
    tokens = key.split(" ")
    shown = tokens[:1]
    for before, token in pairwise(tokens):
        if not (is_unspaced(before) and is_unspaced(token)):
            shown.append(" ")
        shown.append(token)
    return "".join(shown)
