"""The three phases of training on arrays, and the edges and vectors of the trained model.

1. The encoder is pretrained and frozen: the index's vectors are used as they are.
2. The Edge Transformer learns which pairs belong together (binary cross entropy).
3. The whole model learns to bring a question close to the chunks cited for it (contrastive
   loss over the propagated vectors); gradients flow through the edges.

Phases 2 and 3 stop early, on held-back examples, and keep the best state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from hebbgraph.arrays import FloatArray
from numpy.typing import NDArray

from hebbgraph_papers.nakg.clusters import Clusters
from hebbgraph_papers.nakg.early_stopping import OnEpoch
from hebbgraph_papers.nakg.edge_training import train_edges
from hebbgraph_papers.nakg.edges import NeuralEdges, edges_in_cluster
from hebbgraph_papers.nakg.examples import LearnedQuestion, Pairs, co_cited_pairs, held_back
from hebbgraph_papers.nakg.modules import Nakg
from hebbgraph_papers.nakg.parameters import NeuralSettings
from hebbgraph_papers.nakg.report import PhaseReport
from hebbgraph_papers.nakg.retrieval_training import train_retrieval

__all__ = ["TrainingResult", "derive_layer", "train_model"]


@dataclass(frozen=True)
class TrainingResult:
    """The trained model, and the outcome of both phases."""

    model: Nakg
    edge_phase: PhaseReport
    retrieval_phase: PhaseReport


def train_model(
    vectors: FloatArray,
    clusters: Clusters,
    pairs: Pairs,
    questions: Sequence[LearnedQuestion],
    settings: NeuralSettings,
    *,
    model: Nakg | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainingResult:
    """Run phases 2 and 3.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    clusters : Clusters
    pairs : Pairs
        Positives that need no labels.
    questions : sequence of LearnedQuestion
        Examples from the feedback log. If empty, the third phase is skipped.
    settings : NeuralSettings
    model : Nakg, optional
        Model to continue training; by default, a new one.
    on_epoch : callable, optional
        Called with the phase, the number of epochs done, and their maximum.
    """
    with _seeded(settings.seed):
        if model is None:
            model = Nakg(vectors.shape[1], settings)
        tensor = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))
        questions = [question for question in questions if question.cited]
        mask = held_back(len(questions), settings.seed).tolist()
        masked = list(zip(questions, mask, strict=True))
        training = [question for question, is_held_back in masked if not is_held_back]
        validation = [question for question, is_held_back in masked if is_held_back]
        cited = co_cited_pairs(training)
        edge_phase = train_edges(
            model, tensor, clusters, Pairs.joined([pairs, cited]), settings, on_epoch
        )
        retrieval_phase = train_retrieval(
            model,
            tensor,
            clusters,
            [question for question in training if question.vector is not None],
            [question for question in validation if question.vector is not None],
            settings,
            on_epoch,
        )
    return TrainingResult(model, edge_phase, retrieval_phase)


def derive_layer(
    model: Nakg, vectors: FloatArray, clusters: Clusters
) -> tuple[NeuralEdges, NDArray[np.float32]]:
    """Return the edges and propagated vectors of all chunks, cluster by cluster.

    Parameters
    ----------
    model : Nakg
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    clusters : Clusters
    """
    parts: list[NeuralEdges] = []
    result = np.array(vectors, dtype=np.float32)
    model.eval()
    with torch.inference_mode():
        for members in clusters.members():
            h = torch.from_numpy(result[members])
            logits = model.edges(h)
            chosen = model.choose(logits, len(vectors))
            weights = torch.sigmoid(logits).numpy()
            parts.append(edges_in_cluster(members, weights, chosen.numpy()))
            result[members] = model.propagate(h, logits, chosen).numpy()
    return NeuralEdges.concatenated(parts), result


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch, and restore the caller's random state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
