"""Confidence interval of the difference between two systems on the same questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hebbgraph.errors import ParameterError

__all__ = ["Difference", "paired_bootstrap"]

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of ``ours - theirs`` over questions, and its confidence interval.

    Parameters
    ----------
    mean, low, high : float
    wins, losses, ties : int
        Questions on which ours is higher, lower, equal.
    """

    mean: float
    low: float
    high: float
    wins: int
    losses: int
    ties: int


def paired_bootstrap(
    ours: ArrayLike,
    theirs: ArrayLike,
    *,
    samples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Bootstrap the mean difference of two systems over the same questions.

    Questions are resampled with replacement, both systems' values together [1]_; the interval lies
    between the percentiles of the resampled means. Such a mean depends only on how often each
    distinct difference is drawn, so these counts are drawn from their multinomial distribution:
    metrics take few distinct values, so the cost does not grow with the number of questions.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (n_questions,)
        Values of one metric, in the same order.
    samples : int, positive
        Number of resampled means.
    confidence : float, in (0, 1)
        Share of the resampled means inside the interval.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Difference

    Raises
    ------
    ParameterError
        If the shapes differ or are empty, or a parameter lies outside its range.

    Examples
    --------
    >>> paired_bootstrap([1.0, 1.0, 0.5, 1.0], [0.5, 0.5, 0.5, 1.0])
    Difference(mean=0.25, low=0.0, high=0.5, wins=2, losses=0, ties=2)

    References
    ----------
    .. [1] Sakai (2006), Evaluating Evaluation Metrics based on the Bootstrap, SIGIR.
    """
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise ParameterError(
            "both systems need one value a question, in the same order;"
            f" got shapes {first.shape} and {second.shape}"
        )
    if samples < 1 or not 0 < confidence < 1:
        raise ParameterError(
            "samples must be at least 1 and confidence lie in (0, 1),"
            f" got {samples!r} and {confidence!r}"
        )
    difference = first - second
    values, counts = np.unique(difference.round(12), return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(difference.size, counts / difference.size, size=samples)
    means = drawn @ values / difference.size
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    wins, losses = int((difference > _SAME).sum()), int((difference < -_SAME).sum())
    return Difference(
        mean=float(difference.mean()),
        low=float(low),
        high=float(high),
        wins=wins,
        losses=losses,
        ties=difference.size - wins - losses,
    )
