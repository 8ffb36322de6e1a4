"""Lessons as exams: what each kind of evidence said of the cited chunk before it was taught."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, flatnonzero, top_n
from hebbgraph.formulas.association import LEAST_TAUGHT, as_far_as_sure, recalled
from hebbgraph.formulas.trust import KINDS, Exams, Trust, fit_trust
from hebbgraph.learning.associations import Asked, Associations, Pairs, Sums, seeds_among
from hebbgraph.learning.lessons import BEYOND, CITED, Lessons

__all__ = ["alike", "brought_back", "examined", "taught_share"]

#: So many lessons are exams, drawn by lot; of each, so many chunks that memory brings.
_MOST, _BROUGHT = 256, 20
#: Fewer chunks than this are no choice.
_CHOICE = 5
#: From this on, a chunk counts as taught.
_TAUGHT = 0.5
#: Rejections count by likeness to this power.
_ONLY_FOR_THIS = 4.0
#: Cosines of unrelated questions, seen from where all questions lie, hardly exceed this.
VECTORS_BY_CHANCE = 0.3
_PLAIN = np.array(Trust().gains)


def taught_share(taught: FloatArray) -> FloatArray:
    """Return how far chunks count as taught, in [0, 1]."""
    share: FloatArray = np.minimum(taught / _TAUGHT, 1.0)
    return share


def alike(brought: FloatArray) -> float:
    """Return how alike a question is to any that was taught, by words or vectors, in [0, 1]."""
    return float(brought[:, [0, 2]].max(initial=0.0))


def brought_back(
    words: Sums, vectors: Sums | None, pairs: FloatArray, rejects: IntArray, near: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return the chunks that a question touches, ascending, and what memory brings for each.

    All other chunks are left out, so that a question costs what it touches.

    Parameters
    ----------
    words, vectors : Sums
    pairs : ndarray of float, shape (n,)
        See :meth:`hebbgraph.learning.associations.Together.completed`.
    rejects : ndarray of int, shape (n,)
        See :attr:`hebbgraph.learning.lessons.Lessons.rejects`.
    near : ndarray of int
        Chunks to include in any case.

    Returns
    -------
    nodes : ndarray of int, shape (m,)
    brought : ndarray of float, shape (m, n_kinds)
    """
    touched = (words.dot > 0) | (pairs > 0)
    if vectors is not None:
        touched |= vectors.dot > VECTORS_BY_CHANCE * LEAST_TAUGHT
    touched[near] = True
    nodes = flatnonzero(touched)
    brought = np.zeros((len(nodes), len(KINDS)))
    brought[:, 0], brought[:, 1] = recalled(words.dot[nodes], words.squared[nodes])
    if vectors is not None:
        brought[:, 2], brought[:, 3] = recalled(
            vectors.dot[nodes], vectors.squared[nodes], by_chance=VECTORS_BY_CHANCE
        )
    brought[:, 4] = pairs[nodes]
    rejected = rejects[nodes]
    against = flatnonzero(rejected >= 0)
    if len(against):
        # What is wrong for one question may be right for another that is somewhat like it. And a
        # thousand rejections count as one that is believed.
        likenesses = np.maximum(brought[against], 0.0) ** _ONLY_FOR_THIS
        likenesses[:, [1, 3]] = 0.0
        at = np.minimum(nodes.searchsorted(rejected[against]), len(nodes) - 1)
        known = nodes[at] == rejected[against]
        brought[at[known]] -= likenesses[known]
        brought[against] = 0.0
    return nodes, brought


def examined(
    lessons: Lessons,
    until: int,
    associations: Associations,
    amount: FloatArray,
    takes_part: BoolArray,
) -> Trust:
    """Hold the exams of the first so many lessons, and return what follows from them.

    Kinds of memory that take no part in recalls take none in exams: else taught chunks would pay
    for help that they never get.
    """
    able = np.flatnonzero(np.diff(lessons.shown_ends[: until + 1]) > 0)
    able = able[np.isin(able, lessons.link_lesson[lessons.link_credit > 0])]
    able = able[(lessons.kind[able] == CITED) & (amount[able] > 0)]
    # Whoever says it again says nothing new.
    drawn = able[np.unique(_lots(lessons.draw[able]), return_index=True)[1][:_MOST]]
    if not len(drawn):
        return Trust()
    exams = [_exam(lessons, lesson, until, associations, amount) for lesson in drawn.tolist()]
    width = max(len(cited) for _, _, cited in exams)
    n, kinds = len(exams), len(KINDS) + 2
    features, unseen = np.zeros((2, n, width, kinds))
    cited, present = np.zeros((2, n, width), np.bool_)
    for at, (first, second, which) in enumerate(exams):
        features[at, : len(which)], unseen[at, : len(which)] = first, second
        cited[at, : len(which)], present[at, : len(which)] = which, True
    features[..., 1:-1] *= takes_part
    unseen[..., 1:-1] *= takes_part
    weight = np.minimum(amount[drawn], 1.0)
    return fit_trust(Exams(features, unseen, cited, present, weight))


