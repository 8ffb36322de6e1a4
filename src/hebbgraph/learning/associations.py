"""The memory: for each chunk, the sum of the questions that cited it.

:class:`LessonSums` sums some lessons: by cues, by vectors, and by pairs of chunks.
:class:`Associations` adds up several such sums: one up to the clock's last step, and those of what
lessons since add and take back, so that a new lesson does not cost a sum over the whole log.
Products with a question add up over sums, and the length of all needs the products between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    FloatArray,
    IntArray,
    concatenated_ranges,
    sum_by,
    top_n,
    unique_inverse,
)
from hebbgraph.formulas.association import unit_rows
from hebbgraph.learning.lessons import Lessons

__all__ = [
    "Associations",
    "LessonSums",
    "MemoryQuery",
    "Pairs",
    "Products",
    "QuestionStatistics",
    "SeedPairs",
    "find_seeds",
]

#: A key holds a node in its upper bits and a cue in these lower ones.
_CUE_BITS = 40
_CUE_MASK = (1 << _CUE_BITS) - 1
#: Vectors are converted from half precision in blocks of this many rows.
_BLOCK = 4096
#: The mean of vectors is taken with this many zero vectors: one question alone is no mean.
_ZERO_VECTORS = 16.0
#: The best hits of search are seeds of pairs, each by its score to this power.
_N_SEEDS, _SHARPNESS = 5, 4.0
#: A seed's pairs are shares of its total and this many more lessons: one alone moves little.
_UNSURE_LESSONS = 4.0


def find_seeds(scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the positions of the best hits without learning, and the share of each."""
    best = top_n(scores, _N_SEEDS)
    mass = np.maximum(scores[best], 0.0) ** _SHARPNESS
    total = float(mass.sum())
    shares: FloatArray = mass / total if total > 0 else mass
    return best, shares


class MemoryQuery(NamedTuple):
    """A question as memory reads it: weighted cues and a vector, each of unit length or empty."""

    keys: NDArray[np.uint64]
    weights: FloatArray
    embedder: str = ""
    vector: NDArray[np.float32] | None = None


class Products(NamedTuple):
    """For each node, the product of a question with its sum, and the sum's squared length."""

    dot: FloatArray
    squared: FloatArray


@dataclass(frozen=True)
class QuestionStatistics:
    """How many questions have each cue, and the mean of their vectors by embedder."""

    keys: NDArray[np.uint64]
    n_with: NDArray[np.int64]
    n_questions: int
    centers: dict[str, NDArray[np.float32]]

    @classmethod
    def of(cls, lessons: Lessons, until: int, amount: FloatArray) -> QuestionStatistics:
        """Count the first ``until`` lessons, except those that weigh nothing."""
        counts = amount[:until] > 0
        n_cues = np.diff(lessons.cue_ends[: until + 1])
        cues = lessons.cue_key[: lessons.cue_ends[until]][counts.repeat(n_cues)]
        keys, n_with = np.unique(cues, return_counts=True)
        centers = {}
        for name, vectors in lessons.vectors.items():
            lesson = vectors.lesson.view[: vectors.lesson.view.searchsorted(until)]
            rows = vectors.rows.view[: len(lesson)][counts[lesson]]
            total = rows.sum(0, dtype=np.float32)
            centers[name] = np.asarray(total / (len(rows) + _ZERO_VECTORS), np.float32)
        return cls(keys, n_with, int(counts.sum()), centers)

    def weigh(self, keys: NDArray[np.uint64], weights: FloatArray) -> FloatArray:
        """Multiply the weights of cues, which go by the corpus, by their rarity in questions."""
        n_with = np.zeros(len(keys))
        if len(self.keys):
            at = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
            n_with = np.where(self.keys[at] == keys, self.n_with[at], 0)
        weighed: FloatArray = weights * np.log1p(self.n_questions / (1.0 + n_with))
        return weighed

    def center(self, rows: FloatArray, embedder: str) -> NDArray[np.float32]:
        """Return vectors less the mean of questions, with unit length."""
        return unit_rows(rows - self.centers.get(embedder, np.float32(0)))


