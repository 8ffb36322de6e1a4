"""A query, read with one graph's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.derived.parts import Derived
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.episodes import question_features
from hebbgraph.learning.overlay import Recollection
from hebbgraph.records import Cue
from hebbgraph.text import display

__all__ = ["Features", "Question", "cues_of", "idf"]

_MOST_HELD = 65_536


@dataclass(frozen=True)
class Question:
    """A query, read with the vocabulary of a graph.

    Parameters
    ----------
    query : str
    terms : list of str
        For lexical search.
    cues : list of int
        The tags that the query names.
    vector : ndarray of float32, optional
        Its embedding, of unit length.
    given : dict of row to score, optional
        The caller's direct evidence, instead of our own search.
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


class Features:
    """Features of questions for finding similar past ones; each is looked up once per graph.

    Questions share most of their words, and looking one up costs more than the comparison.

    Parameters
    ----------
    derived : Derived
        The caller holds its lock.
    """

    def __init__(self, derived: Derived) -> None:
        self._derived = derived
        self._held_for: tuple[TagGraph, int] | None = None
        self._cues: dict[int, dict[str, float]] = {}
        self._terms: dict[str, dict[str, float]] = {}

    def of(self, graph: TagGraph, cues: Sequence[int], terms: Sequence[str]) -> dict[str, float]:
        """Return the features; see :func:`hebbgraph.learning.episodes.question_features`."""
        if self._held_for != (graph, graph.generation) or (
            len(self._cues) + len(self._terms) > _MOST_HELD
        ):
            self._held_for = graph, graph.generation
            self._cues, self._terms = {}, {}
        if new := [tag for tag in cues if tag not in self._cues]:
            weights = idf(graph, np.array(new, dtype=np.int64)).tolist()
            for tag, weight in zip(new, weights, strict=True):
                self._cues[tag] = question_features({graph.phrases.keys[tag]: weight}, ())
        if unknown := [term for term in terms if term not in self._terms]:
            for term, weight in self._derived.term_weights(unknown):
                self._terms[term] = question_features({}, [(term, weight)])
        features: dict[str, float] = {}
        for tag in cues:
            features |= self._cues[tag]
        for term in terms:
            features |= self._terms[term]
        return features
