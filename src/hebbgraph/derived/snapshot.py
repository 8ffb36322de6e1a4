"""The graph on disk: one folder of arrays per generation, checked when read.

A snapshot only saves time: if it is missing, damaged, or older than the log of changes
reaches back to, the graph is rebuilt from the truth. Arrays are plain
``.npy`` files, mapped into memory; nothing is pickled.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.artifacts import file_checksum, is_missing, remove, replace_file, sync
from hebbgraph.graph.phrases import PhraseArrays
from hebbgraph.graph.proposed import older_support
from hebbgraph.graph.tag_graph import GraphArrays, TagGraph

__all__ = ["SNAPSHOT_FORMAT", "load_snapshot", "save_snapshot", "snapshot_problems"]

logger = logging.getLogger(__name__)

#: Raised when arrays, tokens or the rules of the vocabulary change.
SNAPSHOT_FORMAT = 5
_WITHOUT_SUPPORT = 4  # still read; every proposal of that time is worth the same
_MANIFEST = "manifest.json"
_CURRENT = "CURRENT"
#: NumPy parses the header of a file with ``ast``, which in CPython 3.11 can fail (SystemError) in
#: two threads at once.
_HEADERS = threading.Lock()


def _after_fork() -> None:
    global _HEADERS
    _HEADERS = threading.Lock()  # a thread that the child has not may hold the former one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def save_snapshot(directory: Path, graph: TagGraph) -> None:
    """Write the graph, make it the current snapshot, and remove older ones.

    The caller holds the lock on derived parts. The name in ``CURRENT`` changes last, in
    one step, so that a reader sees the old snapshot or the new one.
    """
    arrays, phrases = graph.arrays()
    name = f"graph-{graph.generation}-{secrets.token_hex(4)}"  # none is ever written twice
    partial = directory / f"{name}.partial"
    partial.mkdir(parents=True)
    checksums = {}
    for field, values in (arrays._asdict() | phrases._asdict()).items():
        path = partial / f"{field}.npy"
        np.save(path, values, allow_pickle=False)
        sync(path)  # a power cut must not cost a rebuild
        checksums[path.name] = file_checksum(path)
    manifest = {
        "format": SNAPSHOT_FORMAT,
        "generation": graph.generation,
        "mark": graph.mark,
        "checksums": checksums,
    }
    (partial / _MANIFEST).write_text(json.dumps(manifest))
    sync(partial / _MANIFEST)
    sync(partial)
    os.replace(partial, directory / name)
    sync(directory)
    replace_file(directory / _CURRENT, lambda path: path.write_text(name))
    for old in directory.glob("graph-*"):
        if old.name != name:
            remove(old)


def has_snapshot(directory: Path) -> bool:
    """Return whether there is a snapshot, intact or not."""
    return (directory / _CURRENT).exists() or any(directory.glob("graph-*"))


def snapshot_problems(directory: Path) -> list[str]:
    """Return what is wrong with the files of the snapshot."""
    whole = not has_snapshot(directory) or load_snapshot(directory) is not None
    return [] if whole else ["damaged or of another version"]


def load_snapshot(directory: Path) -> TagGraph | None:
    """Read the current snapshot, or return None and log why.

    If another process replaces it meanwhile, which takes a while to notice in a large one, the
    new one is read.

    Raises
    ------
    OSError
        If the file system fails. The snapshot may be whole.
    """
    while True:
        name = _current(directory)
        try:
            return None if name is None else _loaded(directory / name)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and not is_missing(error):
                raise
            if _current(directory) == name:
                logger.warning("graph snapshot at %s is damaged (%s): rebuilding", directory, error)
                return None


def _current(directory: Path) -> str | None:
    """Return the name of the current snapshot; None if there is none."""
    try:
        return Path((directory / _CURRENT).read_text()).name
    except FileNotFoundError:
        return None
    except ValueError:
        return ""


def _loaded(folder: Path) -> TagGraph | None:
    manifest = json.loads((folder / _MANIFEST).read_bytes())
    if folder.name.split("-")[:2] != ["graph", str(manifest["generation"])]:
        raise ValueError(f"{folder.name} says that it is generation {manifest['generation']}")
    if manifest["format"] not in (SNAPSHOT_FORMAT, _WITHOUT_SUPPORT):
        logger.info("graph snapshot of another version at %s: rebuilding", folder)
        return None
    for file, expected in manifest["checksums"].items():
        if file_checksum(folder / Path(file).name) != expected:
            raise ValueError(f"checksum of {file}")
    held: dict[str, Any] = {}
    if manifest["format"] == _WITHOUT_SUPPORT:
        counts = (_mapped(folder / f"{of}_counts.npy") for of in ("candidate", "anchor"))
        held["support"] = older_support(*counts)
    for field in (*GraphArrays._fields, *PhraseArrays._fields):
        if field not in held:
            held[field] = _mapped(folder / f"{field}.npy")
    return TagGraph(
        int(manifest["generation"]),
        GraphArrays(*map(held.__getitem__, GraphArrays._fields)),
        PhraseArrays(*map(held.__getitem__, PhraseArrays._fields)),
        mark=int(manifest["mark"]),
    )


def _mapped(path: Path) -> NDArray[Any]:
    """Map an array into memory as a plain one: access through the subclass is slower."""
    with _HEADERS:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    if not mapped.size:
        return np.array(mapped)
    return np.asarray(mapped)