class SeedPairs(NamedTuple):
    """Pairs that start at seeds: the seed's position, the other chunk, the weight."""

    seed: IntArray
    other: IntArray
    weight: FloatArray

    def completed(self, mass: FloatArray, n: int) -> FloatArray:
        """Return how far seeds with this mass bring back each of n chunks."""
        if not len(self.seed):
            return np.zeros(n)
        seed, other, weight = self
        if weight.min() < 0:
            key, position = unique_inverse(seed * n + other)
            weight = np.maximum(sum_by(position, weight, len(key)), 0.0)
            seed, other = np.divmod(key, n)
        total = sum_by(seed, weight, len(mass))
        return sum_by(other, mass[seed] * weight / (total[seed] + _UNSURE_LESSONS), n)


class Pairs(NamedTuple):
    """From chunks that search found, or an answer cited, to chunks cited for the same question."""

    source: IntArray
    target: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, lessons: Lessons, links: IntArray, amount: FloatArray) -> Pairs:
        """Return the pairs of some links, in the order of lessons."""
        links = links[lessons.link_credit[links] > 0]
        owner, node = lessons.link_lesson[links], lessons.link_node[links]
        credit = lessons.link_credit[links].astype(np.float64)
        weight = amount[owner] * credit
        # Chunks cited together.
        _, first, counts = np.unique(owner, return_index=True, return_counts=True)
        sizes = np.repeat(counts, counts)
        left = np.repeat(np.arange(len(owner)), sizes)
        right = concatenated_ranges(np.repeat(first, counts), sizes)
        left, right = left[left != right], right[left != right]
        # Chunks that search put first when others were cited.
        ends = lessons.shown_ends
        sizes = (ends[1:] - ends[:-1])[owner]
        shown = concatenated_ranges(ends[owner], sizes)
        link = np.arange(len(owner)).repeat(sizes)
        score = lessons.shown_score[shown].astype(np.float64)
        order = np.lexsort((-score, link))
        rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[link]
        seeds = order[rank < _N_SEEDS]
        link = link[seeds]
        mass = np.maximum(score[seeds], 0.0) ** _SHARPNESS
        mass /= np.maximum(np.bincount(link, mass, len(owner)), 1e-12)[link]
        return cls(
            np.concatenate((node[left], lessons.shown_node[shown[seeds]])),
            np.concatenate((node[right], node[link])),
            np.concatenate((weight[left] * credit[right], weight[link] * mass)),
        )


