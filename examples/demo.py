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

# Questions and the words that answer them. The first three need two or three documents, and the
# answer's document shares no name with the question. The last question contains a code.
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
SOURCES = ("She was born in Tessel Bay", "Its pipes are the work of")  # in passages to cite
PROMPT = 5  # passages that fit into a prompt
SEARCHED = 20

console = Console(highlight=False)


def say(text: str = "", *, indent: int = 0) -> None:
    """Print a line."""
    console.print(" " * indent + text, soft_wrap=True)


def on_one_line(text: str) -> str:
    """Replace line breaks by spaces."""
    return " ".join(text.split())


def hit_with(recall: Recall, text: str) -> Hit:
    """Return the best hit that contains a text."""
    return next(hit for hit in recall.hits if text in on_one_line(hit.chunk.text))


def sentence(hit: Hit, text: str) -> str:
    """Return the sentence of a hit that contains a text, shortened around it."""
    passage = on_one_line(hit.chunk.text)
    place = passage.index(text)
    start = max(passage.rfind(". ", 0, place) + 2, place - 45, 0)
    end = passage.find(".", place + len(text))
    shown = passage[start : end if end > 0 else None][:90].strip()
    return escape(shown).replace(escape(text), f"[bold]{escape(text)}[/bold]")


def show(recall: Recall) -> None:
    """Print the ranks of the two passages that the question about the organ needs."""
    for text in SOURCES:
        hit = hit_with(recall, text)
        is_shown = hit.rank <= PROMPT
        verdict = "[green]in the prompt[/green]" if is_shown else "[red]not in the prompt[/red]"
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

        console.rule("2. ask: the passage with the answer, and the path to it")
        for question, answer in QUESTIONS.items():
            recall = index.recall(question, k=PROMPT)
            hit = hit_with(recall, answer)
            say(f"\n[bold cyan]{escape(question)}[/bold cyan]")
            say(f"rank {hit.rank}: [dim]…{sentence(hit, answer)}…[/dim]", indent=3)
            say(f"[green]{escape(hit.path_text)}[/green]", indent=5)

        console.rule("3. learn: an answer cites what it used")
        say(f"\n[bold cyan]{escape(REWORDED)}[/bold cyan]")
        say(f"needs two passages; a prompt has room for {PROMPT}. Before learning:", indent=3)
        show(index.recall(REWORDED, k=SEARCHED))

        say(f"\nSomebody asks the same in other words: [bold]{escape(TAUGHT)}[/bold]")
        taught = index.recall(TAUGHT, k=SEARCHED)
        cited = [hit_with(taught, text) for text in SOURCES]
        ranks = " and ".join(str(hit.rank) for hit in cited)
        feedback = index.reinforce(taught, cited=[hit.chunk.id for hit in cited])
        say(f"The answer cites the passages at ranks {ranks}:", indent=3)
        say("[yellow]index.reinforce(recall, cited=[…])[/yellow]", indent=5)

        say(f"\n[bold cyan]{escape(REWORDED)}[/bold cyan]")
        say("was not asked before. After learning:", indent=3)
        after = index.recall(REWORDED, k=SEARCHED)
        show(after)
        target = hit_with(after, SOURCES[-1])
        why = index.explain(after, target.chunk.id)
        say(
            f"index.explain: the score of {escape(target.chunk.title)} rose from "
            f"{why.unlearned_score:.2f} to {why.score:.2f} by this one feedback",
            indent=3,
        )

        index.forget(feedback)
        rank = hit_with(index.recall(REWORDED, k=SEARCHED), SOURCES[-1]).rank
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
