"""Do the constants that serve most corpora serve one that had no say in them?

The shares of vectors and of the graph are tried on all sets. For each set, the pair that does best
on all others is compared with the best direct search of that set.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np
from usebench.errors import ParameterError
from usebench.metrics import METRICS
from usebench.prequential import UNTAUGHT, run_stream
from usebench.protocol import Retriever, close
from usebench.records import UseSet
from usebench.tables import markdown, number

from hebbgraph import Settings
from hebbgraph_bench.sets import add_options, difference, model_of, opened_set, write_json
from hebbgraph_bench.systems import Hebbgraph, chosen_systems

__all__ = ["add_arguments", "run"]

_VECTORS, _GRAPH = (0.4, 0.55, 0.7), (0.5, 1.0)
_DEFAULT = "the defaults"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_options(parser)
    parser.add_argument("--metric", choices=list(METRICS), default="nDCG@10")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    if len(options.sets) < 2:
        raise ParameterError("leave-one-out takes at least two sets")
    model = model_of(options)
    choices = {_DEFAULT: Settings()}
    shares = itertools.product(_VECTORS if model else [None], _GRAPH)
    for vectors, graph in shares:
        name = f"graph {graph}" if vectors is None else f"vectors {vectors}, graph {graph}"
        choices[name] = Settings(vectors=vectors, graph=graph)
    ours: dict[str, dict[str, list[float]]] = {}
    direct: dict[str, dict[str, list[float]]] = {}
    for set_name in options.sets:
        print(set_name, file=sys.stderr, flush=True)
        uses = opened_set(set_name, options, order="shuffled")
        names = ["bm25", "dense", "fusion", "weighted"] if model else ["bm25"]
        direct[uses.name] = {
            system.name: _values(system.make(), uses, options.metric)
            for system in chosen_systems(names, model)
        }
        ours[uses.name] = {
            name: _values(Hebbgraph(model, settings), uses, options.metric)
            for name, settings in choices.items()
        }
    rows = []
    for name, values in ours.items():
        others = [other for other in ours if other != name]
        chosen = max(choices, key=lambda c: sum(float(np.mean(ours[o][c])) for o in others))
        best = max(direct[name], key=lambda system: float(np.mean(direct[name][system])))
        text, _ = difference(values[chosen], direct[name][best], options.seed)
        means = [number(float(np.mean(values[c]))) for c in (_DEFAULT, chosen)]
        rows.append([name, means[0], chosen, means[1], f"{text} over {best}"])
    heads = ["set left out", _DEFAULT, "chosen on the others", "with these", "difference"]
    print(markdown(options.metric, heads, rows))
    write_json(options, {"metric": options.metric, "hebbgraph": ours, "direct": direct})
    return 0


def _values(retriever: Retriever, uses: UseSet, metric: str) -> list[float]:
    values = run_stream(retriever, uses, kind=UNTAUGHT).values[metric]
    close(retriever)
    return values
