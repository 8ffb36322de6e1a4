"""The graph on disk: one folder of arrays per generation, checked when read.

A snapshot only saves time: if it is missing, damaged, or older than the log of changes
reaches back to, the graph is rebuilt from the truth. Arrays are plain
``.npy`` files, mapped into memory; nothing is pickled.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

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
#: What the name of a snapshot ends in while another one of its generation takes its place.
_FORMER = ".former"
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
    name = f"graph-{graph.generation}"
    partial = directory / f"{name}.partial"
    remove(partial)
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
    final = directory / name
    if final.exists():  # of the same generation; removing it takes longer than a new name
        remove(directory / f"{name}{_FORMER}")
        os.replace(final, directory / f"{name}{_FORMER}")
    os.replace(partial, final)
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
        read = _current(directory)
        try:
            return None if read is None else _loaded(directory / read.name, read.manifest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and not is_missing(error):
                raise
            if _current(directory) == read:
                logger.warning("graph snapshot at %s is damaged (%s): rebuilding", directory, error)
                return None


class _Current(NamedTuple):
    """Which snapshot is the current one; the manifest tells apart two of one generation."""

    name: str
    manifest: bytes | None


def _current(directory: Path) -> _Current | None:
    """Return None if there is no snapshot."""
    try:
        name = Path((directory / _CURRENT).read_text()).name
    except FileNotFoundError:
        return None
    except ValueError:
        return _Current("", None)
    for held in (name, f"{name}{_FORMER}"):  # between two names, there is only the former one
        try:
            return _Current(held, (directory / held / _MANIFEST).read_bytes())
        except ValueError:
            return _Current("", None)
        except OSError as error:
            if not is_missing(error):
                raise
    return _Current(name, None)


def _loaded(folder: Path, read: bytes | None) -> TagGraph | None:
    if read is None:
        raise ValueError(f"{_MANIFEST} is missing")
    manifest = json.loads(read)
    if folder.name.removesuffix(_FORMER) != f"graph-{manifest['generation']}":
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
