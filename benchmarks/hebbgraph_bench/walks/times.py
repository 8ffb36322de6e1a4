"""Spreading alone beside PageRank by libraries, on simulated graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any

import numpy as np
from hebbgraph.derived.snapshot import load_snapshot, save_snapshot
from hebbgraph.errors import MissingExtraError
from hebbgraph.formulas.activation import SpreadingParameters, spread
from hebbgraph.graph.tag_graph import TagGraph

from hebbgraph_bench.memory import allocated_bytes
from hebbgraph_bench.scale.simulated import simulated_graph, simulated_questions
from hebbgraph_bench.walks.formulas import DAMPING, Transitions, transitions
from hebbgraph_bench.walks.questions import Question

__all__ = ["WalkTimes", "time_walks"]


@dataclass(frozen=True, slots=True)
class WalkTimes:
    """Medians on a graph of one size; None if a library was skipped."""

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
        Chunks; see :func:`~hebbgraph_bench.scale.simulated.simulated_graph`.
    questions : int
        Number for PageRank; spreading gets twenty times as many.
    networkx_up_to : int
        Skip networkx for more chunks.
    seed : int

    Notes
    -----
    The libraries' graphs are created in advance, as lists of edges; only the weights, which depend
    on the question, are passed. PRPACK is igraph's fastest method. The graph
    is saved, loaded and asked as a snapshot; ``set_rows_ms`` is the time to give
    1,000 chunks new tags.
    """
    with TemporaryDirectory(prefix="hebbgraph-walks-") as directory:
        simulated = simulated_graph(n, seed=seed)
        began = perf_counter()
        save_snapshot(Path(directory), simulated)
        saved = perf_counter() - began
        del simulated
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
            by_igraph.append(_by_igraph(walk_graph, walk, DAMPING))
            if n <= networkx_up_to:
                by_networkx.append(_by_networkx(walk, DAMPING))
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
    questions = list(simulated_questions(graph, count, seed=seed))
    for cues, evidence in questions:
        spread(graph, cues, evidence, parameters=parameters, allowed=graph.alive)
    for cues, evidence in questions:
        began, began_cpu = perf_counter(), thread_time()
        activation = spread(graph, cues, evidence, parameters=parameters, allowed=graph.alive)
        seconds, cpu = perf_counter() - began, thread_time() - began_cpu
        yield Question(graph, cues, evidence, parameters, activation, seconds), cpu


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
