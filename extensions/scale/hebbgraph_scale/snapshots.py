"""Published snapshots: derived parts as immutable files, so that a replica need not build them.

Below the URL lies a folder for each namespace of each database::

    <folder>/blocks/<sha256>                      at most 16 MiB of a file
    <folder>/snapshots/<generation>.<time>.json   which blocks make which file; written last

A block is named by its content, so what has not changed is not sent again: of a file that was
appended to, its last block. What a replica takes are the files that another machine's process
would have written into its folder. Each still says of which commit it is, and counts only if the
truth knows that commit; the rest comes from the truth, as after any restart.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hebbgraph.artifacts import remove
from hebbgraph.derived.folder import TRAINED_LAYER
from hebbgraph.derived.snapshot import load_snapshot
from hebbgraph.errors import HebbgraphError, ParameterError, StorageError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.locks import lock_file
from hebbgraph.namespace import Namespace
from hebbgraph.store.database import translated_os
from hebbgraph.store.history import Commit

from hebbgraph_scale.storage import file_system

__all__ = ["Fetched", "Published", "fetch", "open_replica", "publish"]

logger = logging.getLogger(__name__)

_FORMAT = 1
_BLOCK = 1 << 24
_AT_ONCE = 8
#: Blocks that no snapshot names: of a publisher at work, or of one that was killed.
_UNNAMED_KEPT = timedelta(days=1)
_UNFINISHED = re.compile(r"\.(?:partial(?:\.\w+)?|lock)$|^lock$")
_SHA = re.compile(r"[0-9a-f]{64}")


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


class _Refused(Exception):
    """Why a snapshot is of no use."""


class _Place(NamedTuple):
    """The folder of one namespace in some storage."""

    system: Any
    folder: str
    url: str

    @classmethod
    def of(cls, parts: Namespace, url: str) -> _Place:
        purpose = f"a snapshot at {url}"
        system, path = file_system(url, extra="scale", purpose=purpose)
        return cls(system, f"{path.rstrip('/')}/{_folder_of(parts).name}", url)

    def block(self, sha: str) -> str:
        return f"{self.folder}/blocks/{sha}"

    def manifest(self, name: str) -> str:
        return f"{self.folder}/snapshots/{name}"

    def listed(self, below: str) -> dict[str, int]:
        """Return the names in a folder with their sizes; none if there is no folder."""
        with _named(self.url):
            self.system.invalidate_cache()
            try:
                found = self.system.ls(f"{self.folder}/{below}", detail=True)
            except FileNotFoundError:
                return {}
        return {one["name"].rpartition("/")[2]: int(one["size"] or 0) for one in found}

    def names(self) -> list[str]:
        """Return the names of all snapshots, the newest first."""
        return sorted(one for one in self.listed("snapshots") if one.endswith(".json"))[::-1]


# -- publishing -------------------------------------------------------------------------


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
        If the storage cannot be written.
    """
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 1:
        raise ParameterError(f"keep is a whole number of at least 1, got {keep!r}")
    parts = index.parts
    place = _Place.of(parts, url)
    parts.check_exists()
    with parts.held():  # learned what the log holds
        pass
    parts.learned.keep()
    parts.derived.refresh()
    parts.derived.save()
    with _scratch(_folder_of(parts)) as scratch:
        commit, files = _captured(parts, scratch)
        held = {} if resend else place.listed("blocks")
        described, sent = {}, 0
        for name, size in files:
            described[name], more = _sent(place, scratch / name, size, held)
            sent += more
    body = {
        "format": _FORMAT,
        "database": parts.database.id,
        "namespace": parts.name,
        "commit": list(commit),
        "files": described,
    }
    name = f"{commit.generation:012d}.{time.time_ns():020d}.json"
    with _named(url):
        place.system.makedirs(f"{place.folder}/snapshots", exist_ok=True)
        place.system.pipe_file(place.manifest(name), _sealed(body))
    _prune(place, keep)
    total = sum(size for _, size in files)
    logger.info("published generation %d at %s: %d bytes", commit.generation, url, sent)
    return Published(name, commit.generation, total, sent)


