"""Files written in one step, and those that can be rebuilt: some with a stamp of their origin.

A stamp is written last and holds a checksum, so a file that a killed process left
incomplete, or that was damaged since, is never read.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

import hebbgraph.locks as locks
from hebbgraph.arrays import IntArray

__all__ = [
    "Stamp",
    "WatchedFile",
    "file_checksum",
    "is_missing",
    "make_way",
    "read_stamped",
    "remove",
    "replace_file",
    "rows_checksum",
    "sync",
    "whole_file",
    "write_stamped",
]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_BLOCK = 1 << 20

Stamp: TypeAlias = dict[str, Any]
"""A JSON object."""


def rows_checksum(rows: IntArray) -> int:
    """Return a checksum of rows of the truth."""
    return zlib.crc32(np.ascontiguousarray(rows, dtype=np.int64).data)


def write_stamped(path: Path, stamp: Mapping[str, Any], write: Callable[[Path], object]) -> None:
    """Write a file and its stamp, replacing existing ones.

    Parameters
    ----------
    path : Path
    stamp : mapping
    write : callable
        Writes the content to the path it is called with.
    """
    beside = _stamp_of(path)
    remove(beside)
    replace_file(path, write)
    stamp_json = json.dumps({**stamp, "checksum": file_checksum(path)})
    replace_file(beside, lambda to: to.write_text(stamp_json))


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

    def replace(self, content: _T, write: Callable[[Path], object]) -> None:
        """Replace the content by what ``write`` writes to the path it is called with."""
        if self.path is not None:
            self._seen = _looks(replace_file(self.path, write, unlocked=True))
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


def read_stamped(path: Path, fits: Callable[[Stamp], bool]) -> Stamp | None:
    """Return the stamp of an intact file, or None if there is none that fits.

    Parameters
    ----------
    path : Path
    fits : callable
        Whether a stamp is the wanted one. A missing or mistyped entry counts as no.
    """
    try:
        stamp: Stamp = json.loads(_stamp_of(path).read_bytes())
        if not fits(stamp):
            return None
        if stamp["checksum"] != file_checksum(path):
            raise ValueError("its checksum differs")
        return stamp
    except (FileNotFoundError, KeyError, TypeError):
        return None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not is_missing(error):
            raise
        logger.warning("%s is damaged (%s), rebuilding it", path, error)
        return None


def _stamp_of(path: Path) -> Path:
    return path.with_name(path.name + ".json")


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
