"""Learning: ``hebbgraph cite``, ``forget``, ``feedback export`` and ``feedback import``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from hebbgraph.cli.naming import find_chunks
from hebbgraph.cli.shared import (
    AsJson,
    Cache,
    Db,
    Namespace,
    SettingsFile,
    fail_with,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.errors import NotFoundError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.learning.feedback import KINDS, kind_of
from hebbgraph.learning.forgetting import near_actors
from hebbgraph.records import Feedback, ForgetPreview, Recall

app = typer.Typer()
feedback = typer.Typer(
    name="feedback", help="Export and import feedback as JSON lines.", no_args_is_help=True
)
app.add_typer(feedback)


def _known_kind(kind: str) -> str:
    if (known := kind_of(kind)) not in KINDS:
        raise typer.BadParameter(f"{kind!r:.80} is none of {', '.join(KINDS)}")
    return known


@app.command()
def cite(
    recall_id: Annotated[str, typer.Argument(metavar="RECALL_ID", help="Id that `query` printed.")],
    chunk_ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CHUNK",
            help="What the answer cited: an id, heading or place that `query` printed, or a file.",
        ),
    ] = None,
    *,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    settings: SettingsFile = None,
    reject: Annotated[
        list[str] | None, typer.Option(metavar="CHUNK", help="What was wrong; repeatable.")
    ] = None,
    rating: Annotated[
        float | None,
        typer.Option(help="How good the named chunks were, in [-1, 1]; below 0 rejects them."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why: outdated, wrong, never for this, or other words.")
    ] = None,
    outdated: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW", help="What no longer holds, and what does: chunks or files."
        ),
    ] = None,
    actor: Annotated[str | None, typer.Option(help="Who gives this feedback.")] = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Count it in full, regardless of the actor.")
    ] = False,
    kind: Annotated[
        str,
        typer.Option(
            callback=_known_kind,
            help=f"What the user did, if not cite: {', '.join(KINDS[1:])}.",
        ),
    ] = "cited",
    as_json: AsJson = False,
) -> None:
    """Record which chunks an answer cited; replaces what the actor said of this recall before."""
    with opened(db, namespace, cache_dir=cache_dir, settings=settings) as index:
        recall = _kept_recall(index, recall_id)
        record = index.reinforce(
            recall_id,
            find_chunks(index, recall, chunk_ids or []),
            rejected=reject and find_chunks(index, recall, reject),
            rating=rating,
            reason=reason,
            outdated=dict(_old_and_new(index, recall, pair) for pair in outdated or ()) or None,
            actor=actor,
            trusted=trusted,
            kind=kind,
        )
    _print_feedback(record, as_json)


def _kept_recall(index: HebbianIndex, recall_id: str) -> Recall:
    recall = index.find_recall(recall_id)
    if recall is None:
        raise NotFoundError(
            f"no recall {recall_id!r:.200} is kept in the namespace {index.namespace!r}; ask again "
            "with `hebbgraph query`, which prints the id of its recall at the end"
        )
    return recall


def _print_feedback(record: Feedback, as_json: bool) -> None:
    if as_json:
        print_json(record.model_dump(exclude={"vector"}, exclude_none=True))
    else:
        out.print(
            f"feedback {record.id}: {len(record.cited)} cited, {len(record.rejected)} rejected "
            f"of {len(record.shown)} shown"
        )


def _old_and_new(index: HebbianIndex, recall: Recall, pair: str) -> tuple[str, str]:
    """Return the ids of the outdated chunk and of the one that replaces it."""
    old, is_pair, new = pair.rpartition("=")
    if not is_pair:
        raise typer.BadParameter(f"--outdated takes OLD=NEW, got {pair!r:.200}")
    old, new = find_chunks(index, recall, [old, new])
    return old, new


@app.command()
def forget(
    feedback_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="FEEDBACK_ID", help="Ids that `cite` printed."),
    ] = None,
    *,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: Annotated[str | None, typer.Option(help="Feedback by this actor.")] = None,
    unnamed: Annotated[bool, typer.Option("--unnamed", help="Feedback without an actor.")] = False,
    chunk: Annotated[str | None, typer.Option(help="Feedback on this chunk.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Feedback from this time on.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Feedback before this time.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="All feedback.")] = False,
    erase: Annotated[
        bool, typer.Option("--erase", help="Also erase every trace from files.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be forgotten.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete feedback and unlearn it. Criteria combine with AND.

    If an id is unknown, or no feedback matches, say so and exit with 1.
    """
    narrowing = (feedback_ids, unnamed or None, actor, chunk, since, until)
    is_narrowed = any(criterion is not None for criterion in narrowing)
    if everything and is_narrowed:
        raise typer.BadParameter("--everything forgets all feedback: leave it or the rest out")
    if not everything and not is_narrowed:
        raise typer.BadParameter(
            "give ids of feedback, --actor, --unnamed, --chunk, --since or --until, or else "
            "--everything"
        )
    with opened(db, namespace, cache_dir=cache_dir) as index:
        ids, missing = _known_ids(index, feedback_ids)
        criteria = _Criteria(
            feedback=ids,
            actor=actor,
            unnamed=unnamed,
            chunk=chunk,
            since=since,
            until=until,
            everything=everything,
        )
        preview = index.forget(**criteria, dry_run=True)
        if not (preview.feedback or everything):
            fail_with([*missing, _no_feedback(index, criteria)])
        if dry_run:
            _print_preview(preview, as_json)
        else:
            count = index.forget(**criteria, erase=erase)
            if as_json:
                print_json({"forgotten": count})
            else:
                out.print(f"{counted(count, 'feedback')} forgotten")
    fail_with(missing)


