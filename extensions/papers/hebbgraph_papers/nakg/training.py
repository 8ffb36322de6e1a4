"""The three phases of NAKG's training (section 3.5).

1. The encoder is pre-trained: it is the index's embedder, and stays as it is.
2. The Edge Transformer learns which chunks belong together: those that share a rare tag, that name
   each other's title, or that a lesson cites together.
3. The whole model learns to bring the question of a lesson close to the chunks that it cites.

Phases 2 and 3 hold a fifth of their examples back, stop when the loss on these has not fallen for
five epochs, and keep the best weights.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hebbgraph.arrays import BoolArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph_papers.nakg.links import cluster_chunks, members_of
from hebbgraph_papers.nakg.model import Model, untrained
from hebbgraph_papers.nakg.strategy import Nakg, read_vectors

if TYPE_CHECKING:
    from hebbgraph import HebbianIndex

__all__ = ["tag_pairs", "train"]

#: Chunks pair up by a tag of so many chunks, or by a title that so many chunks name.
_RARE_DF, _TITLE_DF = 5, 20
_CITED_WEIGHT, _NEGATIVES, _HELD_BACK, _PATIENCE = 4.0, 4, 0.2, 5
#: Of one epoch, and of one step.
_CLUSTERS, _BATCH_CHUNKS, _BATCH_QUESTIONS = 32, 2_000, 256
_EDGE_RATE, _LAYER_RATE, _SLOWER = 1e-4, 1e-3, 0.1
#: Temperature of the contrast, and the weight of staying close to the chunks' own vectors.
_CONTRAST, _STAY = 0.05, 1.0
_T = TypeVar("_T")
_Pairs = dict[tuple[int, int], float]
_Phase = tuple[int, float | None, float | None]
"""Epochs, and the loss on what was held back before and after."""


class _Question(NamedTuple):
    """A lesson: the vector of its question, positions of the chunks it cites, and its weight."""

    vector: NDArray[np.float32]
    cited: list[int]
    weight: float


def train(
    index: HebbianIndex, *, edge_epochs: int = 20, retrieval_epochs: int = 60, seed: int = 0
) -> Nakg:
    """Train NAKG on the vectors, tags and lessons of an index; the index stays as it is.

    Parameters
    ----------
    index : HebbianIndex
        With vectors. Without lessons, the third phase has nothing to learn from.
    edge_epochs, retrieval_epochs : int, at least 0
        At most so many, of the second and of the third phase.
    seed : int
        On a CPU, with the same number of threads, the same seed gives the same weights.

    Returns
    -------
    Nakg
        A strategy, with a ``report``.

    Raises
    ------
    ParameterError
        If the index holds no vectors.
    """
    data = _Reader()
    index.recall("training", 1, strategy=data)
    if not len(data.vectors):
        raise ParameterError("NAKG learns from vectors, got an index without any; add an embedder")
    questions = _questions(index, data)
    labels, vectors = cluster_chunks(data.vectors, seed=seed), torch.from_numpy(data.vectors)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = untrained(vectors.shape[1], seed)
        taught, tested = _split(questions, seed)
        pairs = data.pairs | {
            pair: _CITED_WEIGHT * question.weight
            for question in taught
            for pair in combinations(sorted(question.cited), 2)
        }
        within = {pair: w for pair, w in pairs.items() if labels[pair[0]] == labels[pair[1]]}
        edges = _train_edges(model, vectors, labels, within, edge_epochs, seed)
        retrieval = _train_retrieval(model, vectors, labels, taught, tested, retrieval_epochs, seed)
    report: dict[str, float | None] = {
        "clusters": int(labels.max()) + 1,
        "pairs": len(pairs),
        "pairs within clusters": len(within),
        "questions": len(questions),
    }
    for phase, (epochs, before, after) in (("edges", edges), ("retrieval", retrieval)):
        report |= {f"{phase}: epochs": epochs, f"{phase}: before": before, f"{phase}: after": after}
    return Nakg(model.eval(), report)


# -- what is read -----------------------------------------------------------------------------


class _Reader:
    """A strategy that ranks nothing: it reads what training needs, in one state of the index."""

    name = "nakg, reading"

    def rank(self, request: Request) -> Ranking:
        """Read vectors, ids, pairs by tags, and the vectors of lessons."""
        snapshot = request.snapshot
        rows, self.vectors = read_vectors(snapshot)
        ids = snapshot.ids(rows)
        self.position = {ids[row]: at for at, row in enumerate(rows.tolist())}
        self.pairs: _Pairs = dict.fromkeys(tag_pairs(*snapshot.tags_of(rows)), 1.0)
        sql = "SELECT id, vector FROM $lesson WHERE length(vector) = ?"  # of the same model
        found = snapshot.session.rows(sql, 4 * self.vectors.shape[1])
        self.lessons: Mapping[str, bytes] = dict(found)
        return Ranking(np.empty(0, np.int64), np.empty(0), pads=False)


def tag_pairs(owner: IntArray, tags: IntArray, is_title: BoolArray) -> set[tuple[int, int]]:
    """Return the pairs of chunks that tags say belong together, the smaller first.

    They share a tag that at most five chunks hold and that is the title of neither, or one names
    the other's title, which at most twenty chunks hold.

    Examples
    --------
    Chunk 0 has title 7, chunk 1 mentions it; chunks 1 and 2 share tag 8:

    >>> sorted(tag_pairs(np.array([0, 1, 1, 2]), np.array([7, 7, 8, 8]), np.array([1, 0, 0, 0])))
    [(0, 1), (1, 2)]
    """
    holders = defaultdict[int, list[tuple[int, bool]]](list)
    for chunk, tag, title in zip(owner.tolist(), tags.tolist(), is_title.tolist(), strict=True):
        holders[tag].append((chunk, bool(title)))
    return {
        (min(first, second), max(first, second))
        for held in holders.values()
        if len(held) <= _TITLE_DF
        for (first, title), (second, other) in combinations(held, 2)
        if title != other or (len(held) <= _RARE_DF and not title)
    }


def _questions(index: HebbianIndex, data: _Reader) -> list[_Question]:
    """Return the lessons in force that cite chunks with vectors."""
    found = []
    for lesson in index.lessons():
        cited = [data.position[id_] for id_ in lesson.cited if id_ in data.position]
        if cited and not lesson.note and (stored := data.lessons.get(lesson.id)) is not None:
            found.append(_Question(np.frombuffer(stored, "<f4"), cited, lesson.weight))
    return found


def _split(examples: Iterable[_T], seed: int) -> tuple[list[_T], list[_T]]:
    """Return examples to train on, and those held back: none of fewer than five."""
    listed = list(examples)
    n = max(1, round(_HELD_BACK * len(listed))) if len(listed) >= 5 else 0
    order = np.random.default_rng(seed).permutation(len(listed)).tolist()
    return [listed[at] for at in order[n:]], [listed[at] for at in order[:n]]


# -- phases -----------------------------------------------------------------------------------


def _fit(
    model: Model, epoch: Callable[[], None], judge: Callable[[], float | None], at_most: int
) -> _Phase:
    """Train until the held-back loss stops falling; the model ends with its best weights."""
    before = best = judge()
    weights, since, done = copy.deepcopy(model.state_dict()), 0, 0
    while done < at_most and since < _PATIENCE:
        epoch()
        done += 1
        now = judge()
        if now is None or best is None:
            continue
        if now < best - 1e-4:
            best, weights, since = now, copy.deepcopy(model.state_dict()), 0
        else:
            since += 1
    if best is not None:
        model.load_state_dict(weights)
    return done, before, best


def _train_edges(
    model: Model, vectors: Tensor, labels: IntArray, pairs: _Pairs, at_most: int, seed: int
) -> _Phase:
    """Phase 2: binary cross entropy on pairs, and on others drawn from their clusters."""
    members, rng = members_of(labels), np.random.default_rng(seed)
    place = np.empty(len(labels), np.int64)
    for of_cluster in members:
        place[of_cluster] = np.arange(len(of_cluster))
    training, held_back = (_by_cluster(part, labels) for part in _split(pairs, seed))
    known = _by_cluster(pairs, labels)
    if not training:
        return 0, None, None

    def loss_of(label: int, some: list[tuple[int, int]], draw: np.random.Generator) -> Tensor:
        of_cluster = members[label]
        first, second = place[np.array(some)].T
        positive = np.zeros((len(of_cluster), len(of_cluster)), np.bool_)
        a, b = place[np.array(known[label])].T
        positive[a, b] = positive[b, a] = True
        drawn = draw.integers(0, len(of_cluster), size=(2, 2 * _NEGATIVES * len(some)))
        drawn = drawn[:, (drawn[0] != drawn[1]) & ~positive[drawn[0], drawn[1]]]
        weights = np.array([pairs[pair] for pair in some] * 2 + [1.0] * drawn.shape[1], np.float32)
        targets = (np.arange(len(weights)) < 2 * len(some)).astype(np.float32)
        logits = model.edges(vectors[torch.from_numpy(of_cluster)])[
            torch.from_numpy(np.concatenate((first, second, drawn[0]))),
            torch.from_numpy(np.concatenate((second, first, drawn[1]))),
        ]
        loss = functional.binary_cross_entropy_with_logits(
            logits, torch.from_numpy(targets), torch.from_numpy(weights), reduction="sum"
        )
        return loss / float(weights.sum())

    optimizer = torch.optim.AdamW(model.edges.parameters(), lr=_EDGE_RATE)

    def epoch() -> None:
        for label in rng.permutation(list(training))[:_CLUSTERS].tolist():
            _step(optimizer, loss_of(label, training[label], rng))

    def judge() -> float | None:
        draw = np.random.default_rng(seed)
        with torch.no_grad():
            losses = [
                float(loss_of(label, held_back[label], draw))
                for label in sorted(held_back)[:_CLUSTERS]
            ]
        return float(np.mean(losses)) if losses else None

    return _fit(model, epoch, judge, at_most)


def _by_cluster(
    pairs: Iterable[tuple[int, int]], labels: IntArray
) -> dict[int, list[tuple[int, int]]]:
    """Return the pairs of each cluster."""
    found = defaultdict[int, list[tuple[int, int]]](list)
    for pair in pairs:
        found[int(labels[pair[0]])].append(pair)
    return dict(found)


def _train_retrieval(
    model: Model,
    vectors: Tensor,
    labels: IntArray,
    taught: list[_Question],
    tested: list[_Question],
    at_most: int,
    seed: int,
) -> _Phase:
    """Phase 3: contrast cited chunks with others, over propagated vectors and through the edges."""
    members, rng = members_of(labels), np.random.default_rng(seed + 1)
    if not taught:
        return 0, None, None

    def loss_of(questions: list[_Question], draw: np.random.Generator) -> Tensor:
        needed = {int(labels[chunk]) for question in questions for chunk in question.cited}
        for label in draw.permutation(len(members)).tolist():
            if sum(len(members[cluster]) for cluster in needed) >= _BATCH_CHUNKS:
                break
            needed.add(label)
        chunks = [members[label] for label in sorted(needed)]
        own = [vectors[torch.from_numpy(of_cluster)] for of_cluster in chunks]
        moved = torch.cat([model(of_cluster, len(labels))[0] for of_cluster in own])
        place = {chunk: at for at, chunk in enumerate(np.concatenate(chunks).tolist())}
        stayed = 1.0 - (moved * torch.cat(own)).sum(dim=1).mean()
        return _contrast(moved, questions, place) + _STAY * stayed

    slow = {"params": list(model.edges.parameters()), "lr": _SLOWER * _EDGE_RATE}
    groups = [{"params": list(model.layers.parameters()), "lr": _LAYER_RATE}, slow]
    optimizer = torch.optim.AdamW(groups)

    def epoch() -> None:
        order = rng.permutation(len(taught)).tolist()
        for start in range(0, len(order), _BATCH_QUESTIONS):
            batch = [taught[at] for at in order[start : start + _BATCH_QUESTIONS]]
            _step(optimizer, loss_of(batch, rng))

    def judge() -> float | None:
        with torch.no_grad():
            return float(loss_of(tested, np.random.default_rng(seed))) if tested else None

    return _fit(model, epoch, judge, at_most)


def _contrast(moved: Tensor, questions: list[_Question], place: Mapping[int, int]) -> Tensor:
    """Return the InfoNCE loss of each cited chunk against all that are not cited."""
    asked = torch.from_numpy(np.stack([question.vector for question in questions]))
    scores = asked @ moved.T / _CONTRAST
    cited = torch.zeros(scores.shape, dtype=torch.bool)
    for row, question in enumerate(questions):
        cited[row, [place[chunk] for chunk in question.cited]] = True
    others = torch.logsumexp(scores.masked_fill(cited, float("-inf")), dim=1, keepdim=True)
    losses = functional.softplus(others - scores).masked_fill(~cited, 0.0).sum(dim=1)
    weights = torch.tensor([question.weight for question in questions])
    return (weights * losses / cited.sum(dim=1)).sum() / weights.sum()


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Follow the gradient of a loss, clipped."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
    optimizer.step()
