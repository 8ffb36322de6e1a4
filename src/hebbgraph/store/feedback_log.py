"""The feedback log: what was cited, in commit order.

A write first takes the lock on the namespace's row, so that sequence numbers follow
commit order and the same feedback, sent twice at once, is kept once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hebbgraph.errors import DamagedIndexError
from hebbgraph.records import Feedback
from hebbgraph.store.chunks import pages
from hebbgraph.store.database import Connection, Database, marks, retried
from hebbgraph.store.feedback_rows import (
    FeedbackRow,
    anonymized,
    feedback_body,
    names_chunk,
    parse_feedback,
    phrases_of,
    without_chunk,
)
from hebbgraph.store.history import deleted_meanwhile, new_mark

__all__ = [
    "FeedbackLog",
    "Removed",
    "Selection",
]

_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which feedback: that which meets all given conditions.

    Parameters
    ----------
    ids : sequence of str, optional
    actor : str, optional
    unnamed : bool
        Only that of no actor.
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


class Removed(NamedTuple):
    """A feedback that was deleted or rewritten, as it was, and the row that held it."""

    feedback: Feedback
    row: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Bytes, about."""
        return sum(len(one) for one in self.row.values() if isinstance(one, str | bytes))

    def rewritten(self, feedback: Feedback) -> Removed:
        """Return it with another content."""
        return Removed(
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

        What has the digest of another one, that is, speaks of the same recall by the same actor,
        takes its place if it says anything else; imported feedback, if it is not older.

        Returns
        -------
        list of (Feedback, bool)
            Each as it is in the log, and whether it was added by this call.
        """
        if len(entries) == 1 and self._is_new(*entries[0]):
            return [(entries[0][0], True)]
        outcome: list[tuple[Feedback, bool]] = []
        with self.database.write() as connection:
            self._count(connection, log_added=1)
            replaced = False
            for page in pages(entries):
                held, by_id = self._held(connection, page)
                fresh: dict[str, tuple[Any, ...]] = {}
                gone: list[str] = []
                for feedback, digest in page:
                    before = by_id.get(feedback.id) or held.get(digest)
                    if before is not None and not _corrects(feedback, before):
                        outcome.append((before, False))
                        continue
                    outcome.append((feedback, True))
                    if before is not None and fresh.pop(before.id, None) is None:
                        gone.append(before.id)
                    held[digest] = by_id[feedback.id] = feedback
                    fresh[feedback.id] = self._values(feedback, digest)
                if gone:
                    connection.execute(f"{_DELETE} ({marks(gone)})", (self._namespace, *gone))
                    replaced = True
                if fresh:
                    connection.executemany(_INSERT, list(fresh.values()))
            if replaced:
                self._count(connection, log_removed=1)
            if not any(added for _, added in outcome):
                connection.rollback()
        return outcome

    def _is_new(self, feedback: Feedback, digest: bytes) -> bool:
        """Add one feedback without looking first, as most are new; False if it was there."""
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
        values = (log_added, log_removed, new_mark(), self._namespace)
        if not connection.execute(_COUNT, values).rowcount and log_added:
            raise deleted_meanwhile(self._namespace)

    def _held(
        self, connection: Connection, entries: Sequence[tuple[Feedback, bytes]]
    ) -> tuple[dict[bytes, Feedback], dict[str, Feedback]]:
        """Return the entries that the log holds, by digest and by id.

        Also by id: feedback that lost a chunk keeps its id, while its digest differs from that of
        an exported copy.
        """
        some = marks(entries)
        # Two queries, as SQLite would scan the whole log for an OR of them.
        rows = self._rows(connection, f" AND digest IN ({some})", [two for _, two in entries])
        rows += self._rows(connection, f" AND id IN ({some})", [one.id for one, _ in entries])
        held = {row.digest: self._read(row) for row in rows}
        return held, {one.id: one for one in held.values()}

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
            # PostgreSQL keeps no NUL in a text.
            None if feedback.query is None else feedback.query.replace("\0", " "),
            feedback_body(feedback),
            None if vector is None else np.array(vector, np.float16).tobytes(),
        )

    def remove(self, selection: Selection) -> list[Removed]:
        """Delete feedback and return it."""

        def erase(connection: Connection) -> list[Removed]:
            found = list(self._select(connection, selection))
            for page in pages(one.feedback.id for one in found):
                connection.execute(f"{_DELETE} ({marks(page)})", (self._namespace, *page))
            return found

        return self._erasing(erase)

    def remove_chunk(self, chunk_id: str, selection: Selection) -> list[Removed]:
        """Rewrite feedback as if a chunk had never been shown; return the feedback affected.

        Feedback that then neither cites nor rejects anything is deleted.
        """

        def rest(feedback: Feedback) -> dict[str, Any] | None:
            kept = without_chunk(feedback, chunk_id)
            return None if kept is None else {"body": feedback_body(kept)}

        return self._rewriting(selection, lambda one: names_chunk(one, chunk_id), rest)

    @retried
    def restore(self, removed: Sequence[Removed]) -> int:
        """Put feedback back in its place in the log, as it was; return how much.

        What was said of the same recall by the same actor since then stands.
        """
        restored = 0
        with self.database.write() as connection:
            self._count(connection, log_removed=1)  # readers start over
            for page in pages(removed):
                held, by_id = self._held(
                    connection, [(one.feedback, one.row["digest"]) for one in page]
                )
                for feedback, row in page:
                    if (now := held.get(row["digest"])) is None and feedback.id not in by_id:
                        names = ("seq", *_COLUMNS)
                        connection.execute(
                            f"INSERT INTO feedback ({', '.join(names)}) VALUES ({marks(names)})",
                            [row[name] for name in names],
                        )
                    elif now is not None and now.id == feedback.id:  # it had lost a chunk
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
        """Return the phrases that feedback of this index names, in questions and on paths."""
        return {
            phrase
            for _, feedback in self.after(0)
            if not feedback.origin
            for phrase in phrases_of(feedback)
        }

    def anonymize(self, phrases: set[str]) -> int:
        """Replace phrases by random names; return in how many feedbacks.

        For phrases that no chunk has any more: their weights stay inactive, and all others
        as they are. Imported feedback is left alone, as its chunks may be added later.
        """
        salt = secrets.token_bytes(16)

        def rest(feedback: Feedback) -> dict[str, Any]:
            return {"body": feedback_body(anonymized(feedback, phrases, salt)), "query": None}

        def is_concerned(feedback: Feedback) -> bool:
            return not feedback.origin and not phrases.isdisjoint(phrases_of(feedback))

        return len(self._rewriting(Selection(), is_concerned, rest)) if phrases else 0

    def _rewriting(
        self,
        selection: Selection,
        is_concerned: Callable[[Feedback], bool],
        rest: Callable[[Feedback], dict[str, Any] | None],
    ) -> list[Removed]:
        """Change the columns of feedback, or delete it; return the feedback as it was."""

        def erase(connection: Connection) -> list[Removed]:
            found = [
                one for one in self._select(connection, selection) if is_concerned(one.feedback)
            ]
            for feedback, _ in found:
                if (values := rest(feedback)) is not None:
                    self._update(connection, feedback.id, values)
                else:
                    connection.execute(f"{_DELETE} (?)", (self._namespace, feedback.id))
            return found

        return self._erasing(erase)

    def _erasing(self, erase: Callable[[Connection], list[Removed]]) -> list[Removed]:
        """Erase in one transaction; return the feedback affected."""
        touched: dict[str, Removed] = {}  # including a commit whose answer was lost

        def attempt() -> list[Removed]:
            with self.database.write() as connection:
                self._count(connection, log_removed=1)
                found = erase(connection)
                touched.update((one.feedback.id, one) for one in found)
                if not found:
                    connection.rollback()
            return list(touched.values())

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
            done = connection.execute(
                "UPDATE feedback SET query = NULL "
                "WHERE namespace = ? AND query IS NOT NULL AND created_at < ?",
                (self._namespace, before),
            )
            return done.rowcount

    # -- reading --------------------------------------------------------------------

    def after(self, seq: int) -> Iterator[tuple[int, Feedback]]:
        """Yield (sequence number, feedback) after ``seq``, in order."""
        full = True
        while full:
            page = self._asked(f" AND seq > ? ORDER BY seq LIMIT {_PAGE}", seq)
            full = len(page) == _PAGE
            for row in page:
                seq = row.seq
                yield seq, self._read(row)

    def size(self, *, until: int) -> int:
        """Return how many characters all feedback up to a sequence number takes."""
        query = "SELECT sum(length(body)) FROM feedback WHERE namespace = ? AND seq <= ?"
        ((size,),) = self.database.ask(query, (self._namespace, until))
        return int(size or 0)

    def latest(self, n: int, *, until: int) -> list[Feedback]:
        """Return the last n feedbacks up to a sequence number, in order."""
        rows = self._asked(" AND seq <= ? ORDER BY seq DESC LIMIT ?", until, n)
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
            return [one.feedback for one in self._select(connection, selection)]

    def actors(self) -> list[str]:
        """Return who gave the feedback, each once."""
        query = "SELECT DISTINCT actor FROM feedback WHERE namespace = ? AND actor IS NOT NULL"
        return [str(actor) for (actor,) in self.database.ask(query, (self._namespace,))]

    def count(self, *, until: int | None = None) -> int:
        """Return the number of feedbacks, up to a sequence number if one is given."""
        query = "SELECT count(*) FROM feedback WHERE namespace = ?"
        bound = [] if until is None else [until]
        up_to = " AND seq <= ?" if bound else ""
        ((count,),) = self.database.ask(query + up_to, (self._namespace, *bound))
        return int(count)

    def _select(self, connection: Connection, selection: Selection) -> Iterator[Removed]:
        conditions = {
            "actor = ?": selection.actor,
            "recall_id = ?": selection.recall,
            "created_at >= ?": selection.since,
            "created_at < ?": selection.until,
        }
        given = {term: value for term, value in conditions.items() if value is not None}
        terms = [*given, *(["actor IS NULL"] if selection.unnamed else [])]
        where = "".join(f" AND {term}" for term in terms)
        for page in [None] if selection.ids is None else pages(selection.ids):
            ids = "" if page is None else f" AND id IN ({marks(page)})"
            bound = [*given.values(), *(page or ())]
            for row in self._rows(connection, f"{where}{ids} ORDER BY seq", bound):
                yield Removed(self._read(row), row._asdict())

    def _rows(self, connection: Connection, rest: str, values: Sequence[Any]) -> list[FeedbackRow]:
        rows = connection.execute(_SELECT + rest, (self._namespace, *values)).fetchall()
        return [FeedbackRow(*row) for row in rows]

    def _asked(self, rest: str, *values: Any) -> list[FeedbackRow]:
        rows = self.database.ask(_SELECT + rest, (self._namespace, *values))
        return [FeedbackRow(*row) for row in rows]

    def _read(self, row: FeedbackRow) -> Feedback:
        try:
            return parse_feedback(row, self._namespace)
        except (LookupError, TypeError, ValueError) as error:
            raise DamagedIndexError(
                f"{self.database.place}: feedback {row.id!r} cannot be read ({error!r}); "
                "restore a backup"
            ) from error


def _corrects(feedback: Feedback, before: Feedback) -> bool:
    """Return whether a feedback says anything else than the one in the log, and is newer.

    By its id if it says the same; what was forgotten about a chunk stays forgotten. What is said
    here is newer than what the log holds, whatever the clocks of hosts say; of what is imported
    only its date tells.
    """
    says_else = feedback.id != before.id or feedback.trusted != before.trusted
    return says_else and (not feedback.origin or feedback.created_at >= before.created_at)
