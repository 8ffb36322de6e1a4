"""What a stream of questions lost by asking one system instead of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from usebench.errors import ParameterError

__all__ = ["cumulative_regret", "regret_curve"]


def cumulative_regret(ours: ArrayLike, theirs: ArrayLike) -> NDArray[np.float64]:
    """Sum ``theirs - ours`` up to each question; below 0 is ours ahead.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (n_questions,)
        Values of one metric, in the order of the stream.

    Returns
    -------
    ndarray of float64, shape (n_questions,)

    Examples
    --------
    >>> cumulative_regret([0.0, 1.0, 1.0], [1.0, 1.0, 0.0]).tolist()
    [1.0, 1.0, 0.0]
    """
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if first.shape != second.shape:
        raise ParameterError(
            f"both systems need one value a question, got shapes {first.shape}, {second.shape}"
        )
    return np.cumsum(second - first)


def regret_curve(ours: ArrayLike, theirs: ArrayLike, *, points: int = 10) -> list[float]:
    """Read the cumulative regret at ``points`` even steps, the last at the end.

    Examples
    --------
    >>> regret_curve([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], points=2)
    [2.0, 2.0]
    """
    regret = cumulative_regret(ours, theirs)
    if not regret.size:
        return []
    ends = [max(1, round(regret.size * step / points)) - 1 for step in range(1, points + 1)]
    return [round(float(regret[end]), 6) for end in ends]
