"""Vietnamese: Latin script with spaces between syllables instead of words.

A syllable is not a word, and without its tone marks, which :func:`~.characters.fold` drops, it
stands for a dozen others: "ban" is a board, a friend, a table and to sell. So a single syllable is
never proposed as a tag; names of several syllables, pairs of syllables and foreign words are.
Lexical search also indexes syllables with their marks, and pairs of them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from hebbgraph.text.characters import fold
from hebbgraph.text.tokens import WORD_LISTS

SYLLABIC = "vietnamese"
"""The language whose texts :func:`is_syllabic` recognises."""

_SAMPLE = 1500  # characters
#: Letters of no other language in wide use; Yoruba and Igbo share those with a dot below.
_LETTER = re.compile("[ơưảẻỉỏủỷấầẩẫậắằẳẵặếềểễệốồổỗộớờởỡợứừửữự]", re.IGNORECASE)
#: These letters, composed or decomposed.
_MAY_HOLD_LETTER = re.compile("[\u01a0-\u1eff]")
_WORDS_PER_LETTER = 12
#: A syllable without its marks: at most one consonant or group before and after its vowels.
_SYLLABLE = re.compile(
    "(?:ngh|ng|nh|ch|gh|gi|kh|ph|qu|th|tr|[bcdghklmnprstvx])?[aeiouy]{1,3}(?:ng|nh|ch|[cmnpt])?"
)

_WORD = re.compile(r"[^\W\d_]+")
_MOST_OTHERS = 4
_LONGEST = 32  # characters; no syllable is longer

_bare = lru_cache(maxsize=1 << 14)(fold)
_FUNCTION_SYLLABLES = frozenset(WORD_LISTS["vietnamese_function_syllables"].split())


def is_syllabic(text: str) -> bool:
    """Return whether a text is Vietnamese.

    >>> is_syllabic("Ngư dân vá lưới và sơn lại thuyền."), is_syllabic("Pál Gábor à Đakovo")
    (True, False)
    """
    if text.isascii() or not _MAY_HOLD_LETTER.search(text, 0, _SAMPLE):
        return False
    sample = unicodedata.normalize("NFC", text[:_SAMPLE])
    n_letters = len(_LETTER.findall(sample))
    return n_letters * _WORDS_PER_LETTER >= 1 + sample.count(" ") and n_letters > 0


def syllabic_terms(text: str) -> list[str]:
    """Return the syllables of a text that bear marks, and all pairs of syllables, in lower case.

    Most words have two syllables. Function words are left out, also of pairs. The result is empty
    if more than a quarter of the words are not syllables: the text is in another language and
    only mentions Vietnamese names.

    >>> syllabic_terms("Where was Lê Hữu Trác born?")
    []
    >>> syllabic_terms("Chùa Vân Khê bán trà sen.")
    ['chùa', 'vân', 'khê', 'bán', 'trà', 'chùa_vân', 'vân_khê', 'khê_bán', 'bán_trà', 'trà_sen']
    """
    words = _WORD.findall(unicodedata.normalize("NFC", text).casefold())
    if _MOST_OTHERS * sum(not is_syllable(_bare(word)) for word in words) > len(words):
        return []
    content = [None if is_function_syllable(word) else word[:_LONGEST] for word in words]
    marked = [word for word in content if word and not word.isascii()]
    return marked + [
        f"{word}_{following}" for word, following in pairwise(content) if word and following
    ]


def is_syllable(unit: str) -> bool:
    """Return whether a folded token could be a syllable.

    >>> [is_syllable(unit) for unit in ("nguyen", "khang", "chopin", "warszawa")]
    [True, True, False, False]
    """
    return _SYLLABLE.fullmatch(unit) is not None


def is_function_syllable(word: str) -> bool:
    """Return whether a word, with its marks, is a function word.

    >>> is_function_syllable("Có"), is_function_syllable("Cò")
    (True, False)
    """
    return unicodedata.normalize("NFC", word).casefold() in _FUNCTION_SYLLABLES
