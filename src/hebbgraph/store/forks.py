"""Forks: close all connections to SQLite files before this process forks.

For each open file, SQLite remembers which locks the process holds. A forked child inherits that
memory, but not the locks. If the child opens the same file, SQLite takes no lock for it. Another
process that closes the file then takes itself for the last one, and removes the write-ahead log
to which the child still writes [1]_.

So a fork waits until no thread uses a connection (:mod:`hebbgraph.fork_gate`), and closes them all;
parent and child connect again when they need to. Connections that threads still use after
:data:`_WAIT_SECONDS` stay open, and so do all if a program forks without telling Python, as uWSGI
does. The child then refuses to open these files.

References
----------
.. [1] "Carrying an open database connection across a fork()",
   https://www.sqlite.org/howtocorrupt.html
"""

from __future__ import annotations

import logging
import os
import sqlite3
import weakref
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from hebbgraph.errors import StorageError
from hebbgraph.fork_gate import clear_gate, no_fork, open_gate, shut_gate

__all__ = ["ForkSafeConnection", "disconnect_before_forks", "identity"]

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 5.0


class _Disconnects(Protocol):
    def disconnect(self) -> None:
        """Close idle connections; the next use connects again."""


class ForkSafeConnection(sqlite3.Connection):
    """A connection to an SQLite database, refused if this process inherited one to the file."""

    #: Device and inode of its write-ahead log, once that is known.
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
        """Close the connection."""
        super().close()
        _connections.discard(self)


_holders: weakref.WeakSet[_Disconnects] = weakref.WeakSet()
_connections: weakref.WeakSet[ForkSafeConnection] = weakref.WeakSet()
#: Device and inode of each file that was open when this process was forked.
_inherited: set[tuple[int, int] | None] = set()
#: Keeps a child from finalizing connections: they belong to the parent.
_parents: list[object] = []


def disconnect_before_forks(holder: _Disconnects) -> None:
    """Disconnect an object before this process forks."""
    with no_fork():
        _holders.add(holder)


def _before_fork() -> None:
    shut_gate(_WAIT_SECONDS)
    for holder in list(_holders):
        try:
            holder.disconnect()
        except Exception as error:  # the fork goes on, and the child refuses open files
            logger.warning("a connection was not closed before a fork: %s", error)


def _after_fork_in_child() -> None:
    _parents.extend(_holders)
    _parents.extend(_connections)
    _inherited.update(identity(connection._path) for connection in _connections)
    _inherited.discard(None)
    _holders.clear()
    _connections.clear()
    clear_gate()


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
        after_in_parent=open_gate,
        after_in_child=_after_fork_in_child,
    )
