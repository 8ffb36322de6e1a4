"""A table that grows while others read it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hebbgraph import HebbianIndex
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.table import VectorTable

_N = 5_000


class _Letters:
    model_name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(digit) for digit in "01234567"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class _Readers:
    """A lock that records the size of a table whenever it is released."""

    def __init__(self) -> None:
        self.table: VectorTable | None = None
        self.sizes: list[int] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        assert self.table is not None
        assert len(self.table.rows) == len(self.table.matrix)
        assert len(self.table.nearest(np.ones(8, np.float32), _N, self._all()).positions) == len(
            self.table.rows
        )
        self.sizes.append(len(self.table.rows))

    def _all(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        assert self.table is not None
        return np.ones(len(self.table.rows), np.bool_)


@pytest.mark.parametrize("in_file", [False, True])
def test_readers_wait_for_a_part_of_the_vectors_at_a_time(in_file: bool, tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "index", embedder=_Letters()) as index:
        index.add([f"The lamp number {number} burned." for number in range(_N)])
        truth = index.parts.truth
        state = truth.state().embedding
        assert isinstance(state, EmbeddingState)
        rows = index.parts.derived.graph.rows
        file = VectorFile(tmp_path, state, lambda commit: True) if in_file else None
        readers = _Readers()
        readers.table = table = VectorTable(state, file)
        assert table.extend(truth, rows, truth.state().commit, held=lambda: readers)
        assert len(readers.sizes) > 2
        assert readers.sizes == sorted(readers.sizes)
        assert readers.sizes[-1] == _N
        held = index.parts.derived.vectors
        assert held is not None
        assert np.array_equal(table.matrix, held.matrix)
        assert np.array_equal(table.rows, held.rows)
