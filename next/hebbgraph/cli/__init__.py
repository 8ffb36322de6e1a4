"""The command line: ``hebbgraph index``, ``recall``, ``reinforce`` and others.

Exit codes: 0 success; 1 an error, or nothing found; 2 wrong usage; 130 interrupted.

Other distributions add commands by entry points of the group ``hebbgraph.commands``: a function
that takes the subparsers of :mod:`argparse` and calls ``set_defaults(run=function)``, whose
function takes the arguments and may return an exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hebbgraph import Chunk, HebbianIndex, SentenceTransformerEmbedder, Settings, __version__
from hebbgraph.cli.demo import add_demo
from hebbgraph.cli.printing import (
    complain,
    counted,
    hit_lines,
    lesson_line,
    show,
    show_progress,
    visible,
)
from hebbgraph.documents import ingest
from hebbgraph.errors import HebbgraphError, NotFoundError, ParameterError, StorageError

__all__ = ["main"]

_Run = Callable[[argparse.Namespace], int | None]
_Option = tuple[tuple[str, ...], dict[str, Any]]
_COMMANDS: list[tuple[_Run, tuple[_Option, ...]]] = []

_ELSEWHERE = {"serve": "server", "bench": "bench"}  # commands, and the extras that bring them


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = _parser(given).parse_args(given)
        code = parsed.run(parsed)
        sys.stdout.flush()
        return code or 0
    except BrokenPipeError:  # the reader of a pipe has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        complain("interrupted: what was acknowledged is kept; run the command again to go on")
        return 130
    except (HebbgraphError, OSError, ImportError) as error:
        complain(f"error: {error}")
        return 1


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hebbgraph", description="A retriever that learns which passages belong together."
    )
    parser.add_argument("--version", action="version", version=f"hebbgraph {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    env = os.environ.get
    db, namespace = env("HEBBGRAPH_DB", "memory.hebb"), env("HEBBGRAPH_NAMESPACE", "default")
    for run, options in _COMMANDS:
        text = run.__doc__ or ""
        name = run.__name__.strip("_")
        command = commands.add_parser(name, help=text.splitlines()[0], description=text)
        command.add_argument("--db", default=db, help=f"directory or URL of the index [{db}]")
        command.add_argument("--namespace", default=namespace, help="a tenant of the index")
        command.add_argument("--json", action="store_true", help="print JSON")
        for names, settings in options:
            command.add_argument(*names, **settings)
        command.set_defaults(run=run)
    add_demo(commands)
    for plugin in entry_points(group="hebbgraph.commands"):
        if plugin.name in given[:1] and plugin.name not in commands.choices:
            plugin.load()(commands)  # the others are not imported
    for name, extra in _ELSEWHERE.items():
        if name not in commands.choices:
            text = f'of pip install "hebbgraph[{extra}]"'
            commands.add_parser(name, help=text, add_help=False)
            if name in given[:1]:
                parser.error(f'{name} needs: pip install "hebbgraph[{extra}]"')
    return parser


def _option(*names: str, **settings: Any) -> _Option:
    return names, settings


def _command(*options: _Option) -> Callable[[_Run], _Run]:
    """Make a function the command of its name, with options besides those that all have."""

    def add(run: _Run) -> _Run:
        _COMMANDS.append((run, options))
        return run

    return add


def _filter(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"takes a JSON object: {error}") from error


_EMBEDDER = _option(
    "--embedder", metavar="MODEL", help="a sentence-transformers model, by name or path"
)
_WHERE = _option("--where", type=_filter, metavar="JSON", help="a filter")


# -- writing ----------------------------------------------------------------------------------


@_command(
    _option("paths", nargs="+", type=Path, metavar="PATH", help="file, folder, or -"),
    _option("--base", metavar="DIR", help="folder from which places are counted"),
    _option("--language", help="of the texts, for stemming; when the index is made"),
    _option(
        "--delete-missing", action="store_true", help="delete documents of files that are gone"
    ),
    _EMBEDDER,
)
def _index(arguments: argparse.Namespace) -> int:
    """Read files and folders; what has not changed is skipped.

    A document is named by its place, and a changed file replaces it. Files .jsonl and standard
    input (-) hold chunks, one a line, as `hebbgraph export` writes them.
    """
    lines = [path for path in arguments.paths if str(path) == "-" or path.suffix == ".jsonl"]
    files = [path for path in arguments.paths if path not in lines]
    for path in arguments.paths:  # before an index is made
        if str(path) != "-" and not os.path.lexists(path):
            raise ParameterError(f"there is no file or folder {path}")
    with _opened(arguments, create=True) as index:
        report = ingest(
            files,
            index,
            base=arguments.base,
            delete_missing=arguments.delete_missing,
            show_progress=show_progress,
        ).model_dump(mode="json")
        for path in lines:
            added = index.add(_read_chunks(path)).model_dump()
            report = {**report, **{name: report[name] + number for name, number in added.items()}}
    for place, reason in report["failed"].items():
        complain(f"failed: {place}: {reason}")
    for reason in dict.fromkeys(report["skipped"].values()):
        places = [place for place, why in report["skipped"].items() if why == reason]
        names = ", ".join(places[:3]) + (", …" if len(places) > 3 else "")
        complain(f"skipped {counted(len(places), 'file')}: {reason}: {names}")
    if report["missing"] and not arguments.delete_missing:
        number = counted(len(report["missing"]), "document")
        complain(f"{number} of files that are gone; --delete-missing deletes them")
    totals = [f"{report[name]:,} {name}" for name in ("added", "replaced", "unchanged", "deleted")]
    read = counted(len(report["documents"]), "document")
    line = f"{read} read, {report['unchanged_documents']:,} unchanged; chunks: {', '.join(totals)}"
    show(report, [line], as_json=arguments.json)
    return 1 if report["failed"] else 0


def _read_chunks(file: Path) -> Iterator[Chunk]:
    """Yield the chunks of a file of JSON lines; an error gives the number of the first bad line."""
    number = 1
    try:
        with sys.stdin if str(file) == "-" else file.open(encoding="utf-8-sig") as lines:
            for line in lines:
                if line.strip():
                    yield Chunk.of(json.loads(line))
                number += 1
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}, line {number}: {error}") from error


@_command(
    _option("ids", nargs="*", metavar="ID", help="ids of chunks"),
    _option(
        "--document",
        action="append",
        default=[],
        metavar="PLACE",
        help="a document, or FOLDER/ for all below",
    ),
    _WHERE,
    _option("--everything", action="store_true", help="all chunks"),
)
def _delete(arguments: argparse.Namespace) -> int:
    """Delete chunks, documents, or what passes a filter; exit with 1 if nothing fits."""
    if sum(map(bool, (arguments.ids, arguments.document, arguments.where is not None))) > 1:
        raise ParameterError("give ids, or --document, or --where")
    with _opened(arguments) as index:
        every = set(index.ids())
        chosen = every & set(arguments.ids)
        if arguments.everything:
            chosen = every
        elif arguments.where is not None:
            chosen = set(index.ids(arguments.where))
        for name in arguments.document:
            below = name.endswith("/")
            places = [place for place in index.documents() if below and place.startswith(name)]
            chosen.update(index.ids({"$document_id": {"$in": places or [name]}}))
        if every and chosen == every and not arguments.everything:
            raise ParameterError("this would delete all chunks; add --everything if it should")
        report = index.delete(sorted(chosen))
    line = f"{counted(report.deleted, 'chunk')} deleted"
    show(report.model_dump(), [line], as_json=arguments.json)
    return 0 if report.deleted else 1


# -- asking -----------------------------------------------------------------------------------


@_command(
    _option("words", nargs="+", metavar="QUESTION", help="in plain language; - reads it"),
    _option("-k", type=int, default=5, help="how many chunks [5]"),
    _WHERE,
    _option("--path", action="store_true", help="how each chunk was reached"),
    _EMBEDDER,
)
def _recall(arguments: argparse.Namespace) -> int:
    """Find the chunks that answer a question; exit with 1 if there is none."""
    question = " ".join(arguments.words)
    if question == "-":
        question = sys.stdin.read()
    with _opened(arguments, read_only=True) as index:
        recall_id = secrets.token_hex(4)
        found = index.recall(question, arguments.k, where=arguments.where, recall_id=recall_id)
    show(found.model_dump(mode="json"), hit_lines(found, arguments.path), as_json=arguments.json)
    try:
        with _opened(arguments) as index:
            index.keep(found)
    except StorageError:
        recall_id = ""  # the index is read only, and is not taught
    if not arguments.json:
        for note in found.notes:
            complain(f"note: {note}")
        if recall_id and found:
            complain(f"hebbgraph reinforce {recall_id} RANK... teaches which of these answer it")
    return 0 if found else 1


@_command()
def _documents(arguments: argparse.Namespace) -> None:
    """List the documents, with their numbers of chunks."""
    with _opened(arguments, read_only=True) as index:
        counts = index.documents()
    lines = (f"{number:>8,}  {visible(name)}" for name, number in counts.items())
    show(counts, lines, as_json=arguments.json)


# -- teaching ---------------------------------------------------------------------------------


@_command(
    _option("recall", metavar="RECALL", help="the id that recall has printed"),
    _option("ranks", nargs="*", type=int, metavar="RANK", help="chunks that answer it"),
    _option("--wrong", nargs="+", type=int, default=[], metavar="RANK", help="chunks that do not"),
    _option("--actor", help="who says it"),
    _option("--reason", help="kept and listed"),
    _option("--trusted", action="store_true", help="it counts at once"),
)
def _reinforce(arguments: argparse.Namespace) -> int:
    """Teach which chunks of a recall answer its question, by their ranks."""
    if not (arguments.ranks or arguments.wrong):
        raise ParameterError("give the ranks of chunks that answer it, or --wrong with others")
    with _opened(arguments) as index:
        kept = index.kept(arguments.recall)
        if not kept:
            raise NotFoundError(
                f"there is no recall {arguments.recall}; hebbgraph recall prints ids"
            )
        by_rank = {hit.rank: hit.id for hit in kept[0].hits}
        if unknown := [rank for rank in arguments.ranks + arguments.wrong if rank not in by_rank]:
            raise ParameterError(f"rank {unknown[0]} was not shown; there were {len(by_rank)}")
        lesson = index.reinforce(
            kept[0],
            cited=[by_rank[rank] for rank in arguments.ranks],
            rejected=[by_rank[rank] for rank in arguments.wrong],
            actor=arguments.actor,
            reason=arguments.reason,
            trusted=arguments.trusted,
        )
    line = lesson.note or f"lesson {lesson.id}; hebbgraph forget {lesson.id} takes it back"
    show(lesson.model_dump(mode="json"), [visible(line)], as_json=arguments.json)
    return 1 if lesson.note else 0


@_command(_option("--actor", help="lessons of an actor"))
def _lessons(arguments: argparse.Namespace) -> None:
    """List the lessons, from the first to the last."""
    with _opened(arguments, read_only=True) as index:
        lessons = index.lessons(actor=arguments.actor)
    records = [lesson.model_dump(mode="json") for lesson in lessons]
    show(records, map(lesson_line, lessons), as_json=arguments.json)


@_command(
    _option("lesson", nargs="?", metavar="LESSON", help="its id"),
    _option("--actor", help="lessons of an actor"),
    _option("--chunk", metavar="ID", help="lessons about a chunk"),
    _option("--everything", action="store_true", help="all lessons"),
    _option("--dry-run", action="store_true", help="only count"),
)
def _forget(arguments: argparse.Namespace) -> int:
    """Forget lessons; the index is as if they had never been."""
    chosen = {name: getattr(arguments, name) for name in ("lesson", "actor", "chunk")}
    if not arguments.everything and not any(chosen.values()):
        raise ParameterError("give the id of a lesson, --actor, --chunk or --everything")
    with _opened(arguments) as index:
        number = index.forget(**chosen, everything=arguments.everything, dry_run=arguments.dry_run)
    would = "would be " if arguments.dry_run else ""
    line = f"{counted(number, 'lesson')} {would}forgotten"
    show({"forgotten": number}, [line], as_json=arguments.json)
    return 0 if number else 1


# -- upkeep -----------------------------------------------------------------------------------


@_command()
def _stats(arguments: argparse.Namespace) -> None:
    """Show what the index holds, in numbers."""
    with _opened(arguments, read_only=True) as index:
        numbers = index.stats()
    lines = (
        f"{name.replace('_', ' '):<16}  {f'{value:,}' if isinstance(value, int) else value}"
        for name, value in numbers.items()
        if value is not None
    )
    show(numbers, lines, as_json=arguments.json)


@_command(_option("--rebuild", action="store_true", help="first make anew what follows from texts"))
def _doctor(arguments: argparse.Namespace) -> int:
    """Check that everything stored follows from the texts; exit with 1 if something does not."""
    with _opened(arguments, read_only=not arguments.rebuild) as index:
        if arguments.rebuild:
            index.rebuild()
        problems = index.doctor()
    show(problems, map(visible, problems or ["all is well"]), as_json=arguments.json)
    return 1 if problems else 0


@_command(_option("file", type=Path, metavar="FILE", help="- for standard output"))
def _export(arguments: argparse.Namespace) -> None:
    """Write all chunks to a file of JSON lines, which `hebbgraph index` reads."""
    with _opened(arguments, read_only=True) as index:
        chunks = (chunk for id_ in index.ids() for chunk in index.get(id_))
        lines = (f"{chunk.model_dump_json(exclude_defaults=True)}\n" for chunk in chunks)
        if str(arguments.file) == "-":
            sys.stdout.writelines(lines)
            return
        partial = arguments.file.with_name(f"{arguments.file.name}.part")
        with partial.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(lines)
        partial.replace(arguments.file)


# -- shared -----------------------------------------------------------------------------------


@contextmanager
def _opened(
    arguments: argparse.Namespace, *, create: bool = False, read_only: bool = False
) -> Iterator[HebbianIndex]:
    """Open an index for one command; only indexing makes a new one."""
    db, namespace = arguments.db, arguments.namespace
    if not create:
        try:
            HebbianIndex.open(db, namespace=namespace, read_only=True).close()
        except NotFoundError as error:
            hint = f"`hebbgraph index PATH --db {db}` makes one"
            raise NotFoundError(f"there is no namespace {namespace!r} at {db}; {hint}") from error
    model = None
    if hasattr(arguments, "embedder"):
        model = arguments.embedder or os.environ.get("HEBBGRAPH_EMBEDDER")
    language = getattr(arguments, "language", None)
    with HebbianIndex.open(
        db,
        namespace=namespace,
        embedder=None if model is None else SentenceTransformerEmbedder(model),
        settings=None if language is None else Settings(language=language),
        read_only=read_only,
    ) as index:
        yield index
