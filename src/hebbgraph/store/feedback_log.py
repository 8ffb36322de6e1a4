"""The feedback log: what was cited, in commit order.

A write first takes the lock on the namespace's row, so that sequence numbers follow
commit order and the same feedback, sent twice at once, is kept once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hebbgraph.errors import DamagedIndexError
from hebbgraph.records import Feedback
from hebbgraph.store.chunks import pages
from hebbgraph.store.database import Connection, Database, marks, retried
from hebbgraph.store.feedback_rows import (
    FeedbackRow,
    StoredLesson,
    anonymized,
    feedback_body,
    names_chunk,
    parse_feedback,
    parse_lesson,
    phrases_of,
    without_chunk,
)
from hebbgraph.store.history import deleted_meanwhile, new_mark

__all__ = [
    "FeedbackLog",
    "RemovedFeedback",
    "Selection",
]

_PAGE = 500

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Conditions on feedback; it must meet all that are given.

    Parameters
    ----------
    ids : sequence of str, optional
    actor : str, optional
    unnamed : bool
        Only feedback without an actor.
    recall : str, optional
        The recall's id.
    since, until : float, optional
        Seconds since the epoch; ``since <= created_at < until``.
    """

    ids: Sequence[str] | None = None
    actor: str | None = None
    unnamed: bool = False
    recall: str | None = None
    since: float | None = None
    until: float | None = None


class RemovedFeedback(NamedTuple):
    """Feedback that was deleted or rewritten, and its former row."""

    feedback: Feedback
    row: Mapping[str, Any]

    @property
    def size(self) -> int:
        """The approximate number of bytes."""
        return sum(len(value) for value in self.row.values() if isinstance(value, str | bytes))

    def rewritten(self, feedback: Feedback) -> RemovedFeedback:
        """Return it with another content."""
        return RemovedFeedback(
            feedback, {**self.row, "body": feedback_body(feedback), "query": feedback.query}
        )


_COLUMNS = FeedbackRow._fields[1:]
_COUNT = """
    UPDATE namespaces SET feedback_added = feedback_added + ?,
        feedback_removed = feedback_removed + ?, feedback_mark = ?
    WHERE namespace = ?
"""
_INSERT = f"INSERT INTO feedback ({', '.join(_COLUMNS)}) VALUES ({marks(_COLUMNS)})"
_SELECT = f"SELECT seq, {', '.join(_COLUMNS)} FROM feedback WHERE namespace = ?"
_DELETE = "DELETE FROM feedback WHERE namespace = ? AND id IN"


