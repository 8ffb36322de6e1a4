"""Direct evidence: how well a chunk by itself answers the query, in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, unique_inverse

__all__ = ["Evidence", "fuse", "inhibit", "memoize_similarity"]

_NO_FLOATS = np.empty(0, np.float64)
#: Approximate evidence of a chunk that no search returned.
_NOBODY, _UNKNOWN = np.array([-1]), np.array([0.05])


@dataclass(frozen=True)
class Evidence:
    """Direct evidence of the candidates, and of any other chunk on demand.

    Parameters
    ----------
    chunks : ndarray of int64, shape (n,), ascending and different
        The candidates.
    values : ndarray of float64, shape (n,), in [0, 1]
    elsewhere : float or callable
        Evidence of all other chunks: a number, or a function of chunk numbers.

    Examples
    --------
    >>> evidence = Evidence(np.array([2, 5]), np.array([1.0, 0.5]), elsewhere=0.05)
    >>> evidence.of(np.array([5, 3, 2])).tolist()
    [0.5, 0.05, 1.0]
    """

    chunks: IntArray
    values: FloatArray
    elsewhere: float | Callable[[IntArray], FloatArray] = 0.05

    def approximate(self, chunks: IntArray) -> FloatArray:
        """Return the evidence of any chunks, taking .05 for all that are not candidates.

        Cheap for many chunks, because it computes no similarities.
        """
        known, values = self._padded
        at = self.chunks.searchsorted(chunks)
        at[known[at] != chunks] = len(self.chunks)
        found: FloatArray = values[at]
        return found

    @cached_property
    def _padded(self) -> tuple[IntArray, FloatArray]:
        """The candidates and their values, plus a last entry for all other chunks."""
        return np.concatenate((self.chunks, _NOBODY)), np.concatenate((self.values, _UNKNOWN))

    def of(self, chunks: IntArray) -> FloatArray:
        """Return the evidence of any chunks, in the given order."""
        if not len(self.chunks):
            found = np.zeros(len(chunks), np.bool_)
            held: FloatArray = np.zeros(len(chunks))
        else:
            at = np.searchsorted(self.chunks, chunks)
            at[at == len(self.chunks)] = 0
            found = self.chunks[at] == chunks
            held = self.values[at]
        if not callable(self.elsewhere):
            return np.where(found, held, self.elsewhere)
        if found.all():
            return held
        values = held.astype(np.float64)
        values[~found] = self.elsewhere(chunks[~found])
        return values


def fuse(
    lexical_chunks: IntArray,
    lexical_scores: FloatArray,
    dense_chunks: IntArray | None = None,
    dense_scores: FloatArray | None = None,
    *,
    similarity: Callable[[IntArray], FloatArray] | None = None,
    dense_weight: float = 0.7,
    floor: float = 0.05,
) -> Evidence:
    """Fuse lexical and dense scores into direct evidence.

    ``dense_weight * dense + (1 - dense_weight) * bm25``, where BM25 is divided by its
    maximum, and the cosine is min-max scaled over the candidates: all chunks that either
    search returned. A chunk that lexical search did not return has a lexical score of 0.
    Without dense scores, evidence is the scaled BM25 alone.

    Parameters
    ----------
    lexical_chunks : ndarray of int, shape (n,)
        Distinct chunks, in any order.
    lexical_scores : ndarray of float, shape (n,), at least 0
        BM25.
    dense_chunks, dense_scores : ndarray, shape (m,), optional
        The nearest chunks and their cosines.
    similarity : callable, optional
        Cosine of any chunks to the query; required with ``dense_chunks``.
    dense_weight : float, in [0, 1]
        Weight of the dense score.
    floor : float, in [0, 1]
        Without dense scores, the evidence of chunks that lexical search did not return, so
        that activation can reach passages that share no word with the query.

    Examples
    --------
    >>> evidence = fuse(np.array([4, 1]), np.array([6.0, 3.0]))
    >>> evidence.chunks.tolist(), evidence.values.tolist()
    ([1, 4], [0.5, 1.0])
    """
    highest = lexical_scores.max(initial=0.0)
    scaled = lexical_scores / highest if highest > 0 else lexical_scores * 0.0
    if dense_chunks is None or dense_scores is None or not len(dense_chunks):
        order = np.argsort(lexical_chunks)
        return Evidence(lexical_chunks[order], scaled[order].astype(np.float64), floor)
    if similarity is None:
        raise TypeError("similarity is required to score chunks that dense search did not return")
    chunks, position = unique_inverse(np.concatenate([lexical_chunks, dense_chunks]))
    lexical = np.zeros(len(chunks))
    lexical[position[: len(lexical_chunks)]] = scaled
    known = position[len(lexical_chunks) :]
    dense = np.empty(len(chunks))
    dense[known] = dense_scores
    unknown = np.ones(len(chunks), np.bool_)
    unknown[known] = False
    dense[unknown] = similarity(chunks[unknown])
    low, high = float(dense.min()), float(dense.max())
    width = max(high - low, 1e-12)

    def elsewhere(others: IntArray) -> FloatArray:
        scaled: FloatArray = np.clip((similarity(others) - low) / width, 0.0, 1.0)
        return dense_weight * scaled

    values = dense_weight * ((dense - low) / width) + (1.0 - dense_weight) * lexical
    return Evidence(chunks, values, elsewhere)


def memoize_similarity(
    similarity: Callable[[IntArray], FloatArray],
) -> Callable[[IntArray], FloatArray]:
    """Memoize similarities by chunk: successive steps of spreading reach the same chunks."""
    chunks, values = np.empty(0, np.int64), _NO_FLOATS

    def of(others: IntArray) -> FloatArray:
        nonlocal chunks, values
        new = others
        if len(chunks):
            at = np.minimum(np.searchsorted(chunks, others), len(chunks) - 1)
            new = others[chunks[at] != others]
        if len(new):
            new, _ = unique_inverse(new)
            both = np.concatenate([chunks, new])
            order = both.argsort(kind="stable")
            chunks, values = both[order], np.concatenate([values, similarity(new)])[order]
        return values[np.searchsorted(chunks, others)]

    return of


def inhibit(evidence: Evidence, chunks: IntArray, factor: FloatArray) -> Evidence:
    """Multiply the evidence of some candidates by a factor; other chunks are ignored.

    Parameters
    ----------
    evidence : Evidence
    chunks : ndarray of int, shape (n,), ascending and different
    factor : ndarray of float, shape (n,), in [0, 1]

    Examples
    --------
    >>> evidence = Evidence(np.array([2, 5]), np.array([1.0, 0.5]))
    >>> less = inhibit(evidence, np.array([3, 5]), np.array([0.1, 0.5]))
    >>> less.values.tolist(), evidence.values.tolist()
    ([1.0, 0.25], [1.0, 0.5])
    """
    if not len(chunks) or not len(evidence.chunks):
        return evidence
    at = evidence.chunks.searchsorted(chunks)
    known = evidence.chunks.take(at, mode="clip") == chunks
    values = evidence.values.copy()
    values[at[known]] *= factor[known]
    return replace(evidence, values=values)
