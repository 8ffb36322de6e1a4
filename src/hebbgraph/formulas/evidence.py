"""Direct evidence: how well a chunk by itself answers the query, in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, is_in_sorted, place_in, places_in

#: The share of vectors in direct evidence, until lessons move it; that of vectors made without the
#: order of words (LSA, averaged word vectors): they say less than BM25 of the same words.
DENSE_SHARE, BAG_SHARE = 0.55, 0.25

#: Maps chunks to their cosine with the query, or to evidence derived from it.
_ScoreOf = Callable[[IntArray], FloatArray]

#: Evidence of a chunk that no search returned: enough for activation to reach it over the graph,
#: too little to rank it by itself.
_FLOOR = 0.05


@dataclass(frozen=True)
class Evidence:
    """Direct evidence of the candidates, and of any other chunk on demand.

    The candidates, ``chunks``, ascend; ``values`` were fused from ``lexical`` and ``dense``, and
    ``others`` is the evidence of all other chunks, or a function of them. ``words`` maps n chunks
    to the weights of the question's rare words that each holds, shape (n, n_words), a row summing
    to at most 1. ``sentences`` maps n chunks and n addresses to the share of the question's words
    in the sentence where each chunk links to the address.

    >>> evidence = Evidence(np.array([2, 5]), np.array([1.0, 0.5]), others=0.05)
    >>> evidence.values_of(np.array([5, 3, 2])).tolist()
    [0.5, 0.05, 1.0]
    """

    chunks: IntArray
    values: FloatArray
    others: float | _ScoreOf = _FLOOR
    lexical: FloatArray | None = None
    dense: FloatArray | None = None
    confidence: float = 1.0
    share_held: float = 1.0
    words: _ScoreOf | None = None
    sentences: Callable[[IntArray, IntArray], FloatArray] | None = None

    def values_of(self, chunks: IntArray) -> FloatArray:
        """Return the evidence of any chunks, in the given order."""
        at, known = places_in(self.chunks, chunks)
        values, others = np.empty(len(chunks)), self.others
        values[known] = self.values[at[known]]
        if not known.all():
            values[~known] = others(chunks[~known]) if callable(others) else others
        return values

    def parts(self, chunk: int) -> tuple[float | None, float | None]:
        """Return the lexical and the dense score of a chunk; None if unknown."""
        if (at := place_in(self.chunks, chunk)) is None:
            return None, None
        lexical, dense = (None if x is None else float(x[at]) for x in (self.lexical, self.dense))
        return lexical, dense

    def upheld(self, chunks: IntArray) -> Evidence:
        """Return evidence in which dense search lowers none of these chunks, ascending."""
        assert self.lexical is not None
        is_upheld = is_in_sorted(self.chunks, chunks)
        highest = np.maximum(self.values, self.lexical)
        return replace(self, values=np.where(is_upheld, highest, self.values))


def fuse(
    lexical_chunks: IntArray,
    lexical_scores: FloatArray,
    dense_chunks: IntArray | None = None,
    dense_scores: FloatArray | None = None,
    *,
    similarity: _ScoreOf | None = None,
    n_chunks: int = 0,
    share: float = DENSE_SHARE,
) -> Evidence:
    """Fuse word and vector search into direct evidence.

    ``share * dense + (1 - share) * bm25``, where BM25 is divided by its maximum, and the cosine is
    min-max scaled over the candidates (all chunks that either search returned). Without dense
    scores, evidence is the scaled BM25 alone, and .05 for all other chunks.

    ``similarity`` gives the cosine of any chunks to the question; NaN for those without a vector,
    which count as the farthest. Without it, other chunks count as if they came next by rank.

    >>> evidence = fuse(np.array([4, 1]), np.array([6.0, 3.0]))
    >>> evidence.chunks.tolist(), evidence.values.tolist()
    ([1, 4], [0.5, 1.0])
    """
    highest = lexical_scores.max(initial=0.0)
    bm25 = lexical_scores / highest if highest > 0 else lexical_scores * 0.0
    if dense_chunks is None or dense_scores is None or not len(dense_chunks):
        order = np.argsort(lexical_chunks)
        return Evidence(lexical_chunks[order], bm25[order], lexical=bm25[order])
    chunks, position = np.unique(
        np.concatenate([lexical_chunks, dense_chunks]), return_inverse=True
    )
    lexical = np.zeros(len(chunks))
    lexical[position[: len(lexical_chunks)]] = bm25
    known = position[len(lexical_chunks) :]
    if similarity is None:
        dense, dense_of_others = _scaled_by_rank(len(chunks), known, dense_scores, n_chunks)
    else:
        dense, dense_of_others = _scaled_cosines(chunks, known, dense_scores, similarity)
    return Evidence(
        chunks,
        share * dense + (1.0 - share) * lexical,
        lambda others: share * dense_of_others(others),
        lexical=lexical,
        dense=dense,
    )


def _scaled_cosines(
    chunks: IntArray, known: IntArray, scores: FloatArray, similarity: _ScoreOf
) -> tuple[FloatArray, _ScoreOf]:
    """Min-max scale the cosines of the candidates; return the scaling of other chunks too."""
    unknown = np.ones(len(chunks), np.bool_)
    unknown[known] = False
    cosines = np.empty(len(chunks))
    cosines[known] = scores
    cosines[unknown] = similarity(chunks[unknown])
    low, high = float(np.nanmin(cosines)), float(np.nanmax(cosines))
    if high <= low:
        low = high - 1.0
    width = high - low

    def scaled_of_others(others: IntArray) -> FloatArray:
        scaled: FloatArray = np.clip((similarity(others) - low) / width, 0.0, 1.0)
        return np.nan_to_num(scaled)

    return np.nan_to_num((cosines - low) / width), scaled_of_others


def _scaled_by_rank(
    n: int, known: IntArray, scores: FloatArray, n_chunks: int
) -> tuple[FloatArray, _ScoreOf]:
    """Scale the scores of an external search to [0, 1]; it knows no others."""
    # Scores fall about evenly with the logarithm of the rank; what was not returned comes next.
    low, high = float(scores.min()), float(scores.max())
    fall = (high - low) / math.log(max(len(scores), 2))
    following = high - fall * math.log(len(scores) + 1)
    lowest = high - fall * math.log(max(n_chunks, len(scores) + 1))
    if high <= lowest:  # equal scores: all are as near as the nearest
        lowest = following = high - 1.0
    width = high - lowest
    dense = np.full(n, following)
    dense[known] = scores
    rest = (following - lowest) / width
    return (dense - lowest) / width, lambda others: np.full(len(others), rest)
