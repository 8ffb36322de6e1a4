"""Direct search: lexical and dense, among the chunks that take part."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    flatnonzero,
    is_in_sorted,
)
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.parts import Derived
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.confidence import (
    HELD_ONCE,
    confidence,
    coverage,
    nearness,
    rarest,
    share_held,
)
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.formulas.evidence import Evidence, fuse, memoize_similarity
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.elsewhere import VectorsElsewhere
from hebbgraph.recall.masks import PassingChunks
from hebbgraph.recall.question import Question
from hebbgraph.recall.vector_slots import VectorSlots
from hebbgraph.text.query import is_code
from hebbgraph.vectors.table import VectorTable

if TYPE_CHECKING:
    from hebbgraph.derived.languages import Languages
    from hebbgraph.recall.link_sentences import LinkSentences

__all__ = ["DirectSearch", "lexical_search"]

#: Number of candidates with known direct evidence; all other chunks have the floor.
_CANDIDATES = 200
#: Fetch this many more, since others often tie with the last candidate: that is cheap for Tantivy
#: and saves a second query.
_TIED = 40
_MARGIN = 1.3
#: Scores count as equal down to this share, because Tantivy adds in single precision.
_EQUAL = 1.0 - 1e-6
#: Look up which chunks hold the rarest words of a question, for this many words.
_WORDS = 16
#: A code that at most this many chunks hold identifies them.
_MOST_WITH_CODE = 2
#: Microseconds that lexical search takes to look up a row or a fact, and to return a hit.
_LOOKUP, _HIT = 6.0, 0.5


class DirectSearch:
    """Lexical and dense search, fused; the caller's own results replace dense search.

    Parameters
    ----------
    derived : Derived
    weights : EvidenceWeights
    languages : Languages, optional
        If given, vectors are compared without what tells their languages apart.
    sentences : LinkSentences, optional
        Tells links apart by the sentences that they are in.
    """

    def __init__(
        self,
        derived: Derived,
        weights: EvidenceWeights,
        languages: Languages | None = None,
        sentences: LinkSentences | None = None,
    ) -> None:
        self._derived = derived
        self._weights = weights
        self._languages = languages
        self._sentences = sentences
        self._slots: VectorSlots | None = None

    def evidence(self, graph: TagGraph, question: Question, passing: PassingChunks) -> Evidence:
        """Return the direct evidence of allowed chunks, by slot."""
        slots, bm25 = lexical_search(self._derived, graph, question.terms, passing)
        frequencies, n_texts = self._frequencies(question), len(self._derived.lexical)
        best = float(bm25.max(initial=0.0))
        covered = coverage(frequencies.values(), n_texts, best)
        fused = partial(
            fuse, slots, bm25, n_chunks=graph.n_chunks, covered=covered, weights=self._weights
        )
        foreign: BoolArray | None = None
        if question.seeds is not None:
            rows = np.fromiter(question.seeds, dtype=np.int64)
            scores = np.fromiter(question.seeds.values(), dtype=np.float64)
            seeds = _known(graph, rows, scores, passing.mask)
            if question.elsewhere is None:
                evidence, near = fused(*seeds), None
            else:
                evidence, near = _by_cosines(graph, *seeds, question.elsewhere, fused)
        else:
            table, vector = self._derived.vectors, question.vector
            if self._languages is not None and table is not None and vector is not None:
                neutral = self._languages.neutral(graph, table, question.query, vector)
                if neutral is not None:
                    table, vector, foreign = neutral
                    fused = partial(fused, foreign=foreign)
            evidence, near = self._dense(graph, vector, passing.mask, table, fused)
        words = RareWords(self._derived.lexical, graph, question.terms)
        # A long chunk ranks lower, but is no less sure to hold what is asked for.
        if covered < HELD_ONCE and words.held_by_one(rarest(frequencies, n_texts), slots):
            covered = HELD_ONCE
        certainty: float | None = confidence(covered, near)
        if foreign is not None and _is_best(evidence, foreign):
            certainty = None  # question and chunk are in different languages and share no words
        if evidence.dense is not None and len(codes := words.codes()):
            evidence = evidence.upheld(codes)
        return replace(
            evidence,
            confidence=certainty,
            covered=covered,
            near=near,
            share_held=share_held(frequencies.values(), n_texts, best),
            words=words,
            sentences=(None if self._sentences is None else partial(self._sentences, graph, words)),
        )

    def _frequencies(self, question: Question) -> dict[str, tuple[float, int]]:
        """Return the weight and document frequency of each term that tells what is asked."""
        terms = zip(question.terms.items(), question.frequencies.values(), strict=True)
        # Unknown words of earlier turns may be about anything, so they do not count.
        return {
            term: (weight, df)
            for (term, weight), df in terms
            if df > 0 or (weight >= 1.0 and term not in question.dates)
        }

    def _dense(
        self,
        graph: TagGraph,
        vector: NDArray[np.float32] | None,
        allowed: BoolArray,
        table: VectorTable | None,
        fused: Callable[..., Evidence],
    ) -> tuple[Evidence, float | None]:
        """Fuse in dense evidence, if any; return the evidence and the best chunk's nearness."""
        if table is None or vector is None or not len(table.rows):
            return fused(), None
        if len(vector) != table.state.dimension:
            raise ParameterError(
                f"the index holds vectors of {table.state.dimension} numbers, "
                f"the question's has {len(vector)}"
            )
        slots = self._slots
        if slots is None or not slots.fits(graph, table):
            slots = self._slots = VectorSlots(graph, table)
        nearest = table.nearest(vector, _CANDIDATES, slots.mask(allowed))

        def similarity(chunks: IntArray) -> FloatArray:
            return table.cosines_at(vector, slots.positions_of(chunks), nearest.every)

        evidence = fused(
            slots.slots_of(nearest.positions),
            nearest.cosines,
            similarity=memoize_similarity(similarity) if nearest.every is None else similarity,
            tails=slots.likeness(graph.alive, table).tails,
        )
        if not len(nearest.cosines):
            return evidence, None
        typical = (
            table.cosines_at(vector, slots.sample(graph.alive))
            if nearest.every is None
            else nearest.every[slots.mask(graph.alive)]
        )
        background = float(typical.mean(dtype=np.float64))
        return evidence, nearness(float(nearest.cosines.max()), background)


