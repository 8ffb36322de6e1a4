"""NAKG on public questions: the gain from its edges and vectors, before and after feedback.

The paper [1]_ reports recall and F1 on a test suite of its own that was not published.
Here half of the questions of a set give feedback (cite the relevant chunks among the k hits),
and the other half is asked. Every arm recalls from the same index; trained arms differ from
their baseline only by the trained layer.

References
----------
.. [1] Gibbs, Neural Adaptive Knowledge Graphs, sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap
from hebbgraph.settings import FamilyName, LearningSettings, Settings
from hebbgraph_papers.nakg import NeuralSettings, NeuralSpreading, train
from hebbgraph_papers.nakg.report import NeuralReport

from hebbgraph_bench import metrics
from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.papers.nakg_growth import (
    GrowthPoint,
    growth_grid,
    measure_growth,
    plot_growth,
)
from hebbgraph_bench.papers.options import PaperOptions
from hebbgraph_bench.plotting import matplotlib_figures, save_figure
from hebbgraph_bench.tables import Grid

if TYPE_CHECKING:
    from hebbgraph.hebbian_index import HebbianIndex
    from hebbgraph.recall import Strategy, StrategyName

__all__ = ["PUBLISHED", "NakgResult", "measure_nakg", "run"]

_EDGE_GAIN = 0.1
_CUT = 5
_QUESTIONS = 400


class Published(NamedTuple):
    """One line of the paper: its recall and F1, on tests of its own."""

    tests: str
    system: str
    recall: str
    f1: str


PUBLISHED = (
    Published("diverse test cases", "NAKG", "0.943 ± 0.008", "–"),
    Published("diverse test cases", "traditional RAG", "0.582", "–"),
    Published("knowledge graph reasoning", "NAKG", "–", "0.982 ± 0.015"),
    Published("knowledge graph reasoning", "traditional RAG", "–", "0.500–0.571"),
    Published("temporal reasoning", "NAKG", "–", "0.978 ± 0.012"),
    Published("multi-hop", "NAKG", "–", "0.800–0.889"),
    Published("multi-hop", "traditional RAG", "–", "0.571–0.857"),
)
"""Sections 5, 6 and 8."""


@dataclass(frozen=True)
class Arm:
    """One way to recall, and the arm it is compared with.

    Parameters
    ----------
    name : str
    baseline : str, optional
    strategy : str
    edge_gain, propagated
        Of :class:`~hebbgraph_papers.nakg.NeuralSpreading`, which is the strategy if one is set.
    families : tuple of str, optional
        Of learning; by default, the usual ones.
    """

    name: str
    baseline: str | None = None
    strategy: StrategyName = "spreading"
    edge_gain: float = 0.0
    propagated: bool = False
    families: tuple[FamilyName, ...] | None = None

    def strategy_on(self, index: HebbianIndex) -> StrategyName | Strategy:
        """Return the strategy for an index."""
        if not self.edge_gain and not self.propagated:
            return self.strategy
        return NeuralSpreading(index.parts, edge_gain=self.edge_gain, propagated=self.propagated)


STATIC = "spreading"
LEARNED = "spreading, learned"

#: Before any feedback; the layer is trained without labels.
UNTAUGHT = (
    Arm(STATIC),
    Arm("NAKG alone", STATIC, "neural"),
    Arm("spreading + NAKG edges", STATIC, edge_gain=_EDGE_GAIN),
    Arm("spreading + NAKG vectors", STATIC, propagated=True),
)
#: After it; the layer is trained on the log as well.
TAUGHT = (
    Arm("NAKG alone, on the log", STATIC, "neural", families=()),
    Arm("spreading + NAKG edges on the log", STATIC, edge_gain=_EDGE_GAIN, families=()),
    Arm("spreading + NAKG vectors on the log", STATIC, propagated=True, families=()),
    Arm("spreading + both on the log", STATIC, edge_gain=_EDGE_GAIN, propagated=True, families=()),
    Arm(LEARNED, STATIC),
    Arm("learned + NAKG edges", LEARNED, edge_gain=_EDGE_GAIN),
    Arm("learned + NAKG vectors", LEARNED, propagated=True),
    Arm("learned + both", LEARNED, edge_gain=_EDGE_GAIN, propagated=True),
)


@dataclass(frozen=True, slots=True)
class NakgResult:
    """One set: values of the questions that were asked, by arm and metric.

    ``reports`` describe the training of the layer, without and with the log.
    """

    name: str
    chunks: int
    learned: int
    asked: int
    values: dict[str, dict[str, FloatArray]]
    reports: tuple[NeuralReport, NeuralReport]

    def difference(self, arm: Arm, metric: str, *, seed: int = 0) -> Difference | None:
        """Compare an arm with its baseline."""
        if arm.baseline is None:
            return None
        ours, theirs = self.values[arm.name][metric], self.values[arm.baseline][metric]
        return paired_bootstrap(ours, theirs, seed=seed)


def run(
    datasets: Sequence[str | Path], options: PaperOptions, /
) -> tuple[list[NakgResult], list[GrowthPoint]]:
    """Measure each set, and the growth of cost; see ``bench_paper``.

    Without sets, growth alone: it needs no text and no embedder.
    """
    if datasets and options.embedder is None:
        raise ParameterError("NAKG learns from vectors; name a model with --embedder")
    output = options.output()
    k, seed = options.k, options.seed
    results: list[NakgResult] = []
    grids = [paper_grid()]
    for dataset in options.load(datasets, queries=_QUESTIONS):
        with options.vectors() as vectors, output.status(dataset.name) as status:
            assert vectors is not None
            on_step = None if status is None else status.update
            results.append(measure_nakg(dataset, vectors, k=k, seed=seed, on_step=on_step))
        grids += _grids(results[-1])
        output.show(_grids(results[-1]))
        output.write(grids, _as_dict(results, [], k, seed))
    with output.status("growth of cost") as status:
        on_step = None if status is None else status.update
        points = measure_growth(seed=seed, on_step=on_step)
    grids.append(growth_grid(points))
    output.show([grids[0], grids[-1]])
    output.write(grids, _as_dict(results, points, k, seed))
    if options.plots is not None:
        plot_growth(points, options.plots)
        if results:
            plot_differences(results, options.plots)
    return results, points


def measure_nakg(
    dataset: Dataset,
    embedder: CachingEmbedder,
    *,
    k: int = 10,
    seed: int = 0,
    settings: NeuralSettings | None = None,
    on_step: Callable[[str], object] | None = None,
) -> NakgResult:
    """Train without the log, teach with half of the questions, train with it; ask the rest.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder
    k : int
        Chunks retrieved per question while teaching.
    seed : int
        Seeds the halves.
    settings : NeuralSettings, optional
    on_step : callable, optional
        Called with each step.
    """
    report = on_step or (lambda _: None)
    questions = sorted(dataset.queries, key=lambda query: query.id)
    order = np.random.default_rng(seed).permutation(len(questions))
    half = len(order) // 2
    teaching = [questions[row] for row in order[:half]]
    asking = [questions[row] for row in order[half:]]
    values: dict[str, dict[str, FloatArray]] = {}

    with TemporaryDirectory(prefix="hebbgraph-nakg-") as directory:

        @contextmanager
        def opened(arm: Arm) -> Iterator[HebbianIndex]:
            from hebbgraph.hebbian_index import HebbianIndex

            learning = (
                LearningSettings()
                if arm.families is None
                else LearningSettings(families=arm.families)
            )
            settings = Settings(keep_recalls=0, learning=learning)
            with HebbianIndex.open(
                f"{directory}/index", embedder=embedder, settings=settings
            ) as index:
                yield index

        def ask(arm: Arm) -> None:
            report(f"{dataset.name}: {arm.name}")
            with opened(arm) as index:
                values[arm.name] = _judge(index, asking, arm.strategy_on(index), k)

        report(f"{dataset.name}: indexing")
        with opened(Arm(STATIC)) as index:
            index.add([chunk for chunk in dataset.corpus if chunk.title or chunk.text])
            n_chunks = index.stats().chunks
            report(f"{dataset.name}: training without feedback")
            untaught = train(index, settings=settings)
        for arm in UNTAUGHT:
            ask(arm)
        with opened(Arm(STATIC)) as index:
            report(f"{dataset.name}: teaching")
            _teach(index, teaching, k)
            report(f"{dataset.name}: training on the log")
            taught = train(index, settings=settings)
        for arm in TAUGHT:
            ask(arm)
    return NakgResult(
        dataset.name, n_chunks, len(teaching), len(asking), values, (untaught, taught)
    )


def _teach(index: HebbianIndex, questions: Sequence[Query], k: int) -> None:
    for question in questions:
        recall = index.recall(question.text, k=k)
        cited = [hit.chunk.id for hit in recall.hits if hit.chunk.id in question.relevant]
        if cited:
            index.reinforce(recall, cited)


def _judge(
    index: HebbianIndex, questions: Sequence[Query], strategy: StrategyName | Strategy, k: int
) -> dict[str, FloatArray]:
    rows = []
    for question in questions:
        hits = index.recall(question.text, k=max(k, _CUT), strategy=strategy).hits
        ranked = [hit.chunk.id for hit in hits]
        recall = metrics.recall_at_k(ranked, question.relevant, _CUT)
        relevant_found = sum(id_ in question.relevant for id_ in ranked[:_CUT])
        precision = relevant_found / _CUT
        f1 = 2 * precision * recall / (precision + recall) if relevant_found else 0.0
        rows.append((recall, metrics.recall_at_k(ranked, question.relevant, k), f1))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return dict(zip((f"R@{_CUT}", f"R@{k}", f"F1@{_CUT}"), columns, strict=True))


def paper_grid() -> Grid:
    """Return the paper's own figures."""
    return Grid(
        "the paper, on tests of its own (not published)",
        ("tests", "system", "recall", "F1"),
        [tuple(row) for row in PUBLISHED],
    )


