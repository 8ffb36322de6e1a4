"""Exams: how far to trust memory, from where it would have put what lessons cited.

Each exam takes one lesson out of memory, asks its question again and notes, for each candidate
chunk, its score without learning and what memory brings. :mod:`hebbgraph.formulas.trust` fits the
gains to all exams.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, flatnonzero, top_n
from hebbgraph.formulas.association import LEAST_TAUGHT, likeness, scale_by_confidence
from hebbgraph.formulas.trust import KINDS, Exams, Trust, fit_trust
from hebbgraph.learning.associations import (
    Associations,
    MemoryQuery,
    Pairs,
    Products,
    SeedPairs,
    find_seeds,
)
from hebbgraph.learning.lessons import BEYOND, CITED, Lessons

__all__ = ["examine", "greatest_likeness", "memory_evidence", "share_taught"]

#: How many lessons are exams; how many chunks that memory brings are candidates of each.
_N_EXAMS, _N_BROUGHT = 256, 20
#: Readers who were shown fewer chunks than this had no choice.
_CHOICE = 5
#: A chunk counts as taught once lessons of this weight cited or rejected it.
_TAUGHT = 0.5
#: A rejection counts by likeness to this power: what is wrong for one question may be right for
#: a similar one.
_REJECTION_POWER = 4.0
#: Cosines of the vectors of unrelated questions hardly exceed this.
VECTORS_BY_CHANCE = 0.3
_DEFAULT_GAINS = np.array(Trust().gains)


def share_taught(taught: FloatArray) -> FloatArray:
    """Return how far chunks count as taught, in [0, 1]."""
    share: FloatArray = np.minimum(taught / _TAUGHT, 1.0)
    return share


def greatest_likeness(evidence: FloatArray) -> float:
    """Return how like a question is to what was asked for any chunk, in [0, 1]."""
    return float(evidence[:, :3:2].max(initial=0.0))


def memory_evidence(
    words: Products, vectors: Products | None, pairs: FloatArray, rejects: IntArray, near: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return the nodes that a question touches, ascending, and what memory says of each.

    All other nodes are left out, so that a question costs what it touches; ``near`` are included
    in any case. ``pairs`` and ``rejects`` have a value for each node. The evidence has a column for
    each of :data:`hebbgraph.formulas.trust.KINDS`, and is negative for chunks that were rejected.
    """
    touched = (words.dot > 0) | (pairs > 0)
    if vectors is not None:
        touched |= vectors.dot > VECTORS_BY_CHANCE * LEAST_TAUGHT
    touched[near] = True
    nodes = flatnonzero(touched)
    evidence = np.zeros((len(nodes), len(KINDS)))
    evidence[:, 0], evidence[:, 1] = likeness(words.dot[nodes], words.squared[nodes])
    if vectors is not None:
        evidence[:, 2], evidence[:, 3] = likeness(
            vectors.dot[nodes], vectors.squared[nodes], by_chance=VECTORS_BY_CHANCE
        )
    evidence[:, 4] = pairs[nodes]
    rejected = rejects[nodes]
    rejections = flatnonzero(rejected >= 0)
    if len(rejections):
        against = np.maximum(evidence[rejections], 0.0) ** _REJECTION_POWER
        against[:, [1, 3]] = 0.0  # a thousand rejections count as one that is believed
        at = np.minimum(nodes.searchsorted(rejected[rejections]), len(nodes) - 1)
        known = nodes[at] == rejected[rejections]
        evidence[at[known]] -= against[known]
        evidence[rejections] = 0.0
    return nodes, evidence


def examine(
    lessons: Lessons,
    until: int,
    associations: Associations,
    amount: FloatArray,
    takes_part: BoolArray,
) -> Trust:
    """Hold exams on the first ``until`` lessons, and fit trust to them.

    Kinds of memory that take no part in recalls take none in exams; otherwise taught chunks would
    pay for help that they never get.
    """
    able = np.flatnonzero(np.diff(lessons.shown_ends[: until + 1]) > 0)
    able = able[np.isin(able, lessons.link_lesson[lessons.link_credit > 0])]
    able = able[(lessons.kind[able] == CITED) & (amount[able] > 0)]
    # Equal draws are the same words of the same actor, which count once.
    drawn = able[np.unique(_shuffle(lessons.draw[able]), return_index=True)[1][:_N_EXAMS]]
    if not len(drawn):
        return Trust()
    exams = [_exam(lessons, lesson, until, associations, amount) for lesson in drawn.tolist()]
    width = max(len(exam.cited) for exam in exams)
    features, untaught = np.zeros((2, len(exams), width, len(KINDS) + 2))
    cited, present = np.zeros((2, len(exams), width), np.bool_)
    for at, exam in enumerate(exams):
        n = len(exam.cited)
        features[at, :n], untaught[at, :n] = exam.features, exam.untaught
        cited[at, :n], present[at, :n] = exam.cited, True
    features[..., 1:-1] *= takes_part
    untaught[..., 1:-1] *= takes_part
    return fit_trust(Exams(features, untaught, cited, present, np.minimum(amount[drawn], 1.0)))


