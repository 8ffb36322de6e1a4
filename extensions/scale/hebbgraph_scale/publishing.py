"""Publishing: derived files as blocks, then a manifest."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.derived.snapshot import load_snapshot
from hebbgraph.errors import ParameterError, StorageError
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
    write_manifest,
)
from hebbgraph_scale.storage import check_bucket

__all__ = ["Published", "publish"]

logger = logging.getLogger(__name__)

_BLOCK = 1 << 24
_THREADS = 8
#: Keep unnamed blocks this long: a publisher may be about to name them.
_UNNAMED_KEPT = timedelta(days=1)


class Published(NamedTuple):
    """A published snapshot.

    Attributes
    ----------
    name : str
        Below the URL.
    generation : int
        The number of commits in it.
    bytes : int
        Size of all files.
    bytes_sent : int
        Size of the blocks that were new to the storage.
    """

    name: str
    generation: int
    bytes: int
    bytes_sent: int


def publish(index: HebbianIndex, url: str, *, keep: int = 2, resend: bool = False) -> Published:
    """Publish the derived parts of an index, so that replicas need not build them.

    Recalls and writes go on meanwhile. Replicas take later commits from the database.

    Parameters
    ----------
    index : HebbianIndex
        Open, with a folder: a directory, or a database URL with ``cache_dir``.
    url : str
        A folder, or a URL of fsspec: ``s3://bucket/path``, ``gs://...``. Many namespaces and
        databases may share it.
    keep : int, at least 1
        Keep so many snapshots of this namespace, and remove older ones.
    resend : bool
        Also send blocks that exist: replaces those that were damaged in the storage.

    Returns
    -------
    Published

    Raises
    ------
    ParameterError
        If the index lies in memory, or is read-only.
    StorageError
        If the storage cannot be written, or the bucket does not exist.
    """
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 1:
        raise ParameterError(f"keep is a whole number of at least 1, got {keep!r}")
    parts = index.parts
    place = Place.of(parts, url)
    with storage_errors(url):
        check_bucket(place.system, place.folder, url)
    parts.check_exists()
    with parts.reading():  # learns from the log up to now
        pass
    parts.memory.save_snapshot()
    parts.derived.refresh()
    parts.derived.save()
    with scratch_in(derived_folder(parts)) as scratch:
        commit, files = _captured(parts, scratch)
        stored = {} if resend else place.sizes("blocks")
        described, bytes_sent = {}, 0
        for name, size in files:
            described[name], sent = _send(place, scratch / name, size, stored)
            bytes_sent += sent
    body = {
        "format": FORMAT,
        "database": parts.database.id,
        "namespace": parts.name,
        "commit": list(commit),
        "files": described,
    }
    name = f"{commit.generation:012d}.{time.time_ns():020d}.json"
    with storage_errors(url):
        place.system.makedirs(f"{place.folder}/snapshots", exist_ok=True)
        place.system.pipe_file(place.manifest(name), write_manifest(body))
    _prune(place, keep)
    total = sum(size for _, size in files)
    logger.info("published generation %d at %s: %d bytes", commit.generation, url, bytes_sent)
    return Published(name, commit.generation, total, bytes_sent)


def _captured(parts: Namespace, scratch: Path) -> tuple[Commit, list[tuple[str, int]]]:
    """Link the present files into a folder; return their commit, names and sizes.

    Files are replaced, not overwritten; only vectors are appended to. So a link and a size
    preserve the present state without locking other processes out during the transfer.
    """
    folder = derived_folder(parts)
    files = []
    with parts.derived.locked(), translated_os(str(folder)):
        graph = load_snapshot(folder)
        if graph is None:
            raise StorageError(f"{folder}: no graph was saved, so there is nothing to publish")
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if not path.is_file() or any(map(UNFINISHED.search, name.parts)):
                continue
            linked = scratch / name
            linked.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, linked)
            except OSError:  # a file system without links
                shutil.copyfile(path, linked)
            files.append((name.as_posix(), linked.stat().st_size))
    return Commit(graph.generation, graph.mark), files


def _send(
    place: Place, path: Path, size: int, stored: dict[str, int]
) -> tuple[list[list[Any]], int]:
    """Send the blocks of a file that are not stored; return all blocks, and the bytes sent."""
    blocks: list[list[Any]] = []
    sent = 0
    with path.open("rb") as file, ThreadPoolExecutor(_THREADS) as pool, storage_errors(place.url):
        place.system.makedirs(f"{place.folder}/blocks", exist_ok=True)
        while size:
            missing = {}
            for _ in range(_THREADS):
                if not (content := file.read(min(_BLOCK, size))):
                    break
                size -= len(content)
                sha = hashlib.sha256(content).hexdigest()
                blocks.append([sha, len(content)])
                if stored.get(sha) != len(content):
                    missing[sha] = content
            if not content and size:
                raise StorageError(f"{path} became shorter while it was published; publish again")
            list(pool.map(place.system.pipe_file, map(place.block, missing), missing.values()))
            stored |= {sha: len(content) for sha, content in missing.items()}
            sent += sum(map(len, missing.values()))
    return blocks, sent


def _prune(place: Place, keep: int) -> None:
    """Remove older snapshots, and blocks that no snapshot names any more."""
    names = place.names()
    with storage_errors(place.url):
        current, former = (_blocks_of(place, part) for part in (names[:keep], names[keep:]))
        for name in names[keep:]:
            _remove(place, place.manifest(name))
        oldest = datetime.now(UTC) - _UNNAMED_KEPT
        for sha in set(place.sizes("blocks")) - current:
            if sha in former or _is_older(place, place.block(sha), oldest):
                _remove(place, place.block(sha))


def _blocks_of(place: Place, names: Sequence[str]) -> set[str]:
    named: set[str] = set()
    for name in names:
        with contextlib.suppress(UnusableSnapshot, FileNotFoundError):
            body = read_manifest(place.system.cat_file(place.manifest(name)))
            named |= {sha for blocks in body["files"].values() for sha, _ in blocks}
    return named


def _is_older(place: Place, path: str, than: datetime) -> bool:
    try:
        changed = place.system.modified(path)
    except (NotImplementedError, FileNotFoundError):
        return False
    return bool((changed if changed.tzinfo else changed.replace(tzinfo=UTC)) < than)


def _remove(place: Place, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # another publisher was faster
        place.system.rm_file(path)
