"""What each lesson weighs: belief in it, less as others come after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, sum_by, unique_inverse
from hebbgraph.formulas.credibility import Credibility
from hebbgraph.learning.actors import TRUSTED
from hebbgraph.learning.lessons import Lessons

__all__ = ["MIN_WEIGHT", "Weights", "clock", "count_repeats", "decayed", "exact_citations"]

#: A lesson that weighs less has no effect, not even among equals.
MIN_WEIGHT = 0.02
#: A question of fewer words counts less as the very question: function words are left out.
_TELLING_WORDS = 2


class Weights(NamedTuple):
    """What each lesson weighs, and how often its actor spoke of the question again."""

    amount: NDArray[np.float64]
    repeats: IntArray


def clock(n_lessons: int) -> int:
    """Return how many lessons the epoch holds: all but at most a sixteenth.

    Each lesson ages the others, is an exam and says something of its actor. What follows from
    that is computed again with each lesson up to 32, then with every second, fourth and so on.
    At ten thousand, a step is 3.5 % of a weight.

    >>> [clock(n) for n in (3, 31, 33, 1001)]
    [3, 31, 32, 992]
    """
    step = 1 << max((n_lessons // 16).bit_length() - 1, 0)
    return n_lessons - n_lessons % step


def decayed(
    at: int, belief: FloatArray, repeats: IntArray, shares: FloatArray, retention: float
) -> NDArray[np.float64]:
    """Return what each lesson weighs as of the clock ``at``, from belief in its actor.

    An actor who speaks of a question again counts little more than once, and most by the last
    word. ``shares`` are those of the sides of the first ``at`` lessons, and ``retention`` is what
    a lesson keeps when another one follows that is wholly believed.
    """
    belief = belief / (1.0 + repeats) ** 2
    passed = np.cumsum(belief)  # disbelieved and repeated lessons age nothing
    age = np.maximum(passed[at - 1] - passed, 0.0) if at else 0.0 * passed
    amount = belief * retention**age
    amount[:at] *= shares
    return np.where(amount < MIN_WEIGHT, 0.0, amount)


def count_repeats(lessons: Lessons, first: int, until: int) -> IntArray:
    """Return how often the actor of each lesson in a span speaks of its question later in it.

    The trusted actor may be many people, so each of its lessons counts as the first.
    """
    span = slice(first, until)
    actor = lessons.actor[span]
    return np.where(actor == TRUSTED, 0, _later(lessons.question[span], lessons.kind[span], actor))


def _later(*columns: IntArray) -> IntArray:
    """Return how many rows after each row are equal to it."""
    order = np.lexsort(columns)
    n = len(order)
    is_last = np.ones(n, np.bool_)
    is_last[:-1] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    last = np.flatnonzero(is_last)
    later = np.empty(n, np.int64)
    later[order] = last[last.searchsorted(np.arange(n))] - np.arange(n)
    return later


def exact_citations(
    lessons: Lessons, links: IntArray, credibility: Credibility, weights: Weights, n_words: int
) -> tuple[IntArray, FloatArray]:
    """Return the nodes that are cited for the very question, and how far that is believed.

    The last word of an actor counts: it halves each earlier word, and takes back what it
    contradicts. ``links`` are those of the question, in the order of the log.
    """
    credit, node = lessons.link_credit[links].astype(np.float64), lessons.link_node[links]
    asked, at = np.unique(lessons.link_lesson[links], return_inverse=True)
    actor, kind = lessons.actor[asked].astype(np.int64), lessons.kind[asked]
    overrules, spared = credibility.overrules, credibility.spared
    share = overrules[np.minimum(actor, len(overrules) - 1)]
    judged = asked < len(spared)
    share[judged] = np.where(spared[asked[judged]] > 0, 1.0, share[judged])
    # Chunks cited together are no rivals here, so the square root takes credit's sharing back.
    n_cited = np.bincount(at, credit > 0, len(asked))
    weight = weights.amount[asked] * (1.0 + weights.repeats[asked]) ** 2
    weight = weight * share * 0.5 ** _later(actor, kind)
    belief = (weight * np.sqrt(n_cited))[at] * np.maximum(credit, 0.0)
    chunks, chunk = unique_inverse(np.where(credit < 0, lessons.rejects[node], node))
    claim = actor[at], kind[at], chunk
    is_contradicted = _later(*claim) > _later(*claim, np.sign(credit).astype(np.int64))
    belief[is_contradicted] = 0.0
    telling = min(n_words / _TELLING_WORDS, 1.0)
    return chunks, telling * np.minimum(sum_by(chunk, belief, len(chunks)), 1.0)
