"""Stemming: a token to its terms in the lexical index."""

from __future__ import annotations

import re
import threading
from typing import Any

import Stemmer

from hebbgraph.errors import ParameterError
from hebbgraph.text.characters import is_unspaced

__all__ = ["TermStemmer", "truncate_term"]

_MAX_BYTES = 128
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
# A language written in one of these scripts replaces that script's default stemmer.
_SCRIPT_OF = {
    "greek": "greek",
    "russian": "cyrillic",
    "arabic": "arabic",
    "persian": "arabic",
    "hindi": "devanagari",
    "nepali": "devanagari",
}
_CODE_PART = re.compile(r"[-._&+#]+")


class TermStemmer:
    """Stems single tokens in one language."""

    def __init__(self, language: str) -> None:
        if language != "none" and language not in Stemmer.algorithms():
            raise ParameterError(
                f"language must be 'none' or one of {', '.join(Stemmer.algorithms())}, "
                f"got {language!r}"
            )
        names: dict[str, str] = {}
        if language != "none":
            names = dict(_SCRIPT_STEMMERS)
            names[_SCRIPT_OF.get(language, "latin")] = language
            names.setdefault("latin", "english")
        # Snowball stemmers reuse one buffer, hence the lock. Callers cache, so their cache is off.
        self._stemmers: dict[str, Any] = {
            script: Stemmer.Stemmer(name, 0) for script, name in names.items()
        }
        self._lock = threading.Lock()

    def _stem(self, word: str) -> str:
        code = ord(word[0])
        script = next((name for low, high, name in _SCRIPTS if low <= code <= high), "")
        # Vowel signs of Devanagari are marks, for which isalpha() is False.
        if script in self._stemmers and (word.isalpha() or script == "devanagari"):
            with self._lock:
                return self._stemmers[script].stemWord(word) or word
        return word

    def __call__(self, token: str) -> tuple[str, ...] | None:
        """Return the terms of a token; None if they depend on its neighbours."""
        if is_unspaced(token):
            return None
        parts = [part for part in _CODE_PART.split(token) if part]
        if len(parts) < 2 or token[0].isdigit():
            return (truncate_term(self._stem(token)),)
        # Index a code by its parts, and whole without hyphens: "r17" is "R-17".
        return tuple(map(truncate_term, [token.replace("-", ""), *map(self._stem, parts)]))


def truncate_term(term: str) -> str:
    """Truncate a term to 128 bytes of UTF-8, at a character boundary."""
    if len(term) * 4 <= _MAX_BYTES:
        return term
    return term.encode("utf-8", "ignore")[:_MAX_BYTES].decode("utf-8", "ignore")
