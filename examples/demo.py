"""Index a folder of prose, ask it questions, and teach it: what `make demo` runs."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from hebbgraph import HebbianIndex, Hit, Recall
from hebbgraph.documents import ingest

CORPUS = Path(__file__).parent / "corpus"
INDEX = Path("demo.hebb")

# Each but the last takes two or three documents; the last one takes a code.
QUESTIONS = (
    "What signal do sailors see from the place where the saltlantern specimen was taken?",
    "What dangles over the staircase of the school where Sunniva Orrick was a teacher?",
    "What silver keepsake came with the only honour ever accepted by the woman who wrote Nine "
    "Soundings?",
    "salinity_probe_v2 displays ERR-4071, what is wrong?",
)

TAUGHT = "Who built the organ in the town where the captain of the Petrel Marrow was born?"
REWORDED = "In the home town of the Petrel Marrow's captain there is an organ: by whom?"
SOURCES = ("She was born in Tessel Bay", "Its pipes are the work of")  # what a good answer cites
SHOWN = 20

console = Console(highlight=False, width=110)


def path_text(hit: Hit) -> str:
    """Write a path as: question → «tag» → chunk → «tag» → chunk."""
    words = {"query": "question", "episode": "an earlier question"}
    return " → ".join(
        words.get(step.kind)
        or (f"«{step.value}»" if step.kind == "tag" else step.title or step.value)
        for step in hit.path
    )


def show(recall: Recall, hits: tuple[Hit, ...]) -> None:
    """Print a question, and hits with the path that found each."""
    console.print(f"\n[bold cyan]{escape(recall.query)}[/bold cyan]")
    for hit in hits:
        text = " ".join(hit.chunk.text.split())
        start = text.removeprefix(hit.chunk.title).strip()[:70]
        console.print(
            f"  {hit.rank}. [bold]{escape(hit.chunk.title)}[/bold] [dim]{escape(start)}…[/dim]"
        )
        console.print(f"     [green]{escape(path_text(hit))}[/green]")


def saying(recall: Recall, words: str) -> Hit:
    """Return the best hit that says something."""
    return next(hit for hit in recall.hits if words in " ".join(hit.chunk.text.split()))


def main() -> None:
    """Index, ask, teach, ask again."""
    shutil.rmtree(INDEX, ignore_errors=True)
    with HebbianIndex.open(INDEX) as index:
        console.rule("1. indexing: no model, no network")
        started = time.perf_counter()
        report = ingest([CORPUS], index, base=CORPUS, suffixes=[".md"])
        stats = index.stats()
        console.print(
            f"{len(report.indexed)} documents, {stats.chunks} chunks, {stats.tags} tags joined by "
            f"{stats.edges} edges, in {time.perf_counter() - started:.1f} s"
        )

        console.rule("2. asking: each hit with the path that found it")
        for question in QUESTIONS:
            recall = index.recall(question)
            show(recall, recall.hits[:3])

        console.rule("3. learning: an answer cites what it used")
        before = index.recall(REWORDED, k=SHOWN)
        taught = index.recall(TAUGHT, k=SHOWN)
        sources = tuple(saying(taught, words) for words in SOURCES)
        show(taught, sources)
        index.reinforce(taught, cited=[hit.chunk.id for hit in sources])
        console.print(
            "  [yellow]The answer cites these two. The same, asked in other words:[/yellow]"
        )
        after = index.recall(REWORDED, k=SHOWN)
        for name, recall in (("before", before), ("after", after)):
            console.print(f"\n[yellow]{name}[/yellow]", end="")
            show(recall, tuple(saying(recall, words) for words in SOURCES))
        console.print(
            f"\nThe index is in {INDEX}/. Ask it yourself:\n"
            f'  .venv/bin/hebbgraph query "Which stone clads the best-known creation of Lisbet '
            f'Arkwell?" --db {INDEX} --explain'
        )


if __name__ == "__main__":
    main()
