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
import re
import secrets
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hebbgraph.artifacts import remove
from hebbgraph.errors import HebbgraphError, ParameterError, StorageError
from hebbgraph.locks import lock_file
from hebbgraph.namespace import Namespace
from hebbgraph.store.database import translated_os

from hebbgraph_scale.storage import file_system

__all__ = [
    "FORMAT",
    "UNFINISHED",
    "Place",
    "Refused",
    "folder_of",
    "named",
    "opened",
    "scratch_in",
    "sealed",
]

FORMAT = 2
#: Names of files that are no part of what is derived.
UNFINISHED = re.compile(r"\.(?:partial|lock)$|^lock$")
_SHA = re.compile(r"[0-9a-f]{64}")


class Refused(Exception):
    """Why a snapshot is of no use."""


class Place(NamedTuple):
    """The folder of one namespace in some storage."""

    system: Any
    folder: str
    url: str

    @classmethod
    def of(cls, parts: Namespace, url: str) -> Place:
        purpose = f"a snapshot at {url}"
        system, path = file_system(url, extra="scale", purpose=purpose)
        return cls(system, f"{path.rstrip('/')}/{folder_of(parts).name}", url)

    def block(self, sha: str) -> str:
        return f"{self.folder}/blocks/{sha}"

    def manifest(self, name: str) -> str:
        return f"{self.folder}/snapshots/{name}"

    def listed(self, below: str) -> dict[str, int]:
        """Return the names in a folder with their sizes; none if there is no folder."""
        with named(self.url):
            self.system.invalidate_cache()
            try:
                found = self.system.ls(f"{self.folder}/{below}", detail=True)
            except FileNotFoundError:
                return {}
        return {one["name"].rpartition("/")[2]: int(one["size"] or 0) for one in found}

    def names(self) -> list[str]:
        """Return the names of all snapshots, the newest first."""
        return sorted(one for one in self.listed("snapshots") if one.endswith(".json"))[::-1]


def folder_of(parts: Namespace) -> Path:
    """Return the folder of the derived parts, which may be written."""
    folder = parts.derived.directory
    if folder is None or parts.derived.in_memory:
        raise ParameterError(
            f"{parts.database.place}: derived parts are held in memory, or cannot be written; "
            "open the index with cache_dir=, a folder of this machine"
        )
    return folder


@contextlib.contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
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


def sealed(body: dict[str, Any]) -> bytes:
    """Return a manifest, whose first line is the checksum of the rest."""
    content = json.dumps(body).encode()
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def opened(manifest: bytes) -> dict[str, Any]:
    """Parse a manifest; refuse one that is damaged, or names what it must not."""
    checksum, _, content = manifest.partition(b"\n")
    if checksum.decode("ascii", "replace") != hashlib.sha256(content).hexdigest():
        raise Refused("its manifest is incomplete or damaged")
    body: dict[str, Any] = json.loads(content)
    for name, blocks in body["files"].items() if body["format"] == FORMAT else ():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise Refused(f"it names a file outside of its folder: {name!r:.80}")
        if not all(_SHA.fullmatch(str(sha)) for sha, _ in blocks):
            raise Refused(f"it names a block that is none, of {name!r:.80}")
    return body


@contextlib.contextmanager
def named(url: str) -> Iterator[None]:
    """Say where storage failed; that something is not there is the caller's matter."""
    try:
        yield
    except (HebbgraphError, FileNotFoundError, Refused):
        raise
    except Exception as error:  # each kind of storage raises its own
        raise StorageError(f"{url}: {type(error).__name__}: {error}") from error
