"""The kinds of terms, what a posting says of a term and its chunk, and the graph of both."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from hebbgraph.arrays import BoolArray, FloatArray, IntArray


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

    A *mention* occurs in the text, or refers to an address. A *title* stands for the chunk: a tag
    is its title, a reference one of its addresses. A *given* tag comes from the caller or a
    tagger, and does not occur in the text.
    """

    MENTION = 0
    TITLE = 1
    GIVEN = 2


class IncidenceView(Protocol):
    """The bipartite graph chunk – tag as spreading reads it, by rows and by columns.

    Chunks and tags are integers. Owners ascend; within one owner, order is free.
    """

    @property
    def n_chunks(self) -> int:
        """Number of chunks, for the specificity of tags."""

    def mentions_of(
        self, chunks: IntArray, /
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return everything that chunks mention, incidental phrases included.

        It is (position in ``chunks``, phrase, whether it is the chunk's own title or address, the
        number of chunks that mention it, whether it is a tag). The number is 0 for references, as
        links are followed at the end; what is a title or address is a tag.
        """

    def chunks_of(self, tags: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``tags``, chunk, whether the tag is that chunk's title)."""

    def df(self, tags: IntArray, /) -> IntArray:
        """Return the document frequency of each tag."""

    def keyphraseness(self, tags: IntArray, /) -> FloatArray:
        """Return how far a mention of each tag is likely to mean what chunks titled by it mean."""

    def link_kinds(self, tags: IntArray, /) -> IntArray:
        """Return the :class:`TermKind` of each tag."""
