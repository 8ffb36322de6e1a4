"""What an index was taught: ``hebbgraph lessons``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hebbgraph.cli.shared import (
    AsJson,
    Cache,
    Db,
    EmbedderName,
    Namespace,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.labels import heading_of
from hebbgraph.records import LessonRecord

if TYPE_CHECKING:
    from hebbgraph.hebbian_index import HebbianIndex

_LAST = 50

app = typer.Typer()


@app.command()
def lessons(
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: Annotated[str | None, typer.Option(help="Lessons of this actor.")] = None,
    unnamed: Annotated[
        bool, typer.Option("--unnamed", help="Lessons that no actor is named for.")
    ] = False,
    recall: Annotated[str | None, typer.Option(help="Lessons of the recall with this id.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Lessons from this time on.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Lessons before this time.")] = None,
    last: Annotated[
        int | None, typer.Option(help="Show so many, the latest. \\[default: 50]", min=1)
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(metavar="FEEDBACK_ID", help="Vouch for what this lesson says is outdated."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Replay the log: did learning help here?")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html|.svg", help="Draw the report into a file, too."),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(help="Ask so many later questions for the report. \\[default: at most 200]"),
    ] = None,
    embedder: EmbedderName = None,
    as_json: AsJson = False,
) -> None:
    """List what was learned from answers: question (if kept), chunks, actor, and effect.

    Proposals are what somebody says is outdated and nobody vouches for: --accept one, or dismiss it
    by `hebbgraph forget`.

    The effect is how many of the edges that a lesson shaped are followed by recalls now. The
    weight, from 0 to 1, is how much of it counts: how far its actor is believed, within bounds.

    With --report, the lessons of the first half are learned apart, and the questions of the second
    half are asked before and after, if the log keeps them. Give the --embedder of the index.
    """
    if not report and any(one is not None for one in (output, questions, embedder)):
        raise ParameterError("--output, --questions and --embedder are for a report; add --report")
    if report:
        if unnamed or any(one is not None for one in (actor, recall, since, until, last)):
            raise ParameterError(
                "--report replays the whole log; leave out --actor, --unnamed, --recall, --since, "
                "--until and --last"
            )
        if output is not None and output.suffix not in (".html", ".svg"):
            raise ParameterError(f"--output ends in .html or .svg, got {str(output)!r:.200}")
        with opened(db, namespace, embedder, cache_dir=cache_dir) as index:
            _report(index, questions, output, as_json)
        return
    with opened(db, namespace, cache_dir=cache_dir) as index:
        if accept is not None:
            _accept(index, accept)
            return
        found = index.lessons(actor=actor, unnamed=unnamed, recall=recall, since=since, until=until)
        _list(index, found, last or _LAST, as_json)


def _list(index: HebbianIndex, found: list[LessonRecord], last: int, as_json: bool) -> None:
    """Print the last lessons, the proposals among all, and what answers were read."""
    answers = index.parts.answers.counts()
    named = {one.id: heading_of(one) for one in index.get(_chunks_of(found[-last:]))}
    if as_json:
        print_json({"lessons": [one.model_dump() for one in found[-last:]], "answers": answers})
        return
    for one in found[-last:]:
        out.print(_shown(one, named), soft_wrap=True, highlight=False)
    out.print(
        counted(len(found), "lesson") + (f", the last {last} shown" if len(found) > last else "")
    )
    for line in _proposals(found):
        out.print(harmless(line), soft_wrap=True, highlight=False)
    if answers:
        kinds = ", ".join(f"{count} {code.replace('_', ' ')}" for code, count in answers.items())
        out.print(f"answers read: {kinds}")


def _proposals(lessons: list[LessonRecord]) -> Iterator[str]:
    """Yield what is said to be outdated and not vouched for, with what accepts and dismisses it."""
    accepted = {pair for one in lessons if one.trusted for pair in one.outdated.items()}
    by_pair: dict[tuple[str, str], list[LessonRecord]] = {}
    for one in lessons:
        for pair in one.outdated.items() - accepted:
            by_pair.setdefault(pair, []).append(one)
    for (old, new), said in by_pair.items():
        yield f"proposal: {old} replaced by {new}, says {counted(len(said), 'lesson')}"
        yield f"  accept:  hebbgraph lessons --accept {said[-1].feedback_id}"
        yield f"  dismiss: hebbgraph forget {' '.join(one.feedback_id for one in said)}"


def _accept(index: HebbianIndex, feedback_id: str) -> None:
    """Vouch for what a lesson says is outdated, asking its question anew, or the old title."""
    said = next((one for one in index.lessons() if one.feedback_id == feedback_id), None)
    if said is None or not said.outdated:
        raise NotFoundError(
            f"no lesson {feedback_id!r:.200} says that a chunk is outdated; "
            "`hebbgraph lessons` lists proposals"
        )
    question = said.question or " ".join(map(heading_of, index.get(list(said.outdated))))
    kept = index.reinforce(index.recall(question), outdated=said.outdated, trusted=True)
    out.print(f"feedback {kept.id}: accepted")


def _report(index: HebbianIndex, questions: int | None, output: Path | None, as_json: bool) -> None:
    from hebbgraph.artifacts import whole_file
    from hebbgraph.cli.lesson_plot import as_html, as_svg, as_text
    from hebbgraph.store.database import translated_os

    asked = {} if questions is None else {"questions": questions}
    found = index.inspect.lesson_report(**asked)
    if output is not None:
        drawn = as_svg(found) if output.suffix == ".svg" else as_html(found)
        with translated_os(str(output)), whole_file(output) as partial:
            partial.write_text(drawn, encoding="utf-8")
    if as_json:
        print_json(found.model_dump())
        return
    out.print(harmless(as_text(found)), soft_wrap=True, highlight=False)
    if output is not None:
        out.print(f"drawn: {harmless(str(output))}")


def _chunks_of(lessons: list[LessonRecord]) -> list[str]:
    return list(dict.fromkeys(id for one in lessons for id in (*one.cited, *one.rejected)))


def _shown(one: LessonRecord, named: dict[str, str]) -> str:
    """Lay out a lesson as lines: seven columns would fit no terminal, and ids must stay whole."""
    head = (
        f"{datetime.fromtimestamp(one.created_at, UTC):%Y-%m-%d %H:%M} UTC",
        one.actor or "no actor",
        *([] if one.kind == "cited" else [one.kind]),
        f"{one.active} of {counted(one.edges, 'edge')} in force, weight {one.weight:.2f}",
        one.feedback_id,
    )
    lines = ["  ".join(head)]
    lines += [f"  {one.question}"] if one.question else []
    for what, ids in (("cited", one.cited), ("rejected", one.rejected)):
        lines += [f"  {what} {id}  {named.get(id, '(deleted or edited)')}" for id in ids]
    by = "replaced" if one.trusted else "proposed to be replaced"
    lines += [f"  {old} {by} by {new}" for old, new in one.outdated.items()]
    return harmless("\n".join(lines))
