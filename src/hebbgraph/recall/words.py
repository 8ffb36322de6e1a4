"""Word search: BM25 over postings, the best chunks only.

Scores are summed from the rarest word on. Once the rest cannot lift a chunk that was not seen yet
into the first n (MaxScore [1]_), only those of the chunks that may still get there.

References
----------
.. [1] Turtle and Flood (1995), Query evaluation: strategies and optimizations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import DECIMALS, Allowed, BoolArray, IntArray, highest, places_in
from hebbgraph.errors import DamagedIndexError
from hebbgraph.formulas.bm25 import K1, idf, length_norms, lower_stubs, term_scores
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.store.postings import Postings, united
from hebbgraph.store.terms import Term
from hebbgraph.terms import TermKind

#: Scores that differ by less may be equal once they are rounded.
_MARGIN = 1e-6


class Word(NamedTuple):
    """A word of a question, as the index knows it.

    A chunk that holds one of its terms holds the word, as often as the most frequent one. With each
    term goes one that the chunk must hold, too: itself, or the label of a language.
    """

    terms: list[tuple[Term, Term]]

    @property
    def df(self) -> int:
        """The number of chunks that hold its most frequent term."""
        return max((min(term.df, other.df) for term, other in self.terms), default=0)


def find_words(
    snapshot: Snapshot, words: Iterable[str], forms: Mapping[str, Collection[tuple[str, str]]]
) -> dict[str, Word]:
    """Find words; ``forms`` are keys of more terms of each, with that of the term beside it."""
    pairs = {word: [(word, word), *forms.get(word, ())] for word in words}
    every = chain.from_iterable(chain.from_iterable(pairs.values()))
    found = snapshot.find(TermKind.WORD, list(dict.fromkeys(every)))
    return {
        word: Word([(found[form], found[other]) for form, other in keys if form in found])
        for word, keys in pairs.items()
    }


@dataclass(frozen=True)
class WordSearch:
    """Finds the chunks that hold the words of a question, which have weights in it."""

    snapshot: Snapshot
    words: Mapping[str, Word]
    weights: Mapping[str, float]
    also: Collection[int] = ()  #: terms whose postings are read with those of words

    def holders(self, word: str) -> IntArray:
        return self._read([word])[word].rows

    def holds(self, words: Sequence[str], rows: IntArray) -> dict[str, BoolArray]:
        """Return for each word which of some rows hold it."""
        read = self._read(words)
        return {word: places_in(held.rows, rows)[1] for word, held in read.items()}

    def best(
        self, n: int, allowed: Allowed | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the n best chunks and their BM25; of equal ones those with the smaller ids."""
        df = {word: self.words[word].df for word in self.weights}
        order = sorted(filter(df.get, df), key=lambda word: (df[word], word))
        weights = {
            word: self.weights[word] * idf(df[word], self.snapshot.n_chunks) for word in order
        }
        rest = sum(weights.values()) * (K1 + 1)
        read = self._read(order)
        size = max((int(held.rows[-1]) for held in read.values() if len(held.rows)), default=0)
        size = max(size, self.snapshot.n_chunks) + 1  # rows are as many, unless some were deleted
        seen = _Scores(n, size, self.snapshot.counts.mean_length, allowed)
        for word in order:
            rest -= weights[word] * (K1 + 1)
            seen.add(read[word], weights[word])
            seen.settle(rest)
        rows, scores = seen.result()
        best = first_by_id(self.snapshot, rows, scores.round(DECIMALS), n, ordered=False)
        rows, scores = rows[best], scores[best]
        held, lengths = np.zeros((len(order), len(rows)), np.bool_), np.zeros(len(rows), np.uint8)
        for word, is_held in zip(order, held, strict=True):
            at, is_held[:] = places_in(read[word].rows, rows)
            lengths[is_held] = read[word].roles[at[is_held]]
        scores = lower_stubs(scores, lengths, held, np.array(list(weights.values())))
        return rows, scores.round(DECIMALS)

    def _read(self, words: Iterable[str]) -> dict[str, Postings]:
        terms = {term.id for word in words for pair in self.words[word].terms for term in pair}
        read = self.snapshot.postings((*self.also, *terms))
        return {word: self._united(word, read) for word in words}

    def _united(self, word: str, read: Mapping[int, Postings]) -> Postings:
        """Unite the postings of a word's terms; a form of a language counts in that language."""
        held = []
        for term, where in self.words[word].terms:
            held.append(read[term.id])
            if where.id != term.id:
                held[-1] = held[-1].take(places_in(read[where.id].rows, held[-1].rows)[1])
        return united(held)


class _Scores:
    """Sums of scores by row, of which the n highest are wanted."""

    def __init__(self, n: int, size: int, mean_length: float, allowed: Allowed | None) -> None:
        self._n = n
        self._norms = length_norms(mean_length)
        self._allowed = allowed
        self._scores = np.zeros(size)
        self._least = 0.0  # that the n-th highest score has reached
        self._sample: IntArray = np.empty(0, np.int64)
        self._candidates: IntArray | None = None

    def add(self, held: Postings, weight: float) -> None:
        if self._candidates is None:
            if self._allowed is not None and not (keep := self._allowed(held.rows)).all():
                held = held.take(keep)
        elif 2 * len(self._candidates) < len(held.rows):  # or adding to all is faster
            at, is_held = places_in(held.rows, self._candidates)
            held = held.take(at[is_held])
        if len(self._sample) < self._n:
            self._sample = held.rows
        scores = weight * term_scores(held.numbers, self._norms.take(held.roles))
        try:
            np.add.at(self._scores, held.rows, scores)
        except IndexError as error:  # rows ascend, unless they are damaged
            raise DamagedIndexError("postings are out of order; call rebuild()") from error

    def settle(self, rest: float) -> None:
        """Drop the chunks that cannot get among the first n by words worth ``rest`` together."""
        among = self._sample if self._candidates is None else self._candidates
        if len(among) < self._n:
            return
        scores = self._scores[among]
        self._least = float(np.partition(scores, -self._n)[-self._n])
        enough = self._least - rest - _MARGIN
        if self._candidates is not None:
            self._candidates = among[scores > enough]
        elif enough > 0:
            self._candidates = np.flatnonzero(self._scores > enough)
            self.settle(rest)  # the n-th of these has a higher score than that of the sample

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return rows and scores, ascending by row; the n highest are among them."""
        rows = self._candidates
        if rows is None:
            rows = np.flatnonzero(self._scores > max(self._least - _MARGIN, 0.0))
        return rows.astype(np.int64), self._scores[rows]


def first_by_id(
    snapshot: Snapshot, rows: IntArray, scores: NDArray[np.float64], n: int, *, ordered: bool = True
) -> IntArray:
    """Return the positions of the n highest scores; of equal ones those with the smaller ids.

    If ``ordered``, the best come first, and equal ones in the order of their ids.
    """
    at = highest(scores, n)
    tied = np.flatnonzero(scores[at][1:] == scores[at][:-1])
    if not ordered:  # only those that tie with the last one need their ids, if they are too many
        tied = tied[(scores[at[tied]] == scores[at[-1:]]) & (len(at) > n)]
    if len(tied):
        places = np.unique(np.concatenate((tied, tied + 1)))
        ids = snapshot.ids(rows[at[places]])
        known = [ids.get(row, "") for row in rows[at].tolist()]  # "" for one that is not there
        order = sorted(places.tolist(), key=lambda i: (-scores[at[i]], known[i]))
        at[places] = at[order]
    return at[:n]
