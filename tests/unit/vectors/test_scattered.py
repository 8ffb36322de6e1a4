from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from hebbgraph.vectors.scattered import ScatteredVectors


def _forget(path: Path) -> None:
    """Have the system drop the pages of a file, if it can."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_vectors_on_disk_are_fetched_and_read(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).random((4000, 48), dtype=np.float32)
    path = tmp_path / "vectors.f32"
    vectors.tofile(path)
    _forget(path)
    scattered = ScatteredVectors(path, (3999, 48))  # another process may have written more
    at = np.random.default_rng(2).permutation(3999)[:700]
    scattered.fetch(at)
    assert np.array_equal(scattered.matrix[at], vectors[at])
    assert scattered.matrix.shape == (3999, 48)


def test_offsets_beyond_two_gigabytes(tmp_path: Path) -> None:
    n, path = 1_500_000, tmp_path / "vectors.f32"
    with path.open("wb") as file:
        file.truncate(n * 384 * 4)  # a hole: it takes no room on disk
    _forget(path)
    scattered = ScatteredVectors(path, (n, 384))
    at = np.arange(n - 100, n, dtype=np.int32)
    scattered.fetch(at)
    assert not scattered.matrix[at].any()


def test_few_vectors_are_read_directly(tmp_path: Path) -> None:
    vectors = np.eye(5, dtype=np.float32)
    path = tmp_path / "vectors.f32"
    vectors.tofile(path)
    scattered = ScatteredVectors(path, (5, 5))
    for at in ([], [4, 0]):
        scattered.fetch(np.array(at, np.int64))
        assert np.array_equal(scattered.matrix[at], vectors[at])