def _captured(parts: Namespace, scratch: Path) -> tuple[Commit, list[tuple[str, int]]]:
    """Link all files as they are now into a folder; return their commit, names and sizes.

    Files are replaced, never overwritten, but for vectors, which are appended to: so a link and
    a size hold on to what there is, without keeping other processes waiting for the storage.
    """
    folder = _folder_of(parts)
    files = []
    with parts.derived.locked(), translated_os(str(folder)):
        graph = load_snapshot(folder)
        if graph is None:
            raise StorageError(f"{folder}: no graph was saved, so there is nothing to publish")
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if not path.is_file() or any(map(_UNFINISHED.search, name.parts)):
                continue
            linked = scratch / name
            linked.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, linked)
            except OSError:  # a file system without links
                shutil.copyfile(path, linked)
            files.append((name.as_posix(), linked.stat().st_size))
    return Commit(graph.generation, graph.mark), files


def _sent(
    place: _Place, path: Path, size: int, held: dict[str, int]
) -> tuple[list[list[Any]], int]:
    """Send the blocks of a file that are not there; return all of them, and the bytes sent."""
    blocks: list[list[Any]] = []
    sent = 0

    def send(block: tuple[str, bytes]) -> None:
        place.system.pipe_file(place.block(block[0]), block[1])

    with path.open("rb") as file, ThreadPoolExecutor(_AT_ONCE) as pool, _named(place.url):
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
            list(pool.map(send, waiting.items()))
            for sha, content in waiting.items():
                held[sha] = len(content)
                sent += len(content)
    return blocks, sent


def _prune(place: _Place, keep: int) -> None:
    """Remove older snapshots, and blocks that none names any more."""
    names = place.names()
    with _named(place.url):
        kept, former = (_blocks_of(place, some) for some in (names[:keep], names[keep:]))
        for name in names[keep:]:
            _remove(place, place.manifest(name))
        long_ago = datetime.now(UTC) - _UNNAMED_KEPT
        for sha in set(place.listed("blocks")) - kept:
            if sha in former or _is_older(place, place.block(sha), long_ago):
                _remove(place, place.block(sha))


def _blocks_of(place: _Place, names: Sequence[str]) -> set[str]:
    blocks: set[str] = set()
    for name in names:
        with contextlib.suppress(_Refused, FileNotFoundError):
            body = _opened(place.system.cat_file(place.manifest(name)))
            blocks |= {sha for held in body["files"].values() for sha, _ in held}
    return blocks


def _is_older(place: _Place, path: str, than: datetime) -> bool:
    try:
        changed = place.system.modified(path)
    except (NotImplementedError, FileNotFoundError):
        return False
    return bool((changed if changed.tzinfo else changed.replace(tzinfo=UTC)) < than)