def _by_cosines(
    graph: TagGraph,
    seeds: NDArray[np.int64],
    scores: NDArray[np.float64],
    elsewhere: VectorsElsewhere,
    fused: Callable[..., Evidence],
) -> tuple[Evidence, float | None]:
    """Rank by the cosines of the other store; by the seeds' scores until cosines are known."""

    def cosines(chunks: IntArray) -> FloatArray:
        return elsewhere.cosines(graph.rows[chunks])  # records what is missing

    seed_cosines, background = cosines(seeds), elsewhere.background(graph)
    known = ~np.isnan(seed_cosines)
    if not known.any():
        evidence = fused(seeds, scores)
        cosines(evidence.chunks)

        def recording(chunks: IntArray) -> FloatArray:
            cosines(chunks)
            others = evidence.others
            return others(chunks) if callable(others) else np.full(len(chunks), others)

        return replace(evidence, others=recording), None
    nearest, farthest = float(seed_cosines[known].max()), float(seed_cosines[known].min())

    def similarity(chunks: IntArray) -> FloatArray:
        known_cosines = cosines(chunks)
        # A nearer chunk would have been a seed.
        return np.where(np.isnan(known_cosines), farthest, known_cosines)

    near = None if background is None else nearness(nearest, background)
    return fused(seeds[known], seed_cosines[known], similarity=similarity), near


def _is_best(evidence: Evidence, among: BoolArray) -> bool:
    """Return whether the chunk with the most evidence is in a mask."""
    return bool(len(evidence.values)) and bool(among[evidence.chunks[evidence.values.argmax()]])


