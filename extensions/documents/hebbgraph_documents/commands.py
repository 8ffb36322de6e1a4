"""The command ``hebbgraph index``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from hebbgraph.cli.shared import (
    AsJson,
    Base,
    Cache,
    Db,
    EmbedderName,
    MaxTokens,
    Namespace,
    SettingsFile,
    TaggerName,
    err,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import counted, harmless, most_frequent
from hebbgraph.errors import ConversionError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.limits import CONVERSION_MEMORY_BYTES, CONVERSION_SECONDS
from rich.progress import Progress

from hebbgraph_documents import (
    ChunkSettings,
    ConversionLimits,
    IngestReport,
    discover,
    ingest,
)
from hebbgraph_documents.convert import DEFAULT_MAX_BYTES
from hebbgraph_documents.ingesting import chunks_of_bytes

_SOME_FILES_FAILED = 3
_WATCH_SECONDS = 2.0
_STANDARD_INPUT = Path("-")

__all__ = ["chunk_settings", "index"]

_Name = Annotated[
    str | None,
    typer.Option(help="Document id of standard input; its suffix is the format."),
]
_Include = Annotated[
    list[str] | None,
    typer.Option(help="Take only files in folders whose path matches, like '*.md'; repeatable."),
]
_Exclude = Annotated[
    list[str] | None,
    typer.Option(help="Skip files in folders whose path matches, like 'drafts/*'; repeatable."),
]
_Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of text and HTML files that declare none. \\[default: UTF-8]"),
]
_Prune = Annotated[bool, typer.Option(help="Delete documents whose files under PATHS are gone.")]


def chunk_settings(max_tokens: int | None) -> ChunkSettings:
    """Return the settings for chunks of at most ``max_tokens``, or the defaults."""
    default = ChunkSettings()
    if max_tokens is None:
        return default
    return ChunkSettings(chunk_tokens=(min(default.chunk_tokens[0], max_tokens), max_tokens))


def index(
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders; - is standard input, with --name.")
    ],
    db: Db,
    namespace: Namespace = "default",
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    name: _Name = None,
    prune: _Prune = False,
    base: Base = None,
    cache_dir: Cache = None,
    max_tokens: MaxTokens = None,
    settings: SettingsFile = None,
    seconds_per_file: Annotated[
        float, typer.Option(help="Time limit for a file.")
    ] = CONVERSION_SECONDS,
    megabytes_per_file: Annotated[
        int, typer.Option(help="Memory limit for a file (Linux only).")
    ] = CONVERSION_MEMORY_BYTES // 1_000_000,
    include: _Include = None,
    exclude: _Exclude = None,
    encoding: _Encoding = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and look for changes every two seconds.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Index files: .txt .md .html .pdf .docx. Unchanged files are skipped.

    If files fail, they are listed at the end and the exit code is 3.
    """
    limits = ConversionLimits(seconds=seconds_per_file, memory_bytes=megabytes_per_file * 1_000_000)
    options: dict[str, Any] = {
        "prune": prune,
        "base": base,
        "settings": chunk_settings(max_tokens),
        "limits": limits,
        "encoding": encoding,
    }
    _check_piped(paths, name, alone=not (watch or prune))
    with opened(
        db,
        namespace,
        embedder,
        tagger=tagger,
        create=True,
        cache_dir=cache_dir,
        settings=settings,
    ) as store:
        _check_takes_texts(store, db)
        if name is not None:
            report = _piped(name, store, options)
        else:
            report = _read(paths, include, exclude, store, options)
        _tell(report, as_json)
        if watch:
            _watch(report, lambda: _read(paths, include, exclude, store, options), as_json)
    if report.failed:
        raise typer.Exit(_SOME_FILES_FAILED)


def _check_piped(paths: list[Path], name: str | None, *, alone: bool) -> None:
    piped = _STANDARD_INPUT in paths
    if piped != (name is not None) or (piped and (len(paths) > 1 or not alone)):
        raise typer.BadParameter(
            "standard input is indexed alone: hebbgraph index - --name NOTES.md"
        )


def _check_takes_texts(store: HebbianIndex, db: str) -> None:
    if not store.settings.keep_text:
        raise ParameterError(
            f"{db} keeps its texts in another store; add documents with the program that "
            "writes to that store"
        )


def _watch(report: IngestReport, read: Callable[[], IngestReport], as_json: bool) -> None:
    """Index again and again until interrupted; report changes."""
    while True:
        time.sleep(_WATCH_SECONDS)
        before, report = report, read()
        changed = report.indexed or report.removed or report.gone != before.gone
        if changed or report.failed != before.failed:
            _tell(report, as_json)


def _piped(name: str, store: HebbianIndex, options: dict[str, Any]) -> IngestReport:
    """Index standard input as a document of this name."""
    data = sys.stdin.buffer.read(DEFAULT_MAX_BYTES + 1)
    if len(data) > DEFAULT_MAX_BYTES:
        raise ConversionError(f"standard input: is larger than {DEFAULT_MAX_BYTES:,} bytes")
    fingerprint, chunks = chunks_of_bytes(
        data,
        name=name,
        settings=options["settings"],
        limits=options["limits"],
        encoding=options["encoding"],
    )
    if store.document_fingerprints().get(name) == fingerprint:
        return IngestReport(skipped=(name,))
    store.put_document(name, fingerprint, chunks)
    return IngestReport(indexed=(name,), chunks=len(chunks))


def _read(
    paths: list[Path],
    include: list[str] | None,
    exclude: list[str] | None,
    store: HebbianIndex,
    options: dict[str, Any],
) -> IngestReport:
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        return ingest(
            discover(paths, include=include or (), exclude=exclude or ()),
            store,
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
            **options,
        )


def _tell(report: IngestReport, as_json: bool) -> None:
    if as_json:
        print_json(report.model_dump())
        return
    out.print(
        f"{counted(len(report.indexed), 'document')} indexed ({counted(report.chunks, 'chunk')}), "
        f"{len(report.skipped)} unchanged, {len(report.removed)} removed, "
        f"{len(report.failed)} failed, in {report.seconds:.1f} s"
    )
    if report.unsupported:
        err.print(f"ignored, by suffix: {most_frequent(report.unsupported)}")
    if report.gone:
        err.print(
            f"{counted(len(report.gone), 'document')} of files that are gone can still be found; "
            "to delete them, run this again with --prune"
        )
    if report.elsewhere:
        err.print(
            f"{counted(len(report.elsewhere), 'document')} with the content of files read now, "
            f"such as {harmless(report.elsewhere[0])}, belong to files that are not on this "
            "machine; if they were moved, delete these: hebbgraph delete --document OLD, or "
            "OLD_FOLDER/"
        )
    if report.links:
        err.print(f"{counted(report.links, 'symbolic link')} skipped; name what they lead to")
    for path, reason in report.failed:
        err.print(f"[red]failed[/red] {harmless(path)}: {harmless(reason)}")
    for chunk_id, reason in report.untagged:
        err.print(f"tagger failed: {harmless(chunk_id)}: {harmless(reason)}")
