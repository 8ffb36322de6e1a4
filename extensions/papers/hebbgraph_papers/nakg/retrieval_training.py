"""Phase 3: bring questions close to the chunks cited for them.

A contrastive loss over the propagated vectors; gradients flow through the edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hebbgraph_papers.nakg.clusters import Clusters
from hebbgraph_papers.nakg.early_stopping import OnEpoch, train_with_early_stopping
from hebbgraph_papers.nakg.examples import LearnedQuestion
from hebbgraph_papers.nakg.modules import Nakg
from hebbgraph_papers.nakg.parameters import NeuralSettings
from hebbgraph_papers.nakg.report import PhaseReport

__all__ = ["train_retrieval"]

#: Chunks among which a cited one is ranked, approximately, and questions per step.
_BATCH_CHUNKS, _BATCH_QUESTIONS = 2_000, 256
#: Temperature of the contrastive loss.
_CONTRAST_TEMPERATURE = 0.05


def train_retrieval(
    model: Nakg,
    vectors: Tensor,
    clusters: Clusters,
    training: Sequence[LearnedQuestion],
    validation: Sequence[LearnedQuestion],
    settings: NeuralSettings,
    on_epoch: OnEpoch | None = None,
) -> PhaseReport:
    """Train the whole model on questions and the chunks cited for them."""
    if not training or not settings.retrieval_epochs:
        return PhaseReport()
    members = clusters.members()
    n_chunks = len(vectors)
    rng = np.random.default_rng(settings.seed + 1)

    def loss_of(questions: Sequence[LearnedQuestion], draw: np.random.Generator) -> Tensor:
        needed = {int(clusters.labels[chunk]) for q in questions for chunk in q.cited}
        for label in draw.permutation(len(members)).tolist():
            if sum(len(members[cluster]) for cluster in needed) >= _BATCH_CHUNKS:
                break
            needed.add(label)
        propagated, chunk_numbers, initial = [], [], []
        for label in sorted(needed):
            chunks = members[label]
            h = vectors[torch.from_numpy(chunks)]
            logits = model.edges(h)
            propagated.append(model.propagate(h, logits, model.choose(logits, n_chunks)))
            initial.append(h)
            chunk_numbers.append(chunks)
        z, h = torch.cat(propagated), torch.cat(initial)
        place = np.full(n_chunks, -1, dtype=np.int64)
        order = np.concatenate(chunk_numbers)
        place[order] = np.arange(len(order))
        return _contrast(z, questions, place, settings) + settings.stay_close * (
            1.0 - (z * h).sum(dim=1).mean()
        )

    def judge() -> float | None:
        if not validation:
            return None
        with torch.no_grad():
            return float(loss_of(validation, np.random.default_rng(settings.seed)))

    optimizer = _optimizer(model, settings)

    def epoch() -> None:
        order = rng.permutation(len(training))
        for start in range(0, len(order), _BATCH_QUESTIONS):
            batch = [training[at] for at in order[start : start + _BATCH_QUESTIONS]]
            optimizer.zero_grad()
            loss_of(batch, rng).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    report = train_with_early_stopping(
        model, epoch, judge, settings.retrieval_epochs, settings.patience, "retrieval", on_epoch
    )
    return report.model_copy(update={"examples": len(training), "held_back": len(validation)})


def _optimizer(model: Nakg, settings: NeuralSettings) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        [
            {"params": list(model.layers.parameters()), "lr": settings.retrieval_learning_rate},
            {"params": list(model.edges.parameters()), "lr": 0.1 * settings.edge_learning_rate},
        ]
    )


def _contrast(
    z: Tensor,
    questions: Sequence[LearnedQuestion],
    place: NDArray[np.int64],
    settings: NeuralSettings,
) -> Tensor:
    """Return the InfoNCE loss of each cited chunk against all chunks not cited."""
    queries = torch.from_numpy(np.stack([q.vector for q in questions if q.vector is not None]))
    scores = queries @ z.T / _CONTRAST_TEMPERATURE
    cited = torch.zeros(scores.shape, dtype=torch.bool)
    for row, question in enumerate(questions):
        cited[row, torch.from_numpy(place[list(question.cited)])] = True
    others = torch.logsumexp(scores.masked_fill(cited, float("-inf")), dim=1, keepdim=True)
    losses = functional.softplus(others - scores).masked_fill(~cited, 0.0).sum(dim=1)
    weights = torch.tensor([question.credit for question in questions], dtype=torch.float32)
    means = losses / cited.sum(dim=1)
    return (weights * means).sum() / weights.sum()
