"""Replicas: indexes that start from the newest snapshot that fits their database."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.artifacts import DamagedPartError, remove
from hebbgraph.derived.folder import TRAINED_LAYER
from hebbgraph.derived.snapshot import load_snapshot
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.namespace import Namespace
from hebbgraph.store.database import translated_os
from hebbgraph.store.history import Commit

from hebbgraph_scale.snapshots import (
    FORMAT,
    UNFINISHED,
    Place,
    UnusableSnapshot,
    derived_folder,
    read_manifest,
    scratch_in,
    storage_errors,
)

__all__ = ["Fetched", "fetch", "open_replica"]

logger = logging.getLogger(__name__)

_THREADS = 8


class Fetched(NamedTuple):
    """The result of :func:`fetch`.

    Attributes
    ----------
    name : str or None
        The installed snapshot; None if none fits, or the local parts are as new.
    generation : int or None
        The generation that the replica starts from; None if it builds from the database.
    bytes : int
        Bytes read.
    refused : tuple of (name, reason)
        Snapshots that are damaged, incomplete, or of another database.
    """

    name: str | None
    generation: int | None
    bytes: int
    refused: tuple[tuple[str, str], ...]


def open_replica(
    location: str | Path, *, replica_of: str, cache_dir: str | Path, **options: Any
) -> HebbianIndex:
    """Open an index that starts from a published snapshot.

    It is an ordinary index of the same database, and each recall first catches up with later
    commits. If no snapshot fits, the index builds its derived parts and logs why.

    Parameters
    ----------
    location : str or Path
        The database: a URL of PostgreSQL, or a directory.
    replica_of : str
        Where :func:`publish` publishes.
    cache_dir : str or Path
        A folder of this machine; its processes may share it.
    **options
        For :meth:`hebbgraph.HebbianIndex.open`.

    Raises
    ------
    StorageError
        If the storage cannot be reached.
    """
    index = HebbianIndex.open(location, cache_dir=cache_dir, **options)
    try:
        fetch(index, replica_of)
    except BaseException:
        index.close()
        raise
    return index


def fetch(index: HebbianIndex, url: str) -> Fetched:
    """Install the newest usable snapshot, unless the local parts are as new.

    Call it before any recall.

    Parameters
    ----------
    index : HebbianIndex
        Just opened, with a folder.
    url : str
        Where :func:`publish` publishes.

    Returns
    -------
    Fetched

    Raises
    ------
    ParameterError
        If the index lies in memory, or is read-only.
    StorageError
        If the storage cannot be reached.
    """
    parts = index.parts
    place = Place.of(parts, url)
    refused: list[tuple[str, str]] = []
    n_bytes = 0
    local = _local_generation(parts)
    with scratch_in(derived_folder(parts)) as scratch:
        for name in place.names():
            try:
                body = _usable_manifest(place, name, parts)
                if local is not None and body["commit"][0] <= local:
                    break
                remove(scratch / "files")
                n_bytes += _download(place, body, scratch / "files")
            except (UnusableSnapshot, FileNotFoundError) as error:
                reason = str(error) if isinstance(error, UnusableSnapshot) else "it was removed"
                logger.warning("%s: skipping snapshot %s: %s", url, name, reason)
                refused.append((name, reason))
                continue
            with parts.derived.locked():
                local = _local_generation(parts)  # another process may have been faster
                if local is None or local < body["commit"][0]:
                    _install(scratch / "files", derived_folder(parts))
                    return Fetched(name, body["commit"][0], n_bytes, tuple(refused))
            break
    if local is None:
        logger.warning("%s: no snapshot of this index fits: building from the database", url)
    return Fetched(None, local, n_bytes, tuple(refused))


def _local_generation(parts: Namespace) -> int | None:
    """Return the generation of the local graph, if it belongs to this database."""
    try:
        graph = load_snapshot(derived_folder(parts))
    except DamagedPartError:
        return None
    if graph is None or not parts.truth.history.knows(Commit(graph.generation, graph.mark)):
        return None
    return graph.generation


def _usable_manifest(place: Place, name: str, parts: Namespace) -> dict[str, Any]:
    """Read a manifest; raise UnusableSnapshot unless the database knows its commit."""
    with storage_errors(place.url):
        body = read_manifest(place.system.cat_file(place.manifest(name)))
    if body["format"] != FORMAT:
        raise UnusableSnapshot(f"it has format {body['format']}, and this version reads {FORMAT}")
    if [body["database"], body["namespace"]] != [parts.database.id, parts.name]:
        raise UnusableSnapshot("it is of another database or namespace")
    commit = Commit(*body["commit"])
    if not parts.truth.history.knows(commit):
        newest = parts.truth.state().commit.generation
        raise UnusableSnapshot(
            f"it is newer than the database, which has generation {newest}"
            if commit.generation > newest
            else f"its generation {commit.generation} is of another history of the database"
        )
    return body


def _download(place: Place, body: dict[str, Any], into: Path) -> int:
    """Write the files of a snapshot into a folder, checking each block; return the bytes read."""
    n_bytes = 0

    def read_block(block: Sequence[Any]) -> bytes:
        sha, size = block
        try:
            content: bytes = place.system.cat_file(place.block(sha))
        except FileNotFoundError:
            raise UnusableSnapshot(f"block {sha[:12]} is missing") from None
        if len(content) != size:
            raise UnusableSnapshot(f"block {sha[:12]} has {len(content)} of {size} bytes")
        if hashlib.sha256(content).hexdigest() != sha:
            raise UnusableSnapshot(f"block {sha[:12]} is damaged")
        return content

    with ThreadPoolExecutor(_THREADS) as pool:
        for name, blocks in body["files"].items():
            path = into / name
            with translated_os(str(into)):
                path.parent.mkdir(parents=True, exist_ok=True)
                file = path.open("wb")
            with file:
                for start in range(0, len(blocks), _THREADS):
                    with storage_errors(place.url):
                        contents = list(pool.map(read_block, blocks[start : start + _THREADS]))
                    with translated_os(str(into)):
                        n_bytes += sum(map(file.write, contents))
    return n_bytes


def _install(files: Path, folder: Path) -> None:
    """Replace the derived files; the caller has locked the folder.

    If this process dies halfway, each part still states its own commit.
    """
    with translated_os(str(folder)):
        for path in list(folder.iterdir()):
            if not UNFINISHED.search(path.name) and path.name != TRAINED_LAYER:
                remove(path)
        for path in list(files.iterdir()):
            os.replace(path, folder / path.name)
