"""Direct evidence: word and vector search among the chunks that take part, fused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, is_in_sorted
from hebbgraph.errors import ParameterError
from hebbgraph.filters import Rows
from hebbgraph.formulas.confidence import (
    CODE_HELD,
    HELD_ONCE,
    NUMBER_LACKS,
    SAYS_NOTHING,
    confidence,
    coverage,
    nearness,
    rarest,
    share_held,
)
from hebbgraph.formulas.evidence import Evidence, fuse
from hebbgraph.protocols import VectorSearch
from hebbgraph.recall.question import MOST_WITH_CODE, Question
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.terms import TermKind
from hebbgraph.text.query import is_code, query_terms
from hebbgraph.text.references import place_name
from hebbgraph.text.tokens import lexical_terms, tokenize

#: Number of candidates of each search; all other chunks have little evidence.
CANDIDATES = 200
#: Look up which chunks hold the rarest words of a question, for this many words.
_WORDS = 16


def direct_evidence(
    snapshot: Snapshot,
    question: Question,
    *,
    share: float,
    vectors: VectorSearch | None,
    allowed: Rows | None,
    language: str,
) -> Evidence:
    """Return the direct evidence of the chunks that take part; vectors have some share of it."""
    rows, bm25 = question.search.best(CANDIDATES, allowed)
    near: float | None = None
    if question.seeds is not None:
        seeds = np.fromiter(question.seeds, np.int64)
        scores = np.fromiter(question.seeds.values(), np.float64)
        if allowed is not None:
            keep = allowed(seeds)
            seeds, scores = seeds[keep], scores[keep]
        evidence = fuse(rows, bm25, seeds, scores, n_chunks=snapshot.n_chunks, share=share)
    elif vectors is not None and question.vector is not None:
        vector, mean = question.vector, snapshot.counts.mean_vector
        if len(mean) != len(vector):
            raise ParameterError(
                f"the index holds vectors of {len(mean)} numbers, the question's has {len(vector)}"
            )
        nearest, cosines = vectors.nearest(vector, CANDIDATES, allowed)
        if len(nearest):
            near = nearness(float(cosines[0]), float(vector @ mean))
        similarity = partial(vectors.cosines, vector)
        evidence = fuse(rows, bm25, nearest, cosines, similarity=similarity, share=share)
    else:
        evidence = fuse(rows, bm25)
    words = RareWords(question, snapshot.n_chunks)
    if evidence.dense is not None:  # vectors hardly tell "10x30" from "10x40"
        evidence = evidence.upheld(words.with_number())
    best = float(bm25.max(initial=0.0))
    sure = confidence(words.covered(best, rows), near)
    return replace(
        evidence,
        confidence=min(sure, SAYS_NOTHING) if question.says_nothing else sure,
        share_held=share_held(words.asked.values(), snapshot.n_chunks, best),
        words=words,
        sentences=partial(link_sentences, snapshot, words, language),
    )


class RareWords:
    """Which chunks hold which words of a question; ``asked`` are their weights and df."""

    def __init__(self, question: Question, n_chunks: int) -> None:
        self._holders_of = question.search.holders
        self._n_chunks = n_chunks
        self.asked = {word: (question.words[word], n) for word, n in question.frequencies.items()}

    def covered(self, best: float, chunks: IntArray) -> float:
        """Return how far the best of these chunks covers the question; ``best`` is its BM25."""
        covered = coverage(self.asked.values(), self._n_chunks, best)
        # A long chunk ranks lower, but may hold all.
        if covered < HELD_ONCE and self._are_in_one(rarest(self.asked, self._n_chunks), chunks):
            covered = HELD_ONCE
        # Who writes E4305 asks for it above all.
        if covered < CODE_HELD and self._are_in_one(list(filter(is_code, self.asked)), chunks):
            covered = CODE_HELD
        # The parts of a date, or the rest of a question, say little without its number.
        for word, (_, df) in self.asked.items():
            if df == 0 and (is_code(word) or (len(word) > 4 and word.isdecimal())):
                return covered * NUMBER_LACKS
        return covered

    def _are_in_one(self, words: Sequence[str], chunks: IntArray) -> bool:
        """Return whether one of these chunks holds all these words, of which none is frequent."""
        if not words or not all(0 < self.asked[word][1] <= CANDIDATES for word in words):
            return False
        for word in words:
            chunks = chunks[is_in_sorted(chunks, self._holders_of(word))]
        return bool(len(chunks))

    def with_number(self) -> IntArray:
        """Return the chunks, ascending, with a code or number that hardly any other chunk holds."""
        found = [
            self._holders_of(word)
            for word, (_, df) in self.asked.items()
            if 0 < df <= MOST_WITH_CODE
            and (is_code(word) or (len(word) > 4 and re.search("[0-9]", word)))
        ]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of each word in the question, by rarity; those of known words add up to 1."""
        weights = {
            word: weight * math.log1p(self._n_chunks / df)
            for word, (weight, df) in self.asked.items()
            if df
        }
        total = sum(weights.values())
        return {word: weight / total for word, weight in weights.items()}

    @cached_property
    def _holders(self) -> list[tuple[float, IntArray]]:
        """Share and chunks, ascending, of each rare word; the shares add up to at most 1."""
        few = sorted((df, word) for word, (_, df) in self.asked.items() if df)[:_WORDS]
        return [(self.shares[word], self._holders_of(word)) for df, word in few if df <= CANDIDATES]

    def __call__(self, chunks: IntArray) -> FloatArray:
        """Return the weight of each word that each chunk holds, shape (n, n_words)."""
        weights = np.zeros((len(chunks), len(self._holders)))
        for word, (weight, rows) in enumerate(self._holders):
            weights[:, word] = weight * is_in_sorted(chunks, rows)
        return weights