def _grids(result: NakgResult) -> list[Grid]:
    names = list(next(iter(result.values.values())))
    headings = ("arm", *names, f"R@{_CUT} against", "difference (95 %)", "better / worse")
    rows = []
    for arm in (*UNTAUGHT, *TAUGHT):
        means = [f"{result.values[arm.name][name].mean():.3f}" for name in names]
        difference = result.difference(arm, f"R@{_CUT}")
        if difference is None:
            rows.append((arm.name, *means, "", "", ""))
            continue
        interval = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
        rows.append(
            (
                arm.name,
                *means,
                arm.baseline or "",
                interval,
                f"{difference.wins} / {difference.losses}",
            )
        )
    title = (
        f"{result.name}: {result.chunks} chunks, {result.learned} questions taught, "
        f"{result.asked} others asked"
    )
    fields = (
        ("edges", "edges"),
        ("clusters", "clusters"),
        ("tag_pairs", "pairs by tags"),
        ("tag_pairs_within", "share within clusters"),
        ("co_cited_pairs", "co-cited pairs"),
        ("co_cited_within", "share within clusters"),
        ("seconds", "seconds"),
    )
    training = [
        (
            name,
            *(f"{getattr(report, field):,.3g}" for field, _ in fields),
            *(
                "–" if phase.before is None else f"{phase.before:.3f} → {phase.after:.3f}"
                for phase in (report.edge_phase, report.retrieval_phase)
            ),
        )
        for name, report in zip(("without feedback", "on the log"), result.reports, strict=True)
    ]
    return [
        Grid(title, headings, rows),
        Grid(
            f"{result.name}: training",
            ("trained", *(name for _, name in fields), "held-back loss, edges", "retrieval"),
            training,
        ),
    ]


