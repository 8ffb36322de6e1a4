"""The command line: ``hebbgraph add``, ``recall``, ``delete`` and others.

Exit codes: 0 success; 1 an error, in one line; 2 wrong usage; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from hebbgraph import Chunk, HebbianIndex, SentenceTransformerEmbedder, __version__
from hebbgraph.cli.files import (
    STDIN,
    document_name,
    find_files,
    holds_chunks,
    read_chunks,
    split_file,
)
from hebbgraph.cli.printing import complain, count_lines, counted, err, hit_lines, show, visible
from hebbgraph.errors import HebbgraphError, NotFoundError, ParameterError
from hebbgraph.records import AddReport
from hebbgraph.store import namespaces_at

__all__ = ["app", "main"]

_BATCH = 512  # chunks of documents that are written at once
_PAGE = 1000  # chunks that are read at once

_INDEX, _NAMESPACE = "memory.hebb", "default"
_Index = Annotated[
    str,
    typer.Option(
        "--index", metavar="DIR", envvar="HEBBGRAPH_INDEX", help="Directory or URL of the index."
    ),
]
_Namespace = Annotated[
    str, typer.Option("--namespace", envvar="HEBBGRAPH_NAMESPACE", help="A tenant of the index.")
]
_Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        envvar="HEBBGRAPH_EMBEDDER",
        help="A sentence-transformers model, by name or path.",
    ),
]
_Where = Annotated[
    str | None,
    typer.Option("--where", metavar="JSON", help='A metadata filter, such as \'{"lang": "en"}\'.'),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class _Commands(TyperGroup):
    """Prints errors in one line."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of a pipe has left, which click handles
            raise
        except (HebbgraphError, OSError) as error:
            complain(f"error: {error}")
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=_Commands,
    help="A retriever that learns which passages belong together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run the command line."""
    app(prog_name="hebbgraph")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"hebbgraph {__version__}")
        raise typer.Exit


# -- writing ----------------------------------------------------------------------------------


@app.command("index", hidden=True)
@app.command("add")
def add(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Files, folders, or - for standard input: .jsonl holds chunks, one a line; .md "
            "and .txt are split.",
        ),
    ],
    index: _Index = _INDEX,
    namespace: _Namespace = _NAMESPACE,
    embedder: _Embedder = None,
    as_json: _Json = False,
) -> None:
    """Add files and folders; also called index. What is there already is skipped.

    A document is named by its path, relative to the current directory if it lies below. Adding it
    again replaces it.
    """
    if absent := [path for path in paths if path != STDIN and not path.exists()]:
        raise typer.BadParameter(f"there is no file or folder {absent[0]}")
    files, others = find_files(paths, index)
    for suffix, number in Counter(path.suffix or path.name for path in others).most_common():
        complain(f"skipped {counted(number, 'file')} {suffix}: this needs the extra documents")
    if not files:
        raise ParameterError("nothing to add: no file of chunks (.jsonl) or text (.md, .txt)")
    totals = Counter(AddReport().model_dump())
    with _opened(index, namespace, embedder, create=True) as opened, err.status("adding") as status:
        try:
            for report in _added(opened, files, lambda n: status.update(f"adding: {n:,} chunks")):
                totals.update(report.model_dump())
        except KeyboardInterrupt:
            stored = counted(opened.stats()["chunks"], "chunk")
            complain(f"interrupted: {index} holds {stored}; run the command again to go on")
            raise typer.Exit(130) from None
    skipped = [str(path) for path in others]
    *chunks, resting = (f"{number:,} {what}" for what, number in totals.items())
    line = f"{', '.join(chunks)} chunks in {index}"
    lines = [line, f"{resting} lessons"] if totals["resting"] else [line]
    show({**totals, "skipped": skipped}, lines, as_json=as_json)


def _added(opened: HebbianIndex, files: Iterable[Path], progress: Any) -> Iterator[AddReport]:
    """Add files, and yield a report for each batch."""
    batch: list[Chunk] = []
    for file in files:
        if holds_chunks(file):
            yield opened.add(read_chunks(file), show_progress=progress)
            continue
        chunks = split_file(file)
        if not chunks:
            yield AddReport(deleted=opened.delete(document_id=document_name(file)).deleted)
        batch += chunks
        if len(batch) >= _BATCH:
            yield opened.refresh(batch)
            batch = []
    if batch:
        yield opened.refresh(batch)


@app.command()
def delete(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of chunks.")] = None,
    document: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A document, or FOLDER/ for all below it; repeatable."),
    ] = None,
    where: _Where = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All chunks; allows a folder or filter to be all.")
    ] = False,
    index: _Index = _INDEX,
    namespace: _Namespace = _NAMESPACE,
    as_json: _Json = False,
) -> None:
    """Delete chunks, documents, or what passes a filter. If one is missing, exit with 1."""
    condition = _filter(where)
    kinds = bool(ids) + bool(document) + (condition is not None)
    if kinds > 1 or not (kinds or everything):
        raise typer.BadParameter("give ids, or --document, or --where, or --everything")
    missing: list[str] = []
    with _opened(index, namespace) as opened:
        every = dict.fromkeys(opened.ids())
        chosen = list(ids or every) if condition is None else opened.ids(condition)
        if ids:
            missing = [f"chunk {id_}" for id_ in ids if id_ not in every]
        if document:
            found = {name: _ids_below(opened, name) for name in document}
            chosen = [id_ for below in found.values() for id_ in below]
            missing = [f"document {name}" for name, below in found.items() if not below]
        broad = condition is not None or any(name.endswith("/") for name in document or ())
        if broad and every and not everything and every.keys() <= set(chosen):
            raise ParameterError("this would delete all chunks; add --everything if it should")
        report = opened.delete(chosen)
    line = f"{counted(report.deleted, 'chunk')} deleted"
    show({**report.model_dump(), "missing": missing}, [line], as_json=as_json)
    for name in missing:
        complain(f"error: there is no {name}")
    if missing:
        raise typer.Exit(1)


