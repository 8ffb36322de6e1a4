"""Index a folder of prose, ask it questions, and teach it: what `make demo` runs."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from hebbgraph_documents import ingest
from rich.console import Console
from rich.markup import escape

from hebbgraph import HebbianIndex, Hit, Recall

CORPUS = Path(__file__).parent / "corpus"
INDEX = Path("demo.hebb")

# A question and the words that answer it. The first three take two documents or three,
# and the one with the answer shares no name with the question; the last one takes a code.
QUESTIONS = {
    "What signal do sailors see from the place where the saltlantern specimen was taken?": (
        "two white flashes every eighteen seconds"
    ),
    "What dangles over the staircase of the school where Sunniva Orrick was a teacher?": (
        "a ship's rudder"
    ),
    "Which stone clads the best-known creation of Lisbet Arkwell?": "blue porphyry",
    "salinity_probe_v2 displays ERR-4071, what is wrong?": (
        "an air bubble trapped in the conductivity cell"
    ),
}

TAUGHT = "Who built the organ in the town where the captain of the Petrel Marrow was born?"
REWORDED = "In the home town of the Petrel Marrow's captain there is an organ: by whom?"
SOURCES = ("She was born in Tessel Bay", "Its pipes are the work of")  # what a good answer cites
PROMPT = 5  # so many passages go into a prompt
SEARCHED = 20

console = Console(highlight=False)


def say(text: str = "", *, indent: int = 0) -> None:
    """Print a line."""
    console.print(" " * indent + text, soft_wrap=True)


def words(text: str) -> str:
    """Put a text on one line."""
    return " ".join(text.split())


def saying(recall: Recall, text: str) -> Hit:
    """Return the best hit that says something."""
    return next(hit for hit in recall.hits if text in words(hit.chunk.text))


def sentence(hit: Hit, text: str) -> str:
    """Return the sentence of a hit in which something is said, shortened around it."""
    whole = words(hit.chunk.text)
    at = whole.index(text)
    start = max(whole.rfind(". ", 0, at) + 2, at - 45, 0)
    end = whole.find(".", at + len(text))
    shown = whole[start : end if end > 0 else None][:90].strip()
    return escape(shown).replace(escape(text), f"[bold]{escape(text)}[/bold]")


def show(recall: Recall) -> None:
    """Print where the two passages are that the question about the organ needs."""
    for text in SOURCES:
        hit = saying(recall, text)
        fits = hit.rank <= PROMPT
        verdict = "[green]in the prompt[/green]" if fits else "[red]not in the prompt[/red]"
        say(f"rank {hit.rank:<2} {verdict}: [dim]…{sentence(hit, text)}…[/dim]", indent=3)
        say(f"[green]{escape(hit.path_text)}[/green]", indent=5)


def main() -> None:
    """Index, ask, teach, ask again, forget."""
    shutil.rmtree(INDEX, ignore_errors=True)
    with HebbianIndex.open(INDEX) as index:
        console.rule("1. index: no model, no network")
        started = time.perf_counter()
        report = ingest([CORPUS], index, base=CORPUS, suffixes=[".md"])
        stats = index.stats()
        say(
            f"{len(report.indexed)} documents, {stats.chunks} chunks, {stats.tags} tags joined by "
            f"{stats.edges} edges, in {time.perf_counter() - started:.1f} s"
        )

        console.rule("2. ask: where the answer was found, and on which path")
        for question, answer in QUESTIONS.items():
            recall = index.recall(question, k=PROMPT)
            hit = saying(recall, answer)
            say(f"\n[bold cyan]{escape(question)}[/bold cyan]")
            say(f"rank {hit.rank}: [dim]…{sentence(hit, answer)}…[/dim]", indent=3)
            say(f"[green]{escape(hit.path_text)}[/green]", indent=5)

        console.rule("3. learn: an answer cites what it used")
        say(f"\n[bold cyan]{escape(REWORDED)}[/bold cyan]")
        say(f"needs two passages, and a prompt has room for {PROMPT}. Before learning:", indent=3)
        show(index.recall(REWORDED, k=SEARCHED))

        say(f"\nSomebody asks the same in other words: [bold]{escape(TAUGHT)}[/bold]")
        taught = index.recall(TAUGHT, k=SEARCHED)
        cited = [saying(taught, text) for text in SOURCES]
        ranks = " and ".join(str(hit.rank) for hit in cited)
        feedback = index.reinforce(taught, cited=[hit.chunk.id for hit in cited])
        say(f"The answer cites the passages at ranks {ranks}:", indent=3)
        say("[yellow]index.reinforce(recall, cited=[…])[/yellow]", indent=5)

        say(f"\n[bold cyan]{escape(REWORDED)}[/bold cyan]")
        say("was never answered itself. After learning:", indent=3)
        after = index.recall(REWORDED, k=SEARCHED)
        show(after)
        target = saying(after, SOURCES[-1])
        why = index.explain(after, target.chunk.id)
        say(
            f"index.explain: the score of {escape(target.chunk.title)} rose from "
            f"{why.unlearned_score:.2f} to {why.score:.2f} by this one feedback",
            indent=3,
        )

        index.forget(feedback)
        rank = saying(index.recall(REWORDED, k=SEARCHED), SOURCES[-1]).rank
        say(f"index.forget(feedback): {escape(target.chunk.title)} is at rank {rank} again")
        index.reinforce(taught, cited=[hit.chunk.id for hit in cited])
    console.rule()
    say(f"The index is in {INDEX}/. Ask it yourself:")
    say(
        'hebbgraph query "What must people living near the workplace of Anselm Rooke put over '
        f'their lamps?" --db {INDEX} --explain',
        indent=2,
    )
    say("(the command is in .venv/bin/)", indent=2)


if __name__ == "__main__":
    main()
