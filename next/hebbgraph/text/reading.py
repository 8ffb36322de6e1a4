"""One chunk's text to its tokens and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hebbgraph.text.context import search_text
from hebbgraph.text.syllables import is_syllabic, syllabic_terms
from hebbgraph.text.tokens import lexical_terms, tokenize

__all__ = ["join_tokens", "searched_text", "split_tokens", "text_words", "tokenize_texts"]


def searched_text(text: str, metadata: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    r"""Return a text with the words of its metadata that are searched with it.

    Examples
    --------
    >>> searched_text("Two sets.", {"subject": "Keys"}, ("subject",))
    'Two sets.\n\nKeys'
    """
    context = search_text(metadata, fields) if metadata and fields else ""
    return f"{text}\n\n{context}" if context else text


def tokenize_texts(title: str, text: str) -> list[list[str]]:
    """Return the tokens of a title and of a text; a phrase lies in one of them."""
    return [tokenize(part) for part in (title, text) if part]


def join_tokens(tokens: list[list[str]]) -> str:
    r"""Return tokens as one text, which :func:`split_tokens` reads much faster than the original.

    >>> split_tokens(join_tokens([["petrel"], ["a", "ship"]]))
    [['petrel'], ['a', 'ship']]
    """
    return "\n".join(map(" ".join, tokens))


def split_tokens(text: str) -> list[list[str]]:
    """Return the tokens that :func:`join_tokens` joined."""
    return [line.split(" ") for line in text.split("\n") if line]


def text_words(tokens: list[list[str]], title: str, text: str, language: str) -> list[str]:
    """Return the words of a chunk, with repetitions.

    These are the :func:`~hebbgraph.text.tokens.lexical_terms` of its tokens, and for Vietnamese,
    after them, the :func:`~hebbgraph.text.syllables.syllabic_terms`.

    Examples
    --------
    >>> text_words(tokenize_texts("Chợ", "Bạn bán."), "Chợ", "Bạn bán.", "english")
    ['cho', 'ban', 'ban', 'chợ', 'bạn', 'bán', 'chợ_bạn', 'bạn_bán']
    """
    words = [word for part in tokens for word in lexical_terms(part, language)]
    if title.isascii() and text.isascii():
        return words
    whole = f"{title} {text}" if title and text else title or text
    return [*words, *syllabic_terms(whole)] if is_syllabic(whole) else words
