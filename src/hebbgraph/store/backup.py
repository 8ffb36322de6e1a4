"""Back up and restore an SQLite truth while it is in use.

SQLite's online backup copies one consistent state beside readers and writers. A copy is an index
directory of its own, without derived parts: opening it builds them.

Restoring raises the generations above all earlier ones. So processes with parts derived from the
former state find that the log of changes does not reach back to it, and start over.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from hebbgraph.artifacts import scratch_folder, whole_file
from hebbgraph.errors import (
    DamagedIndexError,
    NotAnIndexError,
    ParameterError,
    StorageError,
)
from hebbgraph.fork_gate import no_fork
from hebbgraph.store.database import DATABASE_NAME, Database, translated_os
from hebbgraph.store.forks import ForkSafeConnection
from hebbgraph.store.history import new_mark
from hebbgraph.store.schema import new_database_id
from hebbgraph.store.sqlite import translate_sqlite

__all__ = ["back_up", "restore"]

#: How long restoring waits for other writers.
_WAIT_SECONDS = 30.0
#: Room for writes between reading the present generations and replacing them.
_GAP = 1_000_000

_NOT_SQLITE = (
    "{place}: back up PostgreSQL with its own tools: pg_dump DATABASE > backup.sql, and psql "
    "to put it back; derived parts in cache_dir are rebuilt"
)


def back_up(database: Database, directory: Path) -> Path:
    """Copy the truth into a new directory.

    Raises
    ------
    ParameterError
        If the directory is not empty, or the database is not SQLite.
    StorageError
        If it cannot be written.
    """
    if database.driver.name != "sqlite":
        raise ParameterError(_NOT_SQLITE.format(place=database.place))
    with _translated(str(directory)):
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ParameterError(f"{directory} is there already; name a new directory")
        if Path(database.place).resolve() in directory.resolve().parents:
            raise ParameterError(
                f"{directory} is inside the index, where erasing would miss it; name a directory "
                "elsewhere"
            )
        directory.mkdir(parents=True, exist_ok=True)
        with whole_file(directory / DATABASE_NAME) as partial:
            with database.read() as source, closing(ForkSafeConnection(partial)) as copy:
                assert isinstance(source, sqlite3.Connection)
                source.backup(copy)
                # A single file, readable in a read-only directory.
                copy.execute("PRAGMA journal_mode=DELETE")
                _check(copy, directory)
                copy.execute("PRAGMA secure_delete=ON")
                with copy:  # a database of its own, without recent questions
                    copy.execute("DELETE FROM recalls")
                    _name(copy, new_database_id())
            with partial.open("rb") as file:
                os.fsync(file.fileno())
    return directory


def restore(backup: Path, directory: Path, *, force: bool = False) -> None:
    """Replace an index by a backup, with all namespaces, in one transaction.

    Parameters
    ----------
    backup : Path
        A directory made by :func:`back_up`.
    directory : Path
        A new directory, or an index, which may be in use.
    force : bool
        Replace an index that exists.

    Raises
    ------
    ParameterError
        If there is an index, without ``force``.
    """
    source_path = backup / DATABASE_NAME
    with _translated(str(backup)):
        has_backup = source_path.is_file()
    if not has_backup:
        raise NotAnIndexError(f"there is no backup of a hebbgraph index at {backup}")
    if backup.resolve() == directory.resolve():
        raise ParameterError(f"{backup} is the index itself; name its backup")
    with _translated(str(directory)):
        has_index = (directory / DATABASE_NAME).exists()
    if has_index and not force:
        raise ParameterError(
            f"{directory} holds an index already, and restoring replaces all of it; give a new "
            "directory, or force=True (on the command line, --force)"
        )
    with (
        no_fork(),
        _translated(str(backup)),
        closing(ForkSafeConnection(source_path)) as source,
    ):
        _check(source, backup)
        # Opening creates the tables, and refuses databases of other applications.
        Database.in_directory(directory, wait_seconds=_WAIT_SECONDS).dispose()
        with (
            scratch_folder(directory, "restore") as scratch,
            closing(ForkSafeConnection(scratch / DATABASE_NAME)) as copy,
            closing(ForkSafeConnection(directory / DATABASE_NAME, timeout=_WAIT_SECONDS)) as live,
        ):
            source.backup(copy)
            # Opening migrates a backup of an older version, and refuses a newer one.
            Database.in_directory(scratch, wait_seconds=_WAIT_SECONDS).dispose()
            with copy:
                _raise_numbers(copy, live)
            copy.execute("PRAGMA journal_mode=DELETE")
            live.execute("BEGIN IMMEDIATE")  # while another writes, backup() would wait for ever
            live.rollback()
            copy.backup(live)
            live.execute("PRAGMA journal_mode=WAL")


def _raise_numbers(copy: sqlite3.Connection, live: sqlite3.Connection) -> None:
    """Raise the generations and counters of the copy above those that readers may know."""
    query = "SELECT namespace, generation, feedback_added, feedback_removed FROM namespaces"
    present = {name: numbers for name, *numbers in live.execute(query)}
    for name, *numbers in copy.execute(query).fetchall():
        above = [_GAP + max(pair) for pair in zip(numbers, present.get(name, numbers), strict=True)]
        mark = new_mark()
        copy.execute(
            "UPDATE namespaces SET generation = ?, feedback_added = ?, feedback_removed = ?, "
            "floor = ?, mark = ?, feedback_mark = ? WHERE namespace = ?",
            (*above, above[0], mark, new_mark(), name),
        )
        copy.execute("INSERT INTO commits VALUES (?, ?, ?)", (name, above[0], mark))
        copy.execute("DELETE FROM tombstones WHERE namespace = ?", (name,))
    # For open indexes and the files beside it, it remains the same database.
    ((database_id,),) = live.execute("SELECT value FROM meta WHERE key = 'database_id'")
    _name(copy, database_id)
    # Row numbers are never reused.
    for table, seq in live.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
        above_seq = "UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = ?"
        copy.execute(above_seq, (seq + _GAP, table))


def _name(connection: sqlite3.Connection, database_id: str) -> None:
    connection.execute("UPDATE meta SET value = ? WHERE key = 'database_id'", (database_id,))


def _check(connection: sqlite3.Connection, place: Path) -> None:
    problems = [message for (message,) in connection.execute("PRAGMA quick_check(5)")]
    if problems != ["ok"]:
        raise DamagedIndexError(f"{place}: {problems[0]}; take an older backup")
    application = connection.execute("SELECT value FROM meta WHERE key = 'application'").fetchone()
    if application != ("hebbgraph",):
        raise NotAnIndexError(f"{place} holds another application's database")


@contextlib.contextmanager
def _translated(place: str) -> Iterator[None]:
    try:
        with translated_os(place):
            yield
    except sqlite3.Error as error:
        translated = translate_sqlite(error, place, _WAIT_SECONDS, advice="or stop that writer")
        raise translated or StorageError(f"{place}: {error}") from error
