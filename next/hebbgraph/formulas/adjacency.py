"""The graph as spreading reads it."""

from __future__ import annotations

from typing import Protocol

from hebbgraph.arrays import BoolArray, IntArray

__all__ = ["IncidenceView"]


class IncidenceView(Protocol):
    """The bipartite graph chunk – tag, read row by row and column by column.

    Chunks and tags are integers. Owners ascend; within one owner, order is free.
    """

    @property
    def n_chunks(self) -> int:
        """Number of chunks, for the specificity of tags."""
        ...

    @property
    def has_links(self) -> bool:
        """Whether any tag is an address or an edge by metadata."""
        ...

    def tags_of(self, chunks: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``chunks``, tag, whether it is the chunk's own title)."""
        ...

    def mentions_of(
        self, chunks: IntArray, /
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return everything that chunks mention, incidental phrases included.

        As ``tags_of``, plus the number of chunks that mention each phrase, and whether the
        phrase is a tag.
        """
        ...

    def chunks_of(self, tags: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``tags``, chunk, whether the tag is that chunk's title)."""
        ...

    def df(self, tags: IntArray, /) -> IntArray:
        """Return the document frequency of each tag."""
        ...

    def link_kinds(self, tags: IntArray, /) -> IntArray:
        """Return the :class:`~hebbgraph.terms.TermKind` of each tag."""
        ...
