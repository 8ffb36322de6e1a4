"""How activation spread for a question, edge by edge: a recall replayed for people to watch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.paths import Layer
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.replay import Replay, check_namespace, spreading_of
from hebbgraph.namespace import Namespace
from hebbgraph.recall.hits import best_slots
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.strategies import Ranking
from hebbgraph.records import Recall
from hebbgraph.records.explanations import Trace, TraceCut, TraceEvent, TraceHit, TraceNode
from hebbgraph.store.truth import Truth
from hebbgraph.text import display

__all__ = ["trace"]

_MAX_EVENTS = 10_000
#: Hits of a recall that had none.
_HITS = 10
#: Cuts listed for each step and reason.
_MAX_CUTS = 20


class _Node(NamedTuple):
    """A node by number; the question has the number 0."""

    kind: Literal["query", "tag", "chunk"]
    number: int


_QUERY = _Node("query", 0)


class _Flow(NamedTuple):
    """Mass over one edge; ``phase`` orders the edges of a step."""

    step: int
    phase: int
    over: Literal["question", "tag", "link"]
    source: _Node
    target: _Node
    mass: float
    learned: float


class _Cut(NamedTuple):
    step: int
    node: _Node
    reason: str


def trace(
    namespace: Namespace,
    recaller: Recaller,
    recall: Recall,
    where: Mapping[str, object] | None,
    limit: int,
) -> Trace:
    """See ``index.inspect.trace``."""
    check_namespace(namespace, recall)
    if not 1 <= limit <= _MAX_EVENTS:
        raise ParameterError(f"limit lies in 1 to {_MAX_EVENTS}, got {limit!r}")
    with namespace.held() as generation:
        replay = Replay.of(recaller, recaller.again(recall, where))
        graph = namespace.derived.graph
        flows = sorted(_flows(replay), key=lambda flow: -flow.mass)
        kept = sorted(
            flows[:limit],
            key=lambda flow: (flow.step, flow.phase, -flow.mass, flow.source, flow.target),
        )
        cuts = list(_cuts(replay, graph, recaller))
        ranked = _ranked(namespace.truth, graph, replay, len(recall.hits) or _HITS)
        nodes = list(dict.fromkeys([_QUERY, *(end for flow in kept for end in flow[3:5])]))
        named = _named(
            namespace.truth,
            graph,
            [*nodes, *(cut.node for cut in cuts), *(_Node("chunk", slot) for slot, _ in ranked)],
        )
    at = {node: position for position, node in enumerate(nodes)}
    return Trace(
        recall_id=recall.id,
        query=recall.query,
        generation=generation,
        confidence=replay.confidence,
        nodes=tuple(named[node] for node in nodes),
        events=tuple(
            TraceEvent(
                step=flow.step,
                over=flow.over,
                source=at[flow.source],
                target=at[flow.target],
                mass=flow.mass,
                learned=flow.learned,
            )
            for flow in kept
        ),
        more=len(flows) - len(kept),
        cuts=tuple(
            TraceCut(
                step=cut.step,
                kind="tag" if cut.node.kind == "tag" else "chunk",
                value=named[cut.node].value,
                title=named[cut.node].title,
                reason=cut.reason,
            )
            for cut in cuts
        ),
        hits=tuple(
            TraceHit(
                chunk_id=named[_Node("chunk", slot)].value,
                title=named[_Node("chunk", slot)].title,
                rank=rank,
                score=replay.score(slot),
                causes=replay.causes(slot),
                unlearned_rank=unlearned_rank,
            )
            for rank, (slot, unlearned_rank) in enumerate(ranked, start=1)
        ),
    )


def _ranked(truth: Truth, graph: TagGraph, replay: Replay, k: int) -> list[tuple[int, int | None]]:
    """Return the best slots, each with its rank without any feedback, if it has one."""
    slots, scores = replay.found.top(k)
    best = best_slots(truth, graph, Ranking(slots, scores * replay.confidence), k)
    hits, plain = [slot for slot, score in best.pairs() if score > 0], replay.unlearned
    least = min((s for slot in hits if (s := plain.unlearned_score(slot)) > 0), default=np.inf)
    ranking = Ranking(*plain.top(max(1, int(np.count_nonzero(plain.scores >= least)))))
    best = best_slots(truth, graph, ranking, len(ranking.slots))
    before = {slot: at for at, (slot, score) in enumerate(best.pairs(), start=1) if score > 0}
    return [(slot, before.get(slot)) for slot in hits]


# -- what flowed --------------------------------------------------------------------


def _flows(replay: Replay) -> Iterator[_Flow]:
    found = replay.found
    for tag, mass in zip(found.cues.tolist(), found.cue_mass.tolist(), strict=True):
        yield _Flow(0, 0, "question", _QUERY, _Node("tag", tag), mass, 0.0)
    for step, over, layer in _steps(found.layers):
        if step == 0:
            yield from _seeds(layer)
            yield from _brought(replay)
        yield from _edges(layer, step, over)


def _steps(
    layers: tuple[Layer, ...],
) -> Iterator[tuple[int, Literal["tag", "link"], Layer]]:
    """Yield the layers with their step; those over links begin with one where mass starts anew."""
    over: Literal["tag", "link"] = "tag"
    step = 0
    for number, layer in enumerate(layers):
        if number and len(layer.seeds):
            over = "link"
            continue
        yield step, over, layer
        step += 1


def _seeds(layer: Layer) -> Iterator[_Flow]:
    """Yield where mass starts."""
    total = (layer.seed_trusted + layer.seed_plain).tolist()
    for chunk, mass in zip(layer.seeds.tolist(), total, strict=True):
        if mass > 0:
            yield _Flow(0, 1, "question", _QUERY, _Node("chunk", chunk), mass, 0.0)


def _brought(replay: Replay) -> Iterator[_Flow]:
    """Yield what memory adds to chunks, straight from the question."""
    memory, plain = replay.request.question.learned, replay.found.unlearned
    if memory is None or plain is None:
        return
    nodes, brought = memory.brought(plain)
    slots, gain = memory.slots.of_node[nodes], brought.sum(1)
    reached = set(replay.found.chunks.tolist())
    for slot, amount in zip(slots.tolist(), gain.tolist(), strict=True):
        if amount > 0 and slot in reached:
            yield _Flow(0, 1, "question", _QUERY, _Node("chunk", slot), amount, 1.0)


def _edges(layer: Layer, step: int, over: Literal["tag", "link"]) -> Iterator[_Flow]:
    """Yield the flows of one step: to tags, between tags, to chunks.

    An alias joins tags without any lesson.
    """
    for source, tag, mass in zip(*(one.tolist() for one in layer.sources), strict=True):
        yield _Flow(step, 2, over, _Node("chunk", source), _Node("tag", tag), mass, 0.0)
    for source, tag, mass in zip(*(one.tolist() for one in layer.hops), strict=True):
        yield _Flow(step, 3, "tag", _Node("tag", source), _Node("tag", tag), mass, 0.0)
    into: dict[tuple[_Node, _Node], float] = {}
    for tag, chunk, mass in zip(*(one.tolist() for one in layer.passed), strict=True):
        into.setdefault((_Node("tag", tag), _Node("chunk", chunk)), 0.0)
        into[_Node("tag", tag), _Node("chunk", chunk)] += mass
    for (begin, end), mass in into.items():
        if mass > 0:
            yield _Flow(step, 4, over, begin, end, mass, 0.0)


# -- what did not -------------------------------------------------------------------


def _cuts(replay: Replay, graph: TagGraph, recaller: Recaller) -> Iterator[_Cut]:
    parameters = spreading_of(recaller).parameters
    most = parameters.hub_cut(graph.n_chunks)

    def hubs(step: int, tags: IntArray) -> Iterator[_Cut]:
        df = graph.df(tags)
        for at in np.argsort(-df, kind="stable").tolist()[:_MAX_CUTS]:
            if df[at] > most:
                why = f"a hub: {df[at]} chunks hold it, and more than {most} tell nothing apart"
                yield _Cut(step, _Node("tag", int(tags[at])), why)

    yield from hubs(0, np.array(replay.request.question.cues, np.int64))
    layers = [layer for _, over, layer in _steps(replay.found.layers) if over == "tag"]
    for step, layer in enumerate(layers[: parameters.n_steps], start=1):
        sources, _, _ = layer.strongest(parameters.beam)
        everyone, trusted, plain = layer.strongest(len(layer.receivers) + len(layer.seeds))
        late = ~np.isin(everyone, sources)
        order = np.argsort(-(trusted + plain)[late], kind="stable")[:_MAX_CUTS]
        for chunk in everyone[late][order].tolist():
            why = f"only the {parameters.beam} most active chunks pass on what they have"
            yield _Cut(step, _Node("chunk", chunk), why)
        _, tags, _, _, is_tag = graph.mentions_of(sources)
        held = np.unique(tags[is_tag]).astype(np.int64)
        yield from hubs(step, held[graph.link_kinds(held) == 0])


# -- names --------------------------------------------------------------------------


def _named(truth: Truth, graph: TagGraph, nodes: list[_Node]) -> dict[_Node, TraceNode]:
    slots = {node.number for node in nodes if node.kind == "chunk"}
    rows = {slot: int(graph.rows[slot]) for slot in slots}
    held = truth.outlines(rows.values())
    named = {_QUERY: TraceNode(kind="query")}
    for kind, number in nodes:
        if kind == "tag":
            value, title = display(graph.phrases.keys[number]), ""
        elif kind == "chunk" and rows[number] in held:
            chunk = held[rows[number]].chunk
            value, title = chunk.id, chunk.title
        else:  # deleted meanwhile
            value, title = "", ""
        named[_Node(kind, number)] = TraceNode(kind=kind, value=value, title=title)
    return named
