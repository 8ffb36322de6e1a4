"""BambooKG's comparison: length and speed of the context, and whether it holds the answer.

The paper [1]_ hands the whole context of its recall to GPT-4o and lets the same model
judge the answer (tables 1 and 2). Here no model reads. The share of questions with
their answer in the context, and with all relevant chunks in it, are upper bounds for a reader.
The first leaves out answers that are yes or no.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError

from hebbgraph_bench import metrics
from hebbgraph_bench.baselines import BM25, Dense, Retriever
from hebbgraph_bench.context import Context
from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.papers import navigation
from hebbgraph_bench.papers.navigation import NavigationPoint, measure_navigation
from hebbgraph_bench.papers.options import PaperOptions
from hebbgraph_bench.plotting import matplotlib_figures, save_figure
from hebbgraph_bench.results import mean_defined
from hebbgraph_bench.tables import Grid

__all__ = ["PUBLISHED", "ContextResult", "Contexts", "measure_contexts", "run"]

_WHOLE = 10_000
_WARM_UP = 3
_MARKERS = {"top 5": "o", "whole context": "s"}


class Published(NamedTuple):
    """One row of the paper: accuracy in %, context in tokens, retrieval in seconds."""

    method: str
    accuracy: int
    tokens: int | None
    seconds: float


PUBLISHED: Mapping[str, tuple[Published, ...]] = {
    "hotpotqa": (
        Published("RAG, top 5", 71, 648, 2.16),
        Published("OpenIE 5-3", 57, 264, 4.55),
        Published("GraphRAG", 20, None, 4.98),
        Published("KGGen 5-3", 71, 440, 3.45),
        Published("BambooKG 5-3", 78, 1887, 0.01),
    ),
    "musique 2 hops": (
        Published("RAG, top 5", 58, 525, 5.65),
        Published("OpenIE 5-3", 20, 275, 4.96),
        Published("GraphRAG", 45, None, 6.05),
        Published("KGGen 5-3", 41, 295, 3.11),
        Published("BambooKG 5-3", 69, 2905, 0.01),
    ),
    "musique 3 hops": (
        Published("RAG, top 5", 14, 1078, 6.12),
        Published("OpenIE 5-3", 1, 280, 2.51),
        Published("GraphRAG", 33, None, 8.90),
        Published("KGGen 5-3", 10, 318, 2.43),
        Published("BambooKG 5-3", 54, 16273, 0.01),
    ),
    "musique 4 hops": (
        Published("RAG, top 5", 53, 748, 5.59),
        Published("OpenIE 5-3", 6, 328, 2.93),
        Published("GraphRAG", 51, None, 8.21),
        Published("KGGen 5-3", 8, 228, 2.23),
        Published("BambooKG 5-3", 56, 11728, 0.01),
    ),
}
"""Tables 1 and 2, by the name that :func:`question_kind` gives."""


@dataclass(frozen=True, slots=True)
class Contexts:
    """Metrics of one system's context, per question.

    ``values`` has ``answer``, ``all-gold``, ``recall``, ``chunks``, ``tokens`` and ``ms``.
    """

    system: str
    values: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class ContextResult:
    """All systems on one set; ``kinds`` gives each question's table in the paper."""

    name: str
    chunks: int
    kinds: tuple[str, ...]
    systems: tuple[Contexts, ...]
    navigation: tuple[NavigationPoint, ...] = ()


class _System(NamedTuple):
    name: str
    retriever: Retriever
    k: int


