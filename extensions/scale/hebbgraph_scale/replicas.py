"""Replicas: an index whose derived parts start from the newest snapshot that fits the truth."""

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
    Refused,
    folder_of,
    named,
    opened,
    scratch_in,
)

__all__ = ["Fetched", "fetch", "open_replica"]

logger = logging.getLogger(__name__)

_AT_ONCE = 8


class Fetched(NamedTuple):
    """What :func:`fetch` did.

    Attributes
    ----------
    name : str or None
        The snapshot that was taken; None if none fits, or what is here is as new.
    generation : int or None
        Where the replica starts: that snapshot's, or what was here; None if it builds anew.
    bytes : int
        Bytes read.
    refused : tuple of (name, reason)
        Snapshots that are damaged, incomplete, or not of this truth.
    """

    name: str | None
    generation: int | None
    bytes: int
    refused: tuple[tuple[str, str], ...]


def open_replica(
    location: str | Path, *, replica_of: str, cache_dir: str | Path, **options: Any
) -> HebbianIndex:
    """Open an index whose derived parts start from a published snapshot.

    It is an index like any other: it reads and writes the same database, and each recall first
    takes what was committed since. If no snapshot fits, it builds what is derived, and says why
    in the log.

    Parameters
    ----------
    location : str or Path
        The database: a URL of PostgreSQL, or a directory.
    replica_of : str
        Where :func:`publish` publishes.
    cache_dir : str or Path
        A folder of this machine, which its processes may share.
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
    """Take the newest whole snapshot, unless what is here is as new; call it before any recall.

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
    read = 0
    here = _generation_here(parts)
    with scratch_in(folder_of(parts)) as scratch:
        for name in place.names():
            try:
                body = _fitting(place, name, parts)
                if here is not None and body["commit"][0] <= here:
                    break
                remove(scratch / "files")
                read += _downloaded(place, body, scratch / "files")
            except (Refused, FileNotFoundError) as error:
                reason = str(error) if isinstance(error, Refused) else "it was removed"
                logger.warning("%s: snapshot %s is not taken: %s", url, name, reason)
                refused.append((name, reason))
                continue
            with parts.derived.locked():
                here = _generation_here(parts)  # another process may have been faster
                if here is None or here < body["commit"][0]:
                    _install(scratch / "files", folder_of(parts))
                    return Fetched(name, body["commit"][0], read, tuple(refused))
            break
    if here is None:
        logger.warning("%s: no snapshot of this index fits: building from the database", url)
    return Fetched(None, here, read, tuple(refused))


def _generation_here(parts: Namespace) -> int | None:
    """Return the generation of the graph in the folder, if it is of this truth."""
    try:
        graph = load_snapshot(folder_of(parts))
    except DamagedPartError:  # what is damaged is replaced
        return None
    if graph is None or not parts.truth.history.knows(Commit(graph.generation, graph.mark)):
        return None
    return graph.generation


def _fitting(place: Place, name: str, parts: Namespace) -> dict[str, Any]:
    """Read a manifest; refuse it unless its commit led to the truth."""
    with named(place.url):
        body = opened(place.system.cat_file(place.manifest(name)))
    if body["format"] != FORMAT:
        raise Refused(f"it has format {body['format']}, and this version reads {FORMAT}")
    if [body["database"], body["namespace"]] != [parts.database.id, parts.name]:
        raise Refused("it is of another database or namespace")
    commit = Commit(*body["commit"])
    if not parts.truth.history.knows(commit):
        newest = parts.truth.state().commit.generation
        raise Refused(
            f"it is newer than the database, which has generation {newest}"
            if commit.generation > newest
            else f"its generation {commit.generation} is of another history of the database"
        )
    return body


def _downloaded(place: Place, body: dict[str, Any], into: Path) -> int:
    """Write the files of a snapshot into a folder, each block checked; return the bytes read."""
    read = 0

    def content(block: Sequence[Any]) -> bytes:
        try:
            found: bytes = place.system.cat_file(place.block(block[0]))
        except FileNotFoundError:
            raise Refused(f"block {block[0][:12]} is missing") from None
        if len(found) != block[1]:
            raise Refused(f"block {block[0][:12]} has {len(found)} of {block[1]} bytes")
        if hashlib.sha256(found).hexdigest() != block[0]:
            raise Refused(f"block {block[0][:12]} is damaged")
        return found

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for name, blocks in body["files"].items():
            path = into / name
            with translated_os(str(into)):
                path.parent.mkdir(parents=True, exist_ok=True)
                file = path.open("wb")
            with file:
                for start in range(0, len(blocks), _AT_ONCE):
                    with named(place.url):
                        found = list(pool.map(content, blocks[start : start + _AT_ONCE]))
                    with translated_os(str(into)):
                        read += sum(map(file.write, found))
    return read


def _install(files: Path, folder: Path) -> None:
    """Move files to where they belong, in place of all that was there; the folder is locked.

    If this process dies in between, each part still says of which commit it is.
    """
    with translated_os(str(folder)):
        for path in list(folder.iterdir()):
            if not UNFINISHED.search(path.name) and path.name != TRAINED_LAYER:
                remove(path)
        for path in list(files.iterdir()):
            os.replace(path, folder / path.name)
