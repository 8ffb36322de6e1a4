"""Fit the coefficients of :mod:`hebbgraph.formulas.confidence` by logistic regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from hebbgraph.arrays import FloatArray
from numpy.typing import NDArray

from hebbgraph_bench.confidence.measure import Sureness

__all__ = ["fit", "left_out", "refitted"]

_STEPS = 40
_RIDGE = 1e-3


def fit(sets: Sequence[Sureness]) -> FloatArray:
    """Return intercept and coefficients; sets, and both kinds of questions, have equal weight.

    Examples
    --------
    >>> own, covered = np.array([True, True, False, False]), np.array([0.9, 0.5, 0.4, 0.2])
    >>> a, b = fit([Sureness("a", own, covered, covered[:, None])])
    >>> bool(0.4 < -a / b < 0.5)
    True
    """
    features = np.concatenate([sureness.features for sureness in sets])
    is_own = np.concatenate([sureness.own for sureness in sets])
    weights = np.concatenate([_balanced(sureness.own) for sureness in sets]) / len(sets)
    mean, spread = features.mean(0), np.maximum(features.std(0), 1e-9)
    x = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    ridge = _RIDGE * np.eye(x.shape[1])
    solution = np.zeros(x.shape[1])
    for _ in range(_STEPS):  # Newton's method
        p = 1.0 / (1.0 + np.exp(-x @ solution))
        slope = x.T @ (weights * (p - is_own)) + ridge @ solution
        solution -= np.linalg.solve((x * (weights * p * (1.0 - p))[:, None]).T @ x + ridge, slope)
    coefficients = solution[1:] / spread
    return np.array([solution[0] - coefficients @ mean, *coefficients])


def refitted(sureness: Sureness, old: FloatArray, new: FloatArray) -> Sureness:
    """Return the result of the same questions under other coefficients.

    Other contributions to the confidence, such as a named title, stay.
    """
    before, after = (1.0 - _probability(sureness.features, with_) for with_ in (old, new))
    return replace(sureness, confidence=1.0 - (1.0 - sureness.confidence) * after / before)


def _probability(features: FloatArray, coefficients: FloatArray) -> FloatArray:
    logit = coefficients[0] + features @ coefficients[1:]
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _balanced(is_own: NDArray[np.bool_]) -> FloatArray:
    share = min(max(float(is_own.mean()), 1e-9), 1.0 - 1e-9)
    return np.where(is_own, 0.5 / share, 0.5 / (1.0 - share)) / len(is_own)


def left_out(sets: Mapping[str, Sequence[Sureness]]) -> dict[str, FloatArray]:
    """Return the coefficients fitted on all other sets, by name of the left-out set.

    Parameters
    ----------
    sets : mapping of str to sequence of Sureness
        A set and its small parts, which are left out together.
    """
    return {
        name: fit([one for other, ones in sets.items() if other != name for one in ones])
        for name in sets
    }
