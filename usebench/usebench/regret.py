"""Regret: what a stream of questions lost by asking one system instead of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from usebench.errors import ParameterError

__all__ = ["regret_curve"]


def regret_curve(ours: ArrayLike, theirs: ArrayLike, *, points: int = 10) -> list[float]:
    """Sum ``theirs - ours`` up to ``points`` even steps of the stream; below 0 ours is ahead.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (n_questions,)
        Values of one metric, in the order of the stream.
    points : int
        The last one lies at the end.

    Examples
    --------
    >>> regret_curve([0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], points=2)
    [2.0, 1.0]
    """
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if first.shape != second.shape:
        raise ParameterError(
            f"both systems need one value a question, got shapes {first.shape}, {second.shape}"
        )
    if not first.size:
        return []
    regret = np.cumsum(second - first)
    ends = [max(1, round(regret.size * step / points)) - 1 for step in range(1, points + 1)]
    return [round(float(regret[end]), 6) for end in ends]
