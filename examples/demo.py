"""Index a folder of prose, ask it questions, and teach it: what `make demo` runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from hebbgraph import HebbianIndex, Hit, Recall
from hebbgraph.documents import ingest

CORPUS = Path(__file__).parent / "corpus"
INDEX = Path("demo.hebb")

QUESTIONS = (
    # The question names nothing that the second document is found by.
    ("Whose hands shaped the glass that showed Anselm Rooke the smudge of 1933?", "halloran"),
    ("What did the place managed by Wilhelmina Strake produce during the war?", "merrow-green"),
    ("Which object do winners receive of the award once given to the composer of Nine Soundings?",
     "medal"),
    ("What does ERR-4071 mean on the salinity_probe_v2?", "calibrating"),
)

console = Console(highlight=False, width=110)


def path_of(hit: Hit) -> str:
    """question → «tag» → chunk → «tag» → chunk."""
    names = []
    for step in hit.path:
        if step.kind == "query":
            names.append("question")
        elif step.kind == "tag":
            names.append(f"«{step.value}»")
        else:
            names.append(step.title or step.value)
    return " → ".join(names)


def show(recall: Recall, k: int = 3) -> None:
    for hit in recall.hits[:k]:
        text = " ".join(hit.chunk.text.split())[:80]
        console.print(f"  {hit.rank}. [bold]{escape(hit.chunk.title)}[/bold]  {hit.score:.2f}  "
                      f"[dim]{escape(text)}…[/dim]")
        console.print(f"     [green]{escape(path_of(hit))}[/green]")


def main() -> None:
    shutil.rmtree(INDEX, ignore_errors=True)
    with HebbianIndex.open(INDEX) as index:
        report = ingest([CORPUS], index, base=CORPUS, suffixes=[".md"])
        stats = index.stats()
        console.rule("indexing")
        console.print(
            f"{len(report.indexed)} documents, {stats.chunks} chunks, {stats.tags} tags joined by "
            f"{stats.edges} edges, in {report.seconds:.1f} s: no model, no network"
        )
        console.rule("asking")
        for question, _ in QUESTIONS:
            console.print(f"\n[bold cyan]{escape(question)}[/bold cyan]")
            show(index.recall(question))


if __name__ == "__main__":
    sys.exit(main())
