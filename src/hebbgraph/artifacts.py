"""Files that can be rebuilt: written in one step, some with a stamp of what they were built from.

A stamp is written last and holds a checksum, so a file that a killed process left
incomplete, or that was damaged since, is never read.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hebbgraph.arrays import IntArray

__all__ = [
    "Stamp",
    "file_checksum",
    "make_way",
    "read_stamped",
    "remove",
    "replace_file",
    "rows_checksum",
    "write_stamped",
]

logger = logging.getLogger(__name__)

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
        carries our process id, and is removed on an error.
    """
    partial = path.with_name(f"{path.name}.partial")
    if unlocked:
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    for one in (partial, path):
        make_way(one, for_file=True)
    try:
        write(partial)
        written = os.stat(partial)
        os.replace(partial, path)
    except BaseException:
        if unlocked:
            partial.unlink(missing_ok=True)
        raise
    return written


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
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("%s is damaged (%s), rebuilding it", path, error)
        return None
    try:
        if not fits(stamp):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    try:
        if stamp["checksum"] != file_checksum(path):
            raise ValueError("its checksum differs")
        return stamp
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
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


def make_way(path: Path, *, for_file: bool = False) -> bool:
    """Create the parent folders of a path, removing anything that is in the way.

    ``for_file`` also removes a folder at the path itself. Only for derived files, which can
    be rebuilt. Returns whether something was removed.
    """
    in_the_way = [p for p in path.parents[:2] if p.exists() and not p.is_dir()]
    if for_file and path.is_dir():
        in_the_way.append(path)
    for obstacle in in_the_way:
        remove(obstacle)
    path.parent.mkdir(parents=True, exist_ok=True)
    return bool(in_the_way)
