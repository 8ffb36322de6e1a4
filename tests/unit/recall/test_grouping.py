"""Cuts keep equals together."""

from __future__ import annotations

import numpy as np

from hebbgraph.recall.grouping import among, best, best_per_owner, sum_by


def test_sum_by() -> None:
    assert sum_by(np.array([1, 1, 0]), np.array([1.0, 2.0, 4.0]), 3).tolist() == [4.0, 3.0, 0.0]
    assert sum_by(np.array([], np.int64), np.array([]), 2).tolist() == [0.0, 0.0]


def test_among_few_and_many() -> None:
    values = np.arange(20)
    assert np.flatnonzero(among(values, np.array([3, 5]))).tolist() == [3, 5]
    assert np.flatnonzero(among(values, np.arange(0, 20, 2))).tolist() == list(range(0, 20, 2))
    assert not among(values, np.array([], np.int64)).any()


def test_best_keeps_equals_but_not_without_bound() -> None:
    assert best(np.array([1.0, 5.0, 5.0, 5.0]), 2).tolist() == [1, 2, 3]
    assert len(best(np.ones(100), 2)) == 8


def test_best_per_owner() -> None:
    owner = np.array([0, 0, 0, 1, 1])
    values = np.array([1.0, 2.0, 2.0, 1.0, 3.0])
    marked = best_per_owner(owner, values, 2, 1)
    assert np.flatnonzero(marked).tolist() == [1, 2, 4]
    assert best_per_owner(owner, values, 2, 3).all()
    assert len(best_per_owner(np.array([], np.int64), np.array([]), 0, 1)) == 0
