"""Direct evidence: word and vector search among the chunks that take part, fused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
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
    evidence, near = _fused(snapshot, question, rows, bm25, share, vectors, allowed)
    words = RareWords(question, snapshot.n_chunks)
    asked = {word: (question.words[word], df) for word, df in question.frequencies.items()}
    if evidence.dense is not None:  # vectors hardly tell "10x30" from "10x40"
        with_digit = [word for word in asked if len(word) > 4 and re.search("[0-9]", word)]
        evidence = evidence.upheld(words.holders([*filter(is_code, asked), *with_digit]))
    best = float(bm25.max(initial=0.0))
    covered = _covered(asked, snapshot.n_chunks, best, words, rows)
    sure = confidence(covered, near)
    return replace(
        evidence,
        confidence=min(sure, SAYS_NOTHING) if question.says_nothing else sure,
        share_held=share_held(asked.values(), snapshot.n_chunks, best),
        words=words,
        sentences=partial(link_sentences, snapshot, words, language),
    )


def _fused(
    snapshot: Snapshot,
    question: Question,
    rows: IntArray,
    bm25: FloatArray,
    share: float,
    vectors: VectorSearch | None,
    allowed: Rows | None,
) -> tuple[Evidence, float | None]:
    """Fuse word search with the caller's or with vector search; return its nearness, if any."""
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
    return evidence, near


def _covered(
    asked: Mapping[str, tuple[float, int]],
    n_chunks: int,
    best: float,
    words: RareWords,
    rows: IntArray,
) -> float:
    """Return how far the best of some chunks covers a question: words with weight and df."""
    covered = coverage(asked.values(), n_chunks, best)
    # A long chunk ranks lower, but may hold all.
    if covered < HELD_ONCE and words.held_by_one(rarest(asked, n_chunks), rows):
        covered = HELD_ONCE
    # Who writes E4305 asks for it above all.
    if covered < CODE_HELD and words.held_by_one(list(filter(is_code, asked)), rows):
        covered = CODE_HELD
    # The parts of a date, or the rest of a question, say little without the number they belong to.
    for word, (_, df) in asked.items():
        if df == 0 and (is_code(word) or (len(word) > 4 and word.isdecimal())):
            return covered * NUMBER_LACKS
    return covered


class RareWords:
    """Which chunks hold which rare words of a question."""

    def __init__(self, question: Question, n_chunks: int) -> None:
        self._question = question
        self._n_chunks = n_chunks
        self._frequencies = {word: n for word, n in question.frequencies.items() if n}

    def holders(self, codes: Sequence[str]) -> IntArray:
        """Return the chunks, ascending, with a code that hardly any other chunk holds."""
        found = [
            self._question.search.holders(word)
            for word in codes
            if 0 < self._frequencies.get(word, 0) <= MOST_WITH_CODE
        ]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def held_by_one(self, words: Sequence[str], chunks: IntArray) -> bool:
        """Return whether one of these chunks holds all these words, of which none is frequent."""
        df = [self._frequencies.get(word, 0) for word in words]
        if not df or not all(0 < n <= CANDIDATES for n in df):
            return False
        for word in words:
            chunks = chunks[is_in_sorted(chunks, self._question.search.holders(word))]
        return bool(len(chunks))

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of each word in the question, by rarity; those of known words add up to 1."""
        weights = {
            word: self._question.words[word] * math.log1p(self._n_chunks / n)
            for word, n in self._frequencies.items()
        }
        total = sum(weights.values())
        return {word: weight / total for word, weight in weights.items()}

    @cached_property
    def _holders(self) -> list[tuple[float, IntArray]]:
        """Share and chunks, ascending, of each rare word; the shares add up to at most 1."""
        df = self._frequencies
        few = sorted(df, key=lambda word: (df[word], word))[:_WORDS]
        return [
            (self.shares[word], self._question.search.holders(word))
            for word in few
            if df[word] <= CANDIDATES
        ]

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
