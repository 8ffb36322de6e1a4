"""Spreading beside what it stands in for: the same formula on the whole graph, and PageRank.

- **Dense spreading**: the formula of :mod:`hebbgraph.recall.spreading` over all postings
  at once, without beam and without a cap on a chunk's tags. Hubs stay cut, which is part
  of the model.
- **Personalised PageRank** until it converges, on the same transitions (chunk → tag by
  specificity, tag → chunk by title and evidence), with the same seeds as reset: by
  igraph, by networkx, or by power iteration. It knows neither trust nor the difference
  between links, backlinks and co-mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import MissingExtraError
from hebbgraph.evaluation.datasets import Dataset
from hebbgraph.evaluation.memory import allocated_bytes
from hebbgraph.evaluation.pagerank import personalized_pagerank
from hebbgraph.evaluation.scale.simulated import simulated_graph, simulated_questions
from hebbgraph.evaluation.tables import Grid
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.index import HebbianIndex
from hebbgraph.protocols import Embedder
from hebbgraph.recall.spreading import Activation, SpreadingParameters, spread
from hebbgraph.recalling.strategies import spreading
from hebbgraph.storage.snapshot import load_snapshot, save_snapshot
from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "Question",
    "Transitions",
    "WalkResult",
    "WalkTimes",
    "asked",
    "compare_walks",
    "dense_scores",
    "grids",
    "time_walks",
    "transitions",
]


class Question(NamedTuple):
    """What spreading was given for one question, what it found, and how long it took."""

    graph: TagGraph
    cues: IntArray
    evidence: Any
    parameters: SpreadingParameters
    found: Activation
    seconds: float


class Transitions(NamedTuple):
    """A walk over chunks (nodes from 0) and tags (after them): edges and reset."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    reset: NDArray[np.float64]


class _Start(NamedTuple):
    cues: IntArray
    cue_mass: NDArray[np.float64]
    seeds: IntArray
    seed_mass: NDArray[np.float64]


class _Edges(NamedTuple):
    """All postings of live chunks, and what does not depend on the question."""

    chunk: NDArray[np.int64]
    tag: NDArray[np.int64]
    is_title: NDArray[np.bool_]
    df: NDArray[np.int64]
    n_chunks: int
    n_tags: int


def asked(index: HebbianIndex, query: str, *, k: int = 5) -> tuple[Question, list[str]]:
    """Ask a question; return what spreading was given, and the ids of the hits."""
    with _captured() as questions:
        hits = index.recall(query, k=k).hits
    return questions[-1], [hit.chunk.id for hit in hits]


@contextmanager
def _captured() -> Iterator[list[Question]]:
    """Note every call of spreading while this is open."""
    module: Any = spreading
    inner = module.spread
    questions: list[Question] = []

    def outer(view: TagGraph, cues: IntArray, evidence: Any, **options: Any) -> Activation:
        began = perf_counter()
        found: Activation = inner(view, cues, evidence, **options)
        seconds = perf_counter() - began
        parameters = options.get("parameters") or SpreadingParameters()
        questions.append(Question(view, cues, evidence, parameters, found, seconds))
        return found

    module.spread = outer
    try:
        yield questions
    finally:
        module.spread = inner


def _edges(graph: TagGraph) -> _Edges:
    live = np.flatnonzero(graph.alive)
    owner, tags, is_title = graph.tags_of(live)
    n_tags = len(graph.phrases)
    df = np.bincount(tags, minlength=n_tags)
    return _Edges(live[owner], tags.astype(np.int64), is_title, df, graph.n_slots, n_tags)


def _specificity(question: Question, edges: _Edges, cues: IntArray) -> NDArray[np.float64]:
    """The weight of each tag when a chunk passes mass on; hubs and lone tags have none."""
    p, n_chunks = question.parameters, question.graph.n_chunks
    weight: NDArray[np.float64] = np.log1p(n_chunks / np.maximum(edges.df, 1)) ** 2
    weight[(edges.df <= 1) | (edges.df > p.hub_cut(n_chunks))] = 0.0
    weight[cues] *= p.inhibition
    return weight


