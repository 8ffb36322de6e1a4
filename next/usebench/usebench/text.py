"""From texts to terms, for all systems: English, stemmed, without stop words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bm25s
import Stemmer

__all__ = ["terms", "terms_of_all"]

_STEMMER: Any = Stemmer.Stemmer("english")


def terms(text: str) -> list[str]:
    """Return the terms of a text: runs of two or more word characters.

    Examples
    --------
    >>> terms("Who built the harbours?")
    ['built', 'harbour']
    """
    return terms_of_all([text])[0]


def terms_of_all(texts: Sequence[str]) -> list[list[str]]:
    """Return the terms of each text."""
    tokens: list[list[str]] = bm25s.tokenize(
        list(texts),
        stopwords="english_plus",
        stemmer=_STEMMER,
        return_ids=False,
        show_progress=False,
    )
    return tokens