class LessonSums:
    """The sums of some lessons.

    Parameters
    ----------
    lessons : Lessons
    chosen : ndarray of int
        Which lessons, ascending.
    amount : ndarray of float, shape (n_lessons,)
        What each lesson adds; below 0 if it takes back what other sums have of it.
    statistics : QuestionStatistics
    """

    def __init__(
        self,
        lessons: Lessons,
        chosen: IntArray,
        amount: FloatArray,
        statistics: QuestionStatistics,
    ) -> None:
        links = lessons.links_of(chosen)
        self.n_nodes = n = len(lessons.nodes)
        owner = lessons.link_lesson[links]
        node = lessons.link_node[links]
        weight = amount[owner] * np.abs(lessons.link_credit[links])
        #: What was taught of each node in all.
        self.taught = sum_by(node, weight, n)
        #: The last lesson that cited each node; -1 if none did.
        self.latest = np.full(n, -1)
        is_cited = lessons.link_credit[links] > 0
        self.latest[node[is_cited]] = owner[is_cited]
        self._sum_cues(lessons, chosen, owner, node, weight, statistics)
        self._sum_vectors(lessons, owner, node, weight, statistics)
        pairs = Pairs.of(lessons, links, amount)
        key, position = unique_inverse(pairs.source * n + pairs.target)
        self._pair_from, self._pair_to = key // n, key % n
        self._pair_weight = sum_by(position, pairs.weight, len(key))

    def _sum_cues(
        self,
        lessons: Lessons,
        chosen: IntArray,
        owner: IntArray,
        node: IntArray,
        weight: FloatArray,
        statistics: QuestionStatistics,
    ) -> None:
        # Each question as a unit vector.
        starts = lessons.cue_ends[chosen]
        n_cues = lessons.cue_ends[chosen + 1] - starts
        at = concatenated_ranges(starts, n_cues)
        self.keys, cue = np.unique(lessons.cue_key[at], return_inverse=True)
        value = statistics.weigh(lessons.cue_key[at], lessons.cue_weight[at])
        question = np.repeat(np.arange(len(n_cues)), n_cues)
        length = np.sqrt(np.bincount(question, value * value, len(n_cues)))
        value = value / np.maximum(length, 1e-9)[question]
        # Summed by node and cue.
        position = chosen.searchsorted(owner)
        sizes = n_cues[position]
        at = concatenated_ranges((np.cumsum(n_cues) - n_cues)[position], sizes)
        key = np.repeat(node, sizes) << _CUE_BITS | cue[at]
        value = np.repeat(weight, sizes) * value[at]
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        firsts = _run_starts(key)
        self.row_key = key[firsts]
        self.row_value = np.add.reduceat(value, firsts) if len(firsts) else value
        nodes, cues = self.row_key >> _CUE_BITS, self.row_key & _CUE_MASK
        self.squared = sum_by(nodes, self.row_value**2, self.n_nodes)
        # The same, by cue.
        order = np.argsort(cues, kind="stable")
        self._posting_node, self._posting_value = nodes[order], self.row_value[order]
        self._starts = cues[order].searchsorted(np.arange(len(self.keys) + 1))

    def _sum_vectors(
        self,
        lessons: Lessons,
        owner: IntArray,
        node: IntArray,
        weight: FloatArray,
        statistics: QuestionStatistics,
    ) -> None:
        self.vectors: dict[str, NDArray[np.float32]] = {}
        for name, vectors in lessons.vectors.items():
            lesson = vectors.lesson.view
            if not len(lesson):
                continue
            at = np.minimum(lesson.searchsorted(owner), len(lesson) - 1)
            links = np.flatnonzero(lesson[at] == owner)
            if not len(links):
                continue
            links = links[np.argsort(node[links], kind="stable")]
            sums = np.zeros((self.n_nodes, vectors.dimension), np.float32)
            for block in np.split(links, range(_BLOCK, len(links), _BLOCK)):
                rows = statistics.center(vectors.rows.view[at[block]].astype(np.float32), name)
                rows *= weight[block, None]
                nodes = node[block]
                firsts = _run_starts(nodes)
                sums[nodes[firsts]] += np.add.reduceat(rows, firsts, axis=0)
            self.vectors[name] = sums

    def match_cues(self, query: MemoryQuery) -> tuple[IntArray, FloatArray]:
        """Return the nodes that cues lead to, some several times, and products to add up."""
        if not len(self.keys) or not len(query.keys):
            return self._posting_node[:0], self._posting_value[:0]
        at = np.minimum(self.keys.searchsorted(query.keys), len(self.keys) - 1)
        known = self.keys[at] == query.keys
        at, weights = at[known], query.weights[known]
        starts = self._starts[at]
        counts = self._starts[at + 1] - starts
        postings = concatenated_ranges(starts, counts)
        return self._posting_node[postings], self._posting_value[postings] * weights.repeat(counts)

    def match_vector(self, query: MemoryQuery, n: int) -> FloatArray | None:
        """Return the product of the question's vector with the sum of each of n nodes."""
        sums = self.vectors.get(query.embedder)
        if query.vector is None or sums is None or sums.shape[1] != len(query.vector):
            return None
        return np.pad((sums @ query.vector).astype(np.float64), (0, n - len(sums)))

    def pairs_from(self, seeds: IntArray) -> SeedPairs:
        """Return the pairs that start at some nodes."""
        first, stop = self._pair_from.searchsorted(np.array((seeds, seeds + 1)))
        counts = stop - first
        at = concatenated_ranges(first, counts)
        position = np.arange(len(seeds)).repeat(counts)
        return SeedPairs(position, self._pair_to[at], self._pair_weight[at])


