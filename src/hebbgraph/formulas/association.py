r"""One associative memory: what questions say and what is cited for them fire together.

Each cited chunk c has a sum :math:`M_c` of the cues of the questions that cited it, each question a
unit vector times what its lesson weighs. A new question q recalls c by

.. math:: \cos(q, M_c)\,\bigl(g + h\, (\sqrt{n_c} - 1)\bigr), \qquad n_c = |M_c|

by how alike it is to what was asked for c, and by how often that was confirmed, up to nine times.
:math:`n_c` grows with the number of lessons that agree, and like its root where they ask different
things, so it is bounded by what was seen. Cues are words and names in one such sum, and vectors in
another. A chunk that was rejected has a sum of its own, which counts against it.

The rule is Hebb's: a weight between a cue and a chunk grows by the product of both activities. A
sum over lessons can be taken apart again, so forgetting is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, flatnonzero

__all__ = [
    "LEAST_TAUGHT",
    "as_far_as_sure",
    "in_order",
    "led",
    "recalled",
    "settled",
    "unit_rows",
]

#: What was hardly taught is hardly remembered: below this, likeness counts in proportion.
LEAST_TAUGHT = 0.5
#: However often it is said, it counts no more than nine times.
_MOST_OFTEN = 2.0
#: Below and above these, scores are squeezed: they stay within bounds, and in their order.
_FLOOR, _KNEE = 1e-6, 0.9
#: How fast scores vanish below that.
_SINKING = 0.01
#: What was said of the very question leads by so much of the best if it is wholly believed: a
#: newcomer who is believed by two thirds leads, too.
_LEADS = 0.5
#: By such a share a score lies behind an equal one: hits tie within nine decimals.
_TIE = 1e-5


def recalled(
    dot: FloatArray, squared: FloatArray, *, by_chance: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return likeness, and likeness times what further lessons add: the root of how many, less 1.

    Parameters
    ----------
    dot : ndarray of float
        Products of the question with the sums of chunks.
    squared : ndarray of float
        Their squared lengths.
    by_chance : float, in [0, 1)
        Likeness that unrelated questions reach: it counts as none.

    Examples
    --------
    A chunk that four lessons cited for the same question, asked again; and one that was taught
    by somebody who is hardly believed:

    >>> [part.round(3).tolist() for part in recalled(np.array([4.0, 0.01]), np.array([16, 1e-4]))]
    [[1.0, 0.02], [1.0, 0.0]]
    """
    length = np.maximum(np.sqrt(np.maximum(squared, 0.0)), LEAST_TAUGHT)
    likeness = np.maximum(dot / length - by_chance, 0.0) / (1.0 - by_chance)
    return likeness, likeness * np.clip(np.sqrt(length) - 1.0, 0.0, _MOST_OFTEN)


def as_far_as_sure(
    sure: float, alike: float, gain: FloatArray, pays: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what memory adds, and what taught chunks pay, where search is so sure, in [0, 1].

    Where search is unsure its scores are small, and any likeness would outweigh their order: so
    both count in proportion to them. Taught chunks pay for what memory may give them back. It gives
    nothing for a question ``alike`` to none that was taught, in [0, 1], so there they pay nothing.

    >>> added, pays = as_far_as_sure(0.1, 0.25, np.array([0.5]), np.array([0.4]))
    >>> added.round(4).tolist(), pays.round(4).tolist()
    ([0.05], [0.02])
    """
    return sure * gain, sure * alike**0.5 * pays


def in_order(scores: FloatArray, order: IntArray) -> NDArray[np.float64]:
    """Return scores with none above one that is ahead of it.

    >>> in_order(np.array([0.9, 0.2, 0.1]), np.array([1, 0, 2])).round(3).tolist()
    [0.2, 0.2, 0.1]
    """
    least = np.minimum.accumulate(scores[order])
    behind = least < scores[order]
    found = np.empty(len(scores))
    found[order] = least * (1.0 - _TIE * behind.cumsum() * behind)
    return found


def led(scores: FloatArray, said: FloatArray, plain: FloatArray) -> NDArray[np.float64]:
    """Return scores with what was said of the very question ahead, as far as it is believed.

    ``plain`` are scores without learning, ``scores`` those with what other questions taught.

    >>> led(np.array([1.0, 0.2]), np.array([0.0, 0.9]), np.array([1.0, 0.2])).round(3).tolist()
    [1.0, 1.37]
    """
    first = (1.0 + _LEADS) * max(float(scores.max(initial=0.0)), 1.0)
    found: NDArray[np.float64] = np.maximum(scores, plain + said * (first - plain))
    return np.where(said > 0, found, scores)


def settled(scores: FloatArray, most: float = 1.0) -> NDArray[np.float64]:
    """Return scores in (0, most] in the same order; most of them stay as they are.

    Those above nine tenths of the most give way if the best exceeds it, and those near 0.

    >>> settled(np.array([0.5, 0.2])).tolist(), settled(np.array([1.9, 1.0, 0.3])).tolist()
    ([0.5, 0.2], [1.0, 0.91, 0.3])
    """
    kept = np.array(scores, np.float64)
    floor, knee, best = _FLOOR * most, _KNEE * most, float(kept.max(initial=0.0))
    low, high = flatnonzero(kept < floor), flatnonzero(kept > knee)
    kept[low] = floor * np.exp((kept[low] - floor) / _SINKING)
    if best > most:
        kept[high] = knee + (most - knee) * (kept[high] - knee) / (best - knee)
    return kept


def unit_rows(rows: FloatArray) -> NDArray[np.float32]:
    """Return rows of unit length; rows of zeros stay."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    length[length == 0] = 1.0
    return np.asarray(rows / length[:, None], np.float32)
