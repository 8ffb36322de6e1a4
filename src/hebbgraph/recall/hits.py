"""From numbers to records: break ties, fetch chunks, spell out paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.question import Question
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Chunk, Hit, PathStep
from hebbgraph.store.truth import Truth
from hebbgraph.text import display

__all__ = ["best_slots", "make_hits", "path_steps"]

_TIE_DECIMALS = 9
_QUERY = PathStep(kind="query")


def best_slots(truth: Truth, graph: TagGraph, ranking: Ranking, k: int) -> Ranking:
    """Return the k best slots, best first; ties go to the smaller id."""
    keys = ranking.scores.round(_TIE_DECIMALS)
    prefixes = graph.id_prefixes[ranking.slots]
    order = np.lexsort((prefixes, -keys))
    keys, prefixes = keys[order], prefixes[order]
    # Where the order still depends on the rest of the id, whole ids are compared.
    same = (keys[1:] == keys[:-1]) & (prefixes[1:] == prefixes[:-1])
    best = order[:k]
    if np.count_nonzero(same):
        group = np.concatenate(([0], np.cumsum(~same)))
        wanted = order[group <= group[min(k, len(order)) - 1]]
        group = group[: len(wanted)]
        unsettled = np.bincount(group)[group] > 1
        ids = truth.ids(graph.rows[ranking.slots[wanted[unsettled]]].tolist())
        rows = graph.rows[ranking.slots[wanted]].tolist()
        entries = zip(group.tolist(), rows, wanted.tolist(), strict=True)
        ranked = sorted(entries, key=lambda entry: (entry[0], ids.get(entry[1], "")))
        best = np.array([at for _, _, at in ranked[:k]], np.intp)
    return replace(ranking, slots=ranking.slots[best], scores=ranking.scores[best])


def make_hits(truth: Truth, request: Request, ranking: Ranking) -> tuple[Hit, ...] | None:
    """Fetch chunks and build the hits; None if a chunk no longer exists.

    Texts that are kept elsewhere are filled in later: no store is asked while locks are held.
    """
    graph, path, unlearned, ranked = request.graph, ranking.path, ranking.unlearned, ranking.pairs()
    stale = {} if ranking.stale is None else ranking.stale(slot for slot, _ in ranked)
    paths = [path(slot) if score > 0 else (PathNode("chunk", slot, 0.0),) for slot, score in ranked]
    slots = {slot for slot, _ in ranked}
    slots.update([node.id for nodes in paths for node in nodes if node.kind == "chunk"])
    rows = dict(zip(slots, graph.rows[list(slots)].tolist(), strict=True))
    outlines = truth.outlines(rows.values())
    if len(outlines) < len(rows):
        return None
    chunks = {slot: outlines[row].chunk for slot, row in rows.items()}
    by_itself = _direct_evidence(request, [slot for slot, _ in ranked])
    return tuple(
        Hit(  # as quick as to construct it unchecked
            chunk=chunks[slot],
            score=score,
            rank=rank,
            path=path_steps(graph, nodes, chunks, request.question),
            text_hash=outlines[rows[slot]].text_hash,
            stale=stale.get(slot),
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
