"""Compare search with BM25, dense search and their fusions: one table a metric.

Each question is asked once and nothing is taught. The last column compares the last system with the
best that is not hebbgraph on that set, with a paired 95 % interval over questions.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from usebench.metrics import METRICS
from usebench.prequential import UNTAUGHT, run_stream
from usebench.protocol import close
from usebench.tables import markdown, number

from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.sets import add_options, difference, model_of, opened_set, write_json
from hebbgraph_bench.systems import chosen_systems

__all__ = ["add_arguments", "measure", "run", "table"]

_WORDS = "bm25,hebbgraph"
_VECTORS = "bm25,dense,fusion,weighted,hebbgraph,hebbgraph+"
#: Names in tables.
_SHOWN = {
    "bm25": "BM25",
    "fusion": "RRF of both",
    "weighted": ".7 dense + .3 BM25",
    "hebbgraph+": "hebbgraph, vectors",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_options(parser)
    text = "names, also linear-rag, synapse, and module:Class, with commas between"
    parser.add_argument("--systems", help=f"{text} [{_WORDS}; with --embedder {_VECTORS}]")
    parser.add_argument(
        "--metric",
        action="append",
        choices=list(METRICS),
        help="shown in tables; repeatable [R@5, nDCG@10]",
    )
    parser.add_argument("--order", default="shuffled", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    model = model_of(options)
    names = (options.systems or (_VECTORS if model else _WORDS)).split(",")
    results = []
    for name in options.sets:
        print(name, file=sys.stderr, flush=True)
        results.append(measure(name, names, model, options))
    for metric in options.metric or ("R@5", "nDCG@10"):
        print(table(results, metric, options.seed), end="\n\n")
    write_json(options, {"sets": results})
    if model is not None:
        model.close()
    return 0


def measure(
    name: str, names: list[str], model: CachedModel | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the value of each question by system and metric."""
    uses = opened_set(name, options, order=options.order)
    systems = {}
    for system in chosen_systems(names, model):
        retriever = system.make()
        done = run_stream(retriever, uses, kind=UNTAUGHT, seed=options.seed)
        close(retriever)
        systems[system.name] = {
            "values": done.values,
            "search_ms": round(float(np.median(done.milliseconds["search"])), 2),
            "add_ms": round(sum(done.milliseconds["add"]) / len(uses.passages), 2),
        }
    scored = sum(event.scored for event in uses.events)
    return {
        "name": uses.name,
        "passages": len(uses.passages),
        "questions": scored,
        "systems": systems,
    }


def table(results: list[dict[str, Any]], metric: str, seed: int) -> str:
    """Lay out one metric; a row is a set."""
    names = list(results[0]["systems"])
    rows = []
    for result in results:
        values = {name: result["systems"][name]["values"][metric] for name in names}
        means = {name: float(np.mean(values[name])) for name in names}
        row = [f"{result['name']} ({result['questions']} questions)"]
        row += [number(means[name]) for name in names]
        others = [name for name in names if not name.startswith("hebbgraph")]
        if others and others != names:
            best = max(others, key=means.__getitem__)
            text, _ = difference(values[names[-1]], values[best], seed)
            row.append(f"{text} over {_SHOWN.get(best, best)}")
        rows.append(row)
    heads = ["set", *(_SHOWN.get(name, name) for name in names)]
    if len(rows[0]) > len(heads):
        heads.append("the last, over the best other")
    return markdown(metric, heads, rows)
