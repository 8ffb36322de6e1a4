"""Files of documents to partitions, for workers that read and split them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.errors import ConversionError, MissingExtraError
from hebbgraph.records import Chunk
from hebbgraph_documents.convert import DEFAULT_MAX_BYTES, MEDIA_TYPES, shown_path
from hebbgraph_documents.ingesting import (
    check_id,
    chunks_of_file,
    failure,
    fingerprint_salt,
    identified,
)
from hebbgraph_documents.read import read_bytes
from hebbgraph_documents.split import ChunkSettings
from hebbgraph_documents.walk import FoundFile, discover, fingerprint
from hebbgraph_documents.worker import DEFAULT_LIMITS, ConversionLimits

from hebbgraph_scale.build.recipe import Partition
from hebbgraph_scale.build.sources import share_of

__all__ = ["Batch", "Batches", "batches_of"]


@dataclass
class Batch(Partition):
    """Some files of documents.

    Attributes
    ----------
    files : list of (document id, FoundFile, size, time of change)
    settings : ChunkSettings
    limits : ConversionLimits or None
    size : int
        Bytes of the files.
    """

    files: list[tuple[str, FoundFile, int, int]]
    settings: ChunkSettings
    limits: ConversionLimits | None
    size: int
    first: int = 0
    _documents: dict[str, str] = field(default_factory=dict)
    _failed: list[tuple[str, str]] = field(default_factory=list)

    def identity(self) -> list[Any]:
        """Return the files with size and time of change, and the settings."""
        files = [[id_, size, changed] for id_, _, size, changed in self.files]
        limits = None if self.limits is None else repr(self.limits)
        return ["files", fingerprint_salt(self.settings, None), limits, files]

    def read(self) -> Iterator[Chunk]:
        """Yield the chunks of all readable files."""
        salt = fingerprint_salt(self.settings, None)
        for document_id, file, _, _ in self.files:
            try:
                check_id(document_id, file)
                data = read_bytes(file.real, max_bytes=DEFAULT_MAX_BYTES)
                chunks = chunks_of_file(data, document_id, file, self.settings, self.limits)
            except (ConversionError, MissingExtraError) as error:
                self._failed.append(failure(error, file))
                continue
            self._documents[document_id] = fingerprint(data, salt=salt)
            for chunk in chunks:
                yield chunk.model_copy(update={"document_id": document_id})

    def notes(self) -> dict[str, Any]:
        """Return the fingerprints of the files read, and those that failed."""
        return {"documents": self._documents, "files_failed": self._failed}


class Batches(NamedTuple):
    """Files in batches, and those left out.

    Attributes
    ----------
    batches : list of Batch
    failed : list of (path, reason)
        Files that cannot be accessed.
    ignored : dict of str to int
        The number of files in folders with an unknown suffix, by suffix.
    """

    batches: list[Batch]
    failed: list[tuple[str, str]]
    ignored: dict[str, int]


def batches_of(
    paths: Iterable[str | os.PathLike[str]],
    *,
    base: str | os.PathLike[str] | None = None,
    settings: ChunkSettings | None = None,
    limits: ConversionLimits | None = DEFAULT_LIMITS,
) -> Batches:
    """Divide the files at and below some paths into batches of similar size.

    Returns
    -------
    Batches
    """
    found = discover(paths, suffixes=tuple(MEDIA_TYPES))
    files: list[tuple[str, FoundFile, int, int]] = []
    failed = list(found.unreadable)
    for document_id, file in identified(found, None if base is None else Path(base).resolve()):
        try:
            status = os.stat(file.real)
        except OSError as error:
            failed.append((shown_path(file.path), str(error)))
        else:
            files.append((document_id, file, status.st_size, status.st_mtime_ns))
    share = share_of(sum(size for _, _, size, _ in files))
    settings = settings or ChunkSettings()
    batches: list[Batch] = []
    for file_entry in files:
        size = file_entry[2]
        if not batches or batches[-1].size + size > share:
            batches.append(Batch([], settings, limits, 0))
        batches[-1].files.append(file_entry)
        batches[-1].size += size
    return Batches(batches, failed, found.unsupported)
