"""The graph on disk: one folder of arrays a generation, checked when read.

A snapshot only saves time: when it is missing, older than what the log of changes
reaches back to, or damaged, the graph is built again from the truth. Arrays are plain
``.npy`` files, mapped into memory; nothing is pickled.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import zlib
from pathlib import Path

import numpy as np

from hebbgraph.graph.tag_graph import GraphArrays, TagGraph

__all__ = ["SNAPSHOT_FORMAT", "load_snapshot", "save_snapshot"]

logger = logging.getLogger(__name__)

#: Raised when arrays, tokens or the rules of the vocabulary change.
SNAPSHOT_FORMAT = 1
_MANIFEST = "manifest.json"
_CURRENT = "CURRENT"
_KEYS = "keys.txt"


def save_snapshot(directory: Path, graph: TagGraph) -> None:
    """Write the graph, make it the current snapshot, and remove older ones.

    The caller holds the lock on derived parts. The name in ``CURRENT`` changes last, in
    one step, so that a reader sees the old snapshot or the new one.
    """
    arrays, keys = graph.arrays()
    name = f"graph-{graph.generation}"
    partial = directory / f"{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    checksums = {}
    for field, values in arrays._asdict().items():
        np.save(partial / f"{field}.npy", values, allow_pickle=False)
        checksums[f"{field}.npy"] = _checksum(partial / f"{field}.npy")
    (partial / _KEYS).write_bytes("\n".join(keys).encode())
    checksums[_KEYS] = _checksum(partial / _KEYS)
    manifest = {
        "format": SNAPSHOT_FORMAT,
        "generation": graph.generation,
        "n_keys": len(keys),
        "checksums": checksums,
    }
    (partial / _MANIFEST).write_text(json.dumps(manifest))
    final = directory / name
    shutil.rmtree(final, ignore_errors=True)
    os.replace(partial, final)
    current = directory / f"{_CURRENT}.partial"
    current.write_text(name)
    os.replace(current, directory / _CURRENT)
    for old in directory.glob("graph-*"):
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)


def load_snapshot(directory: Path) -> TagGraph | None:
    """Read the current snapshot, or return None with a log line that says why not."""
    try:
        name = (directory / _CURRENT).read_text()
        folder = directory / Path(name).name
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        if name != f"graph-{manifest['generation']}":
            raise ValueError(f"{name} says that it is generation {manifest['generation']}")
        if manifest["format"] != SNAPSHOT_FORMAT:
            logger.info("graph snapshot of another version at %s: rebuilding", folder)
            return None
        for file, expected in manifest["checksums"].items():
            if _checksum(folder / Path(file).name) != expected:
                logger.warning("graph snapshot is damaged (%s): rebuilding", folder / file)
                return None
        arrays = GraphArrays(
            **{
                field: np.load(folder / f"{field}.npy", mmap_mode="r", allow_pickle=False)
                for field in GraphArrays._fields
            }
        )
        text = (folder / _KEYS).read_bytes().decode()
        keys = text.split("\n") if manifest["n_keys"] else []
        if len(keys) != manifest["n_keys"]:
            raise ValueError(f"{len(keys)} phrases, {manifest['n_keys']} expected")
        return TagGraph(int(manifest["generation"]), arrays, keys)
    except FileNotFoundError as error:
        if (directory / _CURRENT).exists():
            logger.warning("graph snapshot is incomplete (%s): rebuilding", error)
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        logger.warning("graph snapshot at %s cannot be read (%s): rebuilding", directory, error)
        return None


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum
