from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hebbgraph.artifacts import Stamp
from hebbgraph.vectors.approximate import ApproximateNeighbours

pytest.importorskip("usearch")


STAMP: Stamp = {"epoch": 1}
ROWS = np.arange(60)


def _fits(stamp: Stamp) -> bool:
    return bool(stamp["epoch"] == 1)


def _vectors(n: int) -> np.ndarray:
    vectors = np.random.default_rng(n).standard_normal((n, 16)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_what_was_saved_is_mapped_and_grows_once_it_has_to(tmp_path: Path) -> None:
    vectors = _vectors(60)
    made = ApproximateNeighbours(16)
    made.add(np.arange(50), vectors[:50])
    made.save(tmp_path, STAMP, ROWS)
    mapped = ApproximateNeighbours.load(tmp_path, 16, _fits, ROWS)
    assert mapped is not None
    assert (len(mapped), mapped.last_row) == (50, 49)
    assert mapped.search(vectors[7], 1).tolist() == [7]
    before = (tmp_path / "vectors.usearch").stat().st_ino
    mapped.save(tmp_path, STAMP, ROWS)  # nothing new: the file stays
    assert (tmp_path / "vectors.usearch").stat().st_ino == before
    # Another process has replaced the file; what is mapped is still what it was.
    made.add(np.arange(50, 55), vectors[50:55])
    made.save(tmp_path, STAMP, ROWS)
    mapped.add(np.arange(50, 60), vectors[50:])
    assert (len(mapped), mapped.last_row) == (60, 59)
    assert mapped.search(vectors[58], 1).tolist() == [58]


def test_what_was_saved_of_other_vectors_is_passed_over(tmp_path: Path) -> None:
    made = ApproximateNeighbours(16)
    made.add(np.arange(50), _vectors(50))
    made.save(tmp_path, STAMP, ROWS)
    for fits, rows in (
        (lambda stamp: stamp["epoch"] == 2, ROWS),
        (lambda stamp: stamp["nothing"] == 1, ROWS),
        (_fits, ROWS + 1),
        (_fits, ROWS[:49]),
    ):
        assert ApproximateNeighbours.load(tmp_path, 16, fits, rows) is None
    assert ApproximateNeighbours.load(tmp_path, 16, _fits, ROWS[:50]) is not None


def test_a_torn_file_is_passed_over(tmp_path: Path) -> None:
    made = ApproximateNeighbours(16)
    made.add(np.arange(50), _vectors(50))
    made.save(tmp_path, STAMP, ROWS)
    path = tmp_path / "vectors.usearch"
    path.write_bytes(path.read_bytes()[:1000])
    assert ApproximateNeighbours.load(tmp_path, 16, _fits, ROWS) is None
