"""What other processes have to do with our files: killed, or reading.

A killed process leaves unfinished files. They are told from those of a process at work by the
lock that it holds on them: ids of processes recur, and in a container each is 1. A process that
reads an SQLite database is found by its lock, too.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from hebbgraph.artifacts import remove
from hebbgraph.locks import lock_file

__all__ = ["name_readers", "readers_of", "scratch_folder", "sweep", "sweep_scratch"]

_PARTIAL = re.compile(r"\.partial(?:\.\w+)?$")
_SCRATCH = re.compile(r"^\.(?:restore|build)-")
_LOCK = "lock"
_LOCKS = Path("/proc/locks")
#: Bytes of the ``-shm`` file that readers lock (https://www.sqlite.org/walformat.html#locks).
_READ_LOCKS = range(123, 128)


@contextlib.contextmanager
def scratch_folder(root: Path | None, work: Literal["restore", "build"]) -> Iterator[Path]:
    """Yield a folder below an index directory, or where the system has them, removed in the end.

    If this process dies, :func:`sweep_scratch` removes it.
    """
    lock = None
    while lock is None:  # or a sweep took the folder for that of a dead process
        folder = Path(tempfile.mkdtemp(dir=root, prefix=f".{work}-"))
        lock = lock_file(folder / _LOCK)
    try:
        yield folder
    finally:
        lock.close()
        remove(folder)


def sweep(directory: Path) -> None:
    """Remove unfinished files from a folder of derived parts; the caller holds its lock."""
    for path in list(directory.iterdir()):
        if _PARTIAL.search(path.name):
            _remove_unlocked(path, path / _LOCK if path.is_dir() else path)


def sweep_scratch(root: Path) -> None:
    """Remove what killed restores and builds left in an index directory."""
    for path in list(root.iterdir()):
        if _SCRATCH.search(path.name) and path.is_dir():
            _remove_unlocked(path, path / _LOCK)


def _remove_unlocked(path: Path, lock: Path) -> None:
    file = lock_file(lock)
    if file is None:
        return
    with file:
        if os.name == "posix":
            remove(path)
    if os.name != "posix":  # no open file can be removed there
        remove(path)


def readers_of(path: Path) -> list[int]:
    """Return the ids of the processes that read a database now, where the system tells.

    They are taken from ``/proc/locks``: ``fcntl`` needs an open file, and closing it would
    drop the locks that this process holds on it.
    """
    try:
        found = os.stat(f"{path}-shm")
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    holders = set()
    for line in lines:
        # 12: POSIX  ADVISORY  READ 4711 fe:01:262147 123 123; a waiting one has "->".
        fields = line.split()
        if len(fields) == 8 and fields[5] == device and int(fields[6]) in _READ_LOCKS:
            holders.add(int(fields[4]))
    return sorted(pid for pid in holders if pid > 0)  # 0: outside this container


def name_readers(path: Path) -> str:
    """Name the readers of a database, for a message."""
    names = [
        "another thread of this process" if pid == os.getpid() else f"process {pid}"
        for pid in readers_of(path)
    ]
    return " and ".join(names) or "some process (lsof or fuser on that file tells which)"
