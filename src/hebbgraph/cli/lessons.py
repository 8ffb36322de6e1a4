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
    unnamed: Annotated[bool, typer.Option("--unnamed", help="Lessons without an actor.")] = False,
    recall: Annotated[str | None, typer.Option(help="Lessons of the recall with this id.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Lessons from this time on.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Lessons before this time.")] = None,
    last: Annotated[
        int | None, typer.Option(help="Show this many of the latest. \\[default: 50]", min=1)
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
        typer.Option(metavar="FILE.html|.svg", help="Also draw the report into a file."),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(help="Ask this many later questions. \\[default: at most 200]"),
    ] = None,
    embedder: EmbedderName = None,
    as_json: AsJson = False,
) -> None:
    """List what was learned from answers: question (if kept), chunks, actor, and effect.

    A proposal says that a chunk is outdated and is not yet trusted: --accept it, or dismiss it
    with `hebbgraph forget`.

    The effect is how many of the lesson's edges recalls follow now. The weight, from 0 to 1, is how
    much the lesson counts, which depends on how far its actor is believed.

    With --report, a separate memory learns the first half of the lessons, and the questions of the
    second half are asked before and after, if the log keeps them. Give the --embedder of the index.
    """
    if not report and any(option is not None for option in (output, questions, embedder)):
        raise ParameterError("--output, --questions and --embedder are for a report; add --report")
    if report:
        if unnamed or any(option is not None for option in (actor, recall, since, until, last)):
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
        matches = index.lessons(
            actor=actor, unnamed=unnamed, recall=recall, since=since, until=until
        )
        _list(index, matches, last or _LAST, as_json)


def _list(index: HebbianIndex, lessons: list[LessonRecord], last: int, as_json: bool) -> None:
    """Print the last lessons, all proposals, and how many answers were read."""
    answers = index.parts.answers.counts()
    latest = lessons[-last:]
    if as_json:
        print_json({"lessons": [lesson.model_dump() for lesson in latest], "answers": answers})
        return
    ids = dict.fromkeys(id_ for lesson in latest for id_ in (*lesson.cited, *lesson.rejected))
    headings = {chunk.id: heading_of(chunk) for chunk in index.get(list(ids))}
    for lesson in latest:
        out.print(_as_lines(lesson, headings), highlight=False)
    more = f", the last {last} shown" if len(lessons) > last else ""
    out.print(counted(len(lessons), "lesson") + more)
    for line in _proposals(index, lessons):
        out.print(harmless(line), highlight=False)
    if answers:
        kinds = ", ".join(f"{count} {code.replace('_', ' ')}" for code, count in answers.items())
        out.print(f"answers read: {kinds}")


def _proposals(index: HebbianIndex, lessons: list[LessonRecord]) -> Iterator[str]:
    """Yield the proposals that are not trusted yet, each with commands to accept and dismiss it.

    Proposals about deleted chunks are left out.
    """
    accepted = {pair for lesson in lessons if lesson.trusted for pair in lesson.outdated.items()}
    by_pair: dict[tuple[str, str], list[LessonRecord]] = {}
    for lesson in lessons:
        for pair in lesson.outdated.items() - accepted:
            by_pair.setdefault(pair, []).append(lesson)
    existing = set(index.holds(list(dict.fromkeys(id_ for pair in by_pair for id_ in pair))))
    for (old, new), proposing in by_pair.items():
        if not existing.issuperset({old, new}):
            continue
        yield f"proposal: {old} replaced by {new}, says {counted(len(proposing), 'lesson')}"
        yield f"  accept:  hebbgraph lessons --accept {proposing[-1].feedback_id}"
        yield f"  dismiss: hebbgraph forget {' '.join(lesson.feedback_id for lesson in proposing)}"


def _accept(index: HebbianIndex, feedback_id: str) -> None:
    """Trust what a lesson calls outdated, as feedback on its question, or on the old title."""
    lessons = (lesson for lesson in index.lessons() if lesson.feedback_id == feedback_id)
    proposal = next(lessons, None)
    if proposal is None or not proposal.outdated:
        raise NotFoundError(
            f"no lesson {feedback_id!r:.200} says that a chunk is outdated; "
            "`hebbgraph lessons` lists proposals"
        )
    question = proposal.question or " ".join(map(heading_of, index.get(list(proposal.outdated))))
    feedback = index.reinforce(index.recall(question), outdated=proposal.outdated, trusted=True)
    out.print(f"feedback {feedback.id}: accepted")


def _report(index: HebbianIndex, questions: int | None, output: Path | None, as_json: bool) -> None:
    from hebbgraph.artifacts import whole_file
    from hebbgraph.cli.lesson_plot import as_html, as_svg, as_text
    from hebbgraph.store.database import translated_os

    report = index.inspect.lesson_report(**({} if questions is None else {"questions": questions}))
    if output is not None:
        drawing = as_svg(report) if output.suffix == ".svg" else as_html(report)
        with translated_os(str(output)), whole_file(output) as partial:
            partial.write_text(drawing, encoding="utf-8")
    if as_json:
        print_json(report.model_dump())
        return
    out.print(harmless(as_text(report)), highlight=False)
    if output is not None:
        out.print(f"drawn: {harmless(str(output))}")


def _as_lines(lesson: LessonRecord, headings: dict[str, str]) -> str:
    """Lay out a lesson as lines: seven columns fit no terminal, and ids must not be broken."""
    head = (
        f"{datetime.fromtimestamp(lesson.created_at, UTC):%Y-%m-%d %H:%M} UTC",
        lesson.actor or "no actor",
        *([] if lesson.kind == "cited" else [lesson.kind]),
        f"{lesson.active} of {counted(lesson.edges, 'edge')} in force, weight {lesson.weight:.2f}",
        lesson.feedback_id,
    )
    lines = ["  ".join(head)]
    lines += [f"  {lesson.question}"] if lesson.question else []
    for judgement, ids in (("cited", lesson.cited), ("rejected", lesson.rejected)):
        lines += [f"  {judgement} {id_}  {headings.get(id_, '(deleted or edited)')}" for id_ in ids]
    verb = "replaced" if lesson.trusted else "proposed to be replaced"
    lines += [f"  {old} {verb} by {new}" for old, new in lesson.outdated.items()]
    return harmless("\n".join(lines))
