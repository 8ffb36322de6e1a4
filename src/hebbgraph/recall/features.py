"""What past queries are compared by when there are no vectors: tags and words, weighted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hebbgraph.derived.parts import Derived
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.episodes import question_features
from hebbgraph.learning.teaching import weighted_terms
from hebbgraph.recall.question import idf

__all__ = ["Features"]

_MOST_HELD = 65_536


class Features:
    """Features of questions, each looked up once while the graph stays as it is.

    Questions share most of their words, and a look-up costs more than all that is done
    with what it brings.

    Parameters
    ----------
    derived : Derived
        The caller holds the lock on its parts.
    """

    def __init__(self, derived: Derived) -> None:
        self._derived = derived
        self._held_for: tuple[TagGraph, int] | None = None
        self._cues: dict[int, dict[str, float]] = {}
        self._terms: dict[str, dict[str, float]] = {}

    def of(self, graph: TagGraph, cues: Sequence[int], terms: Sequence[str]) -> dict[str, float]:
        """Return those of :func:`hebbgraph.learning.episodes.question_features`."""
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
            for term, weight in weighted_terms(self._derived, unknown):
                self._terms[term] = question_features({}, [(term, weight)])
        features: dict[str, float] = {}
        for tag in cues:
            features |= self._cues[tag]
        for term in terms:
            features |= self._terms[term]
        return features
