"""NAKG's relevance: term presence, word order and semantic similarity.

NAKG [1]_ weights the three parts 40, 30 and 30 %, with "rank-based decay" and "aggressive
score separation with temperature scaling (T = 8)". The paper describes each part in three
words; the formulas are our reading of them.

References
----------
.. [1] Gibbs, Neural Adaptive Knowledge Graphs, section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.parameters import check_range, former_fields
from numpy.typing import NDArray

__all__ = [
    "PARTIAL_CREDIT",
    "RANK_DECAY",
    "TEMPERATURE",
    "NeuralRecall",
    "rank_decay",
    "relevance",
    "separate_scores",
    "term_presence",
    "word_order",
]

#: Credit for a term that matches only by a prefix; not in the paper.
PARTIAL_CREDIT = 0.5
#: Separation of scores, as in the paper.
TEMPERATURE = 8.0
#: Factor from one rank to the next. The paper gives none.
RANK_DECAY = 0.95
_PREFIX = 4


@former_fields("partial_credit", "temperature", "rank_decay", "fan_out")
@dataclass(frozen=True, kw_only=True)
class NeuralRecall:
    """The shares of relevance, and how many chunks are scored.

    Parameters
    ----------
    term_share, order_share, semantic_share : float, at least 0
        Weights of the parts. Paper: 0.4, 0.3, 0.3.
    candidates : int, at least 1
        Chunks to score: this many by vectors and as many by terms.
    """

    term_share: float = 0.4
    order_share: float = 0.3
    semantic_share: float = 0.3
    candidates: int = 100

    def __post_init__(self) -> None:
        shares = (self.term_share, self.order_share, self.semantic_share)
        if min(shares) < 0 or sum(shares) <= 0:
            raise ParameterError(f"shares must be at least 0 and not all 0, got {shares!r}")
        check_range(self, ("candidates",), 1)


def term_presence(
    query: Sequence[str], chunk: Sequence[str], *, partial: float = PARTIAL_CREDIT
) -> float:
    """Return the share of the query's terms that a chunk holds, in [0, 1].

    A missing term counts ``partial`` if it is a prefix of a term of the chunk, or the other way
    round, with at least four letters.

    Examples
    --------
    >>> term_presence(["captain", "ship", "storm"], ["shipyard", "captain"])
    0.5
    """
    if not query:
        return 0.0
    terms = set(chunk)
    prefixes = {term[:_PREFIX] for term in terms if len(term) >= _PREFIX}
    credit = 0.0
    for term in query:
        if term in terms:
            credit += 1.0
        elif len(term) >= _PREFIX and term[:_PREFIX] in prefixes:
            credit += partial * any(
                term.startswith(other) or other.startswith(term)
                for other in terms
                if other[:_PREFIX] == term[:_PREFIX] and len(other) >= _PREFIX
            )
    return credit / len(query)


def word_order(query: Sequence[str], chunk: Sequence[str]) -> float:
    """Return how well a chunk preserves the query's word order, in [0, 1].

    The mean of ``1 / d`` over adjacent terms of the query, where ``d`` is the smallest
    distance at which the second follows the first in the chunk; 0 if it never does, or if
    the query has one term.

    Examples
    --------
    >>> word_order(["red", "ship", "sails"], ["red", "old", "ship", "sails"])
    0.75
    """
    if len(query) < 2:
        return 0.0
    positions: dict[str, list[int]] = {}
    for position, term in enumerate(chunk):
        positions.setdefault(term, []).append(position)
    total = 0.0
    for first, second in pairwise(query):
        if first in positions and second in positions:
            firsts, seconds = np.array(positions[first]), np.array(positions[second])
            following = np.searchsorted(seconds, firsts, side="right")
            followed = following < len(seconds)
            gaps = seconds[following[followed]] - firsts[followed]
            total += 1.0 / int(gaps.min()) if len(gaps) else 0.0
    return total / (len(query) - 1)


def relevance(
    terms: FloatArray, order: FloatArray, semantic: FloatArray, parameters: NeuralRecall
) -> NDArray[np.float64]:
    """Return the weighted mean of the three parts.

    Parameters
    ----------
    terms, order : ndarray of float, shape (n,), in [0, 1]
    semantic : ndarray of float, shape (n,)
        Cosines; negative ones count 0.
    parameters : NeuralRecall

    Returns
    -------
    ndarray of float64, shape (n,), in [0, 1]

    Examples
    --------
    >>> relevance(np.array([1.0]), np.array([0.5]), np.array([0.2]), NeuralRecall()).round(2)
    array([0.61])
    """
    p = parameters
    weighed = (
        p.term_share * np.asarray(terms)
        + p.order_share * np.asarray(order)
        + p.semantic_share * np.maximum(semantic, 0.0)
    )
    total = p.term_share + p.order_share + p.semantic_share
    return np.asarray(weighed / total, dtype=np.float64)


def separate_scores(scores: FloatArray, *, temperature: float = TEMPERATURE) -> NDArray[np.float64]:
    """Separate scores around one half: ``sigmoid(T * (s - 0.5))``.

    Examples
    --------
    >>> separate_scores(np.array([0.25, 0.5, 0.75])).round(3)
    array([0.119, 0.5  , 0.881])
    """
    return np.asarray(1.0 / (1.0 + np.exp(-temperature * (scores - 0.5))), dtype=np.float64)


def rank_decay(scores: FloatArray, *, decay: float = RANK_DECAY) -> NDArray[np.float64]:
    """Multiply scores by ``decay ** (rank - 1)``; equal scores share a rank.

    Examples
    --------
    >>> rank_decay(np.array([0.2, 0.8, 0.8]), decay=0.5).tolist()
    [0.1, 0.8, 0.8]
    """
    _, rank = np.unique(-np.asarray(scores), return_inverse=True)
    return np.asarray(scores * decay**rank, dtype=np.float64)