def _shuffle(draw: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the draws of lessons with the first ones of the log, as SplitMix64 does.

    So nobody can choose words that make a lesson an exam, and equal logs give equal numbers.
    """
    mixed = draw ^ np.bitwise_xor.reduce(draw[:_N_EXAMS])
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    shuffled: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return shuffled


class _Exam(NamedTuple):
    """One row of :class:`hebbgraph.formulas.trust.Exams`, not padded."""

    features: FloatArray
    untaught: FloatArray
    cited: BoolArray


def _exam(
    lessons: Lessons, lesson: int, until: int, associations: Associations, amount: FloatArray
) -> _Exam:
    """Ask a lesson's question again, without what the lesson taught."""
    links = lessons.links_of([lesson])
    nodes = lessons.link_node[links]
    cited = nodes[lessons.link_credit[links] > 0]
    weight = amount[lesson] * np.abs(lessons.link_credit[links]).astype(np.float64)
    shown, scores = lessons.shown(lesson)
    static = np.full(associations.n, BEYOND * float(scores.min()))
    static[shown] = scores

    reached, evidence = _evidence_without(lessons, lesson, associations, amount)
    taught = associations.taught.copy()
    taught[nodes] -= weight
    candidates = np.unique(shown)
    if len(candidates) < _CHOICE or not np.isin(cited, shown).all():
        # A choice among the chunks shown says nothing of others; a citation beyond them does.
        best = reached[top_n(evidence @ _DEFAULT_GAINS, _N_BROUGHT)]
        candidates = np.union1d(candidates, np.append(cited, best))
    candidates = np.setdiff1d(candidates, _cited_elsewhere(lessons, lesson, until, amount, cited))

    def features(evidence: FloatArray, taught: FloatArray) -> FloatArray:
        gain, handicap = scale_by_confidence(
            float(scores.max()),
            greatest_likeness(evidence),
            evidence[reached.searchsorted(candidates)],
            share_taught(np.maximum(taught[candidates, None], 0.0)),
        )
        return np.concatenate((static[candidates, None], gain, -handicap), axis=1)

    as_taught = features(evidence, taught)
    evidence[reached.searchsorted(cited)], taught[cited] = 0.0, 0.0
    return _Exam(as_taught, features(evidence, taught), np.isin(candidates, cited))


def _evidence_without(
    lessons: Lessons, lesson: int, associations: Associations, amount: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return what memory says of chunks for a lesson's question, without the lesson."""
    links = lessons.links_of([lesson])
    nodes = lessons.link_node[links]
    weight = amount[lesson] * np.abs(lessons.link_credit[links]).astype(np.float64)
    query = _query_of(lessons, lesson, associations)
    words = without(associations.match_cues(query), nodes, weight)
    if (vectors := associations.match_vector(query)) is not None:
        vectors = without(vectors, nodes, weight)

    shown, scores = lessons.shown(lesson)
    at, mass = find_seeds(scores.astype(np.float64))
    taught = Pairs.of(lessons, links, amount)
    seed, pair = np.nonzero(shown[at][:, None] == taught.source)
    less = SeedPairs(seed, taught.target[pair], -taught.weight[pair])
    pairs = associations.pairs_from(shown[at], less).completed(mass, associations.n)
    near = np.concatenate((shown, nodes[lessons.link_credit[links] > 0]))
    return memory_evidence(words, vectors, pairs, lessons.rejects[: associations.n], near)


def _query_of(lessons: Lessons, lesson: int, associations: Associations) -> MemoryQuery:
    for name, vectors in lessons.vectors.items():
        at = int(vectors.lesson.view.searchsorted(lesson))
        if at < len(vectors.lesson) and vectors.lesson.view[at] == lesson:
            vector = vectors.rows.view[at].astype(np.float32)
            return associations.query(lessons.cues(lesson), vector, name)
    return associations.query(lessons.cues(lesson), None, "")


def _cited_elsewhere(
    lessons: Lessons, lesson: int, until: int, amount: FloatArray, cited: IntArray
) -> IntArray:
    """Return what other lessons cite for the same question.

    These are no candidates: citing one of two right chunks says nothing against the other.
    """
    asked = np.array(lessons.on_question(int(lessons.question[lesson])), np.int64)
    asked = asked[asked < until]
    links = lessons.links_of(asked[amount[asked] > 0])
    return np.setdiff1d(lessons.link_node[links[lessons.link_credit[links] > 0]], cited)


def without(products: Products, nodes: IntArray, weight: FloatArray) -> Products:
    """Take a question out of the sums of some nodes, to which it was added with some weight."""
    dot, squared = products.dot.copy(), products.squared.copy()
    squared[nodes] = np.maximum(squared[nodes] - 2.0 * weight * dot[nodes] + weight**2, 0.0)
    dot[nodes] = np.maximum(dot[nodes] - weight, 0.0)
    return Products(dot, squared)