class _Criteria(TypedDict):
    """The keywords of ``forget``."""

    feedback: list[str] | None
    actor: str | None
    unnamed: bool
    chunk: str | None
    since: datetime | None
    until: datetime | None
    everything: bool


def _no_feedback(index: HebbianIndex, criteria: _Criteria) -> str:
    """Return the message that no feedback meets the criteria."""
    values = {
        "of these ids": criteria["feedback"],
        "without an actor": criteria["unnamed"],
        f"by {criteria['actor']!r:.200}": criteria["actor"],
        f"on chunk {criteria['chunk']!r:.200}": criteria["chunk"],
        f"since {criteria['since']}": criteria["since"],
        f"before {criteria['until']}": criteria["until"],
    }
    description = " ".join(words for words, value in values.items() if value)
    near = near_actors(criteria["actor"] or "", (lesson.actor for lesson in index.lessons()))
    return f"there is no feedback {description}{near}; `hebbgraph lessons` lists it"


def _known_ids(index: HebbianIndex, ids: list[str] | None) -> tuple[list[str] | None, list[str]]:
    """Return the known ids, and a message for each unknown one; exit with 1 if all are unknown."""
    if not ids:
        return None, []
    known = {record.id for record in index.find_feedback(ids)}
    unknown = [id_ for id_ in dict.fromkeys(ids) if id_ not in known]
    actors = {lesson.actor for lesson in index.lessons()} if unknown else set()
    missing = []
    for id_ in unknown:
        hint = "`hebbgraph lessons` lists it"
        if id_ in actors:
            hint = f"for what this actor taught: --actor {id_}"
        missing.append(f"there is no feedback {id_!r:.200}; {hint}")
    if not known:
        fail_with(missing)
    return [id_ for id_ in ids if id_ in known], missing


def _print_preview(preview: ForgetPreview, as_json: bool) -> None:
    if as_json:
        print_json(preview.model_dump())
        return
    out.print(
        f"{counted(len(preview.feedback), 'feedback')} would be forgotten: "
        f"{counted(preview.removed, 'learned edge')} would go, {preview.changed:,} would change"
    )


@feedback.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
) -> None:
    """Export the feedback log as JSON lines."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        count = index.log.export(file)
    out.print(f"{counted(count, 'feedback')}: {harmless(str(file))}")


@feedback.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="File that `feedback export` wrote.", exists=True)],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    origin: Annotated[
        str | None, typer.Option(help="Where the feedback comes from. \\[default: file name]")
    ] = None,
) -> None:
    """Import feedback from JSON lines; known feedback is skipped."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        count = index.log.import_(file, origin=origin or file.name)
    out.print(f"{counted(count, 'feedback')} added")
