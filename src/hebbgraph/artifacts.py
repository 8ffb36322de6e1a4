"""Files beside the snapshot that can be made anew, each with a stamp that says what it is of.

The stamp goes last and holds a checksum, so a file that a killed process left, or that was
damaged since, is never read.
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

__all__ = ["Stamp", "read_stamped", "rows_checksum", "write_stamped"]

logger = logging.getLogger(__name__)

_BLOCK = 1 << 20

Stamp: TypeAlias = dict[str, Any]
"""What can be written as JSON."""


def rows_checksum(rows: IntArray) -> int:
    """Return what tells these rows of the truth from others."""
    return zlib.crc32(np.ascontiguousarray(rows, dtype=np.int64).data)


def write_stamped(path: Path, stamp: Mapping[str, Any], write: Callable[[Path], object]) -> None:
    """Write a file and its stamp, in the place of those that are there.

    Parameters
    ----------
    path : Path
    stamp : mapping
    write : callable
        Writes the content to the path that it is given.
    """
    beside = _stamp_of(path)
    remove(beside)
    _put(path, write)
    told = json.dumps({**stamp, "checksum": _checksum(path)})
    _put(beside, lambda to: to.write_text(told))


def _put(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file in one step, in the place of whatever is there."""
    partial = path.with_name(path.name + ".partial")
    for one in (partial, path):
        make_way(one, for_file=True)
    write(partial)
    os.replace(partial, path)


def read_stamped(path: Path, fits: Callable[[Stamp], bool]) -> Stamp | None:
    """Return the stamp of a whole file, or None if there is none that fits.

    Parameters
    ----------
    path : Path
    fits : callable
        Tells whether a stamp is of what is wanted. That one lacks a name, or has a value
        of another type, means that it does not.
    """
    try:
        stamp: Stamp = json.loads(_stamp_of(path).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("%s is damaged (%s): made anew", path, error)
        return None
    try:
        if not fits(stamp):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    try:
        if stamp["checksum"] != _checksum(path):
            raise ValueError("its checksum is another")
        return stamp
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
        logger.warning("%s is damaged (%s): made anew", path, error)
        return None


def _stamp_of(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def make_way(path: Path, *, for_file: bool = False) -> bool:
    """Make the folders above a path, and what is not a file at it give way to one.

    Derived parts can be built again, so what is in their place is nobody's loss. Returns
    whether there was something.
    """
    in_the_way = [p for p in path.parents[:2] if p.exists() and not p.is_dir()]
    if for_file and path.is_dir():
        in_the_way.append(path)
    for obstacle in in_the_way:
        remove(obstacle)
    path.parent.mkdir(parents=True, exist_ok=True)
    return bool(in_the_way)
