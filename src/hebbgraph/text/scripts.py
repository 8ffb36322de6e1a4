"""Scripts written without spaces between words."""

from __future__ import annotations

import regex

__all__ = ["UNSPACED", "is_unspaced"]

# The inside of a character class. The length mark and the ideographic iteration marks
# belong to no script, or to several.
UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}"
    r"\p{Script=Khmer}\p{Script=Myanmar}ー々〆〇"
)

_UNSPACED_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+", regex.V1)


def is_unspaced(token: str) -> bool:
    """Whether a token is a character of a script written without spaces."""
    return token >= "\u0e00" and _UNSPACED_TOKEN.match(token) is not None
