"""The command line: ``hebbgraph index``, ``recall``, ``reinforce`` and others.

Exit codes: 0 success; 1 an error, or nothing found; 2 wrong usage; 130 interrupted; 141 the reader
of a pipe has left. docs/extending.md says how other distributions add commands.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from hebbgraph import Chunk, HebbianIndex, SentenceTransformerEmbedder, Settings, __version__
from hebbgraph.cli import printing
from hebbgraph.cli.demo import run_demo
from hebbgraph.cli.printing import complain, counted, hit_lines, lesson_lines, show, visible
from hebbgraph.documents import ingest
from hebbgraph.errors import HebbgraphError, NotFoundError, ParameterError, StorageError
from hebbgraph.recall.strategies import NO_CUE
from hebbgraph.store import MEMORY, namespaces_at

#: Commands of other distributions: the extra that brings them, and what they do.
_ELSEWHERE = {
    "serve": ("server", "Serve an index: a page, an API, MCP."),
    "mcp": ("server", "Serve an index to one agent (MCP)."),
    "bench": ("bench", "Compare hebbgraph with other retrievers."),
}


class _Answer(NamedTuple):
    """A record for programs, lines and notes for people, and whether the command succeeded."""

    record: Any
    lines: Iterable[str]
    is_good: bool = True
    notes: Iterable[str] = ()


_Run: TypeAlias = Callable[[HebbianIndex, argparse.Namespace], _Answer | None]
_Mode: TypeAlias = Literal["create", "write", "read"]
#: What each command does with an opened index, how it opens it, and its own options.
_COMMANDS: list[tuple[_Run, _Mode, tuple[Any, ...]]] = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = _parser(given).parse_args(given)
        code = parsed.run(parsed) or 0
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as of a program that SIGPIPE ends
    except KeyboardInterrupt:
        complain("interrupted: finished batches are stored; run the command again to continue")
        return 130
    except (HebbgraphError, OSError, ImportError, UnicodeError) as error:
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
    for run, mode, options in _COMMANDS:
        text, name = run.__doc__ or "", run.__name__.strip("_")
        added = commands.add_parser(name, help=text.splitlines()[0], description=text)
        added.add_argument("--db", default=db, help=f"directory or URL of the index [{db}]")
        added.add_argument("--namespace", default=namespace, help="a tenant of the index")
        added.add_argument("--json", action="store_true", help="print JSON")
        for option, settings in options:
            added.add_argument(option, **settings)
        added.set_defaults(run=partial(_run, run, mode))
    demo = commands.add_parser("demo", help="A question that fails, is taught, and succeeds.")
    demo.add_argument("--db", default=MEMORY, help="keep the index in this directory")
    demo.set_defaults(run=run_demo)
    plugins = {plugin.name: plugin for plugin in entry_points(group="hebbgraph.commands")}
    for name in given[:1]:
        if name in plugins and name not in commands.choices:
            plugins[name].load()(commands)  # the others are not imported
    for name, (extra, text) in _ELSEWHERE.items():
        needs = f'needs: pip install "hebbgraph[{extra}]"'
        if name not in commands.choices:
            commands.add_parser(name, help=text if name in plugins else f"{text} It {needs}")
            if name in given[:1]:
                parser.error(f"{name} {needs}")
    return parser


def _run(run: _Run, mode: _Mode, arguments: argparse.Namespace) -> int:
    """Open the index for one command, and print its answer; only indexing makes a new index."""
    db, namespace = arguments.db, arguments.namespace
    if mode != "create" and namespace not in (there := namespaces_at(db)):
        hint = f"it has {', '.join(there) or 'none, as this is no folder of an index'}"
        if not there and not os.path.exists(db):
            hint = f"`hebbgraph index PATH --db {db} --namespace {namespace}` makes one"
        raise NotFoundError(f"there is no namespace {namespace!r} at {db}; {hint}")
    model, language = getattr(arguments, "embedder", None), getattr(arguments, "language", None)
    with HebbianIndex.open(
        db,
        namespace=namespace,
        embedder=None if model is None else SentenceTransformerEmbedder(model),
        settings=None if language is None else Settings(language=language),
        read_only=mode == "read",
    ) as index:
        if (answer := run(index, arguments)) is not None:
            show(answer.record, answer.lines, as_json=arguments.json)
            sys.stdout.flush()  # notes come last in a file of both
            for note in () if arguments.json else answer.notes:
                complain(note)
        return 0 if answer is None or answer.is_good else 1


def _command(mode: _Mode, *options: Any) -> Callable[..., Any]:
    """Make a function the command of its name."""

    def add(run: Any) -> Any:
        _COMMANDS.append((run, mode, options))
        return run

    return add


def _option(name: str, help: str, **settings: Any) -> tuple[str, dict[str, Any]]:
    return name, {"help": help, **settings}


def _flag(name: str, help: str) -> tuple[str, dict[str, Any]]:
    return _option(name, help, action="store_true")


def _filter(text: str) -> dict[str, Any]:
    try:
        return {**json.loads(text)}
    except (TypeError, ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"takes a JSON object: {error}") from error


def _existing(text: str) -> Path:
    if text != "-" and not os.path.lexists(text):
        raise argparse.ArgumentTypeError(f"there is no file or folder {text}")
    return Path(text)


_ACTOR = _option("--actor", "who gives or gave the lesson")
_MODEL = os.environ.get("HEBBGRAPH_EMBEDDER")
_EMBEDDER = _option("--embedder", "a sentence-transformers model", metavar="MODEL", default=_MODEL)
_WHERE = _option("--where", "a filter", type=_filter, metavar="JSON")


@_command(
    "create",
    _option("paths", "file, folder, or -", nargs="+", type=_existing, metavar="PATH"),
    _option("--base", "folder to which places are relative", metavar="DIR"),
    _option("--language", "of all texts, for stemming; by default that of each text"),
    _flag("--delete-missing", "delete documents whose files are gone"),
    _option("--workers", "processes that read texts", type=int, metavar="N"),
    _EMBEDDER,
)
def _index(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Read files and folders; what has not changed is skipped.

    A document is named by its place, and a changed file replaces it. Standard input (-) and files
    .jsonl that are given by name hold chunks, one a line, as `hebbgraph export` writes them.
    """
    lines = [path for path in arguments.paths if str(path) == "-" or path.suffix == ".jsonl"]
    files = [path for path in arguments.paths if path not in lines]
    options = {name: getattr(arguments, name) for name in ("base", "delete_missing", "workers")}
    read = ingest(files, index, **options, show_progress=printing.show_progress)
    report = read.model_dump(mode="json")
    for path in lines:
        added = index.add(_read_chunks(path), workers=arguments.workers)
        for name, number in added.model_dump().items():
            report[name] += number
    for place, reason in read.failed.items():
        complain(f"failed: {place}: {reason}")
    for reason in dict.fromkeys(read.skipped.values()):
        places = [place for place, why in read.skipped.items() if why == reason]
        names = ", ".join(places[:3]) + (", …" if len(places) > 3 else "")
        complain(f"skipped {counted(len(places), 'file')}: {reason}: {names}")
    if read.missing and not arguments.delete_missing:
        complain(f"documents without a file: {len(read.missing):,}; --delete-missing deletes them")
    totals = [f"{report[name]:,} {name}" for name in ("added", "replaced", "unchanged", "deleted")]
    moved = f" ({len(read.moved):,} of them moved)" if read.moved else ""
    documents = f"{counted(len(read.documents), 'document')} read{moved}"
    documents = f"{documents}, {read.unchanged_documents:,} unchanged; " if files else ""
    return _Answer(report, [f"{documents}chunks: {', '.join(totals)}"], is_good=not read.failed)


