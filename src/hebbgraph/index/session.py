"""What all verbs stand on: one open namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
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


@dataclass(eq=False, repr=False)
class OpenNamespace:
    """A namespace with its database, its models and its settings; use :meth:`open`."""

    _database: Database
    _path: str
    namespace: str
    settings: Settings
    embedder: Embedder | None
    tagger: Tagger | None
    _cache_dir: Path | None
    read_only: bool
    _stale_text: str = ""

    def __post_init__(self) -> None:
        database, settings, embedder = self._database, self.settings, self.embedder
        folder = self._cache_dir or (None if self.read_only else database.folder)
        self._vectors = vectors = VectorCache(database, folder)
        self._loader = Loader(database, settings, embedder, self.tagger)
        asks = getattr(self.tagger, "tag_question", None)
        self._recaller = Recaller(self.namespace, database, settings, vectors, embedder, asks)

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