class FeedbackLog:
    """The log of one namespace."""

    def __init__(self, database: Database, namespace: str) -> None:
        self.database = database
        self._namespace = namespace

    # -- writing --------------------------------------------------------------------

    @retried
    def append(self, entries: Sequence[tuple[Feedback, bytes]]) -> list[tuple[Feedback, bool]]:
        """Add feedback in one transaction.

        Feedback with the digest of an earlier one judges the same recall for the same actor. It
        replaces that one if it differs; imported feedback only if it is not older.

        Returns
        -------
        list of (Feedback, bool)
            Each as it is in the log, and whether this call added it.
        """
        if len(entries) == 1 and self._insert_new(*entries[0]):
            return [(entries[0][0], True)]
        outcome: list[tuple[Feedback, bool]] = []
        with self.database.write() as connection:
            self._count(connection, log_added=1)
            replaced = False
            for page in pages(entries):
                by_digest, by_id = self._stored(connection, page)
                new_rows: dict[str, tuple[Any, ...]] = {}
                gone: list[str] = []
                for feedback, digest in page:
                    earlier = by_id.get(feedback.id) or by_digest.get(digest)
                    if earlier is not None and not _corrects(feedback, earlier):
                        outcome.append((earlier, False))
                        continue
                    outcome.append((feedback, True))
                    if earlier is not None and new_rows.pop(earlier.id, None) is None:
                        gone.append(earlier.id)
                    by_digest[digest] = by_id[feedback.id] = feedback
                    new_rows[feedback.id] = self._values(feedback, digest)
                if gone:
                    connection.execute(f"{_DELETE} ({marks(gone)})", (self._namespace, *gone))
                    replaced = True
                if new_rows:
                    connection.executemany(_INSERT, list(new_rows.values()))
            if replaced:
                self._count(connection, log_removed=1)
            if not any(added for _, added in outcome):
                connection.rollback()
        return outcome

    def _insert_new(self, feedback: Feedback, digest: bytes) -> bool:
        """Add one feedback without looking it up, as most is new; False if it exists."""
        with self.database.write() as connection:
            self._count(connection, log_added=1)
            added = connection.execute(
                f"{_INSERT} ON CONFLICT DO NOTHING", self._values(feedback, digest)
            )
            if not added.rowcount:
                connection.rollback()
                return False
        return True

    def _count(self, connection: Connection, *, log_added: int = 0, log_removed: int = 0) -> None:
        """Count changes in the row of the namespace, which locks it."""
        values = (log_added, log_removed, new_mark(), self._namespace)
        if not connection.execute(_COUNT, values).rowcount and log_added:
            raise deleted_meanwhile(self._namespace)

    def _stored(
        self, connection: Connection, entries: Sequence[tuple[Feedback, bytes]]
    ) -> tuple[dict[bytes, Feedback], dict[str, Feedback]]:
        """Return the entries that are in the log, by digest and by id.

        Both are looked up: feedback that lost a chunk keeps its id, but an exported copy has
        another digest.
        """
        some = marks(entries)
        # Two queries: SQLite would scan the whole log for an OR of them.
        rows = self._rows(connection, f" AND digest IN ({some})", [digest for _, digest in entries])
        rows += self._rows(connection, f" AND id IN ({some})", [entry.id for entry, _ in entries])
        by_digest = {row.digest: self._read(row) for row in rows}
        return by_digest, {feedback.id: feedback for feedback in by_digest.values()}

    def _values(self, feedback: Feedback, digest: bytes) -> tuple[Any, ...]:
        """Return a row in the order of ``_COLUMNS``."""
        vector = feedback.vector
        return (
            self._namespace,
            feedback.id,
            digest,
            feedback.recall_id,
            feedback.actor,
            feedback.origin,
            feedback.created_at,
            # PostgreSQL texts cannot contain NUL.
            None if feedback.query is None else feedback.query.replace("\0", " "),
            feedback_body(feedback),
            None if vector is None else np.array(vector, np.float16).tobytes(),
        )

    def remove(self, selection: Selection) -> list[RemovedFeedback]:
        """Delete feedback and return it."""

        def erase(connection: Connection) -> list[RemovedFeedback]:
            selected = list(self._select(connection, selection))
            for page in pages(removed.feedback.id for removed in selected):
                connection.execute(f"{_DELETE} ({marks(page)})", (self._namespace, *page))
            return selected

        return self._erase(erase)

    def remove_chunk(self, chunk_id: str, selection: Selection) -> list[RemovedFeedback]:
        """Rewrite feedback as if a chunk had never been shown; return the feedback affected.

        Feedback that then neither cites nor rejects anything is deleted.
        """

        def changes(feedback: Feedback) -> dict[str, Any] | None:
            rest = without_chunk(feedback, chunk_id)
            return None if rest is None else {"body": feedback_body(rest)}

        return self._rewrite(selection, lambda feedback: names_chunk(feedback, chunk_id), changes)

    @retried
    def restore(self, removed: Sequence[RemovedFeedback]) -> int:
        """Put feedback back in its place in the log; return how much.

        It does not replace newer feedback on the same recall by the same actor.
        """
        restored = 0
        with self.database.write() as connection:
            self._count(connection, log_removed=1)  # readers start over
            for page in pages(removed):
                by_digest, by_id = self._stored(
                    connection, [(feedback, row["digest"]) for feedback, row in page]
                )
                for feedback, row in page:
                    present = by_digest.get(row["digest"])
                    if present is None and feedback.id not in by_id:
                        values = list(row.values())
                        connection.execute(
                            f"INSERT INTO feedback ({', '.join(row)}) VALUES ({marks(values)})",
                            values,
                        )
                    elif present is not None and present.id == feedback.id:  # it had lost a chunk
                        self._update(
                            connection, feedback.id, {name: row[name] for name in ("body", "query")}
                        )
                    else:
                        continue
                    restored += 1
            if not restored:
                connection.rollback()
        return restored

    def phrases(self) -> set[str]:
        """Return the phrases in cues and on paths, imported feedback excepted."""
        return {
            phrase
            for _, feedback in self.after(0)
            if not feedback.origin
            for phrase in phrases_of(feedback)
        }

    def anonymize(self, phrases: set[str]) -> int:
        """Replace phrases that no chunk has any more by random names; return in how many feedbacks.

        Their weights stay inactive, and all others as they are. Imported feedback is left alone,
        because its chunks may be added later.
        """
        salt = secrets.token_bytes(16)

        def changes(feedback: Feedback) -> dict[str, Any]:
            return {"body": feedback_body(anonymized(feedback, phrases, salt)), "query": None}

        def matches(feedback: Feedback) -> bool:
            return not feedback.origin and not phrases.isdisjoint(phrases_of(feedback))

        return len(self._rewrite(Selection(), matches, changes)) if phrases else 0

    def _rewrite(
        self,
        selection: Selection,
        matches: Callable[[Feedback], bool],
        changes: Callable[[Feedback], dict[str, Any] | None],
    ) -> list[RemovedFeedback]:
        """Change columns of feedback that matches, or delete it; return it as it was.

        ``changes`` returns the new values by column, or None to delete the feedback.
        """

        def erase(connection: Connection) -> list[RemovedFeedback]:
            selected = [
                removed
                for removed in self._select(connection, selection)
                if matches(removed.feedback)
            ]
            for feedback, _ in selected:
                if (values := changes(feedback)) is not None:
                    self._update(connection, feedback.id, values)
                else:
                    connection.execute(f"{_DELETE} (?)", (self._namespace, feedback.id))
            return selected

        return self._erase(erase)

    def _erase(self, erase: Callable[[Connection], list[RemovedFeedback]]) -> list[RemovedFeedback]:
        """Erase in one transaction; return the feedback affected."""
        affected: dict[str, RemovedFeedback] = {}  # by any attempt: its confirmation may be lost

        def attempt() -> list[RemovedFeedback]:
            with self.database.write() as connection:
                self._count(connection, log_removed=1)
                erased = erase(connection)
                affected.update((removed.feedback.id, removed) for removed in erased)
                if not erased:
                    connection.rollback()
            return list(affected.values())

        return self.database.retrying(attempt)

    def _update(self, connection: Connection, id_: str, values: Mapping[str, Any]) -> None:
        changes = ", ".join(f"{name} = ?" for name in values)
        connection.execute(
            f"UPDATE feedback SET {changes} WHERE namespace = ? AND id = ?",
            (*values.values(), self._namespace, id_),
        )

    @retried
    def expire_queries(self, before: float) -> int:
        """Delete the text of questions asked before a time; return how many."""
        with self.database.write() as connection:
            updated = connection.execute(
                "UPDATE feedback SET query = NULL "
                "WHERE namespace = ? AND query IS NOT NULL AND created_at < ?",
                (self._namespace, before),
            )
            return updated.rowcount

    # -- reading --------------------------------------------------------------------

    def after(self, seq: int) -> Iterator[tuple[int, Feedback]]:
        """Yield (sequence number, feedback) after ``seq``, in order."""
        return self._after(seq, parse_feedback)

    def lessons_after(self, seq: int) -> Iterator[tuple[int, StoredLesson]]:
        """Yield (sequence number, lesson) after ``seq``, in order, in half the time."""
        return self._after(seq, parse_lesson)

    def _after(self, seq: int, parse: Callable[[FeedbackRow], _T]) -> Iterator[tuple[int, _T]]:
        full = True
        while full:
            page = self._ask(f" AND seq > ? ORDER BY seq LIMIT {_PAGE}", seq)
            full = len(page) == _PAGE
            for row in page:
                seq = row.seq
                yield seq, self._parsed(row, parse)

    def size(self, *, until: int) -> int:
        """Return the number of characters of all feedback up to a sequence number."""
        query = "SELECT sum(length(body)) FROM feedback WHERE namespace = ? AND seq <= ?"
        ((size,),) = self.database.ask(query, (self._namespace, until))
        return int(size or 0)

    def latest(self, n: int, *, until: int) -> list[Feedback]:
        """Return the last n feedbacks up to a sequence number, in order."""
        rows = self._ask(" AND seq <= ? ORDER BY seq DESC LIMIT ?", until, n)
        return [self._read(row) for row in reversed(rows)]

    def id_at(self, seq: int) -> str | None:
        """Return the id of the feedback with a sequence number, if there is one."""
        query = "SELECT id FROM feedback WHERE seq = ? AND namespace = ?"
        rows = self.database.ask(query, (seq, self._namespace))
        return str(rows[0][0]) if rows else None

    @retried
    def select(self, selection: Selection) -> list[Feedback]:
        """Return selected feedback, in order."""
        with self.database.read() as connection:
            return [feedback for feedback, _ in self._select(connection, selection)]

    def actors(self) -> list[str]:
        """Return all actors, each once."""
        query = "SELECT DISTINCT actor FROM feedback WHERE namespace = ? AND actor IS NOT NULL"
        return [str(actor) for (actor,) in self.database.ask(query, (self._namespace,))]

    def count(self, *, until: int | None = None) -> int:
        """Return the number of feedbacks, up to a sequence number if one is given."""
        query = "SELECT count(*) FROM feedback WHERE namespace = ?"
        bound = [] if until is None else [until]
        up_to = " AND seq <= ?" if bound else ""
        ((count,),) = self.database.ask(query + up_to, (self._namespace, *bound))
        return int(count)

    def _select(self, connection: Connection, selection: Selection) -> Iterator[RemovedFeedback]:
        conditions = {
            "actor = ?": selection.actor,
            "recall_id = ?": selection.recall,
            "created_at >= ?": selection.since,
            "created_at < ?": selection.until,
        }
        bounds = {term: value for term, value in conditions.items() if value is not None}
        terms = [*bounds, *(["actor IS NULL"] if selection.unnamed else [])]
        where = "".join(f" AND {term}" for term in terms)
        for page in [None] if selection.ids is None else pages(selection.ids):
            ids = "" if page is None else f" AND id IN ({marks(page)})"
            bound = [*bounds.values(), *(page or ())]
            for row in self._rows(connection, f"{where}{ids} ORDER BY seq", bound):
                yield RemovedFeedback(self._read(row), row._asdict())

    def _rows(self, connection: Connection, rest: str, values: Sequence[Any]) -> list[FeedbackRow]:
        rows = connection.execute(_SELECT + rest, (self._namespace, *values)).fetchall()
        return [FeedbackRow(*row) for row in rows]

    def _ask(self, rest: str, *values: Any) -> list[FeedbackRow]:
        rows = self.database.ask(_SELECT + rest, (self._namespace, *values))
        return [FeedbackRow(*row) for row in rows]

    def _read(self, row: FeedbackRow) -> Feedback:
        return self._parsed(row, parse_feedback)

    def _parsed(self, row: FeedbackRow, parse: Callable[[FeedbackRow], _T]) -> _T:
        try:
            return parse(row)
        except (LookupError, TypeError, ValueError) as error:
            raise DamagedIndexError(
                f"{self.database.place}: feedback {row.id!r} cannot be read ({error!r}); "
                "restore a backup"
            ) from error


def _corrects(feedback: Feedback, earlier: Feedback) -> bool:
    """Return whether feedback differs from that in the log, and is newer.

    The id decides whether it differs, so what was forgotten about a chunk stays forgotten.
    Imported feedback is newer by its date; other feedback always is, whatever the clocks of
    hosts say.
    """
    differs = feedback.id != earlier.id or feedback.trusted != earlier.trusted
    return differs and (not feedback.origin or feedback.created_at >= earlier.created_at)
