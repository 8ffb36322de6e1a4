"""The three phases of training, on arrays.

1. The encoder is pretrained and frozen: the vectors of the index are taken as they are.
2. The Edge Transformer learns which pairs belong together (binary cross entropy).
3. The whole model learns to bring a question near the chunks that were cited for it
   (contrastive loss over the propagated vectors), gradients passing through the edges.

Phases 2 and 3 stop when what was held back no longer gets better, and keep the best state.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hebbgraph.neural.clusters import Clusters
from hebbgraph.neural.edges import Edges, edges_of, minimum_links, selected
from hebbgraph.neural.examples import LearnedQuestion, Pairs, co_cited, held_back
from hebbgraph.neural.modules import Nakg
from hebbgraph.neural.settings import NeuralSettings
from hebbgraph.typing import FloatArray

__all__ = ["Phase", "Trained", "derive", "train_edges", "train_model", "train_retrieval"]

logger = logging.getLogger(__name__)

OnEpoch = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Phase:
    """How a phase went.

    Attributes
    ----------
    epochs : int
        Passes, those after the best one included.
    examples, held_back : int
        Pairs or questions that were trained on, and that decided when to stop.
    before, after : float
        Loss on what was held back, before the phase and at its best; NaN if nothing was.
    """

    epochs: int = 0
    examples: int = 0
    held_back: int = 0
    before: float = float("nan")
    after: float = float("nan")


@dataclass(frozen=True)
class Trained:
    """What training leads to."""

    model: Nakg
    edge_phase: Phase = field(default_factory=Phase)
    retrieval_phase: Phase = field(default_factory=Phase)


def train_model(
    vectors: FloatArray,
    clusters: Clusters,
    pairs: Pairs,
    questions: Sequence[LearnedQuestion],
    settings: NeuralSettings,
    *,
    model: Nakg | None = None,
    on_epoch: OnEpoch | None = None,
) -> Trained:
    """Run phases 2 and 3.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    clusters : Clusters
    pairs : Pairs
        Positives that need no labels.
    questions : sequence of LearnedQuestion
        The feedback log; may be empty, and the third phase then is.
    settings : NeuralSettings
    model : Nakg, optional
        To go on with; left out, a new one.
    on_epoch : callable, optional
        Called with the phase, passes done, and passes at most.
    """
    with _seeded(settings.seed):
        if model is None:
            model = Nakg(vectors.shape[1], settings)
        tensor = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))
        asked = [question for question in questions if question.cited]
        kept_back = held_back(len(asked), settings.held_back, settings.seed)
        learned = [one for one, held in zip(asked, kept_back, strict=True) if not held]
        judged = [one for one, held in zip(asked, kept_back, strict=True) if held]
        cited = co_cited(learned, weight=settings.co_cited_weight)
        edge_phase = train_edges(
            model, tensor, clusters, Pairs.joined([pairs, cited]), settings, on_epoch
        )
        retrieval_phase = train_retrieval(
            model,
            tensor,
            clusters,
            [one for one in learned if one.vector is not None],
            [one for one in judged if one.vector is not None],
            settings,
            on_epoch,
        )
    return Trained(model, edge_phase, retrieval_phase)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Draw from a seed, and leave the caller's generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


# -- phase 2 ------------------------------------------------------------------------


@dataclass(frozen=True)
class _PairTask:
    """One cluster: which entries of its matrix are looked at, and what they should be."""

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
) -> Phase:
    """Train the Edge Transformer on positives within clusters and drawn negatives."""
    pairs = pairs.within(clusters.labels)
    judged = held_back(len(pairs.first), settings.held_back, settings.seed)
    learned, kept_back = pairs.where(~judged), pairs.where(judged)
    rng = np.random.default_rng(settings.seed)
    if not len(learned.first) or not settings.edge_epochs:
        return Phase()
    members = clusters.members()
    # Held-back positives are no negatives either.
    known = _by_cluster(pairs, clusters)
    tests = _tasks(kept_back, known, clusters, members, settings, np.random.default_rng(rng))
    if len(tests) > settings.clusters_per_epoch:
        tests = tests[: settings.clusters_per_epoch]

    def loss_of(task: _PairTask) -> tuple[Tensor, float]:
        logits = model.edges(vectors[torch.from_numpy(task.members)])
        looked_at = logits[torch.from_numpy(task.rows), torch.from_numpy(task.columns)]
        loss = functional.binary_cross_entropy_with_logits(
            looked_at,
            torch.from_numpy(task.targets),
            weight=torch.from_numpy(task.weights),
            reduction="sum",
        )
        return loss, float(task.weights.sum())

    def judge() -> float:
        with torch.no_grad():
            parts = [loss_of(task) for task in tests]
        total = sum(weight for _, weight in parts)
        return sum(float(loss) for loss, _ in parts) / total if total else float("nan")

    optimizer = torch.optim.AdamW(model.edges.parameters(), lr=settings.edge_learning_rate)

    def epoch() -> None:
        tasks = _tasks(learned, known, clusters, members, settings, rng)
        rng.shuffle(tasks)
        for task in tasks[: settings.clusters_per_epoch]:
            optimizer.zero_grad()
            loss, weight = loss_of(task)
            (loss / weight).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.edges.parameters(), 1.0)
            optimizer.step()

    before, after, epochs = _until_no_better(
        model, epoch, judge, settings.edge_epochs, settings.patience, "edges", on_epoch
    )
    return Phase(epochs, len(learned.first), len(kept_back.first), before, after)


def _by_cluster(pairs: Pairs, clusters: Clusters) -> dict[int, NDArray[np.int64]]:
    """Which pairs lie in each cluster, by position."""
    labels = clusters.labels[pairs.first]
    order = np.argsort(labels, kind="stable")
    found, starts = np.unique(labels[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True)) if len(found) else {}


def _tasks(
    pairs: Pairs,
    known: dict[int, NDArray[np.int64]],
    clusters: Clusters,
    members: Sequence[NDArray[np.int64]],
    settings: NeuralSettings,
    rng: np.random.Generator,
) -> list[_PairTask]:
    """Both directions of each pair, and negatives drawn from the same cluster."""
    tasks = []
    for label, at in sorted(_by_cluster(pairs, clusters).items()):
        inside = members[label]
        first = np.searchsorted(inside, pairs.first[at])
        second = np.searchsorted(inside, pairs.second[at])
        n = len(inside)
        positive = np.zeros((n, n), np.bool_)
        positive[first, second] = positive[second, first] = True
        drawn = rng.integers(0, n, size=(2, settings.negatives * 2 * len(at)))
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


# -- phase 3 ------------------------------------------------------------------------


def train_retrieval(
    model: Nakg,
    vectors: Tensor,
    clusters: Clusters,
    learned: Sequence[LearnedQuestion],
    judged: Sequence[LearnedQuestion],
    settings: NeuralSettings,
    on_epoch: OnEpoch | None = None,
) -> Phase:
    """Train the whole model on questions and what was cited for them."""
    if not learned or not settings.retrieval_epochs:
        return Phase()
    members = clusters.members()
    n_chunks = len(vectors)
    rng = np.random.default_rng(settings.seed + 1)

    def loss_of(questions: Sequence[LearnedQuestion], draw: np.random.Generator) -> Tensor:
        needed = {int(clusters.labels[chunk]) for one in questions for chunk in one.cited}
        for label in draw.permutation(len(members)).tolist():
            if sum(len(members[one]) for one in needed) >= settings.batch_chunks:
                break
            needed.add(label)
        parts, inside, own = [], [], []
        for label in sorted(needed):
            chunks = members[label]
            h = vectors[torch.from_numpy(chunks)]
            parts.append(_propagated(model, h, n_chunks))
            own.append(h)
            inside.append(chunks)
        z, h = torch.cat(parts), torch.cat(own)
        place = np.full(n_chunks, -1, dtype=np.int64)
        order = np.concatenate(inside)
        place[order] = np.arange(len(order))
        return _contrast(z, questions, place, settings) + settings.stay_close * (
            1.0 - (z * h).sum(dim=1).mean()
        )

    def judge() -> float:
        if not judged:
            return float("nan")
        with torch.no_grad():
            return float(loss_of(judged, np.random.default_rng(settings.seed)))

    optimizer = torch.optim.AdamW(
        [
            {"params": list(model.layers.parameters()), "lr": settings.retrieval_learning_rate},
            {"params": list(model.edges.parameters()), "lr": 0.1 * settings.edge_learning_rate},
        ]
    )

    def epoch() -> None:
        order = rng.permutation(len(learned))
        for start in range(0, len(order), settings.batch_questions):
            batch = [learned[at] for at in order[start : start + settings.batch_questions]]
            optimizer.zero_grad()
            loss_of(batch, rng).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    before, after, epochs = _until_no_better(
        model, epoch, judge, settings.retrieval_epochs, settings.patience, "retrieval", on_epoch
    )
    return Phase(epochs, len(learned), len(judged), before, after)


def _contrast(
    z: Tensor,
    questions: Sequence[LearnedQuestion],
    place: NDArray[np.int64],
    settings: NeuralSettings,
) -> Tensor:
    """InfoNCE of each cited chunk against all that are not cited for the question."""
    asked = torch.from_numpy(np.stack([one.vector for one in questions if one.vector is not None]))
    scores = asked @ z.T / settings.contrast
    cited = torch.zeros(scores.shape, dtype=torch.bool)
    for row, one in enumerate(questions):
        cited[row, torch.from_numpy(place[list(one.cited)])] = True
    others = torch.logsumexp(scores.masked_fill(cited, float("-inf")), dim=1, keepdim=True)
    losses = functional.softplus(others - scores).masked_fill(~cited, 0.0).sum(dim=1)
    weights = torch.tensor([one.credit for one in questions], dtype=torch.float32)
    means = losses / cited.sum(dim=1)
    return (weights * means).sum() / weights.sum()


def _until_no_better(
    model: Nakg,
    epoch: Callable[[], None],
    judge: Callable[[], float],
    at_most: int,
    patience: int,
    phase: str,
    on_epoch: OnEpoch | None,
) -> tuple[float, float, int]:
    """Train until what was held back got no better for a while; keep the best state."""
    before = best = judge()
    kept = copy.deepcopy(model.state_dict())
    since = done = 0
    for done in range(1, at_most + 1):
        model.train()
        epoch()
        model.eval()
        now = judge()
        if on_epoch is not None:
            on_epoch(phase, done, at_most)
        logger.debug("%s: pass %d, held-back loss %.4f", phase, done, now)
        if np.isnan(now):  # nothing is held back: all passes count
            continue
        if now < best - 1e-4:
            best, since = now, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            since += 1
            if since >= patience:
                break
    if not np.isnan(best):
        model.load_state_dict(kept)
    return before, best, done


# -- from a model to edges and vectors ------------------------------------------------


def _chosen(model: Nakg, logits: Tensor, n_chunks: int) -> Tensor:
    settings = model.settings
    minimum = minimum_links(
        len(logits),
        n_chunks,
        share=settings.link_share,
        at_least=settings.min_links,
        literal_chunks=settings.literal_chunks,
        cap=settings.link_cap,
    )
    weights = torch.sigmoid(logits.detach()).numpy()
    return torch.from_numpy(
        selected(weights, minimum=minimum, deviations=settings.threshold_deviations)
    )


def _propagated(model: Nakg, h: Tensor, n_chunks: int) -> Tensor:
    logits = model.edges(h)
    return model.propagate(h, logits, _chosen(model, logits, n_chunks))


def derive(
    model: Nakg, vectors: FloatArray, clusters: Clusters
) -> tuple[Edges, NDArray[np.float32]]:
    """Return the edges and propagated vectors of a whole collection, cluster by cluster.

    Parameters
    ----------
    model : Nakg
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    clusters : Clusters

    Returns
    -------
    edges : Edges
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    """
    parts: list[Edges] = []
    result = np.array(vectors, dtype=np.float32)
    model.eval()
    with torch.inference_mode():
        for members in clusters.members():
            h = torch.from_numpy(result[members])
            logits = model.edges(h)
            chosen = _chosen(model, logits, len(vectors))
            weights = torch.sigmoid(logits).numpy()
            parts.append(edges_of(members, weights, chosen.numpy()))
            result[members] = model.propagate(h, logits, chosen).numpy()
    return Edges.concatenated(parts), result