def run(datasets: Sequence[str | Path], options: PaperOptions, /) -> list[ContextResult]:
    """Measure contexts on each set; see :func:`hebbgraph_bench.papers.bench_paper`."""
    if not datasets:
        raise ParameterError("name at least one evaluation set (the paper's: HotpotQA, MuSiQue)")
    output = options.output()
    results: list[ContextResult] = []
    for dataset in options.load(datasets):
        with options.vectors() as vectors, output.status(dataset.name) as status:
            on_system = None if status is None else status.update
            contexts = measure_contexts(dataset, embedder=vectors, k=options.k, on_system=on_system)
            points = measure_navigation(dataset, seed=options.seed)
            results.append(replace(contexts, navigation=tuple(points)))
        grids = [grid for result in results for grid in _grids(result)]
        content = {"seed": options.seed, "k": options.k, "sets": [_as_dict(one) for one in results]}
        output.write(grids, content)
        output.show(_grids(results[-1]))
    if options.plots is not None:
        plot_contexts(results, options.plots)
    return results


def measure_contexts(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    k: int = 10,
    on_system: Callable[[str], None] | None = None,
) -> ContextResult:
    """Ask every question of every system.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
        With it, the RAG baseline is dense search; without it, BM25.
    k : int
        Cutoff of ranked contexts, besides 5.
    on_system : callable, optional
        Called with the name of each system.
    """
    chunks = [chunk for chunk in dataset.corpus if chunk.title.strip() or chunk.text.strip()]
    context = Context(chunks)
    measured: list[Contexts] = []
    for name, retriever, cuts in _systems(dataset, embedder, k):
        if on_system is not None:
            on_system(f"{dataset.name}: {name}")
        try:
            retriever.index(chunks)
            for cut in cuts:
                shown = f"{name}, whole context" if cut == _WHOLE else f"{name}, top {cut}"
                system = _System(shown, retriever, cut)
                measured.append(_contexts(system, dataset.queries, context, embedder))
        finally:
            retriever.close()
    kinds = tuple(question_kind(dataset.name, query) for query in dataset.queries)
    return ContextResult(dataset.name, len(chunks), kinds, tuple(measured))


def question_kind(set_name: str, query: Query) -> str:
    """Return the table of the paper that a question belongs to."""
    if "musique" in set_name and query.type and query.type[0].isdigit():
        return f"musique {query.type[0]} hops"
    return "hotpotqa" if "hotpot" in set_name else set_name


def plot_contexts(results: Sequence[ContextResult], directory: str | Path) -> Path:
    """Plot answers in context over context tokens, with the paper's points; return the file."""
    kinds = [(one, kind) for one in results for kind in dict.fromkeys(sorted(one.kinds))]
    figure = matplotlib_figures().Figure(figsize=(3.6 * len(kinds), 4.2), layout="constrained")
    axes = figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
    # One style per system on every axis, and one entry per system in the legend.
    names = dict.fromkeys(system.system for one in results for system in one.systems)
    methods = dict.fromkeys(name.split(",")[0] for name in names)
    colours = {method: f"C{number}" for number, method in enumerate(methods)}
    handles: dict[str, Any] = {}
    for axis, (result, kind) in zip(axes, kinds, strict=True):
        is_kind = np.array([one == kind for one in result.kinds])
        for system in result.systems:
            method, _, cut = system.system.partition(", ")
            (handles[system.system],) = axis.plot(
                mean_defined(system.values["tokens"][is_kind]),
                mean_defined(system.values["answer"][is_kind]),
                _MARKERS.get(cut, "^"),
                color=colours[method],
            )
        for row in PUBLISHED.get(kind, ()):
            if row.tokens:
                (handles["paper (judged)"],) = axis.plot(
                    row.tokens, row.accuracy / 100, "x", color="0.5"
                )
                axis.annotate(
                    row.method, (row.tokens, row.accuracy / 100), fontsize=6, xytext=(0, 4),
                    textcoords="offset points", color="0.4", ha="center",
                )  # fmt: skip
        axis.set_xscale("log")
        axis.set_xlim(200, 20_000)
        axis.set_title(f"{kind} ({int(is_kind.sum())})", fontsize=10)
        axis.set_xlabel("context, tokens")
        axis.grid(visible=True, alpha=0.25)
    axes[0].set_ylabel("answer in context (ours) / accuracy (paper)", fontsize=9)
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=4, fontsize=8
    )
    return save_figure(figure, Path(directory), "bambookg-contexts")


