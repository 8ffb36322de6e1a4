"""Reports of training."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["NeuralReport", "PhaseReport"]


class PhaseReport(BaseModel):
    """The outcome of one training phase.

    Attributes
    ----------
    epochs : int
        Epochs run, including those after the best one; 0 if there was nothing to train on.
    examples, held_back : int
        Number of pairs or questions trained on, and held back for early stopping.
    before, after : float, optional
        Held-back loss before the phase and at its best.
    """

    model_config = ConfigDict(frozen=True)

    epochs: int = 0
    examples: int = 0
    held_back: int = 0
    before: float | None = None
    after: float | None = None


class NeuralReport(BaseModel):
    """What :func:`hebbgraph_papers.nakg.train` did.

    Attributes
    ----------
    chunks, edges : int
    clusters : int
        Number of clusters after splitting.
    dense_clusters, noise : int
        Number of clusters that DBSCAN found, and of chunks it assigned to none.
    tag_pairs : int
        Positives found by tags.
    tag_pairs_within : float, in [0, 1]
        Share of them within one cluster; only these can become edges.
    co_cited_pairs : int
        Pairs cited together in the feedback log.
    co_cited_within : float, in [0, 1]
        Share of them within one cluster.
    questions : int
        Number of feedbacks used.
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