def plot_differences(results: Sequence[NakgResult], directory: str | Path) -> Path:
    """Plot the gain of each arm over its baseline in R@5, with intervals; return the file."""
    arms = [arm for arm in (*UNTAUGHT, *TAUGHT) if arm.baseline is not None]
    figure = matplotlib_figures().Figure(
        figsize=(2.6 * len(results) + 2.4, 4.2), layout="constrained"
    )
    axes = figure.subplots(1, len(results), squeeze=False, sharey=True)[0]
    for axis, result in zip(axes, results, strict=True):
        for place, arm in enumerate(reversed(arms)):
            difference = result.difference(arm, f"R@{_CUT}")
            assert difference is not None
            axis.errorbar(
                difference.mean,
                place,
                xerr=[[difference.mean - difference.low], [difference.high - difference.mean]],
                fmt="o",
                markersize=4,
                color="tab:blue" if arm in UNTAUGHT else "tab:red",
            )
        axis.axvline(0.0, color="0.6", linewidth=0.8)
        axis.set_title(result.name, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.grid(visible=True, axis="x", alpha=0.25)
    axes[0].set_yticks(range(len(arms)), [arm.name for arm in reversed(arms)], fontsize=7)
    figure.supxlabel("difference in R@5 to the same index without the layer", fontsize=9)
    return save_figure(figure, Path(directory), "nakg-differences")


def _as_dict(
    results: Sequence[NakgResult], points: Sequence[GrowthPoint], k: int, seed: int
) -> dict[str, Any]:
    return {
        "k": k,
        "seed": seed,
        "paper": [row._asdict() for row in PUBLISHED],
        "sets": [
            {
                "name": result.name,
                "chunks": result.chunks,
                "learned": result.learned,
                "asked": result.asked,
                "arms": {
                    name: {metric: float(column.mean()) for metric, column in values.items()}
                    for name, values in result.values.items()
                },
                "training": [report.model_dump() for report in result.reports],
            }
            for result in results
        ],
        "growth": [point._asdict() for point in points],
    }
