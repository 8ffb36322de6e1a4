"""Word search: BM25 over postings, the best chunks only.

Words are read from the rarest on. Once the rest cannot lift a chunk that was not seen yet into the
first n (MaxScore [1]_), only the chunks that may still get there are looked up.

References
----------
.. [1] Turtle and Flood (1995), Query evaluation: strategies and optimizations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray, unique
from hebbgraph.errors import DamagedIndexError
from hebbgraph.formulas.bm25 import K1, idf
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.store.postings import Postings
from hebbgraph.store.terms import Term
from hebbgraph.terms import TermKind

__all__ = ["WordSearch", "first_by_id"]

#: Words of more chunks than this are read block by block, if few chunks are still looked up.
_COMMON = 8192
#: Scores are compared to this many decimals, so that the order of sums does not matter.
DECIMALS = 9


@dataclass
class WordSearch:
    """Finds the chunks that hold the words of a question.

    Parameters
    ----------
    snapshot : Snapshot
    weights : mapping of str to float
        The words and their weights in the question.
    """

    snapshot: Snapshot
    weights: Mapping[str, float]
    terms: dict[str, Term] = field(init=False)

    def __post_init__(self) -> None:
        self.terms = self.snapshot.find(TermKind.WORD, list(self.weights))
        self.terms_by_id = {term.id: term for term in self.terms.values()}
        self._read: dict[int, Postings] = {}
        self._partial: set[int] = set()

    def frequency(self, word: str) -> int:
        """Return the number of chunks that hold a word."""
        return self.terms[word].df if word in self.terms else 0

    def holders(self, word: str) -> IntArray:
        """Return the chunks that hold a word, ascending."""
        if word not in self.terms:
            return np.empty(0, np.int64)
        term = self.terms[word].id
        return self.snapshot.postings([term])[term].rows

    def holds(self, word: str, rows: IntArray) -> BoolArray:
        """Return which chunks hold a word."""
        if word not in self.terms:
            return np.zeros(len(rows), np.bool_)
        term = self.terms[word].id
        whole = term in self._read and term not in self._partial
        held = self._read[term] if whole else self._blocks(term, rows)
        at = np.minimum(held.rows.searchsorted(rows), max(len(held.rows) - 1, 0))
        return held.rows[at] == rows if len(held.rows) else np.zeros(len(rows), np.bool_)

    def best(
        self, n: int, allowed: Callable[[IntArray], BoolArray] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the n best chunks and their BM25; of equal ones those with the smaller ids.

        Parameters
        ----------
        n : int
        allowed : callable, optional
            Returns which of some rows take part.

        Returns
        -------
        rows : ndarray of int64
        scores : ndarray of float64, above 0
        """
        order = sorted(self.weights.keys() & self.terms.keys(), key=self._rarity)
        if not order:
            return np.empty(0, np.int64), np.empty(0)
        weights = {
            word: self.weights[word] * idf(self.terms[word].df, self.snapshot.n_chunks)
            for word in order
        }
        rest = sum(weights.values()) * (K1 + 1)
        rare = [word for word in order if self.terms[word].df <= _COMMON] or order[:1]
        self._read = self.snapshot.postings(self.terms[word].id for word in rare)
        size = max(int(held.rows[-1]) + 1 for held in self._read.values())
        seen = _Scores(self.snapshot, size, allowed)
        for word in order:
            term, weight = self.terms[word].id, weights[word]
            rest -= weight * (K1 + 1)
            if term not in self._read:
                if seen.candidates is not None:
                    self._read[term] = self._blocks(term, seen.candidates)
                    self._partial.add(term)
                else:
                    self._read |= self.snapshot.postings([term])
            seen.add(self._read[term], weight)
            if rest < 2 * weight:  # rarely worth looking earlier
                seen.settle(n, rest)
        rows, scores = seen.result()
        scores = scores.round(DECIMALS)
        best = first_by_id(self.snapshot, rows, scores, n, ordered=False)
        return rows[best], scores[best]

    def _rarity(self, word: str) -> tuple[int, str]:
        return self.terms[word].df, word

    def _blocks(self, term: int, rows: IntArray) -> Postings:
        """Read only the blocks of a term in which some rows would be."""
        if self.snapshot.is_cached(term) or self.terms_by_id[term].df <= _COMMON:
            return self.snapshot.postings([term])[term]
        session = self.snapshot.session
        places = session.rows(
            "SELECT first, block FROM $posting WHERE term = ? ORDER BY first", term
        )
        firsts = np.array([first for first, _ in places])
        at = unique(np.maximum(firsts.searchsorted(rows, "right") - 1, 0))
        found = session.rows(
            "SELECT n, data FROM $posting WHERE block = ANY(?) ORDER BY first",
            [places[i][1] for i in at.tolist()],
        )
        return Postings.joined([Postings.decode(n, data) for n, data in found])


