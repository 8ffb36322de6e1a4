"""Derived arrays in one file: facts, arrays, and a checksum of both.

The file has three numbers (version, length of the header, checksum of all that follows), a header
in JSON, and arrays that are mapped into memory. It is replaced in one step: it is either intact or
damaged, and then rebuilt. Processes that have mapped the former file can still read it.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hebbgraph.locks as locks
from hebbgraph.artifacts import DamagedPartError, is_missing, replace_file

__all__ = ["ArrayFile", "read_arrays", "write_arrays"]

_PREFIX = 24
_ALIGNED = 64
_BLOCK = 1 << 24


class ArrayFile(NamedTuple):
    """Arrays, and facts that JSON can hold."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_arrays(
    path: Path, version: int, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> os.stat_result:
    """Write a file in one step and return its status; several processes may do so at once."""
    places, at = [], 0
    values = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in values.items():
        places.append([name, array.dtype.str, array.shape, at])
        at += -(-array.nbytes // _ALIGNED) * _ALIGNED
    header = json.dumps({"facts": dict(facts), "places": places}).encode()
    padded = header + bytes(-(_PREFIX + len(header)) % _ALIGNED)
    checksum = zlib.crc32(padded)
    for array in values.values():
        checksum = zlib.crc32(_padding(array), zlib.crc32(_content(array), checksum))

    def write(to: Path) -> None:
        with to.open("wb") as file:
            file.write(np.array([version, len(header), checksum], np.uint64).tobytes() + padded)
            for array in values.values():
                file.write(_content(array))
                file.write(_padding(array))

    return replace_file(path, write, unlocked=True)


def _content(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _padding(array: NDArray[Any]) -> bytes:
    return bytes(-array.nbytes % _ALIGNED)


def read_arrays(path: Path, version: int) -> ArrayFile | None:
    """Map a file, or read it; None if there is none of this version.

    Changing the arrays does not change the file.

    Raises
    ------
    DamagedPartError
        If it is not what was written.
    OSError
        If the file system fails. The file may be intact.
    """
    try:
        # On Windows a mapped file could not be replaced.
        is_mapped = locks.OPEN_FILES_MOVE
        data = np.memmap(path, np.uint8, mode="c") if is_mapped else np.fromfile(path, np.uint8)
        written_version, length, expected = data[:_PREFIX].view(np.uint64).tolist()
        if written_version != version:
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
            # A plain array: access through the subclass is slower.
            arrays[name] = np.asarray(body[at : at + size]).view(dtype).reshape(shape)
        return ArrayFile(dict(header["facts"]), arrays)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        if isinstance(error, OSError) and not is_missing(error):
            raise
        raise DamagedPartError(f"{path} is damaged ({error})") from error
