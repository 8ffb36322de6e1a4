"""What a query says to one graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.overlay import Recollection
from hebbgraph.records import Cue
from hebbgraph.text import display

__all__ = ["Question", "cues_of", "idf"]


@dataclass(frozen=True)
class Question:
    """A query, read with the vocabulary of a graph.

    Parameters
    ----------
    query : str
    terms : list of str
        What lexical search looks for.
    cues : list of int
        The tags that the query names.
    vector : ndarray of float32, optional
        Its embedding, of unit length.
    given : dict of row to score, optional
        Direct evidence from elsewhere, in place of our own search.
    learned : Recollection, optional
        What it brings back of what was learned.
    """

    query: str
    terms: list[str]
    cues: list[int]
    vector: NDArray[np.float32] | None = None
    given: dict[int, float] | None = None
    learned: Recollection | None = None


def idf(graph: TagGraph, tags: IntArray) -> NDArray[np.float64]:
    """Return ``log(1 + N / df)``."""
    weights: NDArray[np.float64] = np.log1p(graph.n_chunks / np.maximum(graph.df(tags), 1))
    return weights


def cues_of(graph: TagGraph, question: Question) -> tuple[Cue, ...]:
    """Return the cues as records."""
    weights = idf(graph, np.array(question.cues, dtype=np.int64))
    keys = graph.phrases.keys
    return tuple(
        Cue(tag=display(keys[tag]), weight=weight)
        for tag, weight in zip(question.cues, weights.tolist(), strict=True)
    )
