"""The way back from forgetting, for some minutes."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.records import Forgetting
from hebbgraph.store.feedback_log import RemovedFeedback

__all__ = ["ForgettingHistory"]

#: How long, how many times and how many bytes can be undone.
_SECONDS, _MOST, _MOST_BYTES = 600.0, 20, 64_000_000


@dataclass(frozen=True)
class _Undoable:
    record: Forgetting
    removed: Sequence[RemovedFeedback]
    size: int


class ForgettingHistory:
    """The latest forgettings of one open index, in memory only; the oldest are dropped first.

    No file holds them, so what was forgotten and erased stays erased. Safe to use from many
    threads. ``clock`` returns seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._undoable: list[_Undoable] = []

    def keep(self, removed: Sequence[RemovedFeedback]) -> None:
        """Keep what was forgotten, unless it is too much."""
        size = sum(row.size for row in removed)
        if not removed or size > _MOST_BYTES:
            return
        now = self._clock()
        record = Forgetting(
            id=uuid.uuid4().hex,
            created_at=now,
            until=now + _SECONDS,
            feedback=tuple(row.feedback.id for row in removed),
            actors=Counter(row.feedback.actor or "" for row in removed),
        )
        with self._lock:
            undoable = [*self._current(), _Undoable(record, removed, size)][-_MOST:]
            while sum(entry.size for entry in undoable) > _MOST_BYTES:
                del undoable[0]
            self._undoable = undoable

    def records(self) -> list[Forgetting]:
        """Return what can be undone, the latest first."""
        with self._lock:
            self._undoable = self._current()
            return [entry.record for entry in reversed(self._undoable)]

    def removed_by(self, id_: str) -> Sequence[RemovedFeedback]:
        """Return what one forgetting removed.

        Raises
        ------
        NotFoundError
            If it is not kept, or no longer.
        ParameterError
            If a later one took more of the same feedback.
        """
        with self._lock:
            later: set[str] = set()
            for entry in reversed(self._current()):
                if entry.record.id == id_:
                    if later.isdisjoint(entry.record.feedback):
                        return entry.removed
                    raise ParameterError(
                        "more of the same feedback was forgotten since then; undo that first"
                    )
                later.update(entry.record.feedback)
        raise NotFoundError(
            f"nothing that was forgotten is kept under {id_!r:.80}: it is for {_SECONDS / 60:g} "
            "minutes, by the object that forgot it, until compact() or erase=True"
        )

    def drop(self, id_: str) -> None:
        """Drop one forgetting."""
        with self._lock:
            self._undoable = [entry for entry in self._undoable if entry.record.id != id_]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._undoable.clear()

    def _current(self) -> list[_Undoable]:
        now = self._clock()
        return [entry for entry in self._undoable if entry.record.until > now]
