"""What travels to a shard elsewhere and back: JSON, and behind it bytes and arrays as they are.

Whatever JSON has travels as JSON; tuples become lists, and sets sorted lists. In place of bytes, or
of an array of int64, stands ``{"$": [kind, start, length]}``, which is where they lie behind the
JSON, in its order and each once. A message holds no other mappings than those with our own names
for keys.
"""

from __future__ import annotations

import json
import struct
from datetime import datetime
from typing import Any

import numpy as np
from pydantic import BaseModel

__all__ = ["VERSION", "pack", "unpack"]

#: Of messages and calls: both ends have the same, or do not understand each other.
VERSION = 1

_HEAD = struct.Struct("<4sI")  # who we are, and the length of the JSON
_MAGIC = b"hebb"
_BYTES, _INTS = "b", "i8"
_APART = "$"


def pack(value: object) -> bytes:
    """Write a message.

    Examples
    --------
    >>> unpack(pack([1, b"two", np.array([3, 4]), None]))
    [1, b'two', array([3, 4]), None]
    """
    blobs: list[bytes] = []
    size = 0

    def apart(one: object) -> object:
        nonlocal size
        if isinstance(one, datetime):
            return one.isoformat()
        if isinstance(one, BaseModel):
            return one.model_dump(mode="json")
        if isinstance(one, set | frozenset):
            return sorted(one)
        if isinstance(one, np.integer):
            return int(one)
        if isinstance(one, np.ndarray):
            kind, held = _INTS, np.ascontiguousarray(one, dtype="<i8").tobytes()
        elif isinstance(one, bytes | memoryview):
            kind, held = _BYTES, bytes(one)
        else:
            raise TypeError(f"no message holds a {type(one).__name__}")
        blobs.append(held)
        size += len(held)
        return {_APART: [kind, size - len(held), len(held)]}

    told = json.dumps(value, default=apart, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join([_HEAD.pack(_MAGIC, len(told)), told, *blobs])


def unpack(content: bytes) -> Any:
    """Read a message; ValueError if it is none."""
    try:
        magic, length = _HEAD.unpack_from(content)
        if magic != _MAGIC:
            raise ValueError("it begins otherwise")
        start = _HEAD.size + length
        blobs = memoryview(content)[start:]
        read = 0

        def joined(one: dict[str, Any]) -> Any:
            if one.keys() != {_APART}:
                return one
            nonlocal read
            kind, at, size = one[_APART]
            if at != read:  # each once: so no message takes more memory than its own length
                raise ValueError("bytes are not where they are expected")
            if not at <= at + size <= len(blobs):
                raise ValueError("bytes are missing")
            held, read = bytes(blobs[at : at + size]), at + size
            if kind == _BYTES:
                return held
            if kind != _INTS:
                raise ValueError("an array of another kind")
            return np.frombuffer(held, "<i8").astype(np.int64)

        value = json.loads(content[_HEAD.size : start], object_hook=joined)
        if read != len(blobs):
            raise ValueError("bytes are left over")
        return value
    except (ValueError, TypeError, struct.error, RecursionError) as error:
        raise ValueError(f"no message of hebbgraph: {error}") from error
