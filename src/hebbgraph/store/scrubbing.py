"""Taking deleted bytes out of the files of an SQLite database, and telling who is in the way.

``secure_delete`` writes zeros over what is deleted, in the page as it is from then on. The
write-ahead log keeps the page as it was, and the database too until a checkpoint. ``VACUUM``
writes every page anew from what is live, so that it does not matter who deleted what and
how; a checkpoint that truncates moves that into the database and empties the log. It can do
so only when no connection still reads the state before.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from hebbgraph.errors import IndexLockedError

__all__ = ["readers_of", "scrub"]

_LOCKS = Path("/proc/locks")
#: Bytes of the ``-shm`` file that readers lock (https://www.sqlite.org/walformat.html#locks).
_READ_LOCKS = range(123, 128)


def scrub(connection: sqlite3.Connection, path: Path | None, wait_seconds: float) -> None:
    """Leave no byte of what was deleted in a database and its write-ahead log.

    Parameters
    ----------
    connection : sqlite3.Connection
        Without an open transaction.
    path : Path, optional
        Of the database; None if it is in memory.
    wait_seconds : float
        How long to wait for writers, and for readers of the state before.

    Raises
    ------
    IndexLockedError
        If a reader does not let go; it is named where the system tells.
    sqlite3.Error
    """
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout={round(wait_seconds * 1000)}")
    try:
        connection.execute("VACUUM")
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout={before}")
    if busy and path is not None:
        raise IndexLockedError(
            f"{path}: what was deleted is still in {path.name}-wal, since an older state has been "
            f"read for more than {wait_seconds:g} s by {_named(path)}; let that end, or end the "
            "process, and call compact(), which erases it"
        )


def readers_of(path: Path) -> list[int]:
    """Return the ids of the processes that read a database now, as far as the system tells.

    From ``/proc/locks``: to ask by ``fcntl`` the file would have to be opened, and closing
    it again would drop the locks that this process has on it.
    """
    try:
        found = os.stat(f"{path}-shm")
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    holders = set()
    for line in lines:
        # 12: POSIX  ADVISORY  READ 4711 fe:01:262147 123 123; one that waits has "->".
        fields = line.split()
        if len(fields) == 8 and fields[5] == device and int(fields[6]) in _READ_LOCKS:
            holders.add(int(fields[4]))
    return sorted(pid for pid in holders if pid > 0)  # 0: outside of this container


def _named(path: Path) -> str:
    """Name who reads a database."""
    names = [
        "another thread of this process" if pid == os.getpid() else f"process {pid}"
        for pid in readers_of(path)
    ]
    return " and ".join(names) or "some process (lsof or fuser on that file tells which)"
