"""What learning does to questions that share no evidence with those asked before.

A set's questions fall into groups that are joined by relevant chunks. The questions of half of
the groups are answered and cited, each by one of ten actors; then the rest is asked, of which none
has a relevant chunk in common with the first. Edges cannot help there, and must not harm; what
is learned of the corpus can. Run it with ``python -m hebbgraph_bench.learning.untouched``.

Citations are ``right``, or 20 % of them are ``wrong`` (one cited chunk is replaced by another
that was shown), or two of twenty actors are ``hostile`` and cite the lowest wrong chunk.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.formulas.bootstrap import paired_bootstrap
from rich.console import Console

from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import CachingEmbedder, LazyEmbedder, caching
from hebbgraph_bench.learning.learners import IndexLearner, Lab
from hebbgraph_bench.learning.splits import Question
from hebbgraph_bench.learning.teachers import Event, Gold, Hostile, Teacher, WrongCitations
from hebbgraph_bench.output import Output
from hebbgraph_bench.protocol import judge
from hebbgraph_bench.tables import Grid

__all__ = ["UntouchedResult", "halves", "main", "measure_untouched"]

_K = 10
_METRICS = (f"R@{_K // 2}", f"nDCG@{_K}")
_SPLITS, _ACTORS = 3, 10
#: Questions that are asked and cited, at most; of small sets fewer.
_LEARNED, _LEARNED_OF_FEW, _FEW = 300, 100, 200
#: With fewer questions to ask, a mean says too little.
_JUDGED = 30
_CITATIONS = ("right", "wrong", "hostile")


@dataclass(frozen=True, slots=True)
class UntouchedResult:
    """Untouched questions of all splits, before and after; one value a question and metric."""

    name: str
    citations: str
    before: Mapping[str, FloatArray]
    after: Mapping[str, FloatArray]
    learned: tuple[str, ...]

    def row(self) -> tuple[str, ...]:
        """Lay out the differences, with intervals."""
        cells = []
        for metric in _METRICS:
            by = paired_bootstrap(self.after[metric], self.before[metric])
            cells += [
                f"{self.before[metric].mean():.3f}",
                f"{by.mean:+.3f} [{by.low:+.3f}, {by.high:+.3f}]",
            ]
        n = len(self.before[_METRICS[0]])
        few = "" if n >= _JUDGED else " (too few)"
        return self.name, self.citations, f"{n}{few}", *cells


def halves(dataset: Dataset, *, seed: int) -> tuple[list[Question], list[Question]]:
    """Return questions to learn from, and questions that share no relevant chunk with them."""
    graph = nx.Graph()
    for query in dataset.queries:
        nx.add_path(graph, [("q", query.id), *(("c", id_) for id_ in sorted(query.relevant))])
    groups = [
        sorted(id_ for kind, id_ in group if kind == "q")
        for group in nx.connected_components(graph)
    ]
    groups.sort()
    random.Random(seed).shuffle(groups)
    first = {id_ for group in groups[: len(groups) // 2] for id_ in group}
    questions = [Question(query.id, query.text, query.relevant) for query in dataset.queries]
    learn = [one for one in questions if one.id in first]
    random.Random(seed).shuffle(learn)
    most = _LEARNED if len(questions) > _FEW else _LEARNED_OF_FEW
    return learn[:most], [one for one in questions if one.id not in first]


def measure_untouched(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    citations: str = "right",
) -> UntouchedResult:
    """Learn from half of a set's questions and ask the rest, in three splits.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    citations : {"right", "wrong", "hostile"}
    """
    before: list[Mapping[str, FloatArray]] = []
    after: list[Mapping[str, FloatArray]] = []
    learned: tuple[str, ...] = ()
    with Lab(dataset, embedder) as lab:
        for seed in range(_SPLITS):
            learn, rest = halves(dataset, seed=seed)
            relevant = [one.relevant for one in rest]
            with lab.unlearned() as ask:
                found = [ask(one.text, _K).ids for one in rest]
            before.append(judge(found, relevant, _K))
            with lab.fresh() as index:
                learner = IndexLearner(index)
                for event in _events(learn, rest, citations, seed, learner):
                    learner.learn(event)
                found = [learner.ask(one.text, _K).ids for one in rest]
                learned += tuple(map(str, index.inspect.learned()))
            after.append(judge(found, relevant, _K))
    return UntouchedResult(dataset.name, citations, _joined(before), _joined(after), learned)


def _events(
    learn: Sequence[Question],
    rest: Sequence[Question],
    citations: str,
    seed: int,
    learner: IndexLearner,
) -> Iterator[Event]:
    teacher: Teacher = Gold()
    if citations == "wrong":
        teacher = WrongCitations(0.2, seed=seed)
    elif citations == "hostile":
        teacher = Hostile(0.1, "lowest", [*learn, *rest], seed=seed)
    for number, event in enumerate(teacher.events(learn, lambda text: learner.ask(text, _K))):
        yield event if event.actor else event._replace(actor=f"reader-{number % _ACTORS}")


def _joined(parts: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    return {metric: np.concatenate([part[metric] for part in parts]) for metric in _METRICS}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(
        description="What learning does to questions without evidence in common with past ones.",
        prog="hebbgraph_bench.learning.untouched",
    )
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument("--cache", type=Path, help="where its vectors are kept")
    parser.add_argument("--queries", type=int, default=500, help="of a set, at most")
    parser.add_argument("--citations", nargs="+", choices=_CITATIONS, default=["right"])
    parser.add_argument("--json", type=Path, help="where the figures go, as JSON and Markdown")
    given = parser.parse_args(arguments)
    model = LazyEmbedder(given.embedder) if given.embedder else None
    output = Output(given.json, Console())
    results = []
    with caching(model, given.cache) as embedder:
        for path in given.sets:
            dataset = load(path).shuffled(seed=0).sampled(given.queries, seed=0)
            for citations in given.citations:
                result = measure_untouched(dataset, embedder=embedder, citations=citations)
                results.append(result)
                output.show([Grid(dataset.name, ("",) * 7, [result.row()])])
    headings = ["set", "citations", "questions"]
    headings += [cell for metric in _METRICS for cell in (metric, "difference")]
    grid = Grid("Untouched questions", headings, [result.row() for result in results])
    output.show([grid])
    output.write([grid], {"rows": grid.rows, "learned": [one.learned for one in results]})


if __name__ == "__main__":
    main()