class RareWords:
    """Which chunks hold which rare words of a question; looked up on first use.

    Parameters
    ----------
    index : LexicalIndex
    graph : TagGraph
    terms : mapping of str to float
        The question's terms and their weights.
    """

    def __init__(self, index: LexicalIndex, graph: TagGraph, terms: Mapping[str, float]) -> None:
        self._index = index
        self._graph = graph
        self._terms = terms

    def codes(self) -> IntArray:
        """Return the slots, ascending, of chunks with a code that hardly any other chunk holds."""
        df = {term: self._index.document_frequency(term) for term in filter(is_code, self._terms)}
        slots = [self._slots_with(term, n) for term, n in df.items() if 0 < n <= _MOST_WITH_CODE]
        return np.unique(np.concatenate(slots)) if slots else np.empty(0, np.int64)

    def held_by_one(self, terms: Sequence[str], chunks: IntArray) -> bool:
        """Return whether one of these chunks holds all these terms, of which none is frequent."""
        df = {term: self._index.document_frequency(term) for term in terms}
        if not df or not all(0 < n <= _CANDIDATES for n in df.values()):
            return False
        for term, n in df.items():
            chunks = np.intersect1d(chunks, self._slots_with(term, n))
        return bool(len(chunks))

    @cached_property
    def _frequencies(self) -> dict[str, int]:
        """The document frequency of each term that some chunk holds."""
        index = self._index
        return {term: n for term in self._terms if (n := index.document_frequency(term))}

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of each term in the question, by rarity; those of known terms add up to 1."""
        weights = {
            term: self._terms[term] * math.log1p(len(self._index) / n)
            for term, n in self._frequencies.items()
        }
        total = sum(weights.values())
        return {term: weight / total for term, weight in weights.items()}

    @cached_property
    def _holders(self) -> list[tuple[float, IntArray]]:
        """Share and slots, ascending, of each rare word; the shares add up to at most 1."""
        df = self._frequencies
        rarest = sorted(df, key=lambda term: (df[term], term))[:_WORDS]
        return [
            (self.shares[term], self._slots_with(term, df[term]))
            for term in rarest
            if df[term] <= _CANDIDATES
        ]

    def _slots_with(self, term: str, count: int) -> IntArray:
        rows = self._index.rows_with_phrase([term], count)
        slots, known = _slots_of(self._graph, rows)
        return np.sort(slots[known])

    def __call__(self, chunks: IntArray) -> FloatArray:
        """Return the weight of each word that each chunk holds, shape (n, n_words)."""
        weights = np.zeros((len(chunks), len(self._holders)))
        for word, (weight, slots) in enumerate(self._holders):
            weights[:, word] = weight * is_in_sorted(chunks, slots)
        return weights


class _Plan(NamedTuple):
    """How lexical search finds the candidates that pass a filter."""

    microseconds: float
    limit: int
    only: list[int] | None = None
    facts: frozenset[str] | None = None


def _plan(graph: TagGraph, passing: PassingChunks) -> _Plan:
    """Choose the cheapest way: look up the chunks that pass, or skip those that do not."""
    allowed, cover, whole, _ = passing
    sought, n_chunks = _CANDIDATES + _TIED, graph.n_chunks
    n_allowed = n_chunks if whole else int(np.count_nonzero(allowed))
    if n_allowed == n_chunks:
        return _Plan(0.0, sought)

    def limit_among(n: int) -> int:
        """Estimate how many of n chunks rank above the last allowed candidate."""
        return max(int(sought * min(_MARGIN * n / max(n_allowed, 1), n)), 1)

    plans = [_Plan(_HIT * limit_among(n_chunks), limit_among(n_chunks))]
    if cover is not None:
        limit = limit_among(cover.n_chunks)
        plans.append(_Plan(_LOOKUP * len(cover.terms) + _HIT * limit, limit, facts=cover.terms))
    if _LOOKUP * n_allowed < min(plan.microseconds for plan in plans):
        return _Plan(_LOOKUP * n_allowed, sought, only=graph.rows[allowed].tolist())
    return min(plans, key=lambda plan: plan.microseconds)


def lexical_search(
    derived: Derived, graph: TagGraph, terms: Mapping[str, float], passing: PassingChunks
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the slots of the best chunks that pass, with their BM25.

    Ties go to the smaller id; Tantivy itself prefers chunks that were added earlier.
    """
    _, limit, only, facts = _plan(graph, passing)
    while True:
        rows, scores = derived.lexical.search(terms, limit + 1, only=only, facts=facts)
        slots, bm25 = _known(graph, rows, scores, passing.mask)
        if len(rows) <= limit:
            break
        # All chunks that tie with the last candidate are here once a worse one is.
        if len(slots) >= _CANDIDATES and scores[-1] < bm25[_CANDIDATES - 1] * _EQUAL:
            break
        limit *= 4
    if len(slots) <= _CANDIDATES:
        return slots, bm25
    if bm25[_CANDIDATES] < bm25[_CANDIDATES - 1] * _EQUAL:  # no tie at the cut
        return slots[:_CANDIDATES], bm25[:_CANDIDATES]
    best = _break_ties(derived, graph, slots, bm25)
    return slots[best], bm25[best]


def _break_ties(
    derived: Derived, graph: TagGraph, slots: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the positions of the best candidates; ties at the cut go to the smaller ids."""
    last = scores[_CANDIDATES - 1]
    above, below = scores > last / _EQUAL, scores < last * _EQUAL
    better, equal = flatnonzero(above), flatnonzero(~(above | below))
    places = _CANDIDATES - len(better)
    prefixes = graph.id_prefixes[slots[equal]]
    highest = np.partition(prefixes, places - 1)[places - 1]
    taken = equal[prefixes < highest]
    unsettled = equal[prefixes == highest]
    if len(unsettled) > (places := places - len(taken)):
        ids = derived.ids(graph.rows[slots[unsettled]])
        order = sorted(range(len(unsettled)), key=ids.__getitem__)
        unsettled = unsettled[order[:places]]
    return np.concatenate((better, taken, unsettled))


def _known(
    graph: TagGraph, rows: NDArray[Any], scores: NDArray[Any], allowed: BoolArray
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return slots and scores of the rows that are in the graph and allowed."""
    slots, keep = _slots_of(graph, rows)
    if len(graph.rows):
        keep &= allowed[slots]
    if np.count_nonzero(keep) == len(keep):
        return slots, scores
    return slots[keep], scores[keep]


def _slots_of(graph: TagGraph, rows: NDArray[Any]) -> tuple[NDArray[np.int64], BoolArray]:
    """Return the slot of each row, 0 for rows that are not in the graph, and which are in it."""
    known = graph.rows
    if not len(known):
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
    if known[-1] - known[0] < len(known):
        # No row is missing, so slots follow from rows by subtraction.
        slots = rows - known[0]
        inside = slots.view(np.uint64) < len(known)  # a negative number is a huge one
        if np.count_nonzero(inside) == len(inside):
            return slots, inside
    slots = known.searchsorted(rows)
    slots[slots == len(known)] = 0
    return slots, known[slots] == rows
