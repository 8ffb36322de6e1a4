"""What each lesson weighs: belief in whoever gave it, less as others come after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, sum_by, unique_inverse
from hebbgraph.formulas.credibility import Judgement
from hebbgraph.learning.actors import TRUSTED, allowed_deeds
from hebbgraph.learning.associations import Associations, Part, Rarity
from hebbgraph.learning.kinds import UNKNOWN, believed_kinds
from hebbgraph.learning.lessons import CITED, Lessons
from hebbgraph.settings import LearningSettings

__all__ = ["MIN_WEIGHT", "Deeds", "amounts", "clock", "said_of", "spoken_again"]

#: A lesson that weighs less has no effect, not even among equals.
MIN_WEIGHT = 0.02
#: So many words tell a question from others; function words do not count.
_TELLING = 2


def clock(n_events: int) -> int:
    """Return the event as of which what was taught is read: a step back of at most a sixteenth.

    Every feedback decays all others a little, and is an exam. Readers see that in steps that
    depend on the number of feedbacks alone: each one up to 32, then every second, fourth and so
    on. At ten thousand, a step is 3.5 % of a weight.

    >>> [clock(n) for n in (3, 31, 33, 1001)]
    [3, 31, 32, 992]
    """
    step = 1 << max((n_events // 16).bit_length() - 1, 0)
    return n_events - n_events % step


def amounts(
    at: int, scale: FloatArray, spoken: IntArray, worth: FloatArray, retention: float
) -> NDArray[np.float64]:
    """Return what each lesson weighs as of the clock ``at``, of which ``worth`` tells."""
    # Whoever speaks of a question again counts little more than once, and most by the last word.
    scale = scale / (1.0 + spoken) ** 2
    # What nobody believes, and what is said again, ages nothing.
    passed = np.cumsum(scale)
    age = np.maximum(passed[at - 1] - passed, 0.0) if at else 0.0 * passed
    amount = scale * retention**age
    amount[:at] *= worth
    return np.where(amount < MIN_WEIGHT, 0.0, amount)


class Deeds(NamedTuple):
    """What people's deeds count: each kind, and how far each actor's are allowed."""

    believed: NDArray[np.float64]
    allowed: FloatArray

    @classmethod
    def of(cls, lessons: Lessons, at: int, said: FloatArray, settings: LearningSettings) -> Deeds:
        """Judge deeds by the citations before ``at``, which weigh ``said``."""
        rarity = Rarity.of(lessons, at, said)
        citations = Associations(rarity, Part(lessons, 0, at, said, rarity))
        believed = believed_kinds(lessons, at, citations, said)
        return cls(believed, allowed_deeds(lessons, at, settings))

    def share(self, lessons: Lessons) -> NDArray[np.float64]:
        """Return what each lesson counts by its kind, and by how much its actor has done."""
        known = lessons.kind < len(self.believed)
        share = np.where(known, self.believed[np.where(known, lessons.kind, 0)], UNKNOWN)
        bound = self.allowed[np.minimum(lessons.voice, len(self.allowed) - 1)]
        return np.where(lessons.kind == CITED, 1.0, share * bound)


def spoken_again(lessons: Lessons, first: int, until: int) -> IntArray:
    """Return how often the voice of each of some lessons speaks of its question later among them.

    The trusted voice, which may be that of many, speaks each time anew.
    """
    some = slice(first, until)
    voice = lessons.voice[some]
    return np.where(voice == TRUSTED, 0, _later(lessons.question[some], lessons.kind[some], voice))


def _later(*columns: IntArray) -> IntArray:
    """Return how many rows after each row are equal to it."""
    order = np.lexsort(columns)
    n = len(order)
    is_last = np.ones(n, np.bool_)
    is_last[:-1] = np.any([one[order[1:]] != one[order[:-1]] for one in columns], axis=0)
    last = np.flatnonzero(is_last)
    found = np.empty(n, np.int64)
    found[order] = last[last.searchsorted(np.arange(n))] - np.arange(n)
    return found


def said_of(
    lessons: Lessons,
    links: IntArray,
    judgement: Judgement,
    amount: FloatArray,
    spoken: IntArray,
    n_words: int,
) -> tuple[IntArray, FloatArray]:
    """Return the chunks that some links cite for the very question, and how far that is believed.

    Of one voice the last word counts: it halves each word before it, and takes back what it
    contradicts. Function words are no part of the question, so one word alone may stand for
    another one.

    Parameters
    ----------
    lessons : Lessons
    links : ndarray of int
        Of one question, in the order of the log.
    judgement : Judgement
    amount, spoken : ndarray, shape (n_lessons,)
        What lessons weigh, and how often their voices spoke of the question again.
    n_words : int
    """
    credit, node = lessons.link_credit[links].astype(np.float64), lessons.link_node[links]
    asked, at = np.unique(lessons.link_lesson[links], return_inverse=True)
    voice, kind = lessons.voice[asked].astype(np.int64), lessons.kind[asked]
    overrules, spared = judgement.overrules, judgement.spared
    share = overrules[np.minimum(voice, len(overrules) - 1)]
    known = asked < len(spared)
    share[known] = np.where(spared[asked[known]] > 0, 1.0, share[known])
    # Several that are right are no rivals, so credit is not shared here.
    n_cited = np.bincount(at, credit > 0, len(asked))
    weight = amount[asked] * (1.0 + spoken[asked]) ** 2 * share * 0.5 ** _later(voice, kind)
    said = (weight * np.sqrt(n_cited))[at] * np.maximum(credit, 0.0)
    chunks, chunk = unique_inverse(np.where(credit < 0, lessons.rejects[node], node))
    words = voice[at], kind[at], chunk
    # Some word after it says the contrary.
    said[_later(*words) > _later(*words, np.sign(credit).astype(np.int64))] = 0.0
    told = min(n_words / _TELLING, 1.0)
    return chunks, told * np.minimum(sum_by(chunk, said, len(chunks)), 1.0)
