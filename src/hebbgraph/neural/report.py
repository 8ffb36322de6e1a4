"""How training went."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["NeuralReport", "PhaseReport"]


class PhaseReport(BaseModel):
    """One phase of training.

    Attributes
    ----------
    epochs : int
        Passes, those after the best one included; 0 if there was nothing to train on.
    examples, held_back : int
        Pairs or questions that were trained on, and that decided when to stop.
    before, after : float, optional
        Loss on what was held back, before the phase and at its best.
    """

    model_config = ConfigDict(frozen=True)

    epochs: int = 0
    examples: int = 0
    held_back: int = 0
    before: float | None = None
    after: float | None = None


class NeuralReport(BaseModel):
    """What :func:`hebbgraph.neural.train` did.

    Attributes
    ----------
    chunks, edges : int
    clusters : int
        After splitting.
    dense_clusters, noise : int
        What DBSCAN found by itself, and how many chunks it left out of all clusters.
    tag_pairs : int
        Positives found by tags.
    tag_pairs_within : float, in [0, 1]
        Share of them within one cluster: edges can stand for no others.
    co_cited_pairs : int
        Pairs that were cited together in the feedback log.
    co_cited_within : float, in [0, 1]
    questions : int
        Feedbacks that were learned from.
    edge_phase, retrieval_phase : PhaseReport
    seconds : float
    """

    model_config = ConfigDict(frozen=True)

    chunks: int
    edges: int
    clusters: int
    dense_clusters: int
    noise: int
    tag_pairs: int
    tag_pairs_within: float
    co_cited_pairs: int
    co_cited_within: float
    questions: int
    edge_phase: PhaseReport
    retrieval_phase: PhaseReport
    seconds: float