def _start(question: Question, edges: _Edges) -> _Start:
    p, n = question.parameters, question.graph.n_chunks
    cues = np.unique(question.cues)
    df = edges.df[cues]
    cues = cues[(df > 0) & (df <= p.hub_cut(n))]
    weight = np.log1p(n / edges.df[cues]) ** 2
    share = p.cue_share if len(cues) else 0.0
    candidates, f = question.evidence.chunks, question.evidence.values
    at = np.argsort(-f, kind="stable")[: p.n_seeds]
    if not len(at) or f[at[0]] <= 0:
        seeds, mass = candidates[:0], f[:0]
    else:
        seeds, mass = candidates[at], (f[at] / f[at[0]]) ** p.sharpness
        mass = (1 - share) * mass / mass.sum()
    return _Start(cues, share * weight / (weight.sum() or 1.0), seeds, mass)


def dense_scores(question: Question) -> NDArray[np.float64]:
    """Return the score of every slot by spreading over the whole graph at once."""
    p, graph, edges = question.parameters, question.graph, _edges(question.graph)
    start = _start(question, edges)
    f = np.asarray(question.evidence.of(np.arange(edges.n_chunks)), dtype=np.float64)
    chunk, tag, title = edges.chunk, edges.tag, edges.is_title

    def to_tags(values: FloatArray, chosen: BoolArray) -> FloatArray:
        summed = np.bincount(tag, weights=values * chosen, minlength=edges.n_tags)
        return summed.astype(np.float64)

    def to_chunks(values: FloatArray) -> FloatArray:
        summed = np.bincount(chunk, weights=values, minlength=edges.n_chunks)
        return summed.astype(np.float64)

    # What a tag passes on to each of its chunks, as shares of its mass.
    mentions, entitled = to_tags(f[chunk], ~title), to_tags(f[chunk], title)
    ahead = f[chunk] / (mentions + p.title_salience * entitled + p.leak)[tag]
    back = np.where(title, 0.0, f[chunk] / (mentions + p.leak)[tag])
    namesakes = np.maximum(to_tags(np.ones(len(tag)), title), 1.0)
    link = np.where(title, p.title_salience * ahead / namesakes[tag], 0.0)
    mention = np.where(title, 0.0, ahead)
    # What a chunk passes on to each of its tags.
    weight = _specificity(question, edges, start.cues)
    total = to_chunks(weight[tag])
    total[total == 0] = 1.0
    share = weight[tag] / total[chunk]

    names = np.zeros(edges.n_tags, np.bool_)
    names[start.cues] = True
    has_title, named = (
        to_chunks(title.astype(np.float64)) > 0,
        to_chunks((title & names[tag]).astype(np.float64)) > 0,
    )
    trust = np.where(named, 1.0, np.where(has_title, 0.0, p.untitled_trust))

    trusted: FloatArray = np.zeros(edges.n_chunks)
    plain: FloatArray = np.zeros(edges.n_chunks)
    trusted[start.seeds] = trust[start.seeds] * start.seed_mass
    plain[start.seeds] = (1 - trust[start.seeds]) * start.seed_mass
    cue_mass = np.zeros(edges.n_tags)
    cue_mass[start.cues] = start.cue_mass
    lit = to_chunks(link * cue_mass[tag])
    x = lit.copy()
    trusted = trusted + lit
    for _ in range(p.n_steps):
        by_trust = []
        for mass in (trusted, plain):
            sent = share * mass[chunk]
            by_trust.append((to_tags(sent, ~title)[tag], to_tags(sent, title)[tag]))
        (from_mention, from_title), (plain_mention, plain_title) = by_trust
        crossing = mention * from_mention
        flow_trusted = link * from_mention + back * from_title
        flow_plain = link * plain_mention + back * plain_title
        x += to_chunks(flow_trusted + flow_plain + p.mention_credit * crossing)
        trusted = to_chunks(flow_trusted + crossing)
        plain = to_chunks(flow_plain)
    direct = f**p.evidence_power
    scores: NDArray[np.float64] = direct + (1 - direct) * x / (x + p.half_saturation)
    scores[~graph.alive] = -1.0
    return scores


