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
from hebbgraph.records import PathStep, Recall
from hebbgraph.records.explanations import Explanation, LearnedEffect
from hebbgraph.text import display

__all__ = ["explain"]

#: Scores that differ by less are equal.
_SAME = 1e-9


def explain(namespace: Namespace, recaller: Recaller, recall: Recall, chunk_id: str) -> Explanation:
    """See :meth:`hebbgraph.HebbianIndex.explain`."""
    check_namespace(namespace, recall)
    return namespace.derived.mending(lambda: _explain(namespace, recaller, recall, chunk_id))


def _explain(
    namespace: Namespace, recaller: Recaller, recall: Recall, chunk_id: str
) -> Explanation:
    truth = namespace.truth
    with namespace.reading():
        graph = namespace.derived.graph
        slots = graph.slots_of(np.array([*truth.rows_of([chunk_id]).values()], dtype=np.int64))
        if not len(slots):
            raise NotFoundError(f"the index holds no chunk {chunk_id!r}")
        slot = int(slots[0])
        replay = Replay.of(recaller, recaller.request_of(recall))
        activation, request = replay.learned, replay.request
        at = position(activation, slot)
        nodes = (PathNode("chunk", slot, 0.0),) if at is None else activation.path(slot)
        rows = {node.id: int(graph.rows[node.id]) for node in nodes if node.kind == "chunk"}
        outlines = truth.outlines(rows.values())
        path: tuple[PathStep, ...] = ()
        if len(outlines) == len(rows):  # else a chunk was deleted meanwhile
            chunks = {node: outlines[row].chunk for node, row in rows.items()}
            path = path_steps(graph, nodes, chunks, request.question)
        hit = recall.hit(chunk_id)
        lexical, dense = request.evidence.parts(slot)
        causes, score = replay.causes(slot), replay.score(slot)
        effects: tuple[LearnedEffect, ...] = ()
        if (recollection := request.question.recollection) is not None:
            amounts = namespace.memory.amounts()
            effects = learned_effects(recollection, replay.unlearned, slot, causes.learned, amounts)
        if hit is not None and abs(hit.score - score) > _SAME:
            causes = causes.model_copy(update={"other": hit.score - score})
        _, tags, _ = graph.tags_of(slots)
        return Explanation(
            chunk_id=chunk_id,
            rank=None if hit is None else hit.rank,
            score=score,
            direct=0.0 if at is None else float(activation.direct[at]),
            activation=0.0 if at is None else float(activation.arrived[at]),
            reranked=None if hit is None else hit.reranked,
            excluded=not request.allowed[slot],
            confidence=replay.confidence,
            lexical=lexical,
            dense=dense,
            dense_share=request.evidence.dense_share,
            causes=causes,
            path=path,
            cues=cues_of(graph, request.question),
            tags=tuple(display(graph.phrases.keys[tag]) for tag in tags.tolist()),
            unlearned_score=replay.unlearned_score(slot),
            learned=effects,
        )