def _ids_below(opened: HebbianIndex, name: str) -> list[str]:
    """Return the ids of a document, or of all documents below a folder."""
    if not name.endswith("/"):
        return opened.ids({"$document_id": name})
    below = [document for document in opened.documents() if document.startswith(name)]
    return opened.ids({"$document_id": {"$in": below}}) if below else []


# -- asking -----------------------------------------------------------------------------------


@app.command()
def recall(
    words: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="In plain language; - reads it.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many chunks.")] = 5,
    where: _Where = None,
    embedder: _Embedder = None,
    path: Annotated[bool, typer.Option("--path", help="Show how each chunk was reached.")] = False,
    index: _Index = _INDEX,
    namespace: _Namespace = _NAMESPACE,
    as_json: _Json = False,
) -> None:
    """Find the chunks that answer a question."""
    question = sys.stdin.read() if words == ["-"] else " ".join(words)
    condition = _filter(where)
    with _opened(index, namespace, embedder, read_only=True) as opened:
        found = opened.recall(question, k, where=condition)
    show(found.model_dump(mode="json"), hit_lines(found, path), as_json=as_json)
    for note in () if as_json else found.notes:
        complain(f"note: {note}")


@app.command()
def documents(
    index: _Index = _INDEX, namespace: _Namespace = _NAMESPACE, as_json: _Json = False
) -> None:
    """List the documents, with their numbers of chunks."""
    with _opened(index, namespace, read_only=True) as opened:
        counts = opened.documents()
        others = opened.stats()["chunks"] - sum(counts.values())
    named = [*([(None, others)] if others else []), *counts.items()]
    records = [{"document_id": name, "chunks": n} for name, n in named]
    show(records, count_lines((n, name or "(no document)") for name, n in named), as_json=as_json)


# -- upkeep -----------------------------------------------------------------------------------


@app.command()
def stats(
    index: _Index = _INDEX, namespace: _Namespace = _NAMESPACE, as_json: _Json = False
) -> None:
    """Show what the index holds, in numbers."""
    with _opened(index, namespace, read_only=True) as opened:
        numbers = opened.stats()
    lines = (
        f"{name.replace('_', ' '):<16}  {f'{value:,}' if isinstance(value, int) else value}"
        for name, value in numbers.items()
        if value is not None
    )
    show(numbers, lines, as_json=as_json)


@app.command()
def doctor(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="First make all but texts and lessons anew.")
    ] = False,
    index: _Index = _INDEX,
    namespace: _Namespace = _NAMESPACE,
    as_json: _Json = False,
) -> None:
    """Check that everything stored follows from the texts; exit with 1 if something does not."""
    with _opened(index, namespace, read_only=not rebuild) as opened:
        if rebuild:
            opened.rebuild()
        problems = opened.doctor()
    show(problems, map(visible, problems or ["all is well"]), as_json=as_json)
    if problems:
        raise typer.Exit(1)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="- for standard output.")],
    index: _Index = _INDEX,
    namespace: _Namespace = _NAMESPACE,
) -> None:
    """Write all chunks to a file of JSON lines, which `hebbgraph add` reads."""
    with _opened(index, namespace, read_only=True) as opened:
        chunks = _all_chunks(opened)
        lines = (f"{chunk.model_dump_json(exclude_defaults=True)}\n" for chunk in chunks)
        if file == STDIN:
            sys.stdout.writelines(lines)
            return
        partial = file.with_name(f"{file.name}.part")
        with partial.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(lines)
        partial.replace(file)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    index: _Index = _INDEX,
    namespace: _Namespace = _NAMESPACE,
) -> None:
    """Write a copy of the namespace to a new file."""
    with _opened(index, namespace, read_only=True) as opened:
        opened.backup(file)


@app.command()
def namespaces(index: _Index = _INDEX, as_json: _Json = False) -> None:
    """List the namespaces of the index."""
    found = namespaces_at(index)
    show(found, map(visible, found), as_json=as_json)


# -- shared -----------------------------------------------------------------------------------


@contextmanager
def _opened(
    index: str,
    namespace: str,
    embedder: str | None = None,
    *,
    create: bool = False,
    read_only: bool = False,
) -> Iterator[HebbianIndex]:
    """Open an index for one command; only adding makes a new one."""
    if not create:
        try:
            HebbianIndex.open(index, namespace=namespace, read_only=True).close()
        except NotFoundError as error:
            raise NotFoundError(
                f"there is no namespace {namespace!r} at {index}; `hebbgraph add PATH --index "
                f"{index}` makes one"
            ) from error
    model = None if embedder is None else SentenceTransformerEmbedder(embedder)
    with HebbianIndex.open(
        index, namespace=namespace, embedder=model, read_only=read_only
    ) as opened:
        yield opened


def _all_chunks(opened: HebbianIndex) -> Iterator[Chunk]:
    ids = opened.ids()
    for start in range(0, len(ids), _PAGE):
        yield from opened.get(ids[start : start + _PAGE])


def _filter(where: str | None) -> dict[str, Any] | None:
    try:
        return None if where is None else cast(dict[str, Any], json.loads(where))
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--where takes a JSON object: {error}") from error
