"""Bio-RAG's experiment: the null result, its cause, and each remedy on its own.

``hebbgraph bench --paper bio-rag`` needs no data set. Named sets are the larger corpora of the
paper's future work (section 5.4, 5).

``questions`` and ``corpora`` provide documents and questions, ``graph`` the network, ``judges``
prune it, ``learning`` runs the search and its ten rounds, ``lab`` runs an arm, ``arms`` lists
them, ``report`` and ``plots`` show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hebbgraph_bench.papers.bio_rag.arms import run_large, run_small
from hebbgraph_bench.papers.bio_rag.corpora import own_corpus, shared_corpus
from hebbgraph_bench.papers.bio_rag.lab import BioRagResult, Lab
from hebbgraph_bench.papers.bio_rag.plots import plot_rounds, plot_sweep
from hebbgraph_bench.papers.bio_rag.report import as_dict, grids
from hebbgraph_bench.papers.options import PaperOptions

__all__ = ["run"]

_LARGE_QUERIES = 100


def run(
    datasets: Sequence[str | Path], options: PaperOptions, /, *, model: Any = None
) -> list[BioRagResult]:
    """Run the experiment; see :func:`hebbgraph_bench.papers.bench_paper`.

    ``k`` is always 10, as in the paper. ``model`` is a chat model for the
    LLM-guided pruning (:func:`.judges.ask_judge`); without it a rule stands in, and
    the tables say so.
    """
    output, seed = options.output(), options.seed
    large = options.load(datasets, queries=_LARGE_QUERIES)
    results: list[BioRagResult] = []
    with options.vectors() as vectors, output.status("bio-rag") as status:
        on_step = None if status is None else status.update
        results.append(run_small(Lab(own_corpus(), vectors, on_step), vectors, seed, model))
        tables = grids(results[0], seed)
        output.write(tables, {"seed": seed, "corpora": [as_dict(results[0], seed)]})
        for dataset in large:
            results.append(run_large(Lab(shared_corpus(dataset), vectors, on_step), vectors, seed))
            tables = [grid for result in results for grid in grids(result, seed)]
            output.write(
                tables, {"seed": seed, "corpora": [as_dict(result, seed) for result in results]}
            )
    output.show(tables)
    if options.plots is not None:
        plot_rounds(results[0], options.plots)
        plot_sweep(results[0], options.plots, seed=seed)
    return results
