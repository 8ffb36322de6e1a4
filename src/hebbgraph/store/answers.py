"""Answers that a learner has read, linked to the lessons that they gave.

A later verdict, or a later turn of the conversation, finds them by name, in any process. They are
rows of the truth, bounded in number and age. They hold no text of a chunk, and the question only
if questions may be kept. Names and conversations are hashed.
"""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hebbgraph.errors import DamagedIndexError
from hebbgraph.graph.references import tag_key
from hebbgraph.records import AnswerRecord, Credit, Recall
from hebbgraph.store.chunks import pages
from hebbgraph.store.database import Connection, Database, marks, retried
from hebbgraph.store.packing import packed, unpacked
from hebbgraph.store.state import lock_namespace

__all__ = ["AnswerLog"]

_DAY = 86_400.0
_MAX_NAMES = 64
#: After so many writes, old rows are deleted.
_PRUNE_EVERY = 64
#: Turns of a conversation that a later one may cite from.
_TURNS = 8
_HALF = np.dtype("<f2")  # learning reads half precision

_COLUMNS = "seq, created_at, outcome, body"
_BY_NAME = f"""
    SELECT {_COLUMNS} FROM answers JOIN answer_names ON answer_names.answer = answers.seq
    WHERE answer_names.namespace = ? AND answer_names.name = ?
"""
_BY_CONVERSATION = f"""
    SELECT {_COLUMNS} FROM answers WHERE namespace = ? AND conversation = ? AND created_at >= ?
    ORDER BY seq DESC LIMIT {_TURNS}
"""
_WITH_BODY = f"SELECT {_COLUMNS} FROM answers WHERE namespace = ? AND body IS NOT NULL"
_INSERT = """
    INSERT INTO answers (namespace, created_at, outcome, conversation, body) VALUES (?, ?, ?, ?, ?)
"""
_UPDATE = """
    UPDATE answers SET created_at = ?, outcome = ?, conversation = ?, body = ?
    WHERE namespace = ? AND seq = ?
"""


