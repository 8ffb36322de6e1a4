"""Answers that were read, and what links a later verdict or a later turn to their lessons.

Rows of the truth, written by whoever learns and never by a recall. Another process, another
server and the next start find them. They are bounded in number and age, hold no text of a chunk,
and no question either unless questions may be kept; names and conversations are hashed.
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

__all__ = ["AnswerLog"]

_DAY = 86_400.0
_MAX_NAMES = 64
#: Old rows go with every so many new ones, and when the index is compacted.
_PRUNE_EVERY = 64
#: Turns of a conversation that a later one may cite from.
_TURNS = 8
_HALF = np.dtype("<f2")

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


class AnswerLog:
    """The answers of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    keep : int
        How many are kept; the oldest go.
    days : float
        How long each is kept.
    issue : callable
        Makes a recall that is read back one that may teach.
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
        """Keep an answer, or what has become of one that is kept; return it with its number."""
        if not self._keep:
            return record
        names = dict.fromkeys(
            [*record.names, *(one.teaches(good=good) for one in record.credits for good in _BOTH)]
        )
        conversation = None if record.conversation is None else _hash(record.conversation)
        values = (record.created_at, record.outcome, conversation, _body(record))
        with self.database.write() as connection:
            there = connection.execute(
                "SELECT 1 FROM namespaces WHERE namespace = ?" + self.database.driver.for_update,
                (self._namespace,),
            ).fetchall()
            if not there:
                return record  # it was deleted meanwhile
            number = self._replaced(connection, record.number, values)
            if number is None:
                connection.execute(
                    "INSERT INTO answers (namespace, created_at, outcome, conversation, body) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (self._namespace, *values),
                )
                (number,) = connection.execute(self.database.driver.last_number).fetchone()
            if hashes := [_hash(name) for name in list(names)[:_MAX_NAMES]]:
                connection.execute(
                    f"DELETE FROM answer_names WHERE namespace = ? AND name IN ({marks(hashes)})",
                    (self._namespace, *hashes),
                )
                connection.executemany(
                    "INSERT INTO answer_names VALUES (?, ?, ?)",
                    [(self._namespace, name, number) for name in hashes],
                )
            self._since_pruning += 1
            if self._since_pruning >= min(_PRUNE_EVERY, self._keep):
                self._since_pruning = 0
                self._prune(connection)
        return record.model_copy(update={"number": number})

    def _replaced(
        self, connection: Connection, number: int | None, values: tuple[Any, ...]
    ) -> int | None:
        if number is None:
            return None
        changed = connection.execute(
            "UPDATE answers SET created_at = ?, outcome = ?, conversation = ?, body = ? "
            "WHERE namespace = ? AND seq = ?",
            (*values, self._namespace, number),
        )
        return number if changed.rowcount else None

    @retried
    def prune(self) -> None:
        """Delete what is too old, or too much."""
        with self.database.write() as connection:
            self._prune(connection)

    def _prune(self, connection: Connection) -> None:
        last = connection.execute(
            "SELECT seq FROM answers WHERE namespace = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            (self._namespace, self._keep),
        ).fetchone()
        oldest = last[0] if last else 0
        self._delete(connection, "created_at < ? OR seq <= ?", self._since(), oldest)

    def _since(self) -> float:
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
        """Delete what links to feedback that is forgotten.

        Parameters
        ----------
        named : iterable of str
            Answers by any of their names: feedback that they gave counts among them.
        actor, unnamed, chunk, since, until
            Answers that meet all of those that are given.
        everything : bool
        """
        hashes = [_hash(name) for name in named]
        with self.database.write() as connection:
            if everything:
                self._delete(connection, "1 = 1")
                return
            for page in pages(hashes):
                self._delete(
                    connection,
                    "seq IN (SELECT answer FROM answer_names "
                    f"WHERE namespace = ? AND name IN ({marks(page)}))",
                    self._namespace,
                    *page,
                )
            if not unnamed and all(one is None for one in (actor, chunk, since, until)):
                return
            bounds = {"created_at >= ?": since, "created_at < ?": until}
            period = {term: bound for term, bound in bounds.items() if bound is not None}
            if actor is None and chunk is None and not unnamed:
                self._delete(connection, " AND ".join(period), *period.values())
                return

            def concerned(record: AnswerRecord) -> bool:
                by = any(one.actor == actor for one in record.credits)
                return ((actor is None and not unnamed) or by) and (
                    chunk is None or _names(record, chunk)
                )

            self._delete_if(connection, concerned, period)

    def drop_phrases(self, gone: Callable[[set[str]], set[str]]) -> None:
        """Delete answers that name phrases which no chunk has any more.

        Parameters
        ----------
        gone : callable
            Returns those of some phrases that are gone.
        """
        phrases = {phrase for one in self._all() for phrase in _phrases(one)}
        if phrases and (lost := gone(phrases)):
            with self.database.write() as connection:
                self._delete_if(connection, lambda one: not lost.isdisjoint(_phrases(one)))

    def _delete_if(
        self,
        connection: Connection,
        concerned: Callable[[AnswerRecord], bool],
        where: Mapping[str, Any] | None = None,
    ) -> None:
        where = where or {}
        terms = "".join(f" AND {term}" for term in where)
        rows = connection.execute(f"{_WITH_BODY}{terms}", (self._namespace, *where.values()))
        numbers = [row[0] for row in rows.fetchall() if concerned(self._read(row))]
        for page in pages(numbers):
            self._delete(connection, f"seq IN ({marks(page)})", *page)

    def _delete(self, connection: Connection, which: str, *values: Any) -> None:
        mine, bound = f"namespace = ? AND ({which})", (self._namespace, *values)
        connection.execute(
            f"DELETE FROM answer_names WHERE answer IN (SELECT seq FROM answers WHERE {mine})",
            bound,
        )
        connection.execute(f"DELETE FROM answers WHERE {mine}", bound)

    # -- reading --------------------------------------------------------------------

    def find(self, name: str) -> AnswerRecord | None:
        """Return the answer of this name, if it is kept."""
        rows = self.database.ask(_BY_NAME, (self._namespace, _hash(name)))
        found = self._read(rows[0]) if rows else None
        return None if found is None or found.created_at < self._since() else found

    def earlier(self, conversation: str) -> list[Recall]:
        """Return what the latest turns of a conversation recalled, oldest first."""
        bound = (self._namespace, _hash(conversation), self._since())
        rows = self.database.ask(_BY_CONVERSATION, bound)
        turns = [self._read(row) for row in rows]
        recalls = {recall.id: recall for turn in reversed(turns) for recall in turn.recalls}
        return list(recalls.values())[-_TURNS:]

    def counts(self) -> dict[str, int]:
        """Count the answers that are kept, by outcome."""
        query = (
            "SELECT outcome, count(*) FROM answers WHERE namespace = ? "
            "GROUP BY outcome ORDER BY outcome"
        )
        return dict(self.database.ask(query, (self._namespace,)))

    def _all(self) -> list[AnswerRecord]:
        return [self._read(row) for row in self.database.ask(_WITH_BODY, (self._namespace,))]

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


