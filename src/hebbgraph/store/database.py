"""What both databases offer: transactions, tables, and one dialect of SQL for both.

SQL is written for PostgreSQL, with ``?`` for parameters, ``= ANY(?)`` for lists, and ``$name`` for
a table of the namespace. Each driver translates it once.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hebbgraph.errors import IndexBusyError

_CACHED_BYTES = 64 << 20
_Key = TypeVar("_Key", int, str)
_Value = TypeVar("_Value")


class Session(Protocol):
    """One transaction, used by one thread."""

    #: The table of this name, in the state that the transaction sees.
    meta: dict[str, str]

    def execute(self, sql: str, parameters: Sequence[Any]) -> Any:
        """Run a statement; return its cursor."""

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; a parameter of ``= ANY(?)`` is a list."""
        return list(self.execute(sql, parameters).fetchall())

    def run(self, sql: str, *parameters: Any) -> int:
        """Run a statement; return how many rows it changed."""
        return int(self.execute(sql, parameters).rowcount)

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""


class Database(Protocol):
    """A namespace in SQLite or PostgreSQL."""

    #: Identifies the namespace on this machine, for files in a cache folder.
    cache_key: str
    #: Where files can be put next to the database.
    folder: Path | None

    def read(self) -> AbstractContextManager[Session]:
        """Open a transaction that sees one state of the database and changes nothing."""

    def write(self) -> AbstractContextManager[Session]:
        """Open a transaction that commits at the end, or changes nothing if it raises."""

    def erase_log(self, wait: float) -> bool:
        """Overwrite what was deleted, waiting for readers; return whether nothing of it is left."""

    def check(self) -> list[str]:
        """Return what the database itself finds damaged."""

    def backup(self, path: Path) -> None:
        """Write a copy of one state of the namespace to a new file."""

    def close(self) -> None:
        """Release all connections."""


@contextmanager
def one_writer(lock: threading.RLock, wait: float, name: str) -> Iterator[None]:
    """Let the writers of this process take turns, which is fairer than a database's polling."""
    try:
        if not lock.acquire(timeout=max(wait, 0.001)):
            raise IndexBusyError(f"{name}: another thread is writing; try again")
        yield
    finally:
        # A signal may arrive between acquiring and knowing it, but the lock knows its owner.
        with suppress(RuntimeError):
            lock.release()


class Cache:
    """What was read of one state, by table and key; the state is a value of the change counter."""

    def __init__(self, changes: int = -1) -> None:
        self.changes = changes
        self.size = 0
        self.tables: defaultdict[str, dict[Any, Any]] = defaultdict(dict)

    def known(
        self,
        table: str,
        keys: Iterable[_Key],
        read: Callable[[list[_Key]], Mapping[_Key, _Value]],
        size: int | Callable[[_Value], int],
    ) -> dict[_Key, _Value]:
        """Return what is known of keys; what is not known yet is read, of some bytes each."""
        held, wanted = self.tables[table], list(keys)
        with suppress(KeyError):  # mostly all is known
            return {key: held[key] for key in wanted}
        held.update(found := read([key for key in wanted if key not in held]))
        self.size += sum(map(size, found.values())) if callable(size) else size * len(found)
        return {key: held[key] for key in wanted}


class Caches:
    """The cache of the newest state that anybody has read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = Cache()

    def at(self, changes: int) -> Cache:
        """Return the cache of a state; one that nobody else sees for an older state."""
        with self._lock:
            is_full = changes == self._newest.changes and self._newest.size > _CACHED_BYTES
            if changes > self._newest.changes or is_full:
                self._newest = Cache(changes)
            return self._newest if changes == self._newest.changes else Cache(changes)


def pages(session: Session, sql: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query that asks for the first column ``> ?``, in its order."""
    last = -1
    while page := session.rows(f"{sql} LIMIT ?", last, size):
        last = page[-1][0]
        yield page


# -- tables ------------------------------------------------------------------------------

# ``{id}`` is a column that numbers rows and never reuses a number, ``{blob}`` bytes, ``{number}`` a
# whole number or fraction, kept exactly, ``{exact}`` text that compares byte by byte.
SCHEMA_VERSION = 2
#: The rules by which texts become terms. Increase it with each rule that changes.
TEXT_VERSION = 6
#: Characters of a text in metadata. Longer ones are not indexed: PostgreSQL cannot.
LONG = 300

