"""Recognises that a question asks for the same again in other words."""

from __future__ import annotations

from hebbgraph.text import tokenize
from hebbgraph.text.query import query_terms

__all__ = ["is_reworded"]

#: Two questions ask for the same from this cosine of their terms on.
_ALIKE = 0.5


def is_reworded(before: str, after: str) -> bool:
    """Return whether a question asks for the same in other words; the same words are a retry.

    >>> is_reworded("What does the ferry cost?", "How much does the ferry cost today?")
    True
    >>> is_reworded("What does the ferry cost?", "What does the mill grind?")
    False
    """
    terms, other_terms = (set(query_terms(text, "english")) for text in (before, after))
    is_alike = len(terms & other_terms) >= _ALIKE * (len(terms) * len(other_terms)) ** 0.5 > 0
    return is_alike and sorted(tokenize(before)) != sorted(tokenize(after))
