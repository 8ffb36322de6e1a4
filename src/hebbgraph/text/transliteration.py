"""How a name in Cyrillic or Greek sounds in Latin letters, and how a German one is without umlauts.

Roughly enough to compare spellings.
"""

from __future__ import annotations

import re

__all__ = ["is_other_script", "sounds", "without_umlauts"]

_LATIN = {
    **dict(zip("абвгдезиклмнопрстуфыэіґ", "abvgdeziklmnoprstufieig", strict=True)),
    "ж": "zh", "й": "i", "х": "h", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sh", "ъ": "", "ь": "",
    "ю": "iu", "я": "ia", "є": "ie", "ї": "i",
    **dict(zip("αβγδεζηικλμνοπρστυω", "avgdeziiklmnoprstio", strict=True)),
    "ς": "s", "θ": "th", "ξ": "x", "φ": "f", "χ": "h", "ψ": "ps",
}  # fmt: skip
_TABLE = str.maketrans(_LATIN)
#: What languages spell differently and speak alike.
_ALIKE = (
    (re.compile("[yj]"), "i"), (re.compile("kh"), "h"), (re.compile("ph"), "f"),
    (re.compile("th"), "t"), (re.compile("s?ch|sh|zh"), "s"), (re.compile("ks"), "x"),
    (re.compile("ck"), "k"), (re.compile("w"), "v"), (re.compile("tz"), "ts"),
    (re.compile(r"(\w)\1+"), r"\1"),
)  # fmt: skip
#: "ue" in "neue", "quelle" and "bauer" is no ü.
_UMLAUT = re.compile("(?<![aeouq])([aou])e")
_OTHER = re.compile("[\u0370-\u03ff\u0400-\u052f]")


def is_other_script(key: str) -> bool:
    """Return whether a folded phrase is in a script that :func:`sounds` rewrites."""
    return _OTHER.search(key) is not None


def sounds(key: str) -> str:
    """Return a folded phrase in rough Latin spelling.

    Examples
    --------
    >>> sounds("сергеи мосс"), sounds("sergey moss")
    ('sergei mos', 'sergei mos')
    """
    key = key.translate(_TABLE)
    for pattern, letter in _ALIKE:
        key = pattern.sub(letter, key)
    return key


def without_umlauts(key: str) -> str:
    """Return a folded phrase with ae, oe and ue as a, o and u, which ä, ö and ü are folded to.

    Examples
    --------
    >>> without_umlauts("karl oehlmann"), without_umlauts("karl ohlmann")
    ('karl ohlmann', 'karl ohlmann')
    >>> without_umlauts("neue quelle")
    'neue quelle'
    """
    return _UMLAUT.sub(r"\1", key)
