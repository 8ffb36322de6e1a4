"""What was folded of the log, on disk: so that opening folds what is new alone.

One file: three numbers (format, length of the header, checksum of all that follows), a header in
JSON, and arrays that are mapped into memory. Derived like the graph's snapshot: if it is missing,
damaged, of another version, or does not fit log and settings, the log is folded again.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.artifacts import replace_file
from hebbgraph.errors import IndexLockedError
from hebbgraph.locks import LockedFile, lock_file

__all__ = ["SNAPSHOT_NAME", "Snapshot", "load_snapshot", "save_snapshot", "snapshot_lock"]

logger = logging.getLogger(__name__)

SNAPSHOT_NAME = "learned.arrays"
#: Raised when the fold, its constants or the arrays change.
_FORMAT = 6
_PREFIX = 24
_ALIGNED = 64
_BLOCK = 1 << 24


#: How long to wait for a process that writes or removes a snapshot, which takes moments.
_LOCK_SECONDS = 10.0


class Snapshot(NamedTuple):
    """Facts that JSON can hold, and arrays."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def save_snapshot(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a snapshot in one step."""
    places, at = [], 0
    held = {name: np.ascontiguousarray(one) for name, one in arrays.items()}
    for name, one in held.items():
        places.append([name, one.dtype.str, one.shape, at])
        at += -(-one.nbytes // _ALIGNED) * _ALIGNED
    header = json.dumps({"facts": dict(facts), "places": places}).encode()
    padded = header + bytes(-(_PREFIX + len(header)) % _ALIGNED)
    checksum = zlib.crc32(padded)
    for one in held.values():
        checksum = zlib.crc32(_padded(one), checksum)

    def write(to: Path) -> None:
        with to.open("wb") as file:
            file.write(np.array([_FORMAT, len(header), checksum], np.uint64).tobytes() + padded)
            for one in held.values():
                file.write(_padded(one))

    replace_file(path, write, unlocked=True)


def _padded(one: NDArray[Any]) -> bytes:
    return one.tobytes() + bytes(-one.nbytes % _ALIGNED)


def snapshot_lock(path: Path) -> LockedFile:
    """Keep other processes from writing or removing the snapshot at a path."""
    lock = lock_file(path.with_name("learned.lock"), wait_seconds=_LOCK_SECONDS)
    if lock is None:
        raise IndexLockedError(
            f"{path}: another process kept it locked for more than {_LOCK_SECONDS:g} s; try again"
        )
    return lock


def load_snapshot(path: Path) -> Snapshot | None:
    """Read a snapshot, or return None and log why; arrays may be written to, the file stays."""
    try:
        if not path.is_file():
            return None
        data = np.memmap(path, np.uint8, mode="c")
        format_, length, expected = data[:_PREFIX].view(np.uint64).tolist()
        if format_ != _FORMAT:
            return None
        checksum = 0
        for start in range(_PREFIX, len(data), _BLOCK):
            checksum = zlib.crc32(data[start : start + _BLOCK].data, checksum)
        if checksum != expected:
            raise ValueError("its checksum differs")
        end = _PREFIX + length
        header = json.loads(data[_PREFIX:end].tobytes())
        body = data[-(-end // _ALIGNED) * _ALIGNED :]
        arrays: dict[str, NDArray[Any]] = {}
        for name, kind, shape, at in header["places"]:
            dtype = np.dtype(kind)
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            # As a plain array: access through the subclass is slower.
            arrays[name] = np.asarray(body[at : at + size]).view(dtype).reshape(shape)
        return Snapshot(dict(header["facts"]), arrays)
    except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        logger.warning("%s is damaged (%s), so the feedback log is read again", path, error)
        return None
