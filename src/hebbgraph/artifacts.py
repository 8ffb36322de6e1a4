"""Files that are written in one step, and removal of unfinished ones.

An unfinished file is locked while a process works on it. Without a lock, its process was killed;
process ids could not tell, since they recur, and are 1 in every container.
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
    """A derived part cannot be read, or does not belong to the truth; it is rebuilt."""


def replace_file(
    path: Path, write: Callable[[Path], object], *, unlocked: bool = False
) -> os.stat_result:
    """Write a file in one step, replacing whatever is at its path; return its status.

    Parameters
    ----------
    path : Path
    write : callable
        Writes the content to the path it is called with.
    unlocked : bool
        Whether other processes may write the file at the same time. The unfinished file then
        gets a unique name.
    """
    partial = None if unlocked else path.with_name(f"{path.name}.partial")
    make_way(path, for_file=True)
    if partial is not None:
        make_way(partial, for_file=True)
    with whole_file(path, partial) as unfinished:
        write(unfinished)
        return os.stat(unfinished)


@contextmanager
def whole_file(path: Path, partial: Path | None = None) -> Iterator[Path]:
    """Yield a path to write to; that file replaces the one at ``path`` at the end.

    It is locked meanwhile, so it is not mistaken for one that a killed process left.
    """
    partial = partial or path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    os.stat(partial.parent)  # raises if it is missing; locking would create it
    # On Windows an open file cannot be renamed, nor removed, so it needs no lock.
    lock = locks.lock_file(partial) if locks.OPEN_FILES_MOVE else None
    try:
        yield partial
        sync(partial)  # a power cut could leave the new name without content
        os.replace(partial, path)
        sync(path.parent)
    finally:
        if lock is not None:
            lock.close()
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make the system write a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name != "posix":
        return  # Windows cannot open folders
    opened = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def is_missing(error: BaseException) -> bool:
    """Return whether an error means that a file is missing, or something else is in its place.

    Other errors of the file system, such as a failing disk, a limit on open files or a lack of
    permission, say nothing about the content of the file, which may be intact.
    """
    return isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)


class WatchedFile(Generic[_T]):
    """A file that other processes replace too; it is read again after that.

    Parameters
    ----------
    path : Path, optional
        None keeps the content in memory.
    read : callable
        Reads the file; returns None if it is useless.
    """

    def __init__(self, path: Path | None, read: Callable[[Path], _T | None]) -> None:
        self.path = path
        self._read = read
        self._content: _T | None = None
        #: The version of the file when it was read.
        self._version: tuple[int, int, int] | None = None

    @property
    def content(self) -> _T | None:
        """The present content of the file."""
        if self.path is not None:
            try:
                version = _version_in(os.stat(self.path))
            except OSError:
                version = None
            if version != self._version:
                self._content = None if version is None else self._read(self.path)
                self._version = version
        return self._content

    def replace(self, content: _T, write: Callable[[Path], os.stat_result]) -> None:
        """Replace the content; ``write`` replaces the file, and returns its status."""
        if self.path is not None:
            self._version = _version_in(write(self.path))
        self._content = content

    def remove(self) -> bool:
        """Remove the file; return whether there was content, intact or not."""
        existed = self._content is not None if self.path is None else self.path.exists()
        if self.path is not None:
            remove(self.path)
        self._content = self._version = None
        return existed


def _version_in(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


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
    """Create the parent folders of a path, removing files in their place.

    ``for_file`` also removes a folder at the path itself; without ``make`` nothing is created.
    Use this for derived files only, since they can be rebuilt. Returns whether something was
    removed.
    """
    obstacles = [p for p in path.parents[:2] if p.exists() and not p.is_dir()]
    if for_file and path.is_dir():
        obstacles.append(path)
    for obstacle in obstacles:
        remove(obstacle)
    if make:
        path.parent.mkdir(parents=True, exist_ok=True)
    return bool(obstacles)


# -- unfinished ------------------------------------------------------------------------


@contextmanager
def scratch_folder(root: Path | None, work: Literal["restore", "build"]) -> Iterator[Path]:
    """Yield a temporary folder below an index directory, or in the system's place for them.

    If this process dies, :func:`sweep_scratch` removes it.
    """
    lock = None
    while lock is None:  # a sweep may remove the folder before it is locked
        folder = Path(tempfile.mkdtemp(dir=root, prefix=f".{work}-"))
        lock = locks.lock_file(folder / _LOCK)
    try:
        yield folder
    finally:
        lock.close()
        remove(folder)


def sweep(directory: Path) -> None:
    """Remove unfinished files from a folder of derived parts that the caller has locked."""
    for path in list(directory.iterdir()):
        if _PARTIAL.search(path.name):
            _remove_unlocked(path, path / _LOCK if path.is_dir() else path)


def sweep_scratch(root: Path) -> None:
    """Remove the folders that killed restores and builds left in an index directory."""
    for path in list(root.iterdir()):
        if _SCRATCH.search(path.name) and path.is_dir():
            _remove_unlocked(path, path / _LOCK)


def _remove_unlocked(path: Path, lock: Path) -> None:
    """Remove a path unless a process works on it."""
    file = locks.lock_file(lock)
    if file is None:
        return
    with file:
        if locks.OPEN_FILES_MOVE:
            remove(path)
    if not locks.OPEN_FILES_MOVE:
        remove(path)
