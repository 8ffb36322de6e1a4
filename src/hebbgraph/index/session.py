"""What all verbs stand on: one open namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from hebbgraph.errors import LessonError, NotAnIndexError, ParameterError
from hebbgraph.ingest.loading import Loader
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.recall.pipeline import Recaller
from hebbgraph.records import Recall
from hebbgraph.settings import Settings
from hebbgraph.store.database import Database
from hebbgraph.store.vectors import VectorCache

__all__ = ["OpenNamespace", "in_thread", "listed"]

R = TypeVar("R")


class OpenNamespace:
    """A namespace with its database, its models and its settings."""

    def __init__(
        self,
        database: Database,
        path: str,
        namespace: str,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        tagger: Tagger | None = None,
        cache_dir: Path | None = None,
        read_only: bool = False,
    ) -> None:
        """Use :meth:`open`."""
        self._database = database
        self._path = path
        self.namespace = namespace
        self.settings = settings
        self.embedder = embedder
        self.tagger = tagger
        self.read_only = read_only
        self._cache_dir = cache_dir
        self._stale_text = ""
        folder = cache_dir or (None if read_only else database.folder)
        self._vectors = VectorCache(database, folder)
        self._loader = Loader(database, settings, embedder, tagger)
        asks = getattr(tagger, "tag_question", None)
        self._recaller = Recaller(namespace, database, settings, self._vectors, embedder, asks)

    def _check_recall(self, recall: Recall) -> None:
        if not isinstance(recall, Recall):
            raise ParameterError(f"recall is a Recall, got {type(recall).__name__}")
        if recall.namespace != self.namespace:
            raise LessonError(
                f"the recall is of namespace {recall.namespace!r}, this is {self.namespace!r}"
            )

    def _check_text_version(self) -> None:
        if self._stale_text:
            raise NotAnIndexError(self._stale_text)


def in_thread(method: Callable[..., R]) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a method, which never blocks the event loop."""

    @wraps(method)
    async def twin(*args: Any, **options: Any) -> R:
        return await asyncio.to_thread(method, *args, **options)

    return twin


def listed(values: str | Iterable[str], name: str) -> list[str]:
    """Return ids, one or several, as a list; raise ParameterError for other things."""
    if not isinstance(values, Iterable):
        raise ParameterError(f"{name} is a list of str, got {values!r:.80}")
    items = [values] if isinstance(values, str) else list(values)
    if wrong := [value for value in items if not isinstance(value, str)]:
        raise ParameterError(f"{name} is a list of str, got {wrong[0]!r:.80} in it")
    return items
