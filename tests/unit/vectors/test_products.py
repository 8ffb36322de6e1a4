from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hebbgraph.vectors import products as module
from hebbgraph.vectors.products import highest, products


@given(st.integers(0, 2**32 - 1), st.integers(0, 400), st.integers(0, 12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_highest_are_those_of_a_stable_sort(seed: int, size: int, n: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, size).astype(float) if ties else rng.standard_normal(size)
    expected = np.argsort(-values, kind="stable")[:n]
    assert highest(values, n).tolist() == expected.tolist()


def test_products_agree_however_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((50, 7)).astype(np.float32)
    at = rng.permutation(50)
    expected = matrix.astype(float) @ matrix[3]
    for many, block in ((100, 8), (10, 64)):
        monkeypatch.setattr(module, "_MANY", many)
        monkeypatch.setattr(module, "_BLOCK", block)
        assert products(matrix, matrix[3]) == pytest.approx(expected, abs=1e-5)
        assert products(matrix, matrix[3], at) == pytest.approx(expected[at], abs=1e-5)
