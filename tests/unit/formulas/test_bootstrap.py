from __future__ import annotations

import numpy as np
import pytest

from hebbgraph.errors import ParameterError
from hebbgraph.formulas.bootstrap import paired_bootstrap


def test_wins_losses_and_mean() -> None:
    difference = paired_bootstrap([1, 0, 1], [0, 0.5, 1])
    assert difference.mean == pytest.approx(0.5 / 3)
    assert (difference.wins, difference.losses, difference.ties) == (1, 1, 1)
    assert difference.low <= difference.mean <= difference.high


def test_equal_systems_have_an_empty_interval() -> None:
    difference = paired_bootstrap([0.1 + 0.2, 1], [0.3, 1])
    assert (difference.low, difference.high) == pytest.approx((0, 0))
    assert difference.ties == 2


def test_same_as_drawing_questions_one_by_one() -> None:
    rng = np.random.default_rng(3)
    ours, theirs = rng.choice([0, 0.5, 1], 80), rng.choice([0, 0.5, 1], 80)
    drawn = rng.integers(0, 80, (20_000, 80))
    low, high = np.quantile((ours - theirs)[drawn].mean(axis=1), [0.025, 0.975])
    difference = paired_bootstrap(ours, theirs, samples=20_000)
    assert (difference.low, difference.high) == pytest.approx((low, high), abs=0.008)


def test_seed_fixes_the_interval() -> None:
    ours, theirs = np.linspace(0, 1, 30), np.linspace(0.2, 0.7, 30)
    assert paired_bootstrap(ours, theirs, seed=4) == paired_bootstrap(ours, theirs, seed=4)
    assert paired_bootstrap(ours, theirs, seed=4) != paired_bootstrap(ours, theirs, seed=5)


def test_wider_confidence_gives_a_wider_interval() -> None:
    ours, theirs = np.linspace(0, 1, 30), np.linspace(0.2, 0.7, 30)
    narrow = paired_bootstrap(ours, theirs, confidence=0.5)
    wide = paired_bootstrap(ours, theirs, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="one value a question"):
        paired_bootstrap([1, 0], [1])
    with pytest.raises(ParameterError, match="one value a question"):
        paired_bootstrap([], [])
    with pytest.raises(ParameterError, match="confidence lie in"):
        paired_bootstrap([1], [0], confidence=1)
