r"""The rule of learned edges: what a question says and what is cited for it are associated.

Each chunk c has a sum :math:`M_c` of the questions that cited it: each question is a unit vector of
cues, times the weight of its lesson. For a new question q, lessons add to the score of c

.. math:: \cos(q, M_c)\,\bigl(g + h\, (\sqrt{n_c} - 1)\bigr), \qquad n_c = |M_c|

:math:`g` rewards likeness to what was asked for c, :math:`h` repetition. :math:`n_c` grows with the
number of lessons that agree, and like its root where they ask different things; it counts up to
nine. Words and names are cues of one such sum, an embedding is another. A rejected chunk has a sum
of its own, which counts against it.

The rule is Hebb's: the weight between a cue and a chunk grows by the product of both activities.
Sums can be taken apart again, so forgetting is exact.
"""

from __future__ import annotations

import math

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray

#: Sums shorter than this count in proportion: what was hardly taught counts little.
LEAST_TAUGHT = 0.5
#: An answer that cites all of at least this many shown chunks teaches nothing.
MANY_SHOWN = 5
#: Bound of √n − 1: nine lessons that agree count as much as any number.
_MOST_REPEATED = 2.0
#: Scores below the floor and above the knee are squeezed into bounds; scores below the floor
#: vanish as fast as ``exp(score / _SINKING)``.
_FLOOR, _KNEE, _SINKING = 1e-6, 0.9, 0.01
#: A citation for the very question leads the best score by so much if it is wholly believed. It
#: leads from a belief of two thirds on, so a newcomer's does, too.
_LEAD = 0.5
#: The share by which a score stays behind an equal one: hits tie within nine decimals.
_TIE = 1e-5


def likeness(
    dot: FloatArray, squared: FloatArray, *, by_chance: float = 0.0, power: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the cosine of a question with each sum, to a power, and that times √n − 1.

    ``dot`` are products of the question with the sums of chunks, ``squared`` their squared lengths.
    The cosine that unrelated questions reach ``by_chance``, in [0, 1), counts as none.

    A chunk that four lessons cited for the same question, asked again; and one that was taught by
    somebody who is hardly believed:

    >>> [part.round(3).tolist() for part in likeness(np.array([4.0, 0.01]), np.array([16, 1e-4]))]
    [[1.0, 0.02], [1.0, 0.0]]

    Of embeddings, a cosine of .65 is halfway from .3 to 1, and a quarter of full likeness:

    >>> likeness(np.array([0.65, 0.3]), np.ones(2), by_chance=0.3, power=2.0)[0].round(3).tolist()
    [0.25, 0.0]
    """
    length = np.maximum(np.sqrt(np.maximum(squared, 0.0)), LEAST_TAUGHT)
    cosine = np.clip((dot / length - by_chance) / (1.0 - by_chance), 0.0, 1.0) ** power
    return cosine, cosine * np.clip(np.sqrt(length) - 1.0, 0.0, _MOST_REPEATED)


def cue_rarity(n_led: IntArray, n_texts: int) -> FloatArray:
    """Return the squared rarity of cues that lead to so many of all taught texts.

    >>> cue_rarity(np.array([0, 9, 99]), 100).round(1).tolist()
    [21.3, 5.7, 0.5]
    """
    return np.log1p(n_texts / (1.0 + n_led)) ** 2


def shared_credit(n_cited: int, n_shown: int) -> float:
    """Return the credit of each cited chunk, in [0, 1].

    ``(1 - (n_cited / n_shown)²) / √n_cited``: whoever cites nearly all prefers nothing. If few
    chunks are shown, the first factor is 1.

    >>> round(shared_credit(1, 10), 2), shared_credit(10, 10), shared_credit(4, 4)
    (0.99, 0.0, 0.5)
    """
    if not n_cited:
        return 0.0
    choice = 1.0 - (n_cited / n_shown) ** 2 if n_shown >= MANY_SHOWN else 1.0
    return max(choice, 0.0) / math.sqrt(n_cited)


def scale_by_confidence(
    confidence: float, greatest_likeness: float, gain: FloatArray, handicap: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what lessons add to a score, and what a taught chunk loses, at some confidence.

    An unsure search gives small scores, and any likeness would outweigh their order; so both shrink
    with the confidence, in [0, 1], unless the question is much like a taught one. Taught chunks pay
    a handicap because lessons may give it back; for a question like none they give nothing.

    >>> gain, handicap = scale_by_confidence(0.1, 0.25, np.array([0.5]), np.array([0.4]))
    >>> gain.round(4).tolist(), handicap.round(4).tolist()
    ([0.05], [0.02])
    """
    sure = max(confidence, greatest_likeness**4)
    return sure * gain, confidence * greatest_likeness**0.5 * handicap


def keep_order(scores: FloatArray, order: IntArray) -> FloatArray:
    """Lower scores until none exceeds one that precedes it in ``order``."""
    least = np.minimum.accumulate(scores[order])
    is_lowered = least < scores[order]
    kept = np.empty(len(scores))
    kept[order] = least * (1.0 - _TIE * is_lowered.cumsum() * is_lowered)
    return kept


def lead(scores: FloatArray, belief: FloatArray, plain: FloatArray) -> FloatArray:
    """Put ahead what was cited for the very question, as far as that is believed.

    What was rejected for it loses the share of its score that is believed. ``plain`` are scores
    without learning, ``scores`` those with what other questions taught.

    >>> lead(np.array([1.0, 0.2]), np.array([-0.5, 0.9]), np.array([1.0, 0.2])).round(3).tolist()
    [0.5, 1.37]
    """
    first = (1.0 + _LEAD) * max(float(scores.max(initial=0.0)), 1.0)
    ahead: FloatArray = np.maximum(scores, plain + belief * (first - plain))
    return np.where(belief > 0, ahead, np.minimum(scores, scores * (1.0 + belief)))


def squeeze(scores: FloatArray, most: float = 1.0) -> FloatArray:
    """Squeeze scores into (0, most] and keep their order.

    Only scores near 0 change, and those above nine tenths of ``most`` if the best exceeds it.

    >>> squeeze(np.array([0.5, 0.2])).tolist(), squeeze(np.array([1.9, 1.0, 0.3])).tolist()
    ([0.5, 0.2], [1.0, 0.91, 0.3])
    """
    squeezed = np.array(scores, np.float64)
    floor, knee, best = _FLOOR * most, _KNEE * most, float(squeezed.max(initial=0.0))
    low, high = np.flatnonzero(squeezed < floor), np.flatnonzero(squeezed > knee)
    squeezed[low] = floor * np.exp((squeezed[low] - floor) / _SINKING)
    if best > most:
        squeezed[high] = knee + (most - knee) * (squeezed[high] - knee) / (best - knee)
    return squeezed