def transitions(question: Question) -> Transitions:
    """Return the walk that spreading would take if it knew no trust, and never stopped."""
    p, edges = question.parameters, _edges(question.graph)
    start = _start(question, edges)
    f = question.evidence.of(np.arange(edges.n_chunks))
    weight = _specificity(question, edges, start.cues)
    used = np.flatnonzero(weight[edges.tag] > 0)
    chunk, tag, title = edges.chunk[used], edges.tag[used], edges.is_title[used]
    pull = np.where(title, p.title_salience, 1.0) * f[chunk]
    tag_nodes = edges.n_chunks + tag
    reset = np.zeros(edges.n_chunks + edges.n_tags)
    reset[edges.n_chunks + start.cues] = start.cue_mass
    reset[start.seeds] = start.seed_mass
    return Transitions(
        np.concatenate((chunk, tag_nodes)),
        np.concatenate((tag_nodes, chunk)),
        np.concatenate((weight[tag], pull)),
        reset,
    )


# -- ranking quality ------------------------------------------------------------------
#: Of PageRank; spreading itself has none.
_DAMPING = 0.8


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Recall at 5 on one set, by how activation spreads."""

    dataset: str
    questions: int
    embedder: str | None
    spreading: float
    dense: float
    same_top5: float
    pagerank: float
    pagerank_joined: float


def compare_walks(
    dataset: Dataset, *, embedder: Embedder | None = None, queries: int | None = None
) -> WalkResult:
    """Measure recall at 5 of spreading, the same on the whole graph, and PageRank.

    ``pagerank`` ranks by the share of the walk alone; ``pagerank_joined`` joins it with
    direct evidence as spreading does its activation.
    """
    gains: dict[str, list[float]] = {"spreading": [], "dense": [], "pagerank": [], "joined": []}
    same = []
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(list(dataset.corpus))
        for query in dataset.queries[:queries]:
            question, hits = asked(index, query.text)
            graph = question.graph
            ids = index._truth.ids(graph.rows.tolist())
            names = [ids.get(row, "") for row in graph.rows.tolist()]
            dense = _top(dense_scores(question), names)
            walk = transitions(question)
            shares = _power_iteration(walk, _DAMPING)[: graph.n_slots]
            p = question.parameters
            direct = question.evidence.of(np.arange(graph.n_slots)) ** p.evidence_power
            joined = direct + (1 - direct) * shares / (shares + p.half_saturation)
            found = {
                "spreading": hits,
                "dense": dense,
                "pagerank": _top(shares, names),
                "joined": _top(joined, names),
            }
            same.append(float(set(hits) == set(dense)))
            for name, top in found.items():
                gains[name].append(len(set(top) & set(query.relevant)) / len(query.relevant))
    mean = {name: float(np.mean(values)) for name, values in gains.items()}
    return WalkResult(
        dataset.name,
        len(same),
        None if embedder is None else getattr(embedder, "model_name", type(embedder).__name__),
        mean["spreading"],
        mean["dense"],
        float(np.mean(same)),
        mean["pagerank"],
        mean["joined"],
    )


def _top(scores: FloatArray, names: Sequence[str], k: int = 5) -> list[str]:
    rounded = np.round(scores, 9)
    last = np.partition(rounded, max(len(rounded) - k, 0))[max(len(rounded) - k, 0)]
    at = np.flatnonzero(rounded >= last).tolist()
    at.sort(key=lambda slot: (-rounded[slot], names[slot]))
    return [names[slot] for slot in at[:k]]


def _power_iteration(walk: Transitions, damping: float) -> FloatArray:
    if not walk.reset.any():
        return walk.reset
    return personalized_pagerank(
        walk.source, walk.target, walk.weight, walk.reset, damping=damping, tol=1e-9
    )


# -- time -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WalkTimes:
    """Medians on a graph of one size; None where a library was not asked to."""

    chunks: int
    edges: int
    spreading_ms: float
    spreading_cpu_ms: float
    igraph_cpu_ms: float
    networkx_cpu_ms: float | None
    igraph_to_spreading: float
    save_seconds: float
    load_seconds: float
    allocated_bytes_per_chunk: float | None
    set_rows_ms: float


def time_walks(
    n: int, *, questions: int = 10, networkx_up_to: int = 10_000, seed: int = 0
) -> WalkTimes:
    """Time spreading alone beside PageRank by libraries, in turns, on a simulated graph.

    Parameters
    ----------
    n : int
        Chunks; see :func:`~hebbgraph.evaluation.scale.simulated.simulated_graph`.
    questions : int
        PageRank gets so many, spreading twenty times as many.
    networkx_up_to : int
        networkx takes no part with more chunks.
    seed : int

    Notes
    -----
    The libraries' graphs are made beforehand, as lists of edges; only the weights, which
    depend on the question, are handed over. PRPACK is igraph's fastest method. The graph
    is saved, loaded and asked as a snapshot; ``set_rows_ms`` is what it takes to give
    1,000 chunks new tags.
    """
    with TemporaryDirectory(prefix="hebbgraph-walks-") as directory:
        made = simulated_graph(n, seed=seed)
        began = perf_counter()
        save_snapshot(Path(directory), made)
        saved = perf_counter() - began
        del made
        before = allocated_bytes()
        began = perf_counter()
        graph = load_snapshot(Path(directory))
        loaded = perf_counter() - began
        assert graph is not None
        times = list(_spread_all(graph, questions * 20, seed))
        after = allocated_bytes()
        by_igraph, by_networkx = [], []
        walk_graph: Any = None
        n_edges = 0
        for question, _ in times[:questions]:
            walk = transitions(question)
            if walk_graph is None:
                walk_graph = _igraph(walk)
            n_edges = len(walk.source)
            by_igraph.append(_by_igraph(walk_graph, walk, _DAMPING))
            if n <= networkx_up_to:
                by_networkx.append(_by_networkx(walk, _DAMPING))
        setting = _seconds_to_set_rows(graph, seed)
    return WalkTimes(
        n,
        n_edges,
        float(np.median([question.seconds for question, _ in times])) * 1e3,
        float(np.median([cpu for _, cpu in times])) * 1e3,
        float(np.median(by_igraph)) * 1e3,
        float(np.median(by_networkx)) * 1e3 if by_networkx else None,
        float(np.median(by_igraph) / np.median([cpu for _, cpu in times])),
        saved,
        loaded,
        None if before is None or after is None else (after - before) / n,
        setting * 1e3,
    )


def _spread_all(graph: TagGraph, count: int, seed: int) -> Iterator[tuple[Question, float]]:
    """Ask once to warm up, then again; yield each question and its processor seconds."""
    parameters = SpreadingParameters()
    asked = list(simulated_questions(graph, count, seed=seed))
    for cues, evidence in asked:
        spread(graph, cues, evidence, parameters=parameters, allowed=graph.alive)
    for cues, evidence in asked:
        began, began_cpu = perf_counter(), thread_time()
        found = spread(graph, cues, evidence, parameters=parameters, allowed=graph.alive)
        seconds, cpu = perf_counter() - began, thread_time() - began_cpu
        yield Question(graph, cues, evidence, parameters, found, seconds), cpu


def _seconds_to_set_rows(graph: TagGraph, seed: int) -> float:
    """Return the median processor seconds of giving 1,000 chunks the tags of others."""
    rng = np.random.default_rng(seed)
    nobody = np.empty(0, dtype=np.int64)
    incidence, times = graph.incidence, []
    count = min(1000, graph.n_slots)
    for _ in range(10):
        changed = rng.choice(graph.n_slots, count, replace=False)
        rows = incidence.postings(rng.choice(graph.n_slots, count, replace=False))
        began = thread_time()
        incidence = incidence.updated(graph.n_slots, len(graph.phrases), nobody, changed, rows)
        times.append(thread_time() - began)
    return float(np.median(times))


def _cpu_seconds(call: Callable[[], Any]) -> float:
    began = process_time()
    call()
    return process_time() - began


def _igraph(walk: Transitions) -> Any:
    try:
        import igraph
    except ImportError as error:
        raise MissingExtraError(
            "igraph is not installed; it is GPL and for measuring alone: pip install igraph"
        ) from error
    edges = np.stack((walk.source, walk.target), axis=1)
    return igraph.Graph(n=len(walk.reset), edges=edges, directed=True)


def _by_igraph(graph: Any, walk: Transitions, damping: float) -> float:
    reset, weights = walk.reset.tolist(), walk.weight.tolist()
    return _cpu_seconds(
        lambda: graph.personalized_pagerank(
            reset=reset, weights=weights, damping=damping, implementation="prpack"
        )
    )


def _by_networkx(walk: Transitions, damping: float) -> float:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(walk.reset)))
    graph.add_weighted_edges_from(
        zip(walk.source.tolist(), walk.target.tolist(), walk.weight.tolist(), strict=True)
    )
    reset = {node: share for node, share in enumerate(walk.reset.tolist()) if share > 0}
    return _cpu_seconds(lambda: nx.pagerank(graph, alpha=damping, personalization=reset))


def grids(results: Sequence[WalkResult], times: Sequence[WalkTimes] = ()) -> list[Grid]:
    """Lay out what was found, one row a set and one a size."""
    tables = []
    if results:
        rows = [
            (
                one.dataset,
                str(one.questions),
                f"{one.spreading:.3f}",
                f"{one.dense:.3f}",
                f"{one.spreading - one.dense:+.3f}",
                f"{one.same_top5:.3f}",
                f"{one.pagerank:.3f}",
                f"{one.pagerank_joined:.3f}",
            )
            for one in results
        ]
        headings = (
            *("set", "questions", "spreading", "on the whole graph", "difference"),
            *("same top 5", "PageRank", "PageRank and direct evidence"),
        )
        tables.append(Grid("R@5 by how activation spreads", headings, rows))
    if times:
        figures = {
            "edges of the walk": ("edges", "d"),
            "spreading, ms": ("spreading_ms", ".2f"),
            "spreading, CPU ms": ("spreading_cpu_ms", ".2f"),
            "igraph's PageRank, CPU ms": ("igraph_cpu_ms", ".1f"),
            "networkx's PageRank, CPU ms": ("networkx_cpu_ms", ".1f"),
            "igraph / spreading, CPU": ("igraph_to_spreading", ".0f"),
            "saving the graph, s": ("save_seconds", ".2f"),
            "loading it, s": ("load_seconds", ".2f"),
            "allocated then, bytes a chunk": ("allocated_bytes_per_chunk", ".0f"),
            "giving 1,000 chunks new tags, CPU ms": ("set_rows_ms", ".1f"),
        }
        fields = [asdict(one) for one in times]
        cells = [
            (name, *("–" if row[field] is None else f"{row[field]:{form}}" for row in fields))
            for name, (field, form) in figures.items()
        ]
        headings_by_size = ("", *(f"{one.chunks} chunks" for one in times))
        tables.append(Grid("spreading alone beside PageRank", headings_by_size, cells))
    return tables