#: A line may be wrapped anywhere, so a line break ends a sentence only before an item of a list.
_END = re.compile(r"(?<=[.!?:;])\s+|(?<=[。！？।؟])|\n\s*\n|\n\s*[-*+]\s")

#: Characters of a text that are read, since a text may be a whole book.
_READ = 1 << 15


def link_sentences(
    snapshot: Snapshot, words: RareWords, language: str, chunks: IntArray, tags: IntArray
) -> FloatArray:
    """Return how much of a question each sentence holds in which a chunk links to an address.

    A reference has no position in its text. Its sentence is the one that holds the most words of
    the name of the place; the first one, if several do.
    """
    links = list(zip(chunks.tolist(), tags.tolist(), strict=True))
    places = tags[snapshot.link_kinds(tags) != TermKind.EDGE].tolist()
    names = {tag: _terms_of_name(key, language) for tag, key in snapshot.keys(places).items()}
    rows = sorted({row for row, tag in links if names.get(tag)})
    sql = "SELECT row, text FROM $chunk WHERE row = ANY(?)"
    sentences: dict[int, list[frozenset[str]]] = {}
    for row, text in snapshot.session.rows(sql, rows) if rows else ():
        parts = map(tokenize, _END.split(text[:_READ]))
        sentences[row] = [frozenset(lexical_terms(part, language)) for part in parts]
    held: dict[tuple[int, int], float] = {}
    for row, tag in dict.fromkeys(links):
        terms = _sentence_with(names.get(tag, frozenset()), sentences.get(row, ()))
        held[row, tag] = sum(share for term, share in words.shares.items() if term in terms)
    return np.array([held[link] for link in links])


@lru_cache(maxsize=1 << 14)
def _terms_of_name(key: str, language: str) -> frozenset[str]:
    name = place_name(key)
    return frozenset(query_terms(name, language) if name else ())


def _sentence_with(name: frozenset[str], sentences: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the first sentence that holds the most of these terms; none if all lack them."""
    best = max(sentences, key=lambda terms: len(name & terms), default=frozenset[str]())
    return best if name & best else frozenset()