def _systems(
    dataset: Dataset, embedder: CachingEmbedder | None, k: int
) -> list[tuple[str, Retriever, tuple[int, ...]]]:
    cuts = tuple(dict.fromkeys((5, k)))
    rag: Retriever = BM25() if embedder is None else Dense(embedder)
    systems: list[tuple[str, Retriever, tuple[int, ...]]] = [
        (f"RAG ({rag.name})", rag, cuts),
        ("BambooKG 5-3", HebbianRetriever("neighbourhood"), (_WHOLE, *cuts)),
        ("Bio-RAG breadth_first", HebbianRetriever("breadth_first", embedder=embedder), cuts),
        ("hebbgraph spreading", HebbianRetriever("spreading", embedder=embedder), cuts),
    ]
    if dataset.extractions:
        tagged = HebbianRetriever("neighbourhood", extractions=dataset.extractions)
        systems.insert(2, ("BambooKG 5-3 + LLM tags", tagged, (_WHOLE, *cuts)))
    return systems


def _contexts(
    system: _System,
    queries: Sequence[Query],
    context: Context,
    embedder: CachingEmbedder | None,
) -> Contexts:
    def clock() -> float:
        return perf_counter() - (embedder.seconds if embedder else 0.0)

    rows = []
    for query in queries[:_WARM_UP]:
        system.retriever.retrieve(query.text, system.k)
    for query in queries:
        began = clock()
        hits = system.retriever.retrieve(query.text, system.k)
        milliseconds = (clock() - began) * 1e3
        ranked = list(dict.fromkeys(hit.id for hit in hits))
        depth = max(len(ranked), 1)
        rows.append(
            (
                context.holds_answer(query, ranked),
                metrics.all_relevant_at_k(ranked, query.relevant, depth),
                metrics.recall_at_k(ranked, query.relevant, depth),
                len(ranked),
                context.count_tokens(ranked),
                milliseconds,
            )
        )
    names = ("answer", "all-gold", "recall", "chunks", "tokens", "ms")
    columns = np.array(rows, dtype=np.float64).T
    return Contexts(system.name, dict(zip(names, columns, strict=True)))


def _grids(result: ContextResult) -> list[Grid]:
    headings = ("system", "answer in context", "all gold", "chunks", "tokens", "s a query (median)")
    grids = []
    for kind in sorted(dict.fromkeys(result.kinds)):
        is_kind = np.array([one == kind for one in result.kinds])
        rows = []
        for system in result.systems:
            value = {name: column[is_kind] for name, column in system.values.items()}
            rows.append(
                (
                    system.system,
                    f"{100 * mean_defined(value['answer']):.0f} %",
                    f"{100 * mean_defined(value['all-gold']):.0f} %",
                    f"{mean_defined(value['chunks']):.1f}",
                    f"{mean_defined(value['tokens']):,.0f}",
                    f"{np.median(value['ms']) / 1e3:.4f}",
                )
            )
        rows += [
            (
                f"paper: {row.method}",
                f"{row.accuracy} % (judged)",
                "–",
                "–",
                "–" if row.tokens is None else f"{row.tokens:,}",
                f"{row.seconds:.2f}",
            )
            for row in PUBLISHED.get(kind, ())
        ]
        title = f"{kind}: {int(is_kind.sum())} questions over {result.chunks} chunks"
        grids.append(Grid(title, headings, rows))
    if result.navigation:
        grids += navigation.grids(result.name, result.navigation)
    return grids


def _as_dict(result: ContextResult) -> dict[str, object]:
    kinds = np.array(result.kinds)
    return {
        "name": result.name,
        "chunks": result.chunks,
        "kinds": {
            str(kind): {
                system.system: {
                    name: mean_defined(column[kinds == kind])
                    for name, column in system.values.items()
                }
                for system in result.systems
            }
            for kind in np.unique(kinds)
        },
        "navigation": [asdict(point) for point in result.navigation],
    }
