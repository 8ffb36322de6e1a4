from __future__ import annotations

import numpy as np

from hebbgraph.formulas.diversity import cosines, marginal_relevance

RELEVANCE = np.array([0.9, 0.8, 0.3])
TWINS = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def test_relevance_alone_and_diversity() -> None:
    assert marginal_relevance(RELEVANCE, TWINS, 2, diversity=0.0) == [0, 1]
    assert marginal_relevance(RELEVANCE, TWINS, 2, diversity=0.5) == [0, 2]
    assert marginal_relevance(RELEVANCE, TWINS, 9, diversity=0.5) == [0, 2, 1]
    assert marginal_relevance(RELEVANCE[:0], TWINS[:0, :0], 2, diversity=0.5) == []


def test_ties_break_by_position() -> None:
    assert marginal_relevance(np.ones(3), np.zeros((3, 3)), 2, diversity=0.5) == [0, 1]


def test_cosines() -> None:
    counts = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    expected = [[1, 1, 0.5**0.5, 0], [1, 1, 0.5**0.5, 0], [0.5**0.5] * 2 + [1, 0], [0] * 4]
    np.testing.assert_allclose(cosines(counts), expected, atol=1e-15)
    assert cosines(counts[:0]).shape == (0, 0)