_BOTH = (True, False)


def _hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _body(record: AnswerRecord) -> bytes | None:
    if not record.recalls:
        return None
    fields = {
        "names": record.names,
        "conversation": record.conversation,
        "embedder": record.embedder,
        "credits": [one.model_dump(exclude_defaults=True) for one in record.credits],
        "recalls": [
            [
                b64encode(packed(recall)).decode(),
                None if recall.vector is None else _half(recall.vector),
            ]
            for recall in record.recalls
        ],
    }
    return zlib.compress(json.dumps(fields, separators=(",", ":")).encode(), 1)


def _fields(body: bytes, namespace: str) -> dict[str, Any]:
    fields = json.loads(zlib.decompress(body))
    recalls = [
        unpacked(
            b64decode(recall),
            None
            if vector is None
            else tuple(np.frombuffer(b64decode(vector), _HALF).astype(np.float64).tolist()),
        )
        for recall, vector in fields.pop("recalls")
    ]
    if any(recall.namespace != namespace for recall in recalls):
        raise ValueError("a recall of another namespace")
    credit = [Credit.model_validate(one) for one in fields.pop("credits")]
    return {**fields, "recalls": tuple(recalls), "credits": tuple(credit)}


def _half(vector: Sequence[float]) -> str:
    """Learning reads half precision."""
    with np.errstate(over="ignore"):
        return b64encode(np.asarray(vector, _HALF).tobytes()).decode()


def _names(record: AnswerRecord, chunk: str) -> bool:
    return any(
        hit.chunk.id == chunk or any(step.value == chunk for step in hit.path)
        for recall in record.recalls
        for hit in recall.hits
    )


def _phrases(record: AnswerRecord) -> Iterator[str]:
    for recall in record.recalls:
        named = [cue.tag for cue in recall.cues]
        named += [step.value for hit in recall.hits for step in hit.path if step.kind == "tag"]
        yield from (tag_key(tag) or tag for tag in named)
