"""Phase 2: the Edge Transformer learns which pairs belong together (binary cross entropy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hebbgraph_papers.nakg.clusters import Clusters
from hebbgraph_papers.nakg.early_stopping import OnEpoch, train_with_early_stopping
from hebbgraph_papers.nakg.examples import Pairs, held_back
from hebbgraph_papers.nakg.modules import Nakg
from hebbgraph_papers.nakg.parameters import NeuralSettings
from hebbgraph_papers.nakg.report import PhaseReport

__all__ = ["train_edges"]

#: Clusters sampled per epoch; more would delay the check of held-back pairs.
_CLUSTERS_PER_EPOCH = 32
#: Negatives sampled per positive, from the same cluster.
_NEGATIVES = 4


@dataclass(frozen=True)
class _PairTask:
    """One cluster: entries of its weight matrix, and their targets."""

    members: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]


def train_edges(
    model: Nakg,
    vectors: Tensor,
    clusters: Clusters,
    pairs: Pairs,
    settings: NeuralSettings,
    on_epoch: OnEpoch | None = None,
) -> PhaseReport:
    """Train the Edge Transformer on positives within clusters and sampled negatives."""
    pairs = pairs.within(clusters.labels)
    mask = held_back(len(pairs.first), settings.seed)
    training, validation = pairs.where(~mask), pairs.where(mask)
    rng = np.random.default_rng(settings.seed)
    if not len(training.first) or not settings.edge_epochs:
        return PhaseReport()
    members = clusters.members()
    # Held-back positives must not be sampled as negatives.
    known = _by_cluster(pairs, clusters)
    tests = _tasks(validation, known, clusters, members, settings, np.random.default_rng(rng))
    if len(tests) > _CLUSTERS_PER_EPOCH:
        tests = tests[:_CLUSTERS_PER_EPOCH]

    def loss_of(task: _PairTask) -> tuple[Tensor, float]:
        logits = model.edges(vectors[torch.from_numpy(task.members)])
        loss = functional.binary_cross_entropy_with_logits(
            logits[torch.from_numpy(task.rows), torch.from_numpy(task.columns)],
            torch.from_numpy(task.targets),
            weight=torch.from_numpy(task.weights),
            reduction="sum",
        )
        return loss, float(task.weights.sum())

    def judge() -> float | None:
        with torch.no_grad():
            parts = [loss_of(task) for task in tests]
        total = sum(weight for _, weight in parts)
        return sum(float(loss) for loss, _ in parts) / total if total else None

    optimizer = torch.optim.AdamW(model.edges.parameters(), lr=settings.edge_learning_rate)

    def epoch() -> None:
        tasks = _tasks(training, known, clusters, members, settings, rng)
        rng.shuffle(tasks)
        for task in tasks[:_CLUSTERS_PER_EPOCH]:
            optimizer.zero_grad()
            loss, weight = loss_of(task)
            (loss / weight).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.edges.parameters(), 1.0)
            optimizer.step()

    report = train_with_early_stopping(
        model, epoch, judge, settings.edge_epochs, settings.patience, "edges", on_epoch
    )
    counts = {"examples": len(training.first), "held_back": len(validation.first)}
    return report.model_copy(update=counts)


def _by_cluster(pairs: Pairs, clusters: Clusters) -> dict[int, NDArray[np.int64]]:
    """Return the positions of the pairs in each cluster."""
    labels = clusters.labels[pairs.first]
    order = np.argsort(labels, kind="stable")
    numbers, starts = np.unique(labels[order], return_index=True)
    groups = np.split(order, starts[1:]) if len(numbers) else ()
    return dict(zip(numbers.tolist(), groups, strict=True))


def _tasks(
    pairs: Pairs,
    known: dict[int, NDArray[np.int64]],
    clusters: Clusters,
    members: Sequence[NDArray[np.int64]],
    settings: NeuralSettings,
    rng: np.random.Generator,
) -> list[_PairTask]:
    """Combine both directions of each pair with negatives sampled from the same cluster."""
    tasks = []
    for label, at in sorted(_by_cluster(pairs, clusters).items()):
        inside = members[label]
        first = np.searchsorted(inside, pairs.first[at])
        second = np.searchsorted(inside, pairs.second[at])
        n = len(inside)
        positive = np.zeros((n, n), np.bool_)
        positive[first, second] = positive[second, first] = True
        drawn = rng.integers(0, n, size=(2, _NEGATIVES * 2 * len(at)))
        fits = (drawn[0] != drawn[1]) & ~positive[drawn[0], drawn[1]]
        negatives = drawn[:, fits]
        weights = np.concatenate(
            [pairs.weights[at], pairs.weights[at], np.ones(negatives.shape[1], np.float32)]
        )
        targets = np.zeros(len(weights), np.float32)
        targets[: 2 * len(at)] = 1.0
        tasks.append(
            _PairTask(
                inside,
                np.concatenate([first, second, negatives[0]]),
                np.concatenate([second, first, negatives[1]]),
                targets,
                weights.astype(np.float32),
            )
        )
    return tasks
