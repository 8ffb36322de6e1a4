"""``index.add(chunks, workers=N)``: a build of the caller's chunks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from hebbgraph.artifacts import scratch_folder
from hebbgraph.errors import ParameterError
from hebbgraph.ingest import ChunkLike, OnError, OnProgress, progress
from hebbgraph.ingest.rewriting import reembed
from hebbgraph.namespace import Namespace
from hebbgraph.records import AddReport, Chunk
from hebbgraph.settings import Settings

from hebbgraph_scale.build.driver import BuildDriver, BuildProgress
from hebbgraph_scale.build.engines import engine_named
from hebbgraph_scale.build.recipe import ChunkList, Recipe

__all__ = ["add_with_workers", "check_buildable", "new_recipe"]

_SALT_BYTES = 16
_CHUNKS = 4_000  # of a partition


def add_with_workers(
    namespace: Namespace,
    chunks: Iterable[ChunkLike],
    workers: int,
    *,
    on_error: OnError,
    strict: bool,
    show_progress: bool,
    on_progress: OnProgress,
) -> AddReport:
    """See :meth:`hebbgraph.HebbianIndex.add`."""
    if isinstance(chunks, Chunk | str | bytes | Mapping) or not isinstance(chunks, Iterable):
        raise ParameterError(f"add takes an iterable of chunks, got one {type(chunks).__name__}")
    check_buildable(namespace)
    total = len(chunks) if isinstance(chunks, list | tuple) else None
    recipe = new_recipe(namespace.settings, strict=strict, on_error=on_error)
    with (
        contextlib.closing(engine_named("processes", workers)) as engine,
        scratch_folder(namespace.root, "build") as folder,
        progress(show_progress, on_progress) as tell,
    ):

        def show(now: BuildProgress) -> None:
            tell(now.chunks, total)

        namespace.warn_without_model()
        driver = BuildDriver(namespace, engine, folder, recipe, show)
        report = driver.run(_partitions(chunks), None)
    if namespace.embedder is not None:  # may hold a model or a connection: used here only
        reembed(namespace, None, show_progress=show_progress, on_progress=None)
    return report


def new_recipe(
    settings: Settings,
    *,
    strict: bool = False,
    on_error: OnError = "raise",
    salt: bytes = b"",
    embedder: Callable[[], Any] | None = None,
) -> Recipe:
    """Return a recipe with this salt, or a new one."""
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"on_error is 'raise' or 'skip', got {on_error!r}")
    salt = salt or os.urandom(_SALT_BYTES)
    return Recipe(settings, salt, strict=strict, on_error=on_error, embedder=embedder)


def check_buildable(namespace: Namespace) -> None:
    """Raise ParameterError if workers cannot prepare chunks of this index."""
    settings = namespace.settings
    if namespace.tagger is not None:
        raise ParameterError(
            "workers do not call a tagger, which may hold a model or a connection: build without "
            "it, then index.maintenance.retag(tagger)"
        )
    if settings.keep_versions:
        raise ParameterError(
            "workers do not keep versions, as each follows from the one before: add without "
            "workers, or open with Settings(keep_versions=False)"
        )


def _partitions(chunks: Iterable[ChunkLike]) -> Iterator[ChunkList]:
    remaining = iter(chunks)
    first = 0
    while page := list(islice(remaining, _CHUNKS)):
        yield ChunkList(page, first, len(page))
        first += len(page)
