"""From numbers to records: break ties, fetch chunks, spell out paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.question import Question
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Chunk, Hit, PathStep, Stale
from hebbgraph.store.truth import Truth
from hebbgraph.text import display

__all__ = ["best_slots", "limit_per_colony", "make_hits", "path_steps"]

_TIE_DECIMALS = 9
_QUERY = PathStep(kind="query")


def best_slots(truth: Truth, graph: TagGraph, ranking: Ranking, k: int) -> list[tuple[int, float]]:
    """Return the k best slots with their scores; ties go to the smaller id."""
    keys = ranking.scores.round(_TIE_DECIMALS)
    prefixes = graph.id_prefixes[ranking.slots]
    order = np.lexsort((prefixes, -keys))
    keys, prefixes = keys[order], prefixes[order]
    # Where the order still depends on the rest of the id, whole ids are compared.
    same = (keys[1:] == keys[:-1]) & (prefixes[1:] == prefixes[:-1])
    if not np.count_nonzero(same):
        best = order[:k]
        slots, scores = ranking.slots[best].tolist(), ranking.scores[best].tolist()
        return list(zip(slots, scores, strict=True))
    group = np.concatenate(([0], np.cumsum(~same)))
    wanted = order[group <= group[min(k, len(order)) - 1]]
    group = group[: len(wanted)]
    unsettled = np.bincount(group)[group] > 1
    ids = truth.ids(graph.rows[ranking.slots[wanted[unsettled]]].tolist())
    ranked = sorted(
        zip(group.tolist(), ranking.slots[wanted].tolist(), wanted.tolist(), strict=True),
        key=lambda entry: (entry[0], ids.get(int(graph.rows[entry[1]]), "")),
    )
    return [(slot, float(ranking.scores[at])) for _, slot, at in ranked[:k]]


def limit_per_colony(
    ranked: list[tuple[int, float]], colony: IntArray, k: int, per_colony: int
) -> list[tuple[int, float]]:
    """Return k of the ranked slots, at most ``per_colony`` of one colony if there are others.

    Places that stay empty go to the best of those skipped. The order is kept. Slots with a negative
    colony belong to none.

    Examples
    --------
    >>> ranked = [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6)]
    >>> limit_per_colony(ranked, np.array([5, 5, 5, 6]), 2, 1)
    [(0, 0.9), (3, 0.6)]
    >>> limit_per_colony(ranked, np.array([5, 5, 5, 6]), 3, 1)
    [(0, 0.9), (1, 0.8), (3, 0.6)]
    """
    counts: dict[int, int] = {}
    first: list[int] = []
    over: list[int] = []
    for at, (slot, _) in enumerate(ranked):
        number = int(colony[slot])
        counts[number] = counts.get(number, 0) + 1
        (over if number >= 0 and counts[number] > per_colony else first).append(at)
    return [ranked[at] for at in sorted((first + over)[:k])]


def make_hits(
    truth: Truth,
    graph: TagGraph,
    ranked: list[tuple[int, float]],
    path: Callable[[int], Path],
    request: Request,
    stale: Mapping[int, Stale] | None = None,
    unlearned: Callable[[int], float] | None = None,
) -> tuple[Hit, ...] | None:
    """Fetch chunks and build the hits; None if a chunk no longer exists.

    Texts that are kept elsewhere are filled in later: no store is asked while locks are held.
    """
    paths = [path(slot) if score > 0 else (PathNode("chunk", slot, 0.0),) for slot, score in ranked]
    slots = {slot for slot, _ in ranked}
    slots.update([node.id for nodes in paths for node in nodes if node.kind == "chunk"])
    rows = dict(zip(slots, graph.rows[list(slots)].tolist(), strict=True))
    held = truth.outlines(rows.values())
    if len(held) < len(rows):
        return None
    chunks = {slot: held[row].chunk for slot, row in rows.items()}
    by_itself = _direct_evidence(request, [slot for slot, _ in ranked])
    return tuple(
        Hit(  # as quick as to construct it unchecked
            chunk=chunks[slot],
            score=score,
            rank=rank,
            path=path_steps(graph, nodes, chunks, request.question),
            text_hash=held[rows[slot]].text_hash,
            stale=None if stale is None else stale.get(slot),
            evidence=alone,
            lexical=lexical,
            dense=dense,
            unlearned=None if unlearned is None else round(min(unlearned(slot), 1.0), 6),
        )
        for rank, ((slot, score), nodes, (alone, lexical, dense)) in enumerate(
            zip(ranked, paths, by_itself, strict=True), start=1
        )
    )


def _direct_evidence(
    request: Request, slots: list[int]
) -> Iterable[tuple[float | None, float | None, float | None]]:
    """Return direct evidence of chunks, and what it was fused from; None for what is unknown."""
    if "evidence" not in vars(request):  # a cached property: the strategy read none
        return [(None, None, None)] * len(slots)
    chunks = np.array(slots, dtype=np.int64)
    evidence: list[float] = request.evidence.approximate(chunks).round(4).tolist()
    return zip(evidence, *request.evidence.fused_from(chunks), strict=True)


def path_steps(
    graph: TagGraph, nodes: Path, chunks: Mapping[int, Chunk], question: Question
) -> tuple[PathStep, ...]:
    """Spell out a path from the query on."""
    steps = [_QUERY]
    if question.learned is not None and nodes[0].kind == "chunk":
        steps += question.learned.episode_step(nodes[0])
    for node in nodes:
        if node.kind == "tag":
            value, title = display(graph.phrases.keys[node.id]), ""
        else:
            value, title = chunks[node.id].id, chunks[node.id].title
        steps.append(PathStep(kind=node.kind, value=value, title=title, weight=node.weight))
    return tuple(steps)