class AnswerLog:
    """The answers of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    keep : int
        How many answers are kept; the oldest are deleted.
    days : float
        How long each is kept.
    issue : callable
        Marks a recall that is read back as one of this index, so it may teach.
    """

    def __init__(
        self,
        database: Database,
        namespace: str,
        *,
        keep: int,
        days: float,
        issue: Callable[[Recall], Recall],
    ) -> None:
        self.database = database
        self._issue = issue
        self._namespace = namespace
        self._keep = keep
        self._days = days
        self._since_pruning = 0

    # -- writing --------------------------------------------------------------------

    @retried
    def put(self, record: AnswerRecord) -> AnswerRecord:
        """Add an answer, or replace the one with its number; return it with its number."""
        if not self._keep:
            return record
        conversation = None if record.conversation is None else _hash(record.conversation)
        values = (record.created_at, record.outcome, conversation, _body(record))
        with self.database.write() as connection:
            if not lock_namespace(connection, self.database, self._namespace):
                return record
            number = record.number
            if number is not None:
                updated = connection.execute(_UPDATE, (*values, self._namespace, number))
                number = number if updated.rowcount else None
            if number is None:
                connection.execute(_INSERT, (self._namespace, *values))
                (number,) = connection.execute(self.database.driver.last_number).fetchone()
            self._name(connection, number, record)
            self._since_pruning += 1
            if self._since_pruning >= min(_PRUNE_EVERY, self._keep):
                self._since_pruning = 0
                self._prune(connection)
        return record.model_copy(update={"number": number})

    def _name(self, connection: Connection, number: int, record: AnswerRecord) -> None:
        """Have the names of an answer, and those of its feedback, lead to its row."""
        names = [*record.names]
        for credit in record.credits:
            names += [credit.teaches(good=True), credit.teaches(good=False)]
        hashes = [_hash(name) for name in list(dict.fromkeys(names))[:_MAX_NAMES]]
        if hashes:
            connection.execute(
                f"DELETE FROM answer_names WHERE namespace = ? AND name IN ({marks(hashes)})",
                (self._namespace, *hashes),
            )
            connection.executemany(
                "INSERT INTO answer_names VALUES (?, ?, ?)",
                [(self._namespace, name, number) for name in hashes],
            )

    @retried
    def prune(self) -> None:
        """Delete answers that are too old, or too many."""
        with self.database.write() as connection:
            self._prune(connection)

    def _prune(self, connection: Connection) -> None:
        last = connection.execute(
            "SELECT seq FROM answers WHERE namespace = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            (self._namespace, self._keep),
        ).fetchone()
        self._delete(
            connection, "created_at < ? OR seq <= ?", self._oldest_time(), last[0] if last else 0
        )

    def _oldest_time(self) -> float:
        return time.time() - self._days * _DAY

    @retried
    def forget(
        self,
        *,
        named: Iterable[str] = (),
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: float | None = None,
        until: float | None = None,
        everything: bool = False,
    ) -> None:
        """Delete answers that link to forgotten feedback.

        Parameters
        ----------
        named : iterable of str
            Names of answers, which include the ids of their feedback.
        actor, unnamed, chunk, since, until
            Delete answers that meet all of these that are given.
        everything : bool
        """
        hashes = [_hash(name) for name in named]
        bounds = {"created_at >= ?": since, "created_at < ?": until}
        period = {term: bound for term, bound in bounds.items() if bound is not None}

        def matches(record: AnswerRecord) -> bool:
            by_actor = any(credit.actor == actor for credit in record.credits)
            return ((actor is None and not unnamed) or by_actor) and (
                chunk is None or _has_chunk(record, chunk)
            )

        with self.database.write() as connection:
            for page in pages(hashes):
                self._delete(
                    connection,
                    "seq IN (SELECT answer FROM answer_names "
                    f"WHERE namespace = ? AND name IN ({marks(page)}))",
                    self._namespace,
                    *page,
                )
            if everything:
                self._delete(connection, "1 = 1")
            elif actor is not None or chunk is not None or unnamed:
                self._delete_matching(connection, matches, period)
            elif period:
                self._delete(connection, " AND ".join(period), *period.values())

    def drop_phrases(self, gone: Callable[[set[str]], set[str]]) -> None:
        """Delete answers that name phrases which no chunk has any more.

        Parameters
        ----------
        gone : callable
            Returns which of some phrases are gone.
        """
        rows = self.database.ask(_WITH_BODY, (self._namespace,))
        phrases = {phrase for row in rows for phrase in _phrases(self._read(row))}
        if phrases and (lost := gone(phrases)):
            with self.database.write() as connection:
                self._delete_matching(
                    connection, lambda record: not lost.isdisjoint(_phrases(record)), {}
                )

    def _delete_matching(
        self,
        connection: Connection,
        matches: Callable[[AnswerRecord], bool],
        conditions: Mapping[str, Any],
    ) -> None:
        """Delete the answers that match, among those that meet some conditions in SQL."""
        terms = "".join(f" AND {term}" for term in conditions)
        bound = (self._namespace, *conditions.values())
        rows = connection.execute(f"{_WITH_BODY}{terms}", bound).fetchall()
        for page in pages([row[0] for row in rows if matches(self._read(row))]):
            self._delete(connection, f"seq IN ({marks(page)})", *page)

    def _delete(self, connection: Connection, condition: str, *values: Any) -> None:
        where, bound = f"namespace = ? AND ({condition})", (self._namespace, *values)
        connection.execute(
            f"DELETE FROM answer_names WHERE answer IN (SELECT seq FROM answers WHERE {where})",
            bound,
        )
        connection.execute(f"DELETE FROM answers WHERE {where}", bound)

    # -- reading --------------------------------------------------------------------

    def find(self, name: str) -> AnswerRecord | None:
        """Return the answer of this name, if it is kept."""
        rows = self.database.ask(_BY_NAME, (self._namespace, _hash(name)))
        record = self._read(rows[0]) if rows else None
        return None if record is None or record.created_at < self._oldest_time() else record

    def earlier(self, conversation: str) -> list[Recall]:
        """Return the recalls of the latest turns of a conversation, oldest first."""
        bound = (self._namespace, _hash(conversation), self._oldest_time())
        turns = [self._read(row) for row in self.database.ask(_BY_CONVERSATION, bound)]
        recalls = {recall.id: recall for turn in reversed(turns) for recall in turn.recalls}
        return list(recalls.values())[-_TURNS:]

    def counts(self) -> dict[str, int]:
        """Count the answers by outcome."""
        query = (
            "SELECT outcome, count(*) FROM answers WHERE namespace = ? "
            "GROUP BY outcome ORDER BY outcome"
        )
        return dict(self.database.ask(query, (self._namespace,)))

    def _read(self, row: Sequence[Any]) -> AnswerRecord:
        number, created_at, outcome, body = row
        fields: dict[str, Any] = {}
        if body is not None:
            try:
                fields = _fields(body, self._namespace)
                fields["recalls"] = tuple(map(self._issue, fields["recalls"]))
            except (ValueError, LookupError, TypeError, zlib.error) as error:
                raise DamagedIndexError(
                    f"{self.database.place}: answer {number} cannot be read ({error}); "
                    "forget(since=..., until=...) around its time removes it"
                ) from error
        return AnswerRecord(outcome=outcome, created_at=created_at, number=number, **fields)


def _hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _body(record: AnswerRecord) -> bytes | None:
    if not record.recalls:
        return None
    fields = {
        "names": record.names,
        "conversation": record.conversation,
        "embedder": record.embedder,
        "credits": [credit.model_dump(exclude_defaults=True) for credit in record.credits],
        "recalls": [
            [b64encode(packed(recall)).decode(), _vector_text(recall.vector)]
            for recall in record.recalls
        ],
    }
    return zlib.compress(json.dumps(fields, separators=(",", ":")).encode(), 1)


def _fields(body: bytes, namespace: str) -> dict[str, Any]:
    """Return the fields of a record that :func:`_body` returned."""
    fields = json.loads(zlib.decompress(body))
    recalls = [
        unpacked(b64decode(recall), _vector(vector)) for recall, vector in fields.pop("recalls")
    ]
    if any(recall.namespace != namespace for recall in recalls):
        raise ValueError("a recall of another namespace")
    credits_ = [Credit.model_validate(credit) for credit in fields.pop("credits")]
    return {**fields, "recalls": tuple(recalls), "credits": tuple(credits_)}


def _vector_text(vector: Sequence[float] | None) -> str | None:
    if vector is None:
        return None
    with np.errstate(over="ignore"):
        return b64encode(np.asarray(vector, _HALF).tobytes()).decode()


def _vector(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    return tuple(np.frombuffer(b64decode(text), _HALF).astype(np.float64).tolist())


def _has_chunk(record: AnswerRecord, chunk: str) -> bool:
    return any(
        hit.chunk.id == chunk or any(step.value == chunk for step in hit.path)
        for recall in record.recalls
        for hit in recall.hits
    )


def _phrases(record: AnswerRecord) -> Iterator[str]:
    for recall in record.recalls:
        tags = [cue.tag for cue in recall.cues]
        tags += [step.value for hit in recall.hits for step in hit.path if step.kind == "tag"]
        yield from (tag_key(tag) or tag for tag in tags)
