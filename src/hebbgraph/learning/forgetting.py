"""Forgetting: what it would change, and the way back for some minutes."""

from __future__ import annotations

import reprlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.learning.lessons import Node, chunk_of
from hebbgraph.learning.memory import Memory
from hebbgraph.records import EdgeChange, Feedback, ForgetPreview, Forgetting
from hebbgraph.store.feedback_log import FeedbackLog, Removed, Selection

__all__ = ["Forgotten", "links", "near_actors", "preview", "unknown_in"]

_MOST_CHANGES, _TOLERANCE = 100, 1e-9
#: How long, how many times and how many bytes can be undone.
_SECONDS, _MOST, _MOST_BYTES = 600.0, 20, 64_000_000


def links(memory: Memory, ids: Iterable[str] | None = None) -> dict[tuple[int, Node], float]:
    """Return what everyone together taught of each chunk for each question.

    With ``ids`` of feedback, only for the questions of these.
    """
    with memory.lock.held():
        lessons = memory.lessons
        is_wanted = np.ones(len(lessons), np.bool_)
        if ids is not None:
            known = set(ids)
            events = (lessons.event(at).feedback_id for at in range(len(lessons)))
            is_named = np.array([id_ in known for id_ in events], np.bool_)
            is_wanted[:] = np.isin(lessons.question, lessons.question[is_named])
        owner = lessons.link_lesson
        weight = memory.amounts()[owner] * lessons.link_credit
        wanted = np.flatnonzero(is_wanted[owner])
        weights: dict[tuple[int, Node], float] = {}
        for question, node, value in zip(
            lessons.question[owner[wanted]].tolist(),
            lessons.link_node[wanted].tolist(),
            weight[wanted].tolist(),
            strict=True,
        ):
            link = question, lessons.nodes[node]
            weights[link] = weights.get(link, 0.0) + value
        return weights


def preview(
    memory: Memory, touched: Sequence[Feedback], rest: Mapping[str, Feedback | None]
) -> ForgetPreview:
    """Fold the log as it would be, and compare what was learned.

    ``memory`` is up to date with the log, ``touched`` would be removed or changed, and ``rest``
    says what would remain of each, by id.
    """
    ids = [feedback.id for feedback in touched]
    with memory.lock.held():
        before = links(memory, ids)
        # Other links change too, since lessons that are gone age nothing.
        after = links(memory.with_log_as(rest))
    changes = [
        EdgeChange(
            family="question",
            source=f"{question:016x}",
            target=chunk_of(node)[0],
            before=weight,
            after=after.get((question, node), 0.0),
        )
        for (question, node), weight in before.items()
        if abs(weight - after.get((question, node), 0.0)) > _TOLERANCE
    ]
    changes.sort(key=lambda edge: (-abs(edge.before - edge.after), edge.source, edge.target))
    removed = len(before.keys() - after.keys())
    return ForgetPreview(
        feedback=tuple(ids),
        actors=dict(sorted(Counter(feedback.actor or "" for feedback in touched).items())),
        removed=removed,
        changed=len(changes) - removed,
        changes=tuple(changes[:_MOST_CHANGES]),
    )


@dataclass(frozen=True)
class _Undoable:
    record: Forgetting
    removed: Sequence[Removed]
    size: int


class Forgotten:
    """The latest forgettings of one open index, in memory only; the oldest are dropped first.

    No file holds them, so what was forgotten and erased stays erased. Safe to use from many
    threads. ``clock`` returns seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._undoable: list[_Undoable] = []

    def keep(self, removed: Sequence[Removed]) -> None:
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


def unknown_in(
    log: FeedbackLog, selection: Selection, chunk: str | None, removed: set[str]
) -> Iterator[str]:
    """Yield what a selection names that the log does not hold, and what may be meant."""
    if unknown := sorted({*(selection.ids or ())} - removed):
        actor = next(iter({*unknown} & {*log.actors()}), None)
        hint = actor and f"; what an actor said is forgotten by forget(actor={actor!r:.200})"
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
    names = {name.casefold(): name for name in known if name and name != actor}
    near = [names[match] for match in get_close_matches(actor.casefold(), names)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
