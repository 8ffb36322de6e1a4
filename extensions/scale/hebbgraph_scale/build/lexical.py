"""The fourth step: the terms of some partitions to one segment of the lexical index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from hebbgraph.derived.lexical import LexicalIndex, LexicalRow
from hebbgraph.store.history import Commit
from numpy.typing import NDArray

from hebbgraph_scale.build.shelf import Summary, made_once, name_of, read_table

__all__ = ["INDEX", "Numbered", "index_terms", "lexical_rows"]

INDEX = "index"
#: A partition's result, and the row of each of its chunks; 0 for one that is not in the index.
Numbered = tuple[str, NDArray[np.int64]]
_SOME = Commit(1, 1)  # a segment has no commit of its own
#: Two million chunks of 460 characters make one segment.
_HEAP_BYTES = 1_500_000_000


def index_terms(shelf: Path, partitions: Sequence[Numbered], positions: bool) -> Summary:
    """Write the terms and facts of some partitions as a lexical index of their own.

    Parameters
    ----------
    shelf : Path
    partitions : sequence of (name, rows)
    positions : bool
        See :class:`~hebbgraph.derived.lexical.LexicalIndex`.
    """
    known = [(proposed, rows.tobytes().hex()) for proposed, rows in partitions]
    name = name_of("lexical", known, positions)

    def make(to: Path) -> Summary:
        index = LexicalIndex(to / INDEX, positions=positions)
        rows = lexical_rows(shelf, partitions)
        index.update(_SOME, removed=(), added=rows, heap_bytes=_HEAP_BYTES)
        return {"name": name, "rows": len(index)}

    return made_once(shelf, name, make)


def lexical_rows(shelf: Path, partitions: Sequence[Numbered]) -> Iterator[LexicalRow]:
    """Yield the rows of the lexical index."""
    for name, rows in partitions:
        columns = read_table(shelf / name / "rows.arrow", "terms", "facts")
        for row, terms, facts in zip(rows.tolist(), *columns, strict=True):
            if row:
                yield LexicalRow(row, terms, facts)
