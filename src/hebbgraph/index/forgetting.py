"""The verbs that look back on what was taught: ``forget`` and ``lessons``."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias, overload

from hebbgraph.arguments import check_ids, known_names
from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.index.session import Session
from hebbgraph.records import Feedback, ForgetPreview, LessonRecord
from hebbgraph.store.feedback_log import Selection
from hebbgraph.store.feedback_rows import names_chunk, without_chunk

__all__ = ["ForgettingVerbs", "Moment"]

logger = logging.getLogger(__name__)

Moment: TypeAlias = float | datetime
"""Seconds since the epoch, or a datetime (without a time zone: local time)."""


class ForgettingVerbs(Session):
    """Verbs that list feedback and take it back."""

    @overload
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: Literal[False] = False,
    ) -> int: ...

    @overload
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: Literal[True],
    ) -> ForgetPreview: ...

    @known_names
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: bool = False,
    ) -> int | ForgetPreview:
        """Take back feedback and what it taught; return how many records were removed or changed.

        Afterwards recalls are as if it had never been given. Criteria combine:
        ``forget(actor="eve", since=yesterday)``. For some minutes, ``index.log.undo_forget``
        is the way back. Unknown feedback, actors and chunks raise nothing, since forgotten twice is
        forgotten; a warning in the log names them.

        Parameters
        ----------
        feedback : Feedback or its id, or several, optional
        actor : str, optional
        unnamed : bool
            Only feedback without an actor.
        chunk : str, optional
            Only what was said about this chunk; the rest of each record still counts.
        since, until : float or datetime, optional
            A period, in seconds since the epoch; ``until`` is exclusive.
        everything : bool
            All feedback of this namespace.
        erase : bool
            Also erase every byte of it from all files: actors, questions and cues. This rewrites
            the database, and recent recalls of this namespace are no longer found by id. By
            default, the next :meth:`compact` does that.
        dry_run : bool
            Change nothing, and return a :class:`ForgetPreview`: which feedback it is, and which
            learned edges would go or change. Takes as long as reading the whole log.

        Raises
        ------
        IndexLockedError
            With ``erase``, as for :meth:`compact`. The feedback is forgotten nevertheless.
        """
        self._check_exists()
        selection = _selected(
            feedback,
            actor=actor,
            unnamed=unnamed,
            chunk=chunk,
            since=since,
            until=until,
            everything=everything,
        )
        if dry_run:
            return self._preview(selection, chunk)
        touched = self._forget(selection, chunk)
        if feedback is None:  # a recall whose feedback is named by its id may be judged again
            self._parts.recalls.discard([feedback.recall_id for feedback in touched])
        if erase:
            self._teacher.forgotten.clear()
            self._erase(self._parts.scrub)
        return len(touched)

    def lessons(
        self,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        recall: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> list[LessonRecord]:
        """List what the index was taught, oldest first: chunks, actor, and whether it still counts.

        Parameters
        ----------
        actor : str, optional
            Only lessons of this actor.
        unnamed : bool
            Only lessons without an actor.
        recall : str, optional
            Only lessons of the recall with this id.
        since, until : float or datetime, optional
            A period, in seconds since the epoch; ``until`` is exclusive.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "text": "Owls hunt at night."},
        ...                         {"id": "b", "text": "Owls hunt voles."}])
        ...     feedback = index.reinforce(
        ...         index.recall("What do owls hunt?"), cited=["b"], actor="ida"
        ...     )
        ...     [lesson] = index.lessons(actor="ida")
        >>> lesson.cited, lesson.active > 0
        (('b',), True)
        """
        self._check_exists()
        from hebbgraph.learning.survey import lessons_of

        if recall is not None:
            check_ids([recall], "a recall id")
        parts = self._parts
        log = parts.log.select(_selection(None, actor, unnamed, recall, since, until))
        with parts.reading():
            return lessons_of(parts.memory, parts.derived.graph, log)

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]:
        """Return the feedback with these ids that is in the log, in its order."""
        self._check_exists()
        return self._parts.log.select(Selection(ids=check_ids(ids, "the id of a feedback")))

    def _forget(self, selection: Selection, chunk: str | None) -> list[Feedback]:
        """Return the records that were removed or changed."""
        from hebbgraph.learning.forgetting import unknown_in

        parts = self._parts
        if chunk is None:
            rows = parts.log.remove(selection)
        else:
            rows = parts.log.remove_chunk(chunk, selection)
        self._teacher.forgotten.keep(rows)
        removed = [row.feedback for row in rows]
        ids = [feedback.id for feedback in removed]
        parts.answers.forget(
            named=ids,
            actor=selection.actor,
            unnamed=selection.unnamed,
            chunk=chunk,
            since=selection.since,
            until=selection.until,
            everything=chunk is None and selection == Selection(),
        )
        for unknown in unknown_in(parts.log, selection, chunk, set(ids)):
            logger.warning("forget: %s", unknown)  # no error: forgotten twice is forgotten
        return removed

    def _preview(self, selection: Selection, chunk: str | None) -> ForgetPreview:
        """Return what forgetting would do, and do nothing."""
        from hebbgraph.learning.forgetting import preview

        touched = self._parts.log.select(selection)
        rest: dict[str, Feedback | None] = dict.fromkeys(feedback.id for feedback in touched)
        if chunk is not None:
            touched = [feedback for feedback in touched if names_chunk(feedback, chunk)]
            rest = {feedback.id: without_chunk(feedback, chunk) for feedback in touched}
        with self._parts.reading():
            pass  # this brings what was learned up to date
        return preview(self._parts.memory, touched, rest)

    aforget = in_thread(forget)
    alessons = in_thread(lessons)
    afind_feedback = in_thread(find_feedback)


def _selected(
    feedback: Feedback | str | Iterable[Feedback | str] | None,
    *,
    actor: str | None,
    unnamed: bool,
    chunk: str | None,
    since: Moment | None,
    until: Moment | None,
    everything: bool,
) -> Selection:
    """Return which feedback the arguments of :meth:`hebbgraph.HebbianIndex.forget` name."""
    if not isinstance(everything, bool):
        raise ParameterError(f"everything is True or False, got {everything!r:.80}")
    selection = _selection(feedback, actor, unnamed, None, since, until)
    nothing = chunk is None and selection == Selection()
    if everything and not nothing:
        raise ParameterError("everything=True cannot be combined with other criteria")
    if nothing and not everything:
        raise ParameterError(
            "forget takes a feedback, an actor, unnamed=True, a chunk, since or until; or "
            "everything=True"
        )
    if chunk is not None:
        check_ids([chunk], "a chunk id")
    return selection


def _selection(
    feedback: Feedback | str | Iterable[Feedback | str] | None,
    actor: str | None,
    unnamed: bool,
    recall: str | None,
    since: Moment | None,
    until: Moment | None,
) -> Selection:
    """Check criteria, and bring them into one form."""
    if not isinstance(unnamed, bool):
        raise ParameterError(f"unnamed is True or False, got {unnamed!r:.80}")
    if unnamed and actor is not None:
        raise ParameterError(
            f"unnamed=True means feedback of no actor, and actor={actor!r:.80} names one; "
            "leave either out"
        )
    if actor is not None:
        check_ids([actor], "an actor")
    first = None if since is None else _seconds("since", since)
    end = None if until is None else _seconds("until", until)
    if first is not None and end is not None and end < first:
        raise ParameterError(f"until, {until!r}, lies before since, {since!r}; exchange them")
    return Selection(
        ids=None if feedback is None else _feedback_ids(feedback),
        actor=actor,
        unnamed=unnamed,
        recall=recall,
        since=first,
        until=end,
    )


def _feedback_ids(feedback: Feedback | str | Iterable[Feedback | str]) -> list[str]:
    if not isinstance(feedback, Feedback | str | Iterable):
        raise ParameterError(f"forget takes Feedback records or their ids, got {feedback!r}")
    several = [feedback] if isinstance(feedback, Feedback | str) else feedback
    ids = [each.id if isinstance(each, Feedback) else each for each in several]
    if not all(isinstance(id_, str) for id_ in ids):
        raise ParameterError("forget takes Feedback records or their ids")
    return ids


def _seconds(name: str, moment: Moment) -> float:
    if isinstance(moment, datetime):
        return moment.timestamp()
    is_number = isinstance(moment, int | float) and not isinstance(moment, bool)
    if is_number and not math.isnan(moment):  # PostgreSQL sorts NaN after every moment
        return float(moment)
    raise ParameterError(f"{name} is a datetime or seconds since the epoch, got {moment!r}")
