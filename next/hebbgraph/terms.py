"""The kinds of terms, and what a posting says of a term and its chunk."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Role", "TermKind"]


class TermKind(IntEnum):
    """Kinds of terms: a word, a tag, and three of references.

    An *address* is one place, a *page* any place on its page, an *edge* a value of a metadata
    field that joins chunks.
    """

    WORD = 0
    TAG = 1
    ADDRESS = 2
    PAGE = 3
    EDGE = 4


class Role(IntEnum):
    """How a chunk holds a tag or a reference.

    A *mention* occurs in the text, or refers to the address. A *title* names the chunk, or is its
    address. A *given* tag comes from the caller or a tagger, and does not occur in the text.
    """

    MENTION = 0
    TITLE = 1
    GIVEN = 2