TABLES = """
CREATE TABLE $meta(key {exact} PRIMARY KEY, value {exact} NOT NULL);
CREATE TABLE $chunk(
    row {id}, id {exact} UNIQUE NOT NULL, digest {exact} NOT NULL, document_id {exact},
    title {exact} NOT NULL, text {exact} NOT NULL, metadata {exact} NOT NULL,
    given {exact} NOT NULL, length BIGINT NOT NULL, proposed {blob} NOT NULL);
CREATE INDEX $$chunk_document ON $chunk(document_id);
CREATE INDEX $$chunk_digest ON $chunk(digest);
CREATE TABLE $held(row BIGINT PRIMARY KEY, words {blob} NOT NULL, tags {blob} NOT NULL);
CREATE TABLE $term(
    id {id}, kind INTEGER NOT NULL, key {exact} NOT NULL, df BIGINT NOT NULL DEFAULT 0,
    proposals BIGINT NOT NULL DEFAULT 0, titles BIGINT NOT NULL DEFAULT 0,
    given BIGINT NOT NULL DEFAULT 0, support BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX $$term_key ON $term(kind, key);
CREATE TABLE $common(word {exact} PRIMARY KEY);
CREATE TABLE $opening(word {exact} PRIMARY KEY, longest INTEGER NOT NULL);
CREATE TABLE $posting(
    block {id}, term BIGINT NOT NULL, first BIGINT NOT NULL, data {blob} NOT NULL);
CREATE UNIQUE INDEX $$posting_first ON $posting(term, first);
CREATE TABLE $fact(key {exact} NOT NULL, number {number}, string {exact}, row BIGINT NOT NULL);
CREATE INDEX $$fact_string ON $fact(key, string, number, row) WHERE length(string) <= {LONG};
CREATE INDEX $$fact_long ON $fact(key, row) WHERE length(string) > {LONG};
CREATE INDEX $$fact_number ON $fact(key, number, row) WHERE string IS NULL;
CREATE INDEX $$fact_row ON $fact(row);
CREATE TABLE $embedding(
    seq {id}, row BIGINT UNIQUE NOT NULL, stamp BIGINT NOT NULL, data {blob} NOT NULL);
CREATE INDEX $$embedding_stamp ON $embedding(row, stamp, seq);
CREATE TABLE $gone(seq BIGINT PRIMARY KEY, stamp BIGINT NOT NULL);
CREATE TABLE $lesson(
    seq {id}, id {exact} UNIQUE NOT NULL, question_key {exact} NOT NULL, actor {exact},
    recall {exact} NOT NULL,
    created {number} NOT NULL, body {exact} NOT NULL, cues {blob} NOT NULL, path {blob} NOT NULL,
    vector {blob});
CREATE INDEX $$lesson_question ON $lesson(question_key);
CREATE INDEX $$lesson_actor ON $lesson(actor);
CREATE INDEX $$lesson_recall ON $lesson(recall);
CREATE TABLE $taught(
    sum {id}, digest {exact} NOT NULL, kind INTEGER NOT NULL, square {number} NOT NULL,
    vector_square {number} NOT NULL, cues {blob} NOT NULL, vector {blob} NOT NULL);
CREATE UNIQUE INDEX $$taught_digest ON $taught(digest, kind);
CREATE TABLE $learned(
    block {id}, cue BIGINT NOT NULL, first BIGINT NOT NULL, data {blob} NOT NULL);
CREATE UNIQUE INDEX $$learned_first ON $learned(cue, first);
CREATE TABLE $answered(
    question_key {exact} NOT NULL, digest {exact} NOT NULL, belief {number} NOT NULL,
    PRIMARY KEY (question_key, digest));
CREATE TABLE $kept(seq {id}, id {exact} NOT NULL, answer {exact} NOT NULL, body {exact} NOT NULL);
CREATE INDEX $$kept_id ON $kept(id);
CREATE INDEX $$kept_answer ON $kept(answer);
CREATE TABLE $pending(row BIGINT PRIMARY KEY, tokens {exact});
CREATE TABLE $changed(term BIGINT PRIMARY KEY)
"""


def create_statements(**types: str) -> list[str]:
    """Return the statements that create the tables, with a database's names of types."""
    filled = TABLES.replace("{LONG}", str(LONG))
    for name, sql in types.items():
        filled = filled.replace(f"{{{name}}}", sql)
    return [statement.strip() for statement in filled.split(";")]