def _read_chunks(file: Path) -> Iterator[Chunk]:
    """Yield the chunks of a file of JSON lines; an error gives the number of the first bad line."""
    number = 1
    try:
        with sys.stdin if str(file) == "-" else file.open(encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield Chunk.of(json.loads(line.removeprefix("\ufeff")))
                number += 1
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}, line {number}: {error}") from error


@_command(
    "write",
    _option("ids", "ids of chunks", nargs="*", metavar="ID"),
    _option("--document", "its place, or FOLDER/", action="append", default=[], metavar="PLACE"),
    _WHERE,
    _flag("--everything", "all chunks"),
)
def _delete(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Delete chunks, documents, or all that a filter selects; exit with 1 if that is nothing."""
    given = sum(map(bool, (arguments.ids, arguments.document, arguments.where is not None)))
    if given > 1 or not (given or arguments.everything):
        raise ParameterError("give ids of chunks, or --document, or --where, or --everything")
    every, places = set(index.ids()), index.documents()
    chosen = every & set(arguments.ids)
    unknown = [f"there is no chunk {id_}" for id_ in arguments.ids if id_ not in every]
    unknown += [f"{id_} is a document: --document {id_}" for id_ in arguments.ids if id_ in places]
    if arguments.everything or arguments.where is not None:
        chosen = set(index.ids(arguments.where))
    for name in arguments.document:
        below = [place for place in places if name.endswith("/") and place.startswith(name)]
        ids = index.ids({"$document_id": {"$in": below or [name]}})
        if not ids:
            unknown.append(f"there is no document {name}")
        chosen.update(ids)
    if every and chosen == every and not arguments.everything:
        raise ParameterError("this would delete all chunks; add --everything if it should")
    report = index.delete(sorted(chosen))
    line = f"{counted(report.deleted, 'chunk')} deleted"
    return _Answer(report.model_dump(), [line], is_good=report.deleted > 0, notes=unknown)


@_command(
    "read",
    _option("words", "in plain language; - reads standard input", nargs="+", metavar="QUESTION"),
    _option("-k", "how many chunks [5]", type=int, default=5),
    _WHERE,
    _flag("--path", "how each chunk was reached"),
    _flag("--full", "whole texts, not about 300 characters around the words of the question"),
    _EMBEDDER,
)
def _recall(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Find the chunks that answer a question; exit with 1 if there is none."""
    words = arguments.words
    question = sys.stdin.read() if words == ["-"] else " ".join(words)
    # With a least score, nothing fills the list up.
    options = {"where": arguments.where, "min_score": 0.0, "recall_id": secrets.token_hex(4)}
    found = index.recall(question, arguments.k, **options)
    notes = [f"note: {note}" for note in found.notes if arguments.path or note != NO_CUE]
    with suppress(StorageError):  # an index that is read only is not taught
        with HebbianIndex.open(arguments.db, namespace=arguments.namespace) as writable:
            writable.keep(found)
        name, which = ("RANK", "of these") if found else ("ID", "chunks")
        notes.append(f"hebbgraph reinforce {found.id} {name}... teaches which {which} answer it")
    lines = hit_lines(found, with_path=arguments.path, full=arguments.full)
    return _Answer(found.model_dump(mode="json"), lines, is_good=bool(found), notes=notes)


@_command("read")
def _documents(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """List the documents, with their numbers of chunks."""
    counts = index.documents()
    return _Answer(counts, (f"{number:>8,}  {visible(name)}" for name, number in counts.items()))


@_command(
    "write",
    _option("recall", "the id that recall has printed", metavar="RECALL"),
    _option("chosen", "hits that answer it; other chunks by id", nargs="*", metavar="RANK"),
    _option("--wrong", "hits that do not answer it", nargs="+", default=[], metavar="RANK"),
    _ACTOR,
    _option("--reason", "why; stored with the lesson"),
    _flag("--trusted", "count at once, whatever the quorum"),
)
def _reinforce(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Teach which chunks answer the question of a recall, by their ranks or ids."""
    if not (given := arguments.chosen + arguments.wrong):
        raise ParameterError("give ranks of hits that answer it, or --wrong and ranks of others")
    kept = index.kept(arguments.recall)
    if not kept:
        raise NotFoundError(f"there is no recall {arguments.recall}; hebbgraph recall prints ids")
    by_rank = {str(hit.rank): hit.id for hit in kept[0].hits}
    ranks = [name for name in given if name.isdigit() and name not in by_rank]
    if unknown := [rank for rank in ranks if not index.get(rank)]:
        raise ParameterError(f"rank {unknown[0]} was not shown; there were {len(by_rank)}")
    lesson = index.reinforce(
        kept[0],
        cited=[by_rank.get(chosen, chosen) for chosen in arguments.chosen],
        rejected=[by_rank.get(chosen, chosen) for chosen in arguments.wrong],
        actor=arguments.actor,
        reason=arguments.reason,
        trusted=arguments.trusted,
    )
    id_ = lesson.id[:8]
    line = lesson.note or f"lesson {id_}; hebbgraph forget {id_} takes it back"
    return _Answer(lesson.model_dump(mode="json"), [visible(line)], is_good=not lesson.note)


@_command("read", _ACTOR)
def _lessons(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """List the lessons, from the first to the last."""
    lessons = index.lessons(actor=arguments.actor)
    records = [lesson.model_dump(mode="json") for lesson in lessons]
    return _Answer(records, (line for lesson in lessons for line in lesson_lines(lesson, index)))


@_command(
    "write",
    _option("lesson", "its id, or how it begins", nargs="?", metavar="LESSON"),
    _ACTOR,
    _option("--chunk", "lessons about a chunk", metavar="ID"),
    _flag("--everything", "all lessons"),
    _flag("--dry-run", "only count"),
)
def _forget(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Forget lessons; the index is as if they had never been taught."""
    chosen = {name: getattr(arguments, name) for name in ("lesson", "actor", "chunk")}
    if not arguments.everything and not any(chosen.values()):
        raise ParameterError("give the id of a lesson, --actor, --chunk or --everything")
    if begin := arguments.lesson:
        fitting = [each.id for each in index.lessons() if each.id.startswith(begin)]
        if len(fitting) != 1:
            hint = "give more of the id" if fitting else "hebbgraph lessons lists their ids"
            raise NotFoundError(f"{len(fitting) or 'no'} lessons begin with {begin}; {hint}")
        chosen["lesson"] = fitting[0]
    number = index.forget(**chosen, everything=arguments.everything, dry_run=arguments.dry_run)
    would = "would be " if arguments.dry_run else ""
    line = f"{counted(number, 'lesson')} {would}forgotten"
    return _Answer({"forgotten": number}, [line], is_good=number > 0)


@_command("read")
def _stats(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Show what the index holds, in numbers."""
    numbers = index.stats()
    lines = (
        f"{name.replace('_', ' '):<16}  {f'{value:,}' if isinstance(value, int) else value}"
        for name, value in numbers.items()
        if value is not None
    )
    return _Answer(numbers, lines)


@_command("read", _flag("--rebuild", "first recreate everything except texts and lessons"))
def _doctor(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer:
    """Check that everything stored follows from the texts; exit with 1 if something does not."""
    if arguments.rebuild:
        with HebbianIndex.open(arguments.db, namespace=arguments.namespace) as writable:
            writable.rebuild()
    problems = index.doctor()
    return _Answer(problems, map(visible, problems or ["all is well"]), is_good=not problems)


@_command("read", _option("file", "- for standard output", type=Path, metavar="FILE"))
def _export(index: HebbianIndex, arguments: argparse.Namespace) -> _Answer | None:
    """Write all chunks to a file .jsonl, a chunk a line, which `hebbgraph index` reads."""
    if str(arguments.file) != "-" and arguments.file.suffix != ".jsonl":
        raise ParameterError(f"call it {arguments.file}.jsonl, so that `index` reads it as chunks")
    ids = index.ids()
    chunks = (chunk for id_ in ids for chunk in index.get(id_))
    lines = (f"{chunk.model_dump_json(exclude_defaults=True)}\n" for chunk in chunks)
    if str(arguments.file) == "-":
        sys.stdout.writelines(lines)
        return None
    partial_file = arguments.file.with_name(f"{arguments.file.name}.part")
    with partial_file.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(lines)
    replaced = " in place of the former file" if arguments.file.exists() else ""
    partial_file.replace(arguments.file)
    line = f"{counted(len(ids), 'chunk')} written to {visible(str(arguments.file))}{replaced}"
    return _Answer({"written": len(ids)}, [line])
