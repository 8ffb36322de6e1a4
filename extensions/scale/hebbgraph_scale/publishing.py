"""Publishing: the files of what is derived, as blocks, and a manifest that is written last."""

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
    Refused,
    folder_of,
    named,
    opened,
    scratch_in,
    sealed,
)
from hebbgraph_scale.storage import check_bucket

__all__ = ["Published", "publish"]

logger = logging.getLogger(__name__)

_BLOCK = 1 << 24
_AT_ONCE = 8
#: Blocks that no snapshot names: of a publisher at work, or of one that was killed.
_UNNAMED_KEPT = timedelta(days=1)


class Published(NamedTuple):
    """What :func:`publish` did.

    Attributes
    ----------
    name : str
        Of the snapshot, below the URL.
    generation : int
        How many commits it stands for.
    bytes : int
        Of all its files.
    bytes_sent : int
        Of blocks that were not there yet.
    """

    name: str
    generation: int
    bytes: int
    bytes_sent: int


def publish(index: HebbianIndex, url: str, *, keep: int = 2, resend: bool = False) -> Published:
    """Publish what is derived of an index, so that replicas start from it instead of building it.

    Recalls and writes go on meanwhile. What was written since the last commit that the snapshot
    stands for, a replica takes from the database.

    Parameters
    ----------
    index : HebbianIndex
        Open, with a folder: a directory, or a database URL with ``cache_dir``.
    url : str
        A folder, or a URL of fsspec: ``s3://bucket/path``, ``gs://...``. Many namespaces and
        databases may share it.
    keep : int, at least 1
        So many snapshots of this namespace stay, the newest; others are removed.
    resend : bool
        Send blocks that are there, too: replaces those that were damaged in the storage.

    Returns
    -------
    Published

    Raises
    ------
    ParameterError
        If the index lies in memory, or is read-only.
    StorageError
        If the storage cannot be written, or there is no such bucket.
    """
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 1:
        raise ParameterError(f"keep is a whole number of at least 1, got {keep!r}")
    parts = index.parts
    place = Place.of(parts, url)
    with named(url):
        check_bucket(place.system, place.folder, url)
    parts.check_exists()
    with parts.held():  # learned what the log holds
        pass
    parts.learned.keep()
    parts.derived.refresh()
    parts.derived.save()
    with scratch_in(folder_of(parts)) as scratch:
        commit, files = _captured(parts, scratch)
        held = {} if resend else place.listed("blocks")
        described, sent = {}, 0
        for name, size in files:
            described[name], more = _sent(place, scratch / name, size, held)
            sent += more
    body = {
        "format": FORMAT,
        "database": parts.database.id,
        "namespace": parts.name,
        "commit": list(commit),
        "files": described,
    }
    name = f"{commit.generation:012d}.{time.time_ns():020d}.json"
    with named(url):
        place.system.makedirs(f"{place.folder}/snapshots", exist_ok=True)
        place.system.pipe_file(place.manifest(name), sealed(body))
    _prune(place, keep)
    total = sum(size for _, size in files)
    logger.info("published generation %d at %s: %d bytes", commit.generation, url, sent)
    return Published(name, commit.generation, total, sent)


def _captured(parts: Namespace, scratch: Path) -> tuple[Commit, list[tuple[str, int]]]:
    """Link all files as they are now into a folder; return their commit, names and sizes.

    Files are replaced, never overwritten, but for vectors, which are appended to: so a link and
    a size hold on to what there is, without keeping other processes waiting for the storage.
    """
    folder = folder_of(parts)
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


def _sent(place: Place, path: Path, size: int, held: dict[str, int]) -> tuple[list[list[Any]], int]:
    """Send the blocks of a file that are not there; return all of them, and the bytes sent."""
    blocks: list[list[Any]] = []
    sent = 0

    def send(block: tuple[str, bytes]) -> None:
        place.system.pipe_file(place.block(block[0]), block[1])

    with path.open("rb") as file, ThreadPoolExecutor(_AT_ONCE) as pool, named(place.url):
        place.system.makedirs(f"{place.folder}/blocks", exist_ok=True)
        while size:
            waiting = {}
            for _ in range(_AT_ONCE):
                if not (content := file.read(min(_BLOCK, size))):
                    break
                size -= len(content)
                sha = hashlib.sha256(content).hexdigest()
                blocks.append([sha, len(content)])
                if held.get(sha) != len(content):
                    waiting[sha] = content
            if not content and size:
                raise StorageError(f"{path} became shorter while it was published; publish again")
            list(pool.map(send, waiting.items()))
            for sha, content in waiting.items():
                held[sha] = len(content)
                sent += len(content)
    return blocks, sent


def _prune(place: Place, keep: int) -> None:
    """Remove older snapshots, and blocks that none names any more."""
    names = place.names()
    with named(place.url):
        kept, former = (_blocks_of(place, some) for some in (names[:keep], names[keep:]))
        for name in names[keep:]:
            _remove(place, place.manifest(name))
        long_ago = datetime.now(UTC) - _UNNAMED_KEPT
        for sha in set(place.listed("blocks")) - kept:
            if sha in former or _is_older(place, place.block(sha), long_ago):
                _remove(place, place.block(sha))


def _blocks_of(place: Place, names: Sequence[str]) -> set[str]:
    blocks: set[str] = set()
    for name in names:
        with contextlib.suppress(Refused, FileNotFoundError):
            body = opened(place.system.cat_file(place.manifest(name)))
            blocks |= {sha for held in body["files"].values() for sha, _ in held}
    return blocks


def _is_older(place: Place, path: str, than: datetime) -> bool:
    try:
        changed = place.system.modified(path)
    except (NotImplementedError, FileNotFoundError):
        return False
    return bool((changed if changed.tzinfo else changed.replace(tzinfo=UTC)) < than)


def _remove(place: Place, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # another publisher did
        place.system.rm_file(path)
