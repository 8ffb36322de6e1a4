"""Why a recall ranked a chunk as it did: evidence, path, and what learning changed."""

from __future__ import annotations

import numpy as np

from hebbgraph.errors import NotFoundError
from hebbgraph.formulas.paths import PathNode
from hebbgraph.inspect.replay import Replay, check_namespace, position
from hebbgraph.learning.effects import learned_effects
from hebbgraph.namespace import Namespace
from hebbgraph.recall.hits import path_steps
from hebbgraph.recall.question import cues_of
from hebbgraph.recall.recaller import Recaller
from hebbgraph.records import Recall
from hebbgraph.records.explanations import Explanation, LearnedEffect
from hebbgraph.text import display

__all__ = ["explain"]

#: Scores of one index that differ by less are the same.
_SAME = 1e-9


def explain(namespace: Namespace, recaller: Recaller, recall: Recall, chunk_id: str) -> Explanation:
    """See :meth:`hebbgraph.HebbianIndex.explain`."""
    check_namespace(namespace, recall)
    return namespace.derived.mending(lambda: _explained(namespace, recaller, recall, chunk_id))


def _explained(
    namespace: Namespace, recaller: Recaller, recall: Recall, chunk_id: str
) -> Explanation:
    truth = namespace.truth
    with namespace.held():
        row = truth.rows_of([chunk_id]).get(chunk_id)
        graph = namespace.derived.graph
        slots = graph.slots_of(np.array([] if row is None else [row], dtype=np.int64))
        if not len(slots):
            raise NotFoundError(f"the index holds no chunk {chunk_id!r}")
        slot = int(slots[0])
        replay = Replay.of(recaller, recaller.again(recall))
        found, request = replay.found, replay.request
        at = position(found, slot)
        nodes = (PathNode("chunk", slot, 0.0),) if at is None else found.path(slot)
        rows = {node.id: int(graph.rows[node.id]) for node in nodes if node.kind == "chunk"}
        held = truth.outlines(rows.values())
        chunks = {one: held[row].chunk for one, row in rows.items() if row in held}
        _, tags, _ = graph.tags_of(slots)
        hit = recall.hit(chunk_id)
        lexical, dense = request.evidence.parts(slot)
        causes, score = replay.causes(slot), replay.score(slot)
        if hit is not None and abs(hit.score - score) > _SAME:
            causes = causes.model_copy(update={"other": hit.score - score})
        return Explanation(
            chunk_id=chunk_id,
            rank=None if hit is None else hit.rank,
            score=score,
            direct=0.0 if at is None else float(found.direct[at]),
            activation=0.0 if at is None else float(found.arrived[at]),
            reranked=None if hit is None else hit.reranked,
            excluded=not request.allowed[slot],
            confidence=replay.confidence,
            lexical=lexical,
            dense=dense,
            dense_share=request.evidence.dense_share,
            causes=causes,
            path=path_steps(graph, nodes, chunks, request.question)
            if len(chunks) == len(rows)
            else (),
            cues=cues_of(graph, request.question),
            tags=tuple(display(graph.phrases.keys[tag]) for tag in tags.tolist()),
            unlearned_score=replay.unlearned_score(slot),
            learned=_effects(namespace, replay, slot),
        )


def _effects(namespace: Namespace, replay: Replay, slot: int) -> tuple[LearnedEffect, ...]:
    """Return the feedback that changed the score."""
    memory = replay.request.question.learned
    if memory is None:
        return ()
    return learned_effects(
        memory,
        replay.unlearned,
        slot,
        replay.causes(slot).learned,
        namespace.learned.amounts(),
    )
