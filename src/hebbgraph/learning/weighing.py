"""What each lesson weighs: belief in it, less as others come after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, equal_later, sum_by, unique_inverse
from hebbgraph.formulas.claims import Votes, contradicted, settle
from hebbgraph.formulas.credibility import Credibility
from hebbgraph.learning.actors import TRUSTED
from hebbgraph.learning.lessons import CITED, Lessons

__all__ = ["MIN_WEIGHT", "Weights", "clock", "count_repeats", "decayed", "exact_judgements"]

#: A lesson that weighs less has no effect, not even among equals.
MIN_WEIGHT = 0.02
#: A question of fewer words counts less as the very question: function words are left out.
_TELLING_WORDS = 2


class Weights(NamedTuple):
    """What each lesson weighs, with and without the share of its side; repeats by its actor."""

    amount: NDArray[np.float64]
    undisputed: NDArray[np.float64]
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
) -> Weights:
    """Return what each lesson weighs as of the clock ``at``, from belief in its actor.

    An actor who speaks of a question again counts little more than once, and most by the last
    word. ``shares`` are those of the sides of lessons, and ``retention`` is what a lesson keeps
    when another one follows that is wholly believed.
    """
    belief = belief / (1.0 + repeats) ** 2
    passed = np.cumsum(belief)  # disbelieved and repeated lessons age nothing
    age = np.maximum(passed[at - 1] - passed, 0.0) if at else 0.0 * passed
    undisputed = belief * retention**age
    undisputed[undisputed < MIN_WEIGHT] = 0.0
    amount = undisputed * shares
    return Weights(np.where(amount < MIN_WEIGHT, 0.0, amount), undisputed, repeats)


def count_repeats(lessons: Lessons, first: int, until: int) -> IntArray:
    """Return how often the actor of each lesson in a span speaks of its question later in it.

    The trusted actor may be many people, so each of its lessons counts as the first.
    """
    span = slice(first, until)
    actor = lessons.actor[span]
    return np.where(
        actor == TRUSTED, 0, equal_later(lessons.question[span], lessons.kind[span], actor)
    )


def exact_judgements(
    lessons: Lessons, links: IntArray, credibility: Credibility, weights: Weights, n_words: int
) -> tuple[IntArray, FloatArray]:
    """Return the nodes that are judged for the very question, and how far that is believed.

    Beliefs lie in [-1, 1]: rejected chunks have negative ones. Disputes are settled among all
    lessons on the question, later ones than the clock's last step, too. The last word of an actor
    counts: it halves each earlier word, and takes back what it contradicts. ``links`` are those of
    the question, in the order of the log.
    """
    credit, node = lessons.link_credit[links].astype(np.float64), lessons.link_node[links]
    asked, at = np.unique(lessons.link_lesson[links], return_inverse=True)
    actor, kind = lessons.actor[asked].astype(np.int64), lessons.kind[asked]
    chunks, chunk = unique_inverse(np.where(credit < 0, lessons.rejects[node], node))
    holds = ~contradicted(credit > 0, actor[at], kind[at], chunk)
    share = np.where(credibility.spared[asked] > 0, 1.0, credibility.overrules[actor])

    names, name = unique_inverse(actor)
    explicit = holds & (kind[at] == CITED)
    votes = Votes(
        np.zeros(explicit.sum(), np.int64),
        chunk[explicit],
        at[explicit],
        credit[explicit] > 0,
        name,
        lessons.agrees[asked].astype(np.float64),
        lessons.openness[asked].astype(np.float64),
    )
    sides, sinks = settle(votes, credibility.strength[names])
    weight = weights.undisputed[asked] * (1.0 + weights.repeats[asked]) ** 2
    sunk = np.zeros(len(chunks))
    np.maximum.at(sunk, chunk[explicit], weight[at[explicit]] * sinks)
    # Chunks cited together are no rivals here, so the square root takes credit's sharing back.
    n_cited = np.bincount(at, credit > 0, len(asked))
    weight = weight * share * sides * np.sqrt(n_cited) * 0.5 ** equal_later(actor, kind)
    belief = np.where(holds, weight[at] * np.maximum(credit, 0.0), 0.0)
    cited = np.minimum(sum_by(chunk, belief, len(chunks)), 1.0)
    return chunks, min(n_words / _TELLING_WORDS, 1.0) * (cited - sunk)