def _lots(said: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in place of what lessons say, which nobody can foresee who chooses words.

    They depend on the first lessons of the log, of as many as there are exams. Equal logs give
    equal numbers. The mixer is that of SplitMix64 [1]_.

    References
    ----------
    .. [1] Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators.
    """
    mixed = said ^ np.bitwise_xor.reduce(said[:_MOST])
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    lots: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return lots


def _asked(lessons: Lessons, lesson: int, associations: Associations) -> Asked:
    for name, vectors in lessons.vectors.items():
        at = int(vectors.whose.view.searchsorted(lesson))
        if at < len(vectors.whose) and vectors.whose.view[at] == lesson:
            vector = vectors.rows.view[at].astype(np.float32)
            return associations.read(lessons.cues(lesson), vector, name)
    return associations.read(lessons.cues(lesson), None, "")


def _exam(
    lessons: Lessons, lesson: int, until: int, associations: Associations, amount: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return the features of candidates, the same if nothing of the cited had been taught."""
    n = associations.n
    asked = _asked(lessons, lesson, associations)
    links = lessons.links_of([lesson])
    nodes = lessons.link_node[links]
    own = amount[lesson] * np.abs(lessons.link_credit[links]).astype(np.float64)
    cited = nodes[lessons.link_credit[links] > 0]
    shown, scores = lessons.shown(lesson)
    static = np.full(n, BEYOND * float(scores.min()))
    static[shown] = scores
    at, mass = seeds_among(scores.astype(np.float64))
    mine = Pairs.of(lessons, links, amount)
    seed, pair = np.nonzero(shown[at][:, None] == mine.source)
    less = seed, mine.target[pair], -mine.amount[pair]
    pairs = associations.together(shown[at], less).completed(mass, n)
    words = _without(associations.by_cues(asked), nodes, own)
    if (vectors := associations.by_vector(asked)) is not None:
        vectors = _without(vectors, nodes, own)
    taught = associations.taught.copy()
    taught[nodes] -= own
    near = np.concatenate((shown, cited))
    reached, brought = brought_back(words, vectors, pairs, lessons.rejects[:n], near)
    candidates = np.unique(shown)
    if len(candidates) < _CHOICE or not np.isin(cited, shown).all():
        # Who chose among what was shown says nothing of the rest; who cites beyond it knows more.
        best = reached[top_n(brought @ _PLAIN, _BROUGHT)]
        candidates = np.union1d(candidates, np.append(cited, best))
    # Whoever cites one of two right chunks says nothing against the other.
    asked_too = np.array(lessons.asked(int(lessons.question[lesson])), np.int64)
    asked_too = asked_too[(asked_too < until) & (amount[asked_too] > 0)]
    links = lessons.links_of(asked_too)
    elsewhere = np.setdiff1d(lessons.link_node[links[lessons.link_credit[links] > 0]], cited)
    candidates = np.setdiff1d(candidates, elsewhere)

    sure = float(scores.max())

    def features(brought: FloatArray, taught: FloatArray) -> FloatArray:
        added, pays = as_far_as_sure(
            sure,
            alike(brought),
            brought[reached.searchsorted(candidates)],
            taught_share(np.maximum(taught[candidates, None], 0.0)),
        )
        return np.concatenate((static[candidates, None], added, -pays), axis=1)

    first = features(brought, taught)
    brought[reached.searchsorted(cited)], taught[cited] = 0.0, 0.0
    return first, features(brought, taught), np.isin(candidates, cited)


def _without(sums: Sums, nodes: IntArray, own: FloatArray) -> Sums:
    """Take a lesson out of the sums that it is a part of."""
    dot, squared = sums.dot.copy(), sums.squared.copy()
    squared[nodes] = np.maximum(squared[nodes] - 2.0 * own * dot[nodes] + own**2, 0.0)
    dot[nodes] = np.maximum(dot[nodes] - own, 0.0)
    return Sums(dot, squared)
