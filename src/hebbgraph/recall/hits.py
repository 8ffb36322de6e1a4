"""From slots and scores to hits: break ties, fill up to k, fetch chunks, spell out paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from hebbgraph.arrays import BoolArray
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.question import Question
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Chunk, Hit, PathStep, Recall
from hebbgraph.store.truth import Truth
from hebbgraph.text import display

__all__ = [
    "best_slots",
    "filled_up",
    "make_hits",
    "numbered",
    "path_steps",
    "unranked",
    "weighed",
]

_TIE_DECIMALS = 9
_QUERY = PathStep(kind="query")
#: From this many allowed chunks on, the database sorts the ids.
_SORT_IN_DATABASE = 5_000


def best_slots(truth: Truth, graph: TagGraph, ranking: Ranking, k: int) -> Ranking:
    """Return the k best slots, best first; ties go to the smaller id."""
    keys = ranking.scores.round(_TIE_DECIMALS)
    prefixes = graph.id_prefixes[ranking.slots]
    order = np.lexsort((prefixes, -keys))
    keys, prefixes = keys[order], prefixes[order]
    # Compare whole ids only where the prefixes leave the order open.
    same = (keys[1:] == keys[:-1]) & (prefixes[1:] == prefixes[:-1])
    best = order[:k]
    if np.count_nonzero(same):
        group = np.concatenate(([0], np.cumsum(~same)))
        candidates = order[group <= group[min(k, len(order)) - 1]]
        group = group[: len(candidates)]
        tied = np.bincount(group)[group] > 1
        ids = truth.ids(graph.rows[ranking.slots[candidates[tied]]].tolist())
        rows = graph.rows[ranking.slots[candidates]].tolist()
        entries = zip(group.tolist(), rows, candidates.tolist(), strict=True)
        ranked = sorted(entries, key=lambda entry: (entry[0], ids.get(entry[1], "")))
        best = np.array([position for _, _, position in ranked[:k]], np.intp)
    return replace(ranking, slots=ranking.slots[best], scores=ranking.scores[best])


def filled_up(truth: Truth, request: Request, ranking: Ranking, k: int) -> Ranking:
    """Fill a ranking up to k with allowed chunks at score 0, those in ``ranking.last`` last."""
    pairs = ranking.pairs()[:k]
    if len(pairs) == k:
        return ranking
    allowed, last = request.allowed, ranking.last
    for among in (allowed,) if last is None else (allowed & ~last, allowed & last):
        if missing := k - len(pairs):
            taken = {slot for slot, _ in pairs}
            pairs += [(slot, 0.0) for slot in unranked(truth, request.graph, among, taken, missing)]
    return ranking.reordered(pairs)


def weighed(ranking: Ranking, k: int, min_score: float | None) -> Ranking:
    """Multiply the k best scores by the confidence, and drop those below ``min_score``."""
    confidence = 1.0 if ranking.confidence is None else ranking.confidence
    pairs = [(slot, score * confidence) for slot, score in ranking.pairs()[:k]]
    if min_score is not None:
        pairs = [(slot, score) for slot, score in pairs if score >= min_score and score > 0]
    return ranking.reordered(pairs)


def unranked(
    truth: Truth,
    graph: TagGraph,
    allowed: BoolArray,
    taken: Collection[int],
    n: int,
    *,
    passes: Callable[[int], bool] = lambda _: True,
) -> list[int]:
    """Return n allowed slots that are not ``taken``, in the order of their ids.

    ``passes`` is called for each slot in turn; slots that it refuses are left out.
    """
    slots = (
        slot
        for slot in _by_id(truth, graph, allowed)
        if allowed[slot] and slot not in taken and passes(slot)
    )
    return list(islice(slots, n))


def _by_id(truth: Truth, graph: TagGraph, allowed: BoolArray) -> Iterator[int]:
    """Yield slots in the order of their ids: the allowed ones, perhaps with others."""
    slots = np.flatnonzero(allowed)
    if len(slots) <= _SORT_IN_DATABASE:
        ids = truth.ids(graph.rows[slots].tolist())
        rows: Iterable[int] = sorted(ids, key=ids.__getitem__)
    else:
        rows = truth.rows_by_id()
    for row in rows:
        yield from graph.slots_of(np.array([row])).tolist()


def make_hits(truth: Truth, request: Request, ranking: Ranking) -> tuple[Hit, ...] | None:
    """Fetch chunks and build the hits; None if a chunk no longer exists.

    Texts of another store are filled in later, since no store is asked while locks are held.
    """
    graph, pairs = request.graph, ranking.pairs()
    slots = [slot for slot, _ in pairs]
    paths = [
        ranking.path(slot) if score > 0 else (PathNode("chunk", slot, 0.0),)
        for slot, score in pairs
    ]
    on_paths = {node.id for nodes in paths for node in nodes if node.kind == "chunk"}
    fetched = list(on_paths.union(slots))
    rows = dict(zip(fetched, graph.rows[fetched].tolist(), strict=True))
    outlines = truth.outlines(rows.values())
    if len(outlines) < len(rows):
        return None
    chunks = {slot: outlines[row].chunk for slot, row in rows.items()}
    stale = {} if ranking.stale is None else ranking.stale(slots)
    unlearned = ranking.unlearned
    return tuple(
        Hit(
            chunk=chunks[slot],
            score=score,
            rank=rank,
            path=path_steps(graph, nodes, chunks, request.question),
            text_hash=outlines[rows[slot]].text_hash,
            stale=stale.get(slot),
            evidence=evidence,
            lexical=lexical,
            dense=dense,
            unlearned=None if unlearned is None else round(min(unlearned(slot), 1.0), 6),
        )
        for rank, ((slot, score), nodes, (evidence, lexical, dense)) in enumerate(
            zip(pairs, paths, _direct_evidence(request, slots), strict=True), start=1
        )
    )


def numbered(recall: Recall) -> Recall:
    """Number the hits of a recall from 1, in their order."""
    if all(hit.rank == rank for rank, hit in enumerate(recall.hits, start=1)):
        return recall
    hits = [hit.model_copy(update={"rank": rank}) for rank, hit in enumerate(recall.hits, start=1)]
    return recall.model_copy(update={"hits": tuple(hits)})


def _direct_evidence(
    request: Request, slots: list[int]
) -> Iterable[tuple[float | None, float | None, float | None]]:
    """Return direct evidence of chunks with its lexical and dense part; None where unknown."""
    if "evidence" not in vars(request):  # a cached property that the strategy did not read
        return [(None, None, None)] * len(slots)
    chunks = np.array(slots, dtype=np.int64)
    evidence: list[float] = request.evidence.approximate(chunks).round(4).tolist()
    return zip(evidence, *request.evidence.fused_from(chunks), strict=True)


def path_steps(
    graph: TagGraph, nodes: Path, chunks: Mapping[int, Chunk], question: Question
) -> tuple[PathStep, ...]:
    """Spell out a path, starting at the query."""
    steps = [_QUERY]
    if question.recollection is not None and nodes[0].kind == "chunk":
        steps += question.recollection.episode_step(nodes[0])
    for node in nodes:
        if node.kind == "tag":
            value, title = display(graph.phrases.keys[node.id]), ""
        else:
            value, title = chunks[node.id].id, chunks[node.id].title
        steps.append(PathStep(kind=node.kind, value=value, title=title, weight=node.weight))
    return tuple(steps)
