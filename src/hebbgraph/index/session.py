"""What all verbs stand on: one open namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from hebbgraph.errors import ParameterError
from hebbgraph.ingest.loading import Loader
from hebbgraph.recall.pipeline import RecallVerbs
from hebbgraph.store.vectors import VectorCache

R = TypeVar("R")


@dataclass(eq=False, repr=False)
class OpenNamespace(RecallVerbs):
    """A namespace with its database, its models and its settings; use :meth:`open`."""

    _path: str
    _cache_dir: Path | None
    read_only: bool

    def __post_init__(self) -> None:
        folder = self._cache_dir or (None if self.read_only else self._database.folder)
        self._vectors = VectorCache(self._database, folder, approximate=self.settings.approximate)
        self._loader = Loader(self._database, self.settings, self.embedder, self.tagger)


def in_thread(method: Callable[..., R]) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a method, which never blocks the event loop."""

    @wraps(method)
    async def twin(*args: Any, **options: Any) -> R:
        return await asyncio.to_thread(method, *args, **options)

    return twin


def listed(values: str | Iterable[str], name: str) -> list[str]:
    """Return ids, one or several, as a list; raise ParameterError for other things."""
    if not isinstance(values, Iterable) or isinstance(values, Mapping):  # of which keys are no ids
        raise ParameterError(f"{name} is a list of str, got {values!r:.80}")
    items = [values] if isinstance(values, str) else list(values)
    if wrong := [value for value in items if not isinstance(value, str)]:
        raise ParameterError(f"{name} is a list of str, got {wrong[0]!r:.80} in it")
    return items