class _Scores:
    """Sums of scores by row."""

    def __init__(
        self, snapshot: Snapshot, size: int, allowed: Callable[[IntArray], BoolArray] | None
    ) -> None:
        self._snapshot = snapshot
        self._table = snapshot.score_table
        self._allowed = allowed
        self._scores = snapshot.lend_zeros(size)
        self._touched: list[IntArray] = []
        self.candidates: IntArray | None = None

    def add(self, held: Postings, weight: float) -> None:
        """Add a word's scores."""
        if self.candidates is not None:
            at = np.minimum(held.rows.searchsorted(self.candidates), len(held.rows) - 1)
            held = held.take(at[held.rows[at] == self.candidates])
            self._scores[held.rows] += weight * self._table[_code(held)]
            return
        if self._allowed is not None:
            keep = self._allowed(held.rows)
            if not keep.all():
                held = held.take(keep)
        if not len(held.rows):
            return
        if held.rows[-1] >= len(self._scores):
            grown = np.zeros(int(held.rows[-1]) + 1)
            grown[: len(self._scores)] = self._scores
            self._scores = grown
        try:
            before = self._scores[held.rows]
        except IndexError as error:  # rows ascend, unless they are damaged
            raise DamagedIndexError("postings are out of order; call rebuild()") from error
        self._scores[held.rows] = before + weight * self._table[_code(held)]
        self._touched.append(held.rows[before == 0])

    def settle(self, n: int, rest: float) -> None:
        """Look up candidates only from now on, if no other chunk can get among the first n."""
        if self.candidates is not None or sum(map(len, self._touched)) < n or not rest:
            return
        rows = np.concatenate(self._touched)
        scores = self._scores[rows]
        last = np.partition(scores, len(scores) - n)[len(scores) - n]
        if last > rest:
            self.candidates = np.sort(rows[scores > last - rest - 1e-6])

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return rows and scores, in no order, and give the array of sums back."""
        if self.candidates is not None:
            rows = self.candidates
        else:
            rows = np.concatenate(self._touched) if self._touched else np.empty(0, np.int64)
        scores = self._scores[rows]
        for touched in self._touched:
            self._scores[touched] = 0.0
        self._snapshot.take_zeros_back(self._scores)
        return rows.astype(np.int64), scores


def _code(held: Postings) -> IntArray:
    return held.numbers.astype(np.uint16) * np.uint16(256) + held.roles


def first_by_id(
    snapshot: Snapshot,
    rows: IntArray,
    scores: NDArray[np.float64],
    n: int,
    *,
    ordered: bool = True,
) -> IntArray:
    """Return the positions of the n highest scores; of equal ones those with the smaller ids.

    With ``ordered``, the best come first, and equal ones in the order of their ids.
    """
    at = np.arange(len(rows))
    if len(rows) > n:
        last = np.partition(scores, len(scores) - n)[len(scores) - n]
        at = np.flatnonzero(scores >= last)
        if not ordered:
            if len(at) <= n:
                return at
            above, equal = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
            ids = snapshot.ids(rows[equal])
            equal = np.array(sorted(equal.tolist(), key=lambda i: ids[int(rows[i])]))
            return np.concatenate((above, equal[: n - len(above)]))
    if not ordered:
        return at
    at = at[np.argsort(-scores[at], kind="stable")]
    tied = np.flatnonzero(scores[at][1:] == scores[at][:-1])
    if len(tied):
        places = unique(np.concatenate((tied, tied + 1)))
        ids = snapshot.ids(rows[at[places]])
        order = sorted(places.tolist(), key=lambda i: (-scores[at[i]], ids[int(rows[at[i]])]))
        at[places] = at[order]
    return at[:n]
