"""Unicode: fold spellings that read the same, and recognise scripts without spaces."""

from __future__ import annotations

import re
import unicodedata

import regex

_LETTERS = {
    "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ħ": "h", "ı": "i",
    "ŧ": "t", "ŋ": "n", "ɓ": "b", "ɗ": "d", "ƙ": "k", "ə": "e", "ĸ": "k",
    "ё": "е", "ѐ": "е", "ѝ": "и",
    # Arabic alef with hamza, madda or wasla; alef maqsura and Farsi yeh; Persian keheh.
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ـ": "",
    "ۀ": "ه", "ۂ": "ه", "ھ": "ه", "ہ": "ه", "ە": "ه",
}  # fmt: skip
_PUNCTUATION = dict.fromkeys("’‘‛ʼʻʽʹ′׳״", "'") | dict.fromkeys("‐‑", "-")
# Marks that writers may omit. Vowel signs of Indic scripts and Thai, and kana voicing, are not
# among them: dropping those would change words.
_OPTIONAL_MARKS = (
    (0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F), (0xE0100, 0xE01EF), (0x0483, 0x0489), (0x0591, 0x05C7), (0x0610, 0x061A),
    (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06ED),
)  # fmt: skip
#: In Arabic script it divides the parts of a word, which some write with a space.
_NON_JOINER = regex.compile(r"(?<=\p{Arabic})\u200c+(?=\p{Arabic})")
_VULGAR_FRACTION = re.compile("(?=[¼-¾⅐-⅞↉])")


def _fold_character(char: str) -> str:
    category = unicodedata.category(char)
    code = ord(char)
    if category == "Cf":
        return ""  # joiners, soft hyphens, direction marks: invisible
    if category in ("Mn", "Me") and any(low <= code <= high for low, high in _OPTIONAL_MARKS):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if code < 0x0400 or 0x1E00 <= code <= 0x1FFF:  # Latin and Greek: drop accents
        parts = unicodedata.normalize("NFD", char)
        bare = "".join(part for part in parts if not unicodedata.combining(part))
        return "".join(_LETTERS.get(letter, letter) for letter in bare.casefold())
    return char


class _Table(dict[int, str]):
    """Maps code points to their folded form, most of them computed on first use."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(chr(code))
        if code <= 0xFFFF:  # bounds the table: the rarer planes are not cached
            self[code] = folded
        return folded


_TABLE = _Table(str.maketrans(_LETTERS | _PUNCTUATION))


def fold(text: str) -> str:
    """Fold case, width, accents and optional marks.

    NFKC and case folding, then: Latin and Greek accents, Hebrew points, Arabic tashkeel and tatweel
    and invisible characters are dropped, alef variants become bare alef, Cyrillic yo becomes ye,
    digits of any script become ASCII digits, typographic apostrophes and hyphens become the ASCII
    ones. Indic vowel signs, Thai vowels and tones, kana voicing and Cyrillic short i stay. Lone
    surrogates pass through, and ``fold(fold(text)) == fold(text)``.

    >>> fold("Pál GÁBOR, Straße, Ёлка, ٱلْقَاهِرَة, ｱﾆﾒ, ١٩٧٩")
    'pal gabor, strasse, елка, القاهرة, アニメ, 1979'
    """
    if text.isascii():
        return text.lower()
    if "\u200c" in text:
        text = _NON_JOINER.sub(" ", text)
    text = _VULGAR_FRACTION.sub(" ", text)  # or NFKC would turn "6½" into "61/2"
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # Dropping an invisible character can bring a letter and its mark together.
    text = unicodedata.normalize("NFKC", text.translate(_TABLE))
    # NFKC splits Thai and Lao sara am, which fonts and readers expect as one character.
    return text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")


# -- words ------------------------------------------------------------------------

_LONGEST_WORD = 4096


def bounded_words(text: str) -> list[str]:
    """Split a text at whitespace, and cut words of more than 4,096 characters.

    On longer words, patterns that store a position per character run out of memory.

    >>> bounded_words("owls hunt"), list(map(len, bounded_words(5000 * "木")))
    (['owls', 'hunt'], [4096, 904])
    """
    words = text.split()
    if len(text) <= _LONGEST_WORD or max(map(len, words), default=0) <= _LONGEST_WORD:
        return words
    return [
        word[at : at + _LONGEST_WORD] for word in words for at in range(0, len(word), _LONGEST_WORD)
    ]


# -- scripts without spaces ---------------------------------------------------------

# The inside of a character class. The length mark and the iteration marks are listed one by one,
# since they belong to no script, or to several.
UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}"
    r"\p{Script=Khmer}\p{Script=Myanmar}ー々〆〇"
)

_UNSPACED_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+", regex.V1)


def is_unspaced(token: str) -> bool:
    """Return whether a token is a character of a script written without spaces."""
    return token >= "\u0e00" and _UNSPACED_TOKEN.match(token) is not None
