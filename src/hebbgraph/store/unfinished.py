"""Unfinished files: those of a process at work, and those that a killed process left.

The lock that a process holds on them tells: ids of processes recur, and in a container each is 1.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import hebbgraph.locks as locks
from hebbgraph.artifacts import remove

__all__ = ["scratch_folder", "sweep", "sweep_scratch"]

_PARTIAL = re.compile(r"\.partial$")
_SCRATCH = re.compile(r"^\.(?:restore|build)-")
_LOCK = "lock"


@contextlib.contextmanager
def scratch_folder(root: Path | None, work: Literal["restore", "build"]) -> Iterator[Path]:
    """Yield a folder below an index directory, or where the system has them, removed in the end.

    If this process dies, :func:`sweep_scratch` removes it.
    """
    lock = None
    while lock is None:  # or a sweep took the folder for that of a dead process
        folder = Path(tempfile.mkdtemp(dir=root, prefix=f".{work}-"))
        lock = locks.lock_file(folder / _LOCK)
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
    file = locks.lock_file(lock)
    if file is None:
        return
    with file:
        if locks.OPEN_FILES_MOVE:
            remove(path)
    if not locks.OPEN_FILES_MOVE:
        remove(path)
