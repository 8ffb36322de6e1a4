"""Results of a build on disk, named by what they are made from; each is whole or absent.

A result is a folder. Workers write it beside its place and rename it when it is complete; its
summary holds the size and checksum of each file. So any number of workers, on machines that share
the shelf, may make the same result, and a build that was killed continues where it was.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hebbgraph.arrays import prefix_sums
from hebbgraph.artifacts import file_checksum, remove
from hebbgraph.extras import require
from numpy.typing import NDArray

__all__ = [
    "Summary",
    "load_arrays",
    "made_once",
    "name_of",
    "read_table",
    "save_arrays",
    "whole",
    "write_table",
]

Summary: TypeAlias = dict[str, Any]
"""What a task returns about its result, as JSON; ``name`` is its folder on the shelf."""

#: Increase this when the same input gives another result than before.
_FORMAT = 2
_SUMMARY = "summary.json"


def name_of(step: str, *inputs: Any) -> str:
    """Return the name of a result: the step, and a hash of its inputs.

    Examples
    --------
    >>> name_of("propose", "a.jsonl", 0) == name_of("propose", "a.jsonl", 0)
    True
    >>> name_of("propose", "a.jsonl", 0) == name_of("propose", "a.jsonl", 1)
    False
    """
    content = json.dumps([_FORMAT, step, *inputs], sort_keys=True, default=repr).encode()
    return f"{step}-{blake2b(content, digest_size=12).hexdigest()}"


def made_once(
    shelf: Path, step: str, *inputs: Any, make: Callable[[Path], Mapping[str, Any]]
) -> Summary:
    """Return the summary of a result; make the result first unless it is whole.

    Parameters
    ----------
    shelf : Path
        The folder of all results.
    step, *inputs
        See :func:`name_of`.
    make : callable
        Writes files into the given folder, and returns the summary.
    """
    name = name_of(step, *inputs)
    if (existing := whole(shelf / name)) is not None:
        return {**existing, "reused": True}
    partial = shelf / f".{name}.{uuid.uuid4().hex[:8]}.partial"
    partial.mkdir(parents=True)
    try:
        summary = {"name": name, **make(partial)}
        files = {
            path.relative_to(partial).as_posix(): [path.stat().st_size, file_checksum(path)]
            for path in sorted(partial.rglob("*"))
            if path.is_file()
        }
        (partial / _SUMMARY).write_text(json.dumps({"summary": summary, "files": files}))
        if whole(shelf / name) is None:  # else another worker was faster
            remove(shelf / name)
            os.replace(partial, shelf / name)
    finally:
        remove(partial)
    return summary


def whole(folder: Path) -> Summary | None:
    """Return the summary of a result, or None if a file is missing or damaged."""
    try:
        content = json.loads((folder / _SUMMARY).read_bytes())
        for name, (size, checksum) in content["files"].items():
            path = folder / name
            if path.stat().st_size != size or file_checksum(path) != checksum:
                return None
        summary: Summary = content["summary"]
        return summary
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to its own file."""
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


def load_arrays(folder: Path, *names: str) -> list[NDArray[Any]]:
    """Map arrays into memory, in the order of their names."""
    files = (np.load(folder / f"{n}.npy", mmap_mode="r", allow_pickle=False) for n in names)
    return [np.asarray(mapped) if mapped.size else np.array(mapped) for mapped in files]


def _arrow() -> Any:
    return require("pyarrow", extra="build", purpose="building with workers")


def write_table(path: Path, columns: Mapping[str, list[Any]], binary: tuple[str, ...] = ()) -> None:
    """Write columns of strings, or of bytes, as an Arrow file."""
    arrow = _arrow()
    arrays = [_column(arrow, values, name in binary) for name, values in columns.items()]
    table = arrow.Table.from_arrays(arrays, names=list(columns))
    with arrow.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def _column(arrow: Any, values: list[Any], binary: bool) -> Any:
    """Return an Arrow array made from buffers; ``arrow.array`` would import pandas."""
    encoded = [
        b"" if value is None else value if binary else value.encode("utf-8", "surrogatepass")
        for value in values
    ]
    offsets = prefix_sums(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    present = np.array([value is not None for value in values], np.bool_)
    valid = None if present.all() else arrow.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [valid, arrow.py_buffer(offsets), arrow.py_buffer(b"".join(encoded))]
    kind = arrow.large_binary() if binary else arrow.large_string()
    return arrow.Array.from_buffers(kind, len(values), buffers)


def read_table(path: Path, *names: str) -> list[list[Any]]:
    """Read columns of an Arrow file as lists, in the order of their names."""
    arrow = _arrow()
    with arrow.memory_map(str(path)) as source:
        table = arrow.ipc.open_file(source).read_all()
        return [table.column(name).to_pylist() for name in names]
