"""The command line; see the package."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from hebbgraph.hebbian_index import HebbianIndex
from rich.console import Console

from hebbgraph_bench.datasets import load
from hebbgraph_bench.scale import Recombined
from hebbgraph_bench.serving.clients import measure_clients
from hebbgraph_bench.serving.overhead import measure_overhead
from hebbgraph_bench.serving.views import measure_views


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m hebbgraph_bench.serving")
    parser.add_argument("what", choices=("overhead", "clients", "views"))
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument(
        "--chunks", type=int, help="recombine this many; default: the chunks of the sets"
    )
    parser.add_argument("--queries", type=int, default=300, help="at most")
    parser.add_argument("--keep", type=Path, help="leave the index here, or use the one here")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300.0, help="of the clients")
    parser.add_argument("--json", type=Path, help="write the table here, too")
    options = parser.parse_args(arguments)
    datasets = [load(path) for path in options.sets]
    questions = [query.text for dataset in datasets for query in dataset.queries]
    corpus = Recombined(datasets, options.chunks) if options.chunks else None
    if corpus is not None:
        questions = corpus.questions(options.queries)
    with nullcontext(options.keep) if options.keep else TemporaryDirectory() as place:
        db = Path(place) / "index"
        if not db.exists():
            with HebbianIndex.open(db) as index:
                for dataset in () if corpus else datasets:
                    index.add(dataset.corpus)
                if corpus is not None:
                    index.add(corpus.chunks())
        sample = questions[: options.queries]
        if options.what == "overhead":
            grid = measure_overhead(db, sample)
        elif options.what == "clients":
            grid = measure_clients(db, sample, clients=options.clients, seconds=options.seconds)
        else:
            grid = measure_views(db, sample)
    grid.print(Console())
    if options.json:
        content = {"title": grid.title, "headings": grid.headings, "rows": grid.rows}
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
