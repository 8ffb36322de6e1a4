"""Parameters of a corpus, fitted to citations.

Edges remember what was cited. A parameter of the corpus is learned from all citations together,
and so reaches questions that have nothing in common with those asked before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray

__all__ = ["ShownEvidence", "dense_shift", "likeness_threshold"]

#: How far the share of dense search may move; standard deviation of the prior at 0.
_SHIFTS, _SHIFT_DEVIATION = np.linspace(-0.25, 0.25, 21), 0.25
#: The default is left only for what is e² times as probable.
_MARGIN = 2.0
#: How sharply those who cite tell good chunks from others; of these, the likeliest is taken.
_SHARPNESS = (1.0, 2.0, 4.0, 8.0, 16.0)
#: Chance to be looked at falls with rank to this power.
_EXAMINATION = 0.25
#: A score far below the best one says no more than this.
_LOWEST = 1e-3
#: The default threshold counts as much as this many pairs of questions would ...
_PRIOR_PAIRS = 8.0
#: ... and a threshold may rise to this. It does not fall: where more past questions were let in,
#: those that shared their evidence gained nothing, and all others lost.
_HIGHEST, _STEP = 0.95, 0.01


@dataclass(frozen=True)
class ShownEvidence:
    """What n citations knew about the chunks that were shown, m at most.

    Parameters
    ----------
    lexical, dense : ndarray of float64, shape (n, m), in [0, 1]
        What direct evidence was fused from.
    score : ndarray of float64, shape (n, m), positive
    is_shown : ndarray of bool, shape (n, m)
        Where there is a chunk; columns follow the rank.
    cited : ndarray of float64, shape (n, m)
        Credit; each row adds up to 1.
    share : ndarray of float64, shape (n,), in [0, 1]
        The share of dense search by the question alone.
    used : ndarray of float64, shape (n,), in [0, 1]
        The share that the score was made with.
    weight : ndarray of float64, shape (n,), at least 0
        How much each citation counts.
    """

    lexical: FloatArray
    dense: FloatArray
    score: FloatArray
    is_shown: BoolArray
    cited: FloatArray
    share: FloatArray
    used: FloatArray
    weight: FloatArray


def dense_shift(shown: ShownEvidence) -> float:
    """Return how much more, or less, dense search should count in this corpus.

    A conditional logit model [1]_ of which of the shown chunks is cited: the chance of each
    grows with a power of the score that it would have with another share, and falls with its
    rank, since what stands first is looked at first [2]_. With a normal prior at 0, whose
    standard deviation is .25, this makes one shift the most probable. What is returned lies as
    near to 0 as it can without being e² times less probable, so chance moves nothing.

    Parameters
    ----------
    shown : ShownEvidence

    Returns
    -------
    float, in [-0.25, 0.25]
        0 without citations.

    Examples
    --------
    Fifty times, the second of three chunks was cited, which only lexical search thought well of.

    >>> one = np.ones((50, 1))
    >>> lexical, dense = one * [0.2, 1.0, 0.1], one * [1.0, 0.1, 0.5]
    >>> share = np.full(50, 0.6)
    >>> shown = ShownEvidence(
    ...     lexical, dense, 0.6 * dense + 0.4 * lexical, one * [1, 1, 1] > 0, one * [0, 1, 0],
    ...     share, share, np.ones(50),
    ... )
    >>> dense_shift(shown)
    -0.2

    References
    ----------
    .. [1] McFadden (1974), Conditional logit analysis of qualitative choice behavior.
    .. [2] Joachims, Swaminathan, Schnabel (2017), Unbiased learning-to-rank with biased feedback.
    """
    if not len(shown.share):
        return 0.0
    rank = np.arange(1, shown.score.shape[1] + 1)
    seen = np.where(shown.is_shown, -_EXAMINATION * np.log(rank), -np.inf)
    # What the graph and learned edges gave stays as it was.
    lift = np.log(np.maximum(shown.score, _LOWEST)) - _log_mix(shown, shown.used)
    loss = [
        min(_surprise(shown, sharpness, by + lift, seen) for sharpness in _SHARPNESS)
        + (shift / _SHIFT_DEVIATION) ** 2 / 2.0
        for shift in _SHIFTS
        for by in [_log_mix(shown, shown.share + shift)]
    ]
    return float(_SHIFTS[_nearest(np.array(loss), np.abs(_SHIFTS), _MARGIN)].round(4))


def _log_mix(shown: ShownEvidence, share: FloatArray) -> FloatArray:
    share = np.clip(share, 0.0, 1.0)[:, None]
    mixed: FloatArray = np.log(
        np.maximum(share * shown.dense + (1.0 - share) * shown.lexical, _LOWEST)
    )
    return mixed


def _surprise(
    shown: ShownEvidence, sharpness: float, log_score: FloatArray, seen: FloatArray
) -> float:
    """Return the negative logarithm of how likely these citations are."""
    logit = sharpness * log_score + seen
    highest = logit.max(axis=1)
    total = highest + np.log(np.exp(logit - highest[:, None]).sum(axis=1))
    by_row = (shown.cited * np.where(shown.is_shown, logit, 0.0)).sum(axis=1) - total
    return -float(shown.weight @ by_row)


def likeness_threshold(
    likeness: FloatArray, agreed: FloatArray, weight: FloatArray, default: float
) -> float:
    """Return from which likeness on a past question says what another one wants.

    Above a threshold t, a past question counts by (likeness - t) / (1 - t). That is taken for
    the chance that two questions cite the same: the threshold with the least squared error,
    the default being worth eight pairs of questions.

    Parameters
    ----------
    likeness : ndarray of float, shape (n,), in [-1, 1]
        Of pairs of past questions.
    agreed : ndarray of float, shape (n,), in [0, 1]
        Whether the later one cited what the earlier one had.
    weight : ndarray of float, shape (n,), at least 0
    default : float, in [0, 1)

    Returns
    -------
    float
        From ``default`` to .95, or ``default`` if that is more.

    Examples
    --------
    Questions are alike here even if they want different things.

    >>> likeness, agreed = np.array([0.7, 0.8, 0.85, 0.95] * 20), np.array([0, 0, 0, 1] * 20)
    >>> likeness_threshold(likeness, agreed, np.ones(80), 0.55)
    0.83
    >>> likeness_threshold(np.empty(0), np.empty(0), np.empty(0), 0.55)
    0.55
    """
    if not len(likeness):
        return default
    steps = np.arange(max(round((_HIGHEST - default) / _STEP), 0) + 1)
    thresholds = default + _STEP * steps
    expected = (likeness - thresholds[:, None]) / (1.0 - thresholds[:, None])
    error = ((np.clip(expected, 0.0, 1.0) - agreed) ** 2) @ weight
    loss = error + _PRIOR_PAIRS * (thresholds - default) ** 2
    return float(thresholds[_nearest(loss, np.abs(thresholds - default), 1e-9)].round(4))


def _nearest(loss: FloatArray, distance: FloatArray, margin: float) -> int:
    """Return what is nearest to the default, of all whose loss is at most ``margin`` too high."""
    least = np.flatnonzero(loss <= loss.min() + margin)
    return int(least[np.argmin(distance[least])])
