"""How activation spread for a question, edge by edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.adjacency import LinkKind
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
#: Hits that a trace lists for a recall without hits.
_HITS = 10
#: Cuts listed per step and reason.
_MAX_CUTS = 20

_Over: TypeAlias = Literal["question", "tag", "link"]


class _Node(NamedTuple):
    """A node by number; the question has number 0."""

    kind: Literal["query", "tag", "chunk"]
    number: int


_QUERY = _Node("query", 0)


class _Flow(NamedTuple):
    """Mass over one edge; ``phase`` orders the edges of a step."""

    step: int
    phase: int
    over: _Over
    source: _Node
    target: _Node
    mass: float
    learned: float = 0.0

    def event(self, positions: Mapping[_Node, int]) -> TraceEvent:
        return TraceEvent(
            step=self.step,
            over=self.over,
            source=positions[self.source],
            target=positions[self.target],
            mass=self.mass,
            learned=self.learned,
        )


class _Cut(NamedTuple):
    """A tag or chunk that mass did not cross."""

    step: int
    node: _Node
    reason: str

    def record(self, names: Mapping[_Node, TraceNode]) -> TraceCut:
        name = names[self.node]
        kind: Literal["tag", "chunk"] = "tag" if self.node.kind == "tag" else "chunk"
        return TraceCut(
            step=self.step, kind=kind, value=name.value, title=name.title, reason=self.reason
        )


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
    truth = namespace.truth
    with namespace.reading() as generation:
        graph = namespace.derived.graph
        replay = Replay.of(recaller, recaller.request_of(recall, where))
        flows = sorted(_flows(replay), key=lambda flow: -flow.mass)
        strongest = sorted(
            flows[:limit],
            key=lambda flow: (flow.step, flow.phase, -flow.mass, flow.source, flow.target),
        )
        cuts = list(_cuts(replay, graph, recaller))
        ranks = _unlearned_ranks(truth, graph, replay, len(recall.hits) or _HITS)
        hits = {_Node("chunk", slot): rank for slot, rank in ranks.items()}
        ends = (end for flow in strongest for end in (flow.source, flow.target))
        nodes = list(dict.fromkeys([_QUERY, *ends]))
        names = _names(truth, graph, [*nodes, *(cut.node for cut in cuts), *hits])
    positions = {node: position for position, node in enumerate(nodes)}
    return Trace(
        recall_id=recall.id,
        query=recall.query,
        generation=generation,
        confidence=replay.confidence,
        nodes=tuple(names[node] for node in nodes),
        events=tuple(flow.event(positions) for flow in strongest),
        more=len(flows) - len(strongest),
        cuts=tuple(cut.record(names) for cut in cuts),
        hits=tuple(
            TraceHit(
                chunk_id=names[node].value,
                title=names[node].title,
                rank=rank,
                score=replay.score(node.number),
                causes=replay.causes(node.number),
                unlearned_rank=unlearned_rank,
            )
            for rank, (node, unlearned_rank) in enumerate(hits.items(), start=1)
        ),
    )


def _unlearned_ranks(
    truth: Truth, graph: TagGraph, replay: Replay, k: int
) -> dict[int, int | None]:
    """Return the k best slots, best first, each with its rank without feedback, if any."""
    slots, scores = replay.learned.top(k)
    best = best_slots(truth, graph, Ranking(slots, scores * replay.confidence), k)
    hits, plain = [slot for slot, score in best.pairs() if score > 0], replay.unlearned
    lowest = min((s for slot in hits if (s := plain.unlearned_score(slot)) > 0), default=np.inf)
    ranking = Ranking(*plain.top(max(1, int(np.count_nonzero(plain.scores >= lowest)))))
    best = best_slots(truth, graph, ranking, len(ranking.slots))
    ranks = {slot: rank for rank, (slot, score) in enumerate(best.pairs(), start=1) if score > 0}
    return {slot: ranks.get(slot) for slot in hits}


# -- flows --------------------------------------------------------------------------


def _flows(replay: Replay) -> Iterator[_Flow]:
    activation = replay.learned
    for tag, mass in zip(activation.cues.tolist(), activation.cue_mass.tolist(), strict=True):
        yield _Flow(0, 0, "question", _QUERY, _Node("tag", tag), mass)
    for step, over, layer in _steps(activation.layers):
        if step == 0:
            seed_mass = (layer.seed_trusted + layer.seed_plain).tolist()
            for chunk, mass in zip(layer.seeds.tolist(), seed_mass, strict=True):
                if mass > 0:
                    yield _Flow(0, 1, "question", _QUERY, _Node("chunk", chunk), mass)
            yield from _from_memory(replay)
        yield from _edges(layer, step, over)


def _steps(layers: tuple[Layer, ...]) -> Iterator[tuple[int, _Over, Layer]]:
    """Yield layers with their steps; a later layer with seeds starts the steps over links."""
    over: _Over = "tag"
    step = 0
    for number, layer in enumerate(layers):
        if number and len(layer.seeds):
            over = "link"
            continue
        yield step, over, layer
        step += 1


def _from_memory(replay: Replay) -> Iterator[_Flow]:
    """Yield what memory adds to chunks, straight from the question."""
    recollection, plain = replay.request.question.recollection, replay.learned.unlearned
    if recollection is None or plain is None:
        return
    nodes, added = recollection.contributions(plain)
    slots = recollection.slots.of_node[nodes].tolist()
    reached = set(replay.learned.chunks.tolist())
    for slot, mass in zip(slots, added.sum(1).tolist(), strict=True):
        if mass > 0 and slot in reached:
            yield _Flow(0, 1, "question", _QUERY, _Node("chunk", slot), mass, 1.0)


def _edges(layer: Layer, step: int, over: _Over) -> Iterator[_Flow]:
    """Yield the flows of one step: chunk to tag, tag to tag over aliases, tag to chunk."""

    def triples(columns: tuple[IntArray, IntArray, FloatArray]) -> Iterator[Any]:
        return zip(*(column.tolist() for column in columns), strict=True)

    for source, tag, mass in triples(layer.sources):
        yield _Flow(step, 2, over, _Node("chunk", source), _Node("tag", tag), mass)
    for source, tag, mass in triples(layer.hops):
        yield _Flow(step, 3, "tag", _Node("tag", source), _Node("tag", tag), mass)
    total: Counter[tuple[int, int]] = Counter()
    for tag, chunk, mass in triples(layer.passed):
        total[tag, chunk] += mass
    for (tag, chunk), mass in total.items():
        if mass > 0:
            yield _Flow(step, 4, over, _Node("tag", tag), _Node("chunk", chunk), mass)


# -- cuts ---------------------------------------------------------------------------


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
    layers = [layer for _, over, layer in _steps(replay.learned.layers) if over == "tag"]
    for step, layer in enumerate(layers[: parameters.n_steps], start=1):
        sources, _, _ = layer.strongest(parameters.beam)
        everyone, trusted, plain = layer.strongest(len(layer.receivers) + len(layer.seeds))
        outside = ~np.isin(everyone, sources)
        order = np.argsort(-(trusted + plain)[outside], kind="stable")[:_MAX_CUTS]
        for chunk in everyone[outside][order].tolist():
            why = f"only the {parameters.beam} most active chunks pass on what they have"
            yield _Cut(step, _Node("chunk", chunk), why)
        _, tags, _, _, is_tag = graph.mentions_of(sources)
        tags = np.unique(tags[is_tag]).astype(np.int64)
        yield from hubs(step, tags[graph.link_kinds(tags) == LinkKind.PHRASE])


# -- names --------------------------------------------------------------------------


def _names(truth: Truth, graph: TagGraph, nodes: Iterable[_Node]) -> dict[_Node, TraceNode]:
    names = dict.fromkeys(nodes, TraceNode(kind="query"))
    rows = {node.number: int(graph.rows[node.number]) for node in names if node.kind == "chunk"}
    outlines = truth.outlines(rows.values())
    for node in names:
        value = title = ""
        if node.kind == "tag":
            value = display(graph.phrases.keys[node.number])
        elif node.kind == "chunk" and rows[node.number] in outlines:  # else deleted meanwhile
            chunk = outlines[rows[node.number]].chunk
            value, title = chunk.id, chunk.title
        names[node] = TraceNode(kind=node.kind, value=value, title=title)
    return names
