from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hebbgraph_scale.quantized import QuantizedSearch


def _unit(rng: np.random.Generator, n: int, dimension: int) -> NDArray[np.float32]:
    # Skewed, as embeddings are: some directions say more than others.
    vectors = rng.standard_normal((n, dimension)) * np.geomspace(1.0, 0.05, dimension)
    vectors[:, 0] += 1.0
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype("f4")
    return unit


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 3, 48, 96]),
    st.integers(1, 60),
    st.sampled_from([1.0, 0.5, 0.1]),
)
@settings(max_examples=60, deadline=None)
def test_the_nearest_are_always_among_those_named(
    seed: int, dimension: int, limit: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    first, later = _unit(rng, 300, dimension), _unit(rng, 200, dimension)[:, ::-1]
    quantized = QuantizedSearch(first)
    quantized.extend(later[:50])  # unlike those that the turn was fitted to
    quantized.extend(later[50:])
    vectors = np.concatenate([first, later])
    allowed = rng.random(len(vectors)) < share
    query = _unit(rng, 1, dimension)[0]
    cosines = vectors @ query
    named = quantized.candidates(query, limit, allowed, lambda at: cosines[at])
    assert len(quantized) == len(vectors)
    assert allowed[named].all()
    assert (np.diff(named) > 0).all()
    everything = np.flatnonzero(allowed)
    if len(everything) > limit:
        last = np.sort(cosines[everything])[-limit]
        everything = everything[cosines[everything] > last + 1e-6]
    assert set(everything.tolist()) <= set(named.tolist())


def test_few_are_left_of_many() -> None:
    rng = np.random.default_rng(3)
    vectors = _unit(rng, 5000, 96)
    looked_at: list[int] = []

    def cosines(at: NDArray[np.int64]) -> NDArray[np.float32]:
        looked_at.extend(at.tolist())
        result: NDArray[np.float32] = vectors[at] @ vectors[7]
        return result

    named = QuantizedSearch(vectors).candidates(vectors[7], 10, np.ones(5000, np.bool_), cosines)
    assert 7 in named
    assert len(looked_at) == 20
    assert len(named) < 500
