"""NAKG's relevance: term presence 40 %, word order 30 %, semantic matching 30 % [1]_, section 7.

The paper describes each part in three words, and names "rank-based decay" and "aggressive score
separation with temperature scaling (T = 8)"; the formulas are our reading.

References
----------
.. [1] Gibbs, Neural Adaptive Knowledge Graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray

__all__ = ["relevance", "term_presence", "word_order"]

_TERMS, _ORDER, _SEMANTICS, _TEMPERATURE = 0.4, 0.3, 0.3, 8.0
#: Not in the paper: the credit of a term that matches by a prefix of at least four letters, and
#: the factor from one rank to the next.
_PARTIAL, _PREFIX, _RANK_DECAY = 0.5, 4, 0.95


def term_presence(query: Sequence[str], chunk: Sequence[str]) -> float:
    """Return the share of the query's terms that a chunk holds, in [0, 1].

    A missing term counts half if it is the prefix of one of the chunk's terms, or the reverse.

    Examples
    --------
    >>> term_presence(["captain", "ship", "storm"], ["shipyard", "captain"])
    0.5
    """
    terms = set(chunk)
    long = [term for term in terms if len(term) >= _PREFIX]
    credit = 0.0
    for term in query:
        if term in terms:
            credit += 1.0
        elif len(term) >= _PREFIX:
            credit += _PARTIAL * any(o.startswith(term) or term.startswith(o) for o in long)
    return credit / max(len(query), 1)


def word_order(query: Sequence[str], chunk: Sequence[str]) -> float:
    """Return how well a chunk keeps the order of the query's terms, in [0, 1].

    The mean over adjacent terms of ``1 / d``, where ``d`` is the smallest distance at which the
    second follows the first in the chunk; 0 if it never does.

    Examples
    --------
    >>> word_order(["red", "ship", "sails"], ["red", "old", "ship", "sails"])
    0.75
    """
    places: dict[str, list[int]] = {}
    for place, term in enumerate(chunk):
        places.setdefault(term, []).append(place)
    total = 0.0
    for first, second in pairwise(query):
        starts, ends = np.array(places.get(first, [])), np.array(places.get(second, []))
        following = np.searchsorted(ends, starts, side="right")
        known = following < len(ends)
        if known.any():
            total += 1.0 / int((ends[following[known]] - starts[known]).min())
    return total / max(len(query) - 1, 1)


def relevance(terms: FloatArray, order: FloatArray, semantic: FloatArray) -> NDArray[np.float64]:
    """Return scores: the weighted mean of the parts, separated, with rank decay.

    ``sigmoid(8 (s - .5)) * .95 ** (rank - 1)``; equal scores share a rank.

    Parameters
    ----------
    terms, order : ndarray of float, shape (n,), in [0, 1]
    semantic : ndarray of float, shape (n,)
        Cosines; negative ones count 0.

    Examples
    --------
    >>> ones = np.array([1.0, 0.5, 0.5])
    >>> relevance(ones, ones, ones).round(4).tolist()  # sigmoid(4), .95 * sigmoid(0)
    [0.982, 0.475, 0.475]
    """
    mean = _TERMS * terms + _ORDER * order + _SEMANTICS * np.maximum(semantic, 0.0)
    scores = 1.0 / (1.0 + np.exp(-_TEMPERATURE * (mean - 0.5)))
    _, rank = np.unique(-scores.round(12), return_inverse=True)
    return np.asarray(scores * _RANK_DECAY**rank, np.float64)
