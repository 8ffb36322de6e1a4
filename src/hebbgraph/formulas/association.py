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

from hebbgraph.arrays import FloatArray, flatnonzero

__all__ = ["LEAST_TAUGHT", "recalled", "settled", "unit_rows"]

#: What was hardly taught is hardly remembered: below this, likeness counts in proportion.
LEAST_TAUGHT = 0.5
#: However often it is said, it counts no more than nine times.
_MOST_OFTEN = 2.0
#: Below this, scores are squeezed, since they must stay positive and keep their order.
_FLOOR = 0.01


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


def settled(scores: FloatArray) -> NDArray[np.float64]:
    """Return scores in (0, 1] in the same order: divided by the best if that exceeds 1.

    >>> settled(np.array([0.5, 0.2])).tolist(), settled(np.array([1.6, 0.8])).tolist()
    ([0.5, 0.2], [1.0, 0.5])
    """
    kept = np.array(scores, np.float64)
    low = flatnonzero(kept < _FLOOR)
    kept[low] = _FLOOR * np.exp(kept[low] / _FLOOR - 1.0)
    best = float(kept.max(initial=0.0))
    return kept / best if best > 1.0 else kept


def unit_rows(rows: FloatArray) -> NDArray[np.float32]:
    """Return rows of unit length; rows of zeros stay."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    length[length == 0] = 1.0
    return np.asarray(rows / length[:, None], np.float32)
