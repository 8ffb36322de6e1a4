"""Forks: no connection to an SQLite file is open while a process forks.

For each file that a process has open, SQLite remembers which locks it holds. A forked child
inherits that memory, but not the locks. If it opens the same file, SQLite takes no lock of its
own for it; so another process that closes the file believes to be the last one, and removes the
write-ahead log into which the child goes on writing [1]_.

So a fork waits until no connection is in use, and closes them all; parent and child connect again
when they need to. What another thread still uses after :data:`_WAIT_SECONDS` stays open, and so
does everything if a program forks without telling Python (uWSGI does). Then the child refuses to
open these files.

References
----------
.. [1] "Carrying an open database connection across a fork()",
   https://www.sqlite.org/howtocorrupt.html
"""

from __future__ import annotations

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

__all__ = ["Connection", "disconnect_before_forks", "identity", "is_forking"]

logger = logging.getLogger(__name__)

_WAIT_SECONDS, _PAUSE_SECONDS = 5.0, 0.002


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
        with _connecting:
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

#: Held while a process connects, and while it forks.
_connecting = threading.RLock()
_forks = False


def is_forking() -> bool:
    """Return whether a connection is to be closed when its use ends: a fork waits for it."""
    return _forks


def disconnect_before_forks(holder: _Disconnects) -> None:
    """Have an object close its connections before this process forks."""
    with _connecting:
        _holders.add(holder)


def _before_fork() -> None:
    global _forks
    _connecting.acquire()
    _forks = True
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        for holder in list(_holders):
            try:
                holder.disconnect()
            except Exception as error:  # the fork goes on; the child refuses what stayed open
                logger.warning("a connection was not closed before a fork: %s", error)
        if not _connections or time.monotonic() >= deadline:
            break
        time.sleep(_PAUSE_SECONDS)


def _after_fork_in_parent() -> None:
    global _forks
    _forks = False
    _connecting.release()


def _after_fork_in_child() -> None:
    global _connecting, _forks
    _parents.extend(_holders)
    _parents.extend(_connections)
    _inherited.update(identity(connection._path) for connection in _connections)
    _inherited.discard(None)
    _holders.clear()
    _connections.clear()
    _connecting, _forks = threading.RLock(), False


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