def _remove(place: _Place, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # another publisher did
        place.system.rm_file(path)


# -- replicas ---------------------------------------------------------------------------


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
    place = _Place.of(parts, url)
    refused: list[tuple[str, str]] = []
    read = 0
    here = _generation_here(parts)
    with _scratch(_folder_of(parts)) as scratch:
        for name in place.names():
            try:
                body = _fitting(place, name, parts)
                if here is not None and body["commit"][0] <= here:
                    break
                remove(scratch / "files")
                read += _downloaded(place, body, scratch / "files")
            except (_Refused, FileNotFoundError) as error:
                reason = str(error) if isinstance(error, _Refused) else "it was removed"
                logger.warning("%s: snapshot %s is not taken: %s", url, name, reason)
                refused.append((name, reason))
                continue
            with parts.derived.locked():
                here = _generation_here(parts)  # another process may have been faster
                if here is None or here < body["commit"][0]:
                    _install(scratch / "files", _folder_of(parts))
                    return Fetched(name, body["commit"][0], read, tuple(refused))
            break
    if here is None:
        logger.warning("%s: no snapshot of this index fits: building from the database", url)
    return Fetched(None, here, read, tuple(refused))


def _generation_here(parts: Namespace) -> int | None:
    """Return the generation of the graph in the folder, if it is of this truth."""
    graph = load_snapshot(_folder_of(parts))
    if graph is None or not parts.truth.history.knows(Commit(graph.generation, graph.mark)):
        return None
    return graph.generation


def _fitting(place: _Place, name: str, parts: Namespace) -> dict[str, Any]:
    """Read a manifest; refuse it unless its commit led to the truth."""
    with _named(place.url):
        body = _opened(place.system.cat_file(place.manifest(name)))
    if body["format"] != _FORMAT:
        raise _Refused(f"it has format {body['format']}, and this version reads {_FORMAT}")
    if [body["database"], body["namespace"]] != [parts.database.id, parts.name]:
        raise _Refused("it is of another database or namespace")
    commit = Commit(*body["commit"])
    if not parts.truth.history.knows(commit):
        newest = parts.truth.state().commit.generation
        raise _Refused(
            f"it is newer than the database, which has generation {newest}"
            if commit.generation > newest
            else f"its generation {commit.generation} is of another history of the database"
        )
    return body


def _downloaded(place: _Place, body: dict[str, Any], into: Path) -> int:
    """Write the files of a snapshot into a folder, each block checked; return the bytes read."""
    read = 0

    def content(block: Sequence[Any]) -> bytes:
        try:
            found: bytes = place.system.cat_file(place.block(block[0]))
        except FileNotFoundError:
            raise _Refused(f"block {block[0][:12]} is missing") from None
        if len(found) != block[1]:
            raise _Refused(f"block {block[0][:12]} has {len(found)} of {block[1]} bytes")
        if hashlib.sha256(found).hexdigest() != block[0]:
            raise _Refused(f"block {block[0][:12]} is damaged")
        return found

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for name, blocks in body["files"].items():
            path = into / name
            with translated_os(str(into)):
                path.parent.mkdir(parents=True, exist_ok=True)
                file = path.open("wb")
            with file:
                for start in range(0, len(blocks), _AT_ONCE):
                    with _named(place.url):
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
            if not _UNFINISHED.search(path.name) and path.name != TRAINED_LAYER:
                remove(path)
        for path in list(files.iterdir()):
            os.replace(path, folder / path.name)


# -- both -------------------------------------------------------------------------------


def _folder_of(parts: Namespace) -> Path:
    """Return the folder of the derived parts, which may be written."""
    folder = parts.derived.directory
    if folder is None or parts.derived.in_memory:
        raise ParameterError(
            f"{parts.database.place}: derived parts are held in memory, or cannot be written; "
            "open the index with cache_dir=, a folder of this machine"
        )
    return folder


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yield a folder beside the parts, gone in the end; compacting sweeps a dead process's."""
    scratch = folder / f".snapshot-{secrets.token_hex(8)}.partial"
    with translated_os(str(folder)):
        scratch.mkdir(parents=True)
        lock = lock_file(scratch / "lock")
    try:
        yield scratch
    finally:
        if lock is not None:
            lock.close()
        remove(scratch)


def _sealed(body: dict[str, Any]) -> bytes:
    """Return a manifest, whose first line is the checksum of the rest."""
    content = json.dumps(body).encode()
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _opened(manifest: bytes) -> dict[str, Any]:
    """Parse a manifest; refuse one that is damaged, or names what it must not."""
    checksum, _, content = manifest.partition(b"\n")
    if checksum.decode("ascii", "replace") != hashlib.sha256(content).hexdigest():
        raise _Refused("its manifest is incomplete or damaged")
    body: dict[str, Any] = json.loads(content)
    for name, blocks in body["files"].items() if body["format"] == _FORMAT else ():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise _Refused(f"it names a file outside of its folder: {name!r:.80}")
        if not all(_SHA.fullmatch(str(sha)) for sha, _ in blocks):
            raise _Refused(f"it names a block that is none, of {name!r:.80}")
    return body


@contextlib.contextmanager
def _named(url: str) -> Iterator[None]:
    """Say where storage failed; that something is not there is the caller's matter."""
    try:
        yield
    except (HebbgraphError, FileNotFoundError, _Refused):
        raise
    except Exception as error:  # each kind of storage raises its own
        raise StorageError(f"{url}: {type(error).__name__}: {error}") from error
