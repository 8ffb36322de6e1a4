"""Files written in one step, those that can be rebuilt, and those that are not finished.

Whether a process still works on an unfinished file, or was killed, its lock tells: ids of processes
recur, and in a container each is 1.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Literal, TypeVar

import hebbgraph.locks as locks
from hebbgraph.errors import StorageError

__all__ = [
    "DamagedPartError",
    "WatchedFile",
    "file_checksum",
    "is_missing",
    "make_way",
    "remove",
    "replace_file",
    "scratch_folder",
    "sweep",
    "sweep_scratch",
    "sync",
    "whole_file",
]

_T = TypeVar("_T")
_BLOCK = 1 << 20
_PARTIAL = re.compile(r"\.partial$")
_SCRATCH = re.compile(r"^\.(?:restore|build)-")
_LOCK = "lock"


class DamagedPartError(StorageError):
    """A derived part cannot be read, or does not belong to the truth; it is built anew."""


def replace_file(
    path: Path, write: Callable[[Path], object], *, unlocked: bool = False
) -> os.stat_result:
    """Write a file in one step, replacing whatever is there; return what it looks like.

    Parameters
    ----------
    path : Path
    write : callable
        Writes the content to the path it is called with.
    unlocked : bool
        Whether other processes may write it at the same time. The unfinished file then
        has a name of its own.
    """
    partial = None if unlocked else path.with_name(f"{path.name}.partial")
    for one in (path, partial):
        if one is not None:
            make_way(one, for_file=True)
    with whole_file(path, partial) as unfinished:
        write(unfinished)
        return os.stat(unfinished)


@contextmanager
def whole_file(path: Path, partial: Path | None = None) -> Iterator[Path]:
    """Yield another path to write to; that file replaces the one at ``path`` when complete.

    It is locked meanwhile, which tells it from what a killed process left.
    """
    partial = partial or path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    os.stat(partial.parent)  # a lock would make the folder, and nobody asked for one
    # Elsewhere no open file can be renamed; nor can one be removed that is being written.
    lock = locks.lock_file(partial) if locks.OPEN_FILES_MOVE else None
    try:
        yield partial
        sync(partial)  # else a power cut may leave the new name and no content
        os.replace(partial, path)
        sync(path.parent)
    finally:
        if lock is not None:
            lock.close()
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name != "posix":
        return  # elsewhere a folder cannot be opened
    opened = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def is_missing(error: OSError) -> bool:
    """Return whether a file is not there, or is something else; other errors are no damage.

    A disk that fails, a limit on open files or a lack of permission says nothing about the
    content of a file, which may be whole.
    """
    return isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)


class WatchedFile(Generic[_T]):
    """A file that other processes replace, too; it is read again only after that.

    Parameters
    ----------
    path : Path, optional
        None keeps the content in memory.
    read : callable
        Reads the file; None if that is of no use.
    """

    def __init__(self, path: Path | None, read: Callable[[Path], _T | None]) -> None:
        self.path = path
        self._read = read
        self._content: _T | None = None
        self._seen: tuple[int, int, int] | None = None  # what the file looked like then

    @property
    def content(self) -> _T | None:
        """What the file holds now."""
        if self.path is not None:
            try:
                looks = _looks(os.stat(self.path))
            except OSError:
                looks = None
            if looks != self._seen:
                self._content = None if looks is None else self._read(self.path)
                self._seen = looks
        return self._content

    def replace(self, content: _T, write: Callable[[Path], os.stat_result]) -> None:
        """Replace the content; ``write`` replaces the file, and returns what it looks like."""
        if self.path is not None:
            self._seen = _looks(write(self.path))
        self._content = content

    def remove(self) -> bool:
        """Remove the file; return whether there was content, intact or not."""
        there = self._content is not None if self.path is None else self.path.exists()
        if self.path is not None:
            remove(self.path)
        self._content = self._seen = None
        return there


def _looks(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_size, found.st_ino


def file_checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def remove(path: Path) -> None:
    """Remove a file, link or folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def make_way(path: Path, *, for_file: bool = False, make: bool = True) -> bool:
    """Create the parent folders of a path, removing anything that is in the way.

    ``for_file`` also removes a folder at the path itself; without ``make`` nothing is created.
    Only for derived files, which can be rebuilt. Returns whether something was removed.
    """
    in_the_way = [p for p in path.parents[:2] if p.exists() and not p.is_dir()]
    if for_file and path.is_dir():
        in_the_way.append(path)
    for obstacle in in_the_way:
        remove(obstacle)
    if make:
        path.parent.mkdir(parents=True, exist_ok=True)
    return bool(in_the_way)


# -- unfinished ------------------------------------------------------------------------


@contextmanager
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
