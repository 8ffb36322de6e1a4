"""The command that this distribution brings: ``hebbgraph index``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from hebbgraph.cli.shared import (
    AsJson,
    Base,
    Cache,
    Db,
    EmbedderName,
    MaxTokens,
    Namespace,
    TaggerName,
    err,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.errors import ParameterError
from hebbgraph.limits import CONVERSION_MEMORY_BYTES, CONVERSION_SECONDS
from rich.progress import Progress

from hebbgraph_documents import ChunkSettings, ConversionLimits, ingest

_SOME_FILES_FAILED = 3

__all__ = ["chunk_settings", "index"]


def chunk_settings(max_tokens: int | None) -> ChunkSettings:
    """Return how documents are split; as by default, unless another length is given."""
    default = ChunkSettings()
    if max_tokens is None:
        return default
    return ChunkSettings(chunk_tokens=(min(default.chunk_tokens[0], max_tokens), max_tokens))


def index(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders to index.")],
    db: Db,
    namespace: Namespace = "default",
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    prune: Annotated[
        bool, typer.Option(help="Delete documents whose files under PATHS no longer exist.")
    ] = False,
    base: Base = None,
    cache_dir: Cache = None,
    max_tokens: MaxTokens = None,
    seconds_per_file: Annotated[
        float, typer.Option(help="Give up on a file after this time.")
    ] = CONVERSION_SECONDS,
    megabytes_per_file: Annotated[
        int, typer.Option(help="Give up on a file that needs more memory (Linux only).")
    ] = CONVERSION_MEMORY_BYTES // 1_000_000,
    as_json: AsJson = False,
) -> None:
    """Index files: .txt .md .html .pdf .docx. Unchanged files are skipped.

    If files fail, they are listed at the end and the exit code is 3.
    """
    settings = chunk_settings(max_tokens)
    limits = ConversionLimits(seconds=seconds_per_file, memory_bytes=megabytes_per_file * 1_000_000)
    with (
        opened(db, namespace, embedder, tagger=tagger, create=True, cache_dir=cache_dir) as store,
        Progress(console=err, transient=True) as bar,
    ):
        if not store.settings.keep_text:
            raise ParameterError(
                f"{db} keeps its texts in another store; add documents with the program that "
                "writes to that store"
            )
        task = bar.add_task("reading", total=None)
        report = ingest(
            paths,
            store,
            prune=prune,
            base=base,
            settings=settings,
            limits=limits,
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if as_json:
        print_json(report.model_dump())
    else:
        out.print(
            f"{counted(len(report.indexed), 'document')} indexed "
            f"({counted(report.chunks, 'chunk')}), "
            f"{len(report.skipped)} unchanged, {len(report.removed)} removed, "
            f"{len(report.failed)} failed, in {report.seconds:.1f} s"
        )
        if report.unsupported:
            kinds = ", ".join(f"{kind or 'none'}: {n}" for kind, n in report.unsupported.items())
            err.print(f"ignored, by suffix: {harmless(kinds)}")
        for path, reason in report.failed:
            err.print(f"[red]failed[/red] {harmless(path)}: {harmless(reason)}")
        for chunk_id, reason in report.untagged:
            err.print(f"tagger failed: {harmless(chunk_id)}: {harmless(reason)}")
    if report.failed:
        raise typer.Exit(_SOME_FILES_FAILED)
