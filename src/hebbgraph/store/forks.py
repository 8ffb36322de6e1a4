"""Forks: no connection to an SQLite file is open while a process forks.

For each file that a process has open, SQLite remembers which locks it holds. A forked child
inherits that memory, but not the locks. If it opens the same file, SQLite takes no lock of its
own for it; so another process that closes the file believes to be the last one, and removes the
write-ahead log into which the child goes on writing [1]_.

So a fork waits until no thread uses a connection, and closes them all; parent and child connect
again when they need to. What another thread still uses after :data:`_WAIT_SECONDS` stays open,
and so does everything if a program forks without telling Python (uWSGI does). Then the child
refuses to open these files.

References
----------
.. [1] "Carrying an open database connection across a fork()",
   https://www.sqlite.org/howtocorrupt.html
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from hebbgraph.errors import StorageError

__all__ = ["Connection", "connection_in_use", "disconnect_before_forks", "identity"]

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 5.0


class _Disconnects(Protocol):
    def disconnect(self) -> None:
        """Close all connections that are not in use; the next use connects again."""


class Connection(sqlite3.Connection):
    """A connection to an SQLite database, refused if this process inherited another to it."""

    #: Device and inode of the write-ahead log that it has open, once that is known.
    log: tuple[int, int] | None = None

    def __init__(self, database: str | Path, *args: Any, **options: Any) -> None:
        self._path = _path_of(os.fspath(database))
        if self._path and identity(self._path) in _inherited:
            raise StorageError(
                f"{self._path}: this process was forked while the process before it had the "
                "database open, and SQLite would lose what both write. Fork while no call is at "
                "work, or close the index before; or start processes by spawn or forkserver"
            )
        super().__init__(database, *args, **options)
        if self._path:
            _connections.add(self)

    def close(self) -> None:
        """Close it."""
        super().close()
        _connections.discard(self)


_holders: weakref.WeakSet[_Disconnects] = weakref.WeakSet()
_connections: weakref.WeakSet[Connection] = weakref.WeakSet()
#: Device and inode of each file that was open when this process was forked.
_inherited: set[tuple[int, int] | None] = set()
#: What a child must not finalize: connections belong to the process that made them.
_parents: list[object] = []

_own = threading.local()
#: One lock for each thread, held while it uses a connection.
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
#: Held while a process forks.
_forking = threading.RLock()
_waited_for: list[Any] = []


def connection_in_use() -> contextlib.AbstractContextManager[object]:
    """Return the lock that this thread holds while it uses a connection: a fork waits for it."""
    lock = getattr(_own, "lock", None)
    if lock is None:
        lock = threading.RLock()
        with _forking:
            _locks.add(lock)
        _own.lock = lock
    return lock


def disconnect_before_forks(holder: _Disconnects) -> None:
    """Have an object close its connections before this process forks."""
    with _forking:
        _holders.add(holder)


def _before_fork() -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    _forking.acquire()
    _waited_for.extend(
        lock for lock in list(_locks) if lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    )
    for holder in list(_holders):
        try:
            holder.disconnect()
        except Exception as error:  # the fork goes on; the child refuses what stayed open
            logger.warning("a connection was not closed before a fork: %s", error)


def _after_fork_in_parent() -> None:
    while _waited_for:
        _waited_for.pop().release()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking
    _parents.extend(_holders)
    _parents.extend(_connections)
    _inherited.update(identity(connection._path) for connection in _connections)
    _inherited.discard(None)
    _holders.clear()
    _connections.clear()
    while _waited_for:
        _waited_for.pop().release()
    _locks.clear()
    _own.__dict__.clear()
    _forking = threading.RLock()


def _path_of(database: str) -> str:
    """Return the file of a database, from a path or a URI; empty if it is in memory."""
    if database.startswith("file:"):
        return unquote(database[len("file:") :].partition("?")[0])
    return "" if database == ":memory:" else database


def identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
