"""The layout of published snapshots: derived parts as immutable files.

Each namespace of each database has a folder below the URL::

    <folder>/blocks/<sha256>                      at most 16 MiB of a file
    <folder>/snapshots/<generation>.<time>.json   the blocks of each file; written last

Blocks are named by their content, so publishing sends only what changed; of a file that was
appended to, the last block. A snapshot holds the files that a process of another machine writes
into its own folder. Each file states its commit and counts only if the database knows that commit.
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
    "UnusableSnapshot",
    "derived_folder",
    "read_manifest",
    "scratch_in",
    "storage_errors",
    "write_manifest",
]

FORMAT = 2
#: Names of files that belong to no snapshot.
UNFINISHED = re.compile(r"\.(?:partial|lock)$|^lock$")
_SHA = re.compile(r"[0-9a-f]{64}")


class UnusableSnapshot(Exception):
    """Says why a snapshot cannot be used."""


class Place(NamedTuple):
    """The folder of one namespace in a storage."""

    system: Any
    folder: str
    url: str

    @classmethod
    def of(cls, parts: Namespace, url: str) -> Place:
        system, path = file_system(url, extra="scale", purpose=f"a snapshot at {url}")
        return cls(system, f"{path.rstrip('/')}/{derived_folder(parts).name}", url)

    def block(self, sha: str) -> str:
        return f"{self.folder}/blocks/{sha}"

    def manifest(self, name: str) -> str:
        return f"{self.folder}/snapshots/{name}"

    def sizes(self, subfolder: str) -> dict[str, int]:
        """Return the size of each file in a subfolder, by name; empty if it does not exist."""
        with storage_errors(self.url):
            self.system.invalidate_cache()
            try:
                files = self.system.ls(f"{self.folder}/{subfolder}", detail=True)
            except FileNotFoundError:
                return {}
        return {file["name"].rpartition("/")[2]: int(file["size"] or 0) for file in files}

    def names(self) -> list[str]:
        """Return the names of all snapshots, newest first."""
        names = (name for name in self.sizes("snapshots") if name.endswith(".json"))
        return sorted(names, reverse=True)


def derived_folder(parts: Namespace) -> Path:
    """Return the folder of derived parts; raise ParameterError if it cannot be written."""
    folder = parts.derived.directory
    if folder is None or parts.derived.in_memory:
        raise ParameterError(
            f"{parts.database.place}: derived parts are held in memory, or cannot be written; "
            "open the index with cache_dir=, a folder of this machine"
        )
    return folder


@contextlib.contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder among the parts; compacting removes those of dead processes."""
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


def write_manifest(body: dict[str, Any]) -> bytes:
    """Return a manifest; its first line is the checksum of the rest."""
    content = json.dumps(body).encode()
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def read_manifest(manifest: bytes) -> dict[str, Any]:
    """Parse a manifest.

    Raises
    ------
    UnusableSnapshot
        If it is damaged, or names a file outside of the folder.
    """
    checksum, _, content = manifest.partition(b"\n")
    if checksum.decode("ascii", "replace") != hashlib.sha256(content).hexdigest():
        raise UnusableSnapshot("its manifest is incomplete or damaged")
    body: dict[str, Any] = json.loads(content)
    for name, blocks in body["files"].items() if body["format"] == FORMAT else ():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise UnusableSnapshot(f"it names a file outside of its folder: {name!r:.80}")
        if not all(_SHA.fullmatch(str(sha)) for sha, _ in blocks):
            raise UnusableSnapshot(f"it names an invalid block of {name!r:.80}")
    return body


@contextlib.contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Raise errors of a storage as StorageError; FileNotFoundError passes."""
    try:
        yield
    except (HebbgraphError, FileNotFoundError, UnusableSnapshot):
        raise
    except Exception as error:  # each storage raises errors of its own
        raise StorageError(f"{url}: {type(error).__name__}: {error}") from error
