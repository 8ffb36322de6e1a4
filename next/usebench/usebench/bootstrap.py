"""Confidence intervals of the difference between two systems on the same questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from usebench.errors import ParameterError

__all__ = ["Difference", "paired_bootstrap"]

_SAME = 1e-9
_SAMPLES, _TAIL = 10_000, 0.025


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of ``ours - theirs`` over questions, and its 95 % interval.

    Parameters
    ----------
    mean, low, high : float
    wins, losses : int
        Questions on which ours is higher, lower.
    """

    mean: float
    low: float
    high: float
    wins: int
    losses: int


def paired_bootstrap(ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0) -> Difference:
    """Bootstrap the mean difference of two systems over the same questions.

    Questions are drawn with replacement, both systems' values together [1]_. A drawn mean depends
    only on how often each distinct difference was drawn, so those counts are drawn.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (n_questions,)
        Values of one metric, in the same order.
    seed : int

    Returns
    -------
    Difference

    Raises
    ------
    ParameterError
        If the shapes differ or are empty.

    Examples
    --------
    >>> paired_bootstrap([1.0, 1.0, 0.5, 1.0], [0.5, 0.5, 0.5, 1.0])
    Difference(mean=0.25, low=0.0, high=0.5, wins=2, losses=0)

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
    difference = first - second
    values, counts = np.unique(difference.round(12), return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(difference.size, counts / difference.size, size=_SAMPLES)
    low, high = np.quantile(drawn @ values / difference.size, [_TAIL, 1 - _TAIL])
    return Difference(
        mean=float(difference.mean()),
        low=float(low),
        high=float(high),
        wins=int((difference > _SAME).sum()),
        losses=int((difference < -_SAME).sum()),
    )
