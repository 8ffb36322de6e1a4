"""Why a recall ranked a chunk as it did: evidence, path, and what learning changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.paths import PathNode
from hebbgraph.learning.effects import learned_effects
from hebbgraph.namespace import Namespace
from hebbgraph.recall.hits import path_steps
from hebbgraph.recall.question import cues_of
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.strategies import Request
from hebbgraph.recall.strategies.spreading import Spreading
from hebbgraph.records import Explanation, LearnedEffect, Recall
from hebbgraph.text import display

__all__ = ["explain"]


def explain(namespace: Namespace, recaller: Recaller, recall: Recall, chunk_id: str) -> Explanation:
    """See :meth:`hebbgraph.HebbianIndex.explain`."""
    return namespace.derived.mending(lambda: _explained(namespace, recaller, recall, chunk_id))


def _explained(
    namespace: Namespace, recaller: Recaller, recall: Recall, chunk_id: str
) -> Explanation:
    if recall.namespace != namespace.name:
        raise ParameterError(
            f"the recall belongs to namespace {recall.namespace!r}, "
            f"this index sees {namespace.name!r}"
        )
    truth, spreading = namespace.truth, recaller.strategy("spreading")
    assert isinstance(spreading, Spreading)
    with namespace.held(), namespace.learned.held():
        row = truth.rows_of([chunk_id]).get(chunk_id)
        graph = namespace.derived.graph
        slots = graph.slots_of(np.array([] if row is None else [row], dtype=np.int64))
        if not len(slots):
            raise NotFoundError(f"the index holds no chunk {chunk_id!r}")
        slot = int(slots[0])
        request = recaller.again(recall)
        question = request.question
        found = spreading.spread(request)
        at = _position(found, slot)
        nodes = (PathNode("chunk", slot, 0.0),) if at is None else found.path(slot)
        rows = {node.id: int(graph.rows[node.id]) for node in nodes if node.kind == "chunk"}
        held = truth.outlines(rows.values())
        chunks = {one: held[row].chunk for one, row in rows.items() if row in held}
        _, tags, _ = graph.tags_of(slots)
        hit = recall.hit(chunk_id)
        sure = spreading.confidence(request, found)
        score = 0.0 if at is None else sure * float(found.scores[at])
        lexical, dense = request.evidence.parts(slot)
        unlearned, learned = _learned_effects(namespace, spreading, request, found, slot, score)
        return Explanation(
            chunk_id=chunk_id,
            rank=None if hit is None else hit.rank,
            score=score,
            direct=0.0 if at is None else float(found.direct[at]),
            activation=0.0 if at is None else float(found.arrived[at]),
            reranked=None if hit is None else hit.reranked,
            confidence=sure,
            lexical=lexical,
            dense=dense,
            dense_share=request.evidence.dense_share,
            path=path_steps(graph, nodes, chunks, question) if len(chunks) == len(rows) else (),
            cues=cues_of(graph, question),
            tags=tuple(display(graph.phrases.keys[tag]) for tag in tags.tolist()),
            unlearned_score=unlearned,
            learned=learned,
        )


def _position(found: Activation, slot: int) -> int | None:
    at = int(np.searchsorted(found.chunks, slot))
    return at if at < len(found.chunks) and found.chunks[at] == slot else None


def _learned_effects(
    namespace: Namespace,
    spreading: Spreading,
    request: Request,
    found: Activation,
    slot: int,
    score: float,
) -> tuple[float, tuple[LearnedEffect, ...]]:
    """Return the score without learning, and the feedback that changed it."""
    question = request.question
    if question.learned is None:
        return score, ()
    static = spreading.spread(replace(request, question=replace(question, learned=None)))
    at = _position(static, slot)
    sure = spreading.confidence(request, static)
    unlearned = 0.0 if at is None else sure * float(static.scores[at])
    return unlearned, learned_effects(
        question.learned,
        found,
        slot,
        score - unlearned,
        evidence=request.evidence.approximate,
        weights=namespace.learned.weights,
        events=namespace.learned.events,
    )
