"""What was forgotten a moment ago: kept in memory alone, for a while, so that it can be undone."""

from __future__ import annotations

import reprlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.records import Forgetting
from hebbgraph.store.feedback_log import FeedbackLog, Removed, Selection

__all__ = ["Forgotten", "near_actors", "unknown_in"]

_SECONDS = 600.0
_MOST = 20
_MOST_BYTES = 64_000_000


@dataclass(frozen=True)
class _Kept:
    record: Forgetting
    removed: Sequence[Removed]
    size: int


class Forgotten:
    """The latest forgettings of one open index; the oldest give way.

    No file holds them, so what was forgotten and erased stays erased.

    Parameters
    ----------
    clock : callable
        Seconds since the epoch.

    Notes
    -----
    Safe to use from many threads.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: list[_Kept] = []

    def keep(self, removed: Sequence[Removed]) -> None:
        """Keep what was forgotten, unless it is very much."""
        size = sum(one.size for one in removed)
        if not removed or size > _MOST_BYTES:
            return
        now = self._clock()
        record = Forgetting(
            id=uuid.uuid4().hex,
            created_at=now,
            until=now + _SECONDS,
            feedback=tuple(one.feedback.id for one in removed),
            actors=Counter(one.feedback.actor or "" for one in removed),
        )
        with self._lock:
            self._kept.append(_Kept(record, removed, size))
            self._drop()
            while len(self._kept) > _MOST or sum(one.size for one in self._kept) > _MOST_BYTES:
                del self._kept[0]

    def records(self) -> list[Forgetting]:
        """Return what can be undone, the latest first."""
        with self._lock:
            self._drop()
            return [one.record for one in reversed(self._kept)]

    def removed_by(self, id_: str) -> Sequence[Removed]:
        """Return what one forgetting removed.

        Raises
        ------
        NotFoundError
            If it is not kept, or no longer.
        ParameterError
            If a later one took more of the same feedback.
        """
        with self._lock:
            self._drop()
            later: set[str] = set()
            for one in reversed(self._kept):
                if one.record.id != id_:
                    later.update(one.record.feedback)
                    continue
                if not later.isdisjoint(one.record.feedback):
                    raise ParameterError(
                        "more of the same feedback was forgotten since then; undo that first"
                    )
                return one.removed
        raise NotFoundError(
            f"nothing that was forgotten is kept under {id_!r:.80}: it is for {_SECONDS / 60:g} "
            "minutes, by the object that forgot it, until compact() or erase=True"
        )

    def drop(self, id_: str) -> None:
        """Drop one forgetting."""
        with self._lock:
            self._kept = [one for one in self._kept if one.record.id != id_]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()

    def _drop(self) -> None:
        now = self._clock()
        self._kept = [one for one in self._kept if one.record.until > now]


def unknown_in(
    log: FeedbackLog, selection: Selection, chunk: str | None, removed: set[str]
) -> Iterator[str]:
    """Yield what a selection names and the log does not hold, and what may be meant."""
    if unknown := sorted({*(selection.ids or ())} - removed):
        named = next(iter({*unknown} & {*log.actors()}), None)
        hint = named and f"; what an actor said is forgotten by forget(actor={named!r:.200})"
        yield f"no such feedback is known by {reprlib.repr(unknown)}{hint or ''}"
    if not removed and selection.actor is not None:
        near = near_actors(selection.actor, log.actors())
        yield f"there is no such feedback by {selection.actor!r:.200}{near}"
    if not removed and chunk is not None:
        yield f"no such feedback speaks of a chunk {chunk!r:.200}"


def near_actors(actor: str, known: Iterable[str | None]) -> str:
    """Return which names are nearly that of an actor, as a question; empty if none is.

    >>> near_actors("Ida.", ["bo", "ida", None]), near_actors("bo", ["ida"])
    ("; did you mean 'ida'?", '')
    """
    folded = {one.casefold(): one for one in known if one and one != actor}
    near = [folded[one] for one in get_close_matches(actor.casefold(), folded)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
