from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph_papers.nakg.clusters import cluster_chunks


def unit(angles: list[float]) -> np.ndarray:
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_a_cosine_of_one_half_joins_and_less_does_not() -> None:
    # 59 degrees: cosine .515; 61 degrees: .485. Two neighbours each make a core.
    near = cluster_chunks(unit([0, 59]), eps=0.5, min_samples=2, max_cluster=9, seed=0)
    far = cluster_chunks(unit([0, 61]), eps=0.5, min_samples=2, max_cluster=9, seed=0)
    assert (near.n_dense, near.n_noise) == (1, 0)
    assert (far.n_dense, far.n_noise) == (0, 2)


def test_where_nothing_is_dense_all_are_one() -> None:
    found = cluster_chunks(unit([0, 90, 180]), eps=0.1, min_samples=3, max_cluster=9, seed=0)
    assert found.labels.tolist() == [0, 0, 0]
    assert (found.n_dense, found.n_noise) == (0, 3)


def test_noise_joins_the_nearest_centre() -> None:
    found = cluster_chunks(
        unit([0, 2, 4, 90, 92, 94, 40, 60]), eps=0.01, min_samples=3, max_cluster=9, seed=0
    )
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 0, 1]
    assert (found.n_dense, found.n_noise) == (2, 2)


def test_equal_vectors_are_split_too() -> None:
    found = cluster_chunks(unit([10] * 20), eps=0.5, min_samples=5, max_cluster=6, seed=0)
    assert np.bincount(found.labels).max() <= 6


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_nearly_equal_vectors_are_split_too() -> None:
    """K-means sees no difference of one bit: it puts all of them on one side."""
    direction = np.random.default_rng(0).normal(size=384).astype(np.float32)
    vectors = np.repeat(direction[None] / np.linalg.norm(direction), 400, axis=0)
    vectors[range(6), range(6)] = np.nextafter(vectors[range(6), range(6)], np.float32(2))
    found = cluster_chunks(vectors, eps=0.5, min_samples=5, max_cluster=50, seed=0)
    assert np.bincount(found.labels).max() <= 50


def test_no_chunk_no_cluster() -> None:
    found = cluster_chunks(
        np.empty((0, 3), np.float32), eps=0.5, min_samples=5, max_cluster=6, seed=0
    )
    assert found.members() == []


@given(st.lists(st.floats(0, 359), min_size=1, max_size=40), st.integers(2, 9))
def test_every_chunk_is_in_one_small_cluster(angles: list[float], at_most: int) -> None:
    found = cluster_chunks(unit(angles), eps=0.05, min_samples=3, max_cluster=at_most, seed=0)
    members = found.members()
    assert sorted(chunk for part in members for chunk in part.tolist()) == list(range(len(angles)))
    assert max(map(len, members)) <= at_most
