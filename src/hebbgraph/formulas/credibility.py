"""Credibility: how far the citations of an actor are believed, by the record of that actor.

Whoever reads what is shown cites what answers the question, and direct search often puts that
first. Whoever cites anything else, or something of his own, cites at any rank. So each lesson is a
little evidence for or against its actor, without any knowledge of what is right: the more, the
less it was to be expected, so that easy questions of one's own earn no belief for lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray

__all__ = ["SATURATION", "agreement", "allowances", "credibilities"]

#: Log-odds that somebody of whom nothing is known cites what is right.
PRIOR = 3.0
#: The record of an actor saturates here, in log-odds: it can be lost, and mended, in a few dozen
#: lessons.
SATURATION = 8.0
#: An actor with fewer lessons than about this many is judged with other newcomers, as if he had
#: given so many more.
NEWCOMER, _LIKE_OTHERS = 8.0, 16.0
#: ... at least at this: a crowd of liars is no proof against whoever comes among them.
_WORST = -0.5
#: What a reader cites: sharper than this, and a near tie would count against him.
_SHARPNESS, _AT_RANDOM = 12.0, 0.2
#: Makes up for what telling evidence is counted less.
_TELLING = 2.0


def agreement(evidence: FloatArray, cited: Sequence[int], *, telling: bool = True) -> float:
    """Return how much more likely a reader cites these chunks than somebody who picks at random.

    The logarithm of that likelihood ratio, a mean over the cited ones. Each draws one after the
    other from what is left (Plackett–Luce [1]_): a reader mostly by weights ``evidence ** 12``,
    and in one case of five at random. It counts by how telling it is.

    Parameters
    ----------
    evidence : ndarray of float, shape (n,), in [0, 1]
        Direct evidence of all chunks that were found.
    cited : sequence of int
        Positions of the cited ones.
    telling : bool
        Count what speaks for a reader by how little it was to be expected, ``(1 - p) ** 1.5``: what
        nearly everybody would cite says next to nothing of who does, so nobody earns belief by
        questions that have but one answer. And what speaks against by how sure evidence is, the
        highest ``p``, squared: where it tells little apart, to disagree with it costs
        next to nothing.

    References
    ----------
    .. [1] Plackett (1975), The analysis of permutations.

    Examples
    --------
    >>> evidence = np.array([1.0, 0.9, 0.6, 0.6])
    >>> [round(agreement(evidence, [at]), 2) for at in range(4)]
    [0.37, -0.09, -1.43, -1.43]
    >>> agreement(np.ones(1), [0])
    0.0
    """
    n = len(evidence)
    best = float(evidence.max(initial=0.0))
    if not cited or best <= 0.0:
        return 0.0
    weight = (evidence / best) ** _SHARPNESS
    weight = (1.0 - _AT_RANDOM) * weight / weight.sum() + _AT_RANDOM / n
    total, left, found, sure = 1.0, n, 0.0, float(weight.max())
    for one in sorted(weight[list(cited)].tolist(), reverse=True):
        if left > 1:
            ratio = math.log(left * one / total)
            told = (1.0 - one / total) ** 1.5 if ratio > 0 else sure**2
            found += _TELLING * told * ratio if telling else ratio
        left -= 1
        total = max(total - one, 1e-9)
    return found / len(cited)


def credibilities(record: FloatArray, events: FloatArray) -> NDArray[np.float64]:
    """Return how far each actor is believed, in (0, 1).

    A logistic function of the actor's record. New names are judged by each other too: an actor
    counts as if he had given up to sixteen lessons more, such as newcomers give on average. So a
    name that is invented for each lie is worth no more than those before it, and whoever comes
    among honest newcomers is believed at once.

    Parameters
    ----------
    record : ndarray of float, shape (n_actors,)
        Sum of :func:`agreement` over the lessons of each, saturated. The first actor is the
        trusted one.
    events : ndarray of float, same shape
        How many lessons each gave.

    Examples
    --------
    >>> credibilities(np.array([0.0, 5.0, -5.0]), np.array([9.0, 90.0, 90.0])).round(2).tolist()
    [1.0, 1.0, 0.12]
    >>> credibilities(np.array([0.0, -1, -1, -1]), np.array([9.0, 1, 1, 1])).round(3).tolist()
    [1.0, 0.013, 0.013, 0.013]
    >>> credibilities(np.array([0.0, -1.0]), np.array([9.0, 1.0])).round(2).tolist()
    [1.0, 0.88]
    """
    new = _newness(events)
    # Of all others, not of the actor: nobody's word counts twice.
    lessons = (new * events).sum() - new * events
    common = ((new * record).sum() - new * record) / np.maximum(lessons, 1.0)
    common = np.maximum(common, _WORST)
    odds = PRIOR + record + _LIKE_OTHERS * new * common
    found: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-odds))
    found[0] = 1.0
    return found


def _newness(events: FloatArray) -> NDArray[np.float64]:
    """Return how new each actor is, in [0, 1]: 1 before the first lesson, 1/4 after eight."""
    new: NDArray[np.float64] = np.square(NEWCOMER / (NEWCOMER + events))
    new[0] = 0.0
    return new


def allowances(
    events: FloatArray, earned: FloatArray, *, at_least: float, share: float
) -> NDArray[np.float64]:
    """Return the factor that bounds the weight of each actor.

    ``min(1, max(at_least, share * events of all others, 2 * earned) / events)``: a lesson that
    agrees with direct evidence earns room for itself and another one. Newcomers share one such
    allowance beside their own, each of them as far as he is new. The first actor is the trusted one
    and is not bounded.

    Parameters
    ----------
    events : ndarray of float, shape (n_actors,)
        How many lessons each gave.
    earned : ndarray of float, same shape
        How many of them agreed with direct evidence.
    at_least : float
        Number of lessons that every actor may give in full.
    share : float, in [0, 1]

    Examples
    --------
    >>> given, earned = np.array([300.0, 15, 200, 200]), np.array([0.0, 10, 0, 90])
    >>> allowances(given, earned, at_least=20, share=0.1).round(2).tolist()
    [1.0, 1.0, 0.26, 0.9]
    >>> rotating = np.array([0.0] + 50 * [2.0])
    >>> float(allowances(rotating, 0 * rotating, at_least=20, share=0.1)[1].round(2))
    0.56
    """

    def bounded(mine: FloatArray, others: FloatArray, earned: FloatArray) -> NDArray[np.float64]:
        allowed = np.maximum(np.maximum(at_least, share * others), 2.0 * earned)
        found: NDArray[np.float64] = np.minimum(1.0, allowed / np.maximum(mine, 1.0))
        return found

    total = events.sum()
    new = _newness(events)
    mine, theirs = (new * events).sum(), (new * earned).sum()
    together = bounded(mine, total - mine, theirs)
    scales = bounded(events, total - events, earned) * (1.0 - new * (1.0 - together))
    scales[0] = 1.0
    return np.asarray(scales, dtype=np.float64)
