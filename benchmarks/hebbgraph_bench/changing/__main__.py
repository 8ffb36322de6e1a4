"""The command line; see the package."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from hebbgraph_bench.changing.measure import Findings, measure
from hebbgraph_bench.embedding import LazyEmbedder
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["grid", "main"]


def grid(findings: Findings) -> Grid:
    """Return the table."""
    rows = [
        ("with `as_of`, the version that held is first", f"{findings.first_as_of:.3f}"),
        ("without, the present version is first", f"{findings.first_now:.3f}"),
        ("without, no stale hit above its replacement", f"{findings.in_order:.3f}"),
        ("the question names the year: that version is first", f"{findings.first_in_words:.3f}"),
        ("marks that are right, of all hits", f"{findings.marked:.3f}"),
    ]
    title = (
        f"{findings.documents} documents in {findings.chunks} versions,"
        f" {findings.questions} questions"
    )
    return Grid(title, ("share of questions", ""), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the package."""
    parser = argparse.ArgumentParser(
        description="What recalls make of texts that change.", prog="hebbgraph_bench.changing"
    )
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args(arguments)
    findings = measure(LazyEmbedder(options.embedder) if options.embedder else None)
    Output(options.json, Console()).tables([grid(findings)])


if __name__ == "__main__":
    main()