def _run_starts(ordered: IntArray) -> IntArray:
    """Return where each run of equal values begins; none is below 0."""
    return np.flatnonzero(np.diff(ordered, prepend=-1))


class Associations:
    """The sums of all lessons, in several parts, which add up to what each lesson weighs."""

    def __init__(self, statistics: QuestionStatistics, *parts: LessonSums) -> None:
        self.statistics = statistics
        self.parts = parts
        self.n = n = max(part.n_nodes for part in parts)
        self.taught, self.squared, self.latest = np.zeros(n), np.zeros(n), np.full(n, -1)
        self._vector_squared: dict[str, FloatArray] = {}
        for part in parts:
            known = slice(part.n_nodes)
            self.taught[known] += part.taught
            self.squared[known] += part.squared
            np.maximum(self.latest[known], part.latest, out=self.latest[known])
            for name in part.vectors:
                self._vector_squared.setdefault(name, np.zeros(n))
        # Rounding may leave less than nothing of what was taken back.
        self.taught = np.maximum(self.taught, 0.0)
        for earlier, later in combinations(parts, 2):
            self.squared[: later.n_nodes] += 2.0 * _cue_products(earlier, later)
        for name, squared in self._vector_squared.items():
            sums = [part.vectors[name] for part in parts if name in part.vectors]
            for left, right in combinations_with_replacement(sums, 2):
                m = min(len(left), len(right))
                products = np.einsum("ij,ij->i", left[:m], right[:m])
                squared[:m] += products * (1 + (left is not right))

    def query(
        self,
        cues: tuple[NDArray[np.uint64], NDArray[np.float32]],
        vector: NDArray[np.float32] | None,
        embedder: str,
    ) -> MemoryQuery:
        """Weigh the cues of a question, and center its vector."""
        weights = self.statistics.weigh(*cues)
        length = float(np.sqrt(weights @ weights))
        if vector is not None:
            vector = self.statistics.center(vector[None, :].astype(np.float32), embedder)[0]
        return MemoryQuery(cues[0], weights / max(length, 1e-9), embedder, vector)

    def match_cues(self, query: MemoryQuery) -> Products:
        """Compare a question's words and names with each sum."""
        matches = [part.match_cues(query) for part in self.parts]
        nodes, products = map(np.concatenate, zip(*matches, strict=True))
        return Products(sum_by(nodes, products, self.n), self.squared)

    def match_vector(self, query: MemoryQuery) -> Products | None:
        """Compare a question's vector with each sum; None if there is nothing to compare."""
        matches = [part.match_vector(query, self.n) for part in self.parts]
        dots = [dot for dot in matches if dot is not None]
        if not dots:
            return None
        return Products(sum(dots[1:], dots[0]), self._vector_squared[query.embedder])

    def pairs_from(self, seeds: IntArray, *more: SeedPairs) -> SeedPairs:
        """Return the pairs that start at some nodes, and ``more``, whose weights may be below 0."""
        pairs = [part.pairs_from(seeds) for part in self.parts]
        return SeedPairs(*map(np.concatenate, zip(*pairs, *more, strict=True)))


def _cue_products(base: LessonSums, recent: LessonSums) -> FloatArray:
    """Return the product of the two sums of each node."""
    n = recent.n_nodes
    if not len(base.row_key) or not len(recent.row_key):
        return np.zeros(n)
    node, cue = recent.row_key >> _CUE_BITS, recent.row_key & _CUE_MASK
    number = np.minimum(base.keys.searchsorted(recent.keys), len(base.keys) - 1)
    known = (base.keys[number] == recent.keys)[cue]
    key = node << _CUE_BITS | number[cue]
    at = np.minimum(base.row_key.searchsorted(key), len(base.row_key) - 1)
    known &= base.row_key[at] == key
    return sum_by(node[known], recent.row_value[known] * base.row_value[at[known]], n)
