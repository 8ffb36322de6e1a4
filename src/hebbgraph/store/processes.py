"""What other processes have to do with our files: killed, or reading.

A killed process leaves unfinished files, which are removed here. A process that reads an SQLite
database is found by its lock.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from hebbgraph.artifacts import remove

__all__ = [
    "name_readers",
    "readers_of",
    "scratch_prefix",
    "sweep",
    "sweep_scratch",
]

#: ``.colonies.npz.4711.partial``; one without a number is written under the folder's lock.
_PARTIAL = re.compile(r"(?:\.(\d+))?\.partial(?:\.\w+)?$")
_SCRATCH = re.compile(r"^\.(?:restore|build)-(?:(\d+)-)?")
_LOCKS = Path("/proc/locks")
#: Bytes of the ``-shm`` file that readers lock (https://www.sqlite.org/walformat.html#locks).
_READ_LOCKS = range(123, 128)


def scratch_prefix(work: Literal["restore", "build"]) -> str:
    """Return the prefix of the folders in which this process restores a backup, or builds."""
    return f".{work}-{os.getpid()}-"


def sweep(directory: Path) -> None:
    """Remove unfinished files from a folder of derived parts; the caller holds its lock."""
    _remove_dead(directory, _PARTIAL)


def sweep_scratch(root: Path) -> None:
    """Remove what killed restores and builds left in an index directory."""
    _remove_dead(root, _SCRATCH)


def _remove_dead(directory: Path, pattern: re.Pattern[str]) -> None:
    for path in list(directory.iterdir()):
        found = pattern.search(path.name)
        if found is not None and (found[1] is None or not _is_alive(int(found[1]))):
            remove(path)


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 may end a process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    return True


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
