"""What use changes: hebbgraph and simple ways to learn, over the stream of each set.

Each question is asked and scored, then its feedback is given (usebench). "Shares" are questions
whose passages earlier feedback was on; use should raise these and must not lower the rest. With
--frozen only the past teaches and only the test is asked: --order halves, mixed, reworded, split.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from usebench.experiment import run as run_usebench
from usebench.feedback import KINDS
from usebench.metrics import METRICS
from usebench.prequential import UNTAUGHT
from usebench.reading import ORDERS
from usebench.systems import BUILT_IN
from usebench.tables import all_tables, markdown, number, signed

from hebbgraph_bench.sets import add_options, model_of, opened_set, write_json
from hebbgraph_bench.systems import chosen_systems

__all__ = ["add_arguments", "run", "summary"]

_OURS = ("hebbgraph", "hebbgraph+")
_LEXICAL = ("bm25", "cache", "expansion", "rm3")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_options(parser)
    parser.add_argument("--order", choices=ORDERS, help="of the stream [the set's own]")
    parser.add_argument("--frozen", action="store_true", help="only the past teaches")
    text = "names, also synapse and module:Class [hebbgraph and all simple ones that can run]"
    parser.add_argument("--systems", help=text)
    parser.add_argument(
        "--feedback", nargs="+", default=["right"], choices=list(KINDS), metavar="KIND"
    )
    parser.add_argument("--metric", choices=list(METRICS), default="nDCG@10")
    parser.add_argument("--unlearning", action="store_true", help="measure forgetting, too")
    parser.add_argument("--tables", action="store_true", help="print all tables of each set")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    model = model_of(options)
    default = (*_OURS, *BUILT_IN) if model else (_OURS[0], *_LEXICAL)
    names = options.systems.split(",") if options.systems else default
    results = []
    for name in options.sets:
        uses = opened_set(name, options, order=options.order, frozen=options.frozen)
        results.append(
            run_usebench(
                uses,
                chosen_systems(names, model),
                kinds=options.feedback,
                seed=options.seed,
                metric=options.metric,
                unlearning=options.unlearning,
                on_system=lambda what: print(what, file=sys.stderr, flush=True),
            )
        )
        if options.tables:
            print(all_tables(results[-1:]))
    print(summary(results, options.feedback[0]))
    write_json(options, {"sets": results})
    if model is not None:
        model.close()
    return 0


def summary(results: list[dict[str, Any]], kind: str) -> str:
    """Compare hebbgraph before and after use with the best of the others; a row is a set."""
    rows = []
    for result in results:
        metric, after = result["metric"], {}
        for system in result["systems"]:
            done = system["runs"].get(kind, system["runs"][UNTAUGHT])
            after[system["name"]] = done["means"][metric]["all"]
        best = max((name for name in after if name not in _OURS), key=after.__getitem__, default="")
        for system in result["systems"]:
            if system["name"] not in _OURS:
                continue
            before = system["runs"][UNTAUGHT]["means"][metric]["all"]
            by = system["runs"].get(kind, {}).get("minus_untaught", {}).get(metric, {})
            rows.append(
                [
                    f"{result['name']}, {system['name']}",
                    f"{number(before)} → {number(after[system['name']])}",
                    *(signed(by.get(part)) for part in ("all", "shares", "rest")),
                    f"{number(after[best])}, {best}" if best else "–",
                ]
            )
    heads = ["set", "before → after", "by use", "on those that share", "on the rest", "best other"]
    return markdown(f"{results[0]['metric']} in use", heads, rows)
