"""A graph made of plain lists, for tests and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.terms import TermKind

__all__ = ["ArrayView"]


class ArrayView:
    """The tags of each chunk as lists.

    ``links`` are those that are no phrases; ``incidental`` phrases are mentioned, but are no tags.
    ``ordinary`` words mean what they mean as a title only so far.

    An :class:`~hebbgraph.terms.IncidenceView`.

    Examples
    --------
    >>> view = ArrayView([[0, 1], [1]], titles=[{0}, {1}])
    >>> [column.tolist() for column in view.chunks_of(np.array([1]))]
    [[0, 0], [0, 1], [False, True]]
    """

    def __init__(
        self,
        tags: Sequence[Sequence[int]],
        *,
        titles: Sequence[AbstractSet[int]] = (),
        links: Mapping[int, TermKind] | None = None,
        incidental: AbstractSet[int] = frozenset(),
        ordinary: Mapping[int, float] | None = None,
    ) -> None:
        self._ordinary = ordinary or {}
        self._links = links or {}
        self._incidental = incidental
        title_tags: Sequence[AbstractSet[int]] = titles or [frozenset()] * len(tags)
        self._rows = [
            [(tag, tag in title_tags[chunk]) for tag in row] for chunk, row in enumerate(tags)
        ]
        self._columns: dict[int, list[tuple[int, bool]]] = {}
        for chunk, row in enumerate(self._rows):
            for tag, is_title in row:
                self._columns.setdefault(tag, []).append((chunk, is_title))

    @property
    def n_chunks(self) -> int:
        """The number of chunks."""
        return len(self._rows)

    def mentions_of(
        self, chunks: IntArray
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return all phrases of chunks, the frequencies of tags, and whether they are tags."""
        owner, tags, is_title = _flatten([self._rows[chunk] for chunk in chunks.tolist()])
        is_tag = np.array([tag not in self._incidental for tag in tags.tolist()], np.bool_)
        df = np.where(self.link_kinds(tags) == TermKind.TAG, self.df(tags), 0)
        return owner, tags, is_title, df, is_tag

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``tags``, chunk, is title)."""
        return _flatten([self._columns.get(tag, []) for tag in tags.tolist()])

    def df(self, tags: IntArray) -> IntArray:
        """Return the number of chunks with each tag."""
        return np.array([len(self._columns.get(tag, [])) for tag in tags.tolist()], np.int64)

    def keyphraseness(self, tags: IntArray) -> FloatArray:
        """Return how far mentions are trusted: fully, but for ``ordinary`` words."""
        return np.array([self._ordinary.get(tag, 1.0) for tag in tags.tolist()])

    def link_kinds(self, tags: IntArray) -> IntArray:
        """Return the kind of each tag."""
        kinds = [self._links.get(tag, TermKind.TAG) for tag in tags.tolist()]
        return np.array(kinds, np.int8)


def _flatten(rows: Sequence[Sequence[tuple[int, bool]]]) -> tuple[IntArray, IntArray, BoolArray]:
    entries = [(i, node, flag) for i, row in enumerate(rows) for node, flag in row]
    return (
        np.array([i for i, _, _ in entries], np.int64),
        np.array([node for _, node, _ in entries], np.int64),
        np.array([flag for _, _, flag in entries], np.bool_),
    )
