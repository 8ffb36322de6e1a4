"""Bring an index up to date with files."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from hebbgraph.errors import ConversionError, MissingExtraError, ParameterError
from hebbgraph.protocols import Progress
from hebbgraph.records import AddReport, Chunk
from pydantic import BaseModel, ConfigDict

from hebbgraph_documents.convert import DEFAULT_MAX_BYTES, MEDIA_TYPES, shown_path
from hebbgraph_documents.read import convert_within, read_bytes
from hebbgraph_documents.split import ChunkSettings, iter_chunks
from hebbgraph_documents.walk import Discovery, FoundFile, discover, fingerprint
from hebbgraph_documents.worker import DEFAULT_LIMITS, ConversionLimits

__all__ = [
    "DocumentIndex",
    "IngestReport",
    "check_id",
    "chunks_of_bytes",
    "chunks_of_file",
    "failure",
    "fingerprint_salt",
    "identified",
    "ingest",
]

_FORMAT = 3
"""Increase this when the code makes other chunks of the same file."""
_BASE_SAMPLE = 50
"""Files to check for whether a folder was indexed with another base."""


class DocumentIndex(Protocol):
    """The methods of an index that :func:`ingest` calls."""

    def document_fingerprints(self) -> Mapping[str, str]:
        """Return the fingerprint of each document by id."""
        ...

    def put_document(
        self, document_id: str, fingerprint: str, chunks: Sequence[Chunk], /
    ) -> object:
        """Replace the chunks of a document atomically; equal chunks stay untouched."""
        ...

    def delete(self, *, document_id: str) -> object:
        """Remove a document with its chunks and its fingerprint."""
        ...


class IngestReport(BaseModel):
    """The outcome for each file.

    Attributes
    ----------
    indexed, skipped, removed : tuple of str
        Document ids: added or updated, unchanged, deleted by ``prune``.
    gone : tuple of str
        Documents at or below the paths whose file is gone. ``prune`` would delete them.
    elsewhere : tuple of str
        Documents outside the paths with the bytes of a file that was read, and no file here.
    failed : tuple of (path, reason)
        Their chunks from an earlier run stay in the index.
    chunks : int
        Number of chunks in ``indexed``.
    untagged : tuple of (chunk id, reason)
        Chunks for which the tagger failed; they have only the tags that need none.
    unsupported : dict
        Suffix to number of files skipped.
    links : int
        Number of symbolic links skipped.
    seconds : float
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    indexed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    chunks: int = 0
    untagged: tuple[tuple[str, str], ...] = ()
    unsupported: dict[str, int] = {}
    links: int = 0
    seconds: float = 0.0


def ingest(
    paths: Iterable[str | os.PathLike[str]] | Discovery,
    index: DocumentIndex,
    *,
    prune: bool = False,
    base: str | os.PathLike[str] | None = None,
    settings: ChunkSettings | None = None,
    suffixes: Collection[str] = tuple(MEDIA_TYPES),
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
    limits: ConversionLimits | None = DEFAULT_LIMITS,
    on_progress: Progress | None = None,
) -> IngestReport:
    """Bring the index up to date with the files at and below ``paths``.

    A file is read again when its bytes or the chunk settings change. A file that fails or
    exceeds ``limits`` does not stop the others. Errors of the index do; the next run resumes.

    Parameters
    ----------
    paths : iterable of paths
        Files and folders; or the result of :func:`~hebbgraph_documents.walk.discover`.
    index : DocumentIndex
        A HebbianIndex, or another object with the same three methods.
    prune : bool
        Also delete documents at or below ``paths`` whose file is gone, unless the given path
        itself does not exist or is empty (an unmounted drive), or the folder cannot be listed.
    base : path, optional
        Makes document ids relative to it, so folder and index can move together; by default,
        they are absolute paths. Use one base for a namespace.
    settings : ChunkSettings, optional
        A change makes every file be read again.
    suffixes : collection of str
        Of the files to read; by default, all supported ones.
    max_bytes, encoding, limits
        See :func:`~hebbgraph_documents.read_document`.
    on_progress : callable, optional
        Called with the number of files done and the total.

    Raises
    ------
    ParameterError
        If a file lies outside ``base``, most files were indexed with another base, or the
        encoding is unknown.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "brain.md").write_text("# The brain", encoding="utf-8")
    >>> class Shelf(dict):
    ...     def document_fingerprints(self): return dict(self)
    ...     def put_document(self, document_id, fingerprint, chunks):
    ...         self[document_id] = fingerprint
    ...     def delete(self, *, document_id): del self[document_id]
    >>> shelf = Shelf()
    >>> ingest([folder], shelf, base=folder).indexed
    ('brain.md',)
    >>> ingest([folder], shelf, base=folder).skipped
    ('brain.md',)
    """
    started = time.perf_counter()
    settings = settings or ChunkSettings()
    root = None if base is None else Path(base).resolve()
    discovery = paths if isinstance(paths, Discovery) else discover(paths, suffixes=suffixes)
    files = identified(discovery, root)
    known = index.document_fingerprints()
    salt = fingerprint_salt(settings, encoding)
    _check_base(files, known, salt)
    read_chunks = partial(
        chunks_of_file, settings=settings, limits=limits, max_bytes=max_bytes, encoding=encoding
    )
    indexed: dict[str, int] = {}
    skipped, failed, contents = [], list(discovery.unreadable), set()
    untagged: list[tuple[str, str]] = []
    for done, (document_id, file) in enumerate(files, start=1):
        try:
            check_id(document_id, file)
            data = read_bytes(file.real, max_bytes=max_bytes)
            print_ = fingerprint(data, salt=salt)
            contents.add(print_)
            if known.get(document_id) == print_:
                skipped.append(document_id)
            else:
                chunks = read_chunks(data, document_id, file)
                del data  # up to max_bytes, while the index tags and embeds
                untagged += _put(index, document_id, print_, chunks)
                indexed[document_id] = len(chunks)
        except (ConversionError, MissingExtraError) as error:
            failed.append(failure(error, file))
        if on_progress is not None:
            on_progress(done, len(files))
    gone, elsewhere = _gone(known, known.keys() - dict(files).keys(), contents, root, discovery)
    for document_id in gone if prune else ():
        index.delete(document_id=document_id)
    return IngestReport(
        indexed=tuple(indexed),
        skipped=tuple(skipped),
        removed=gone if prune else (),
        gone=() if prune else gone,
        elsewhere=elsewhere,
        failed=tuple(failed),
        chunks=sum(indexed.values()),
        untagged=tuple(untagged),
        unsupported=discovery.unsupported,
        links=discovery.links,
        seconds=time.perf_counter() - started,
    )


def _put(
    index: DocumentIndex, document_id: str, print_: str, chunks: Sequence[Chunk]
) -> Sequence[tuple[str, str]]:
    """Replace a document; return the chunks for which the tagger failed, with the reasons."""
    report = index.put_document(document_id, print_, chunks)
    tagging = report.tagging if isinstance(report, AddReport) else None
    return () if tagging is None else tagging.failed


def identified(discovery: Discovery, root: Path | None) -> list[tuple[str, FoundFile]]:
    """Return the files with their document ids; ``root`` is the resolved base."""
    return [(_document_id(file.real, root), file) for file in discovery]


def _check_base(files: list[tuple[str, FoundFile]], known: Mapping[str, str], salt: str) -> None:
    """Raise ParameterError if most files are already indexed under other ids."""
    if not known or any(document_id in known for document_id, _ in files):
        return
    sample = files[:_BASE_SAMPLE]
    duplicates = []
    for document_id, file in sample:
        names = [file.real.as_posix(), *("/".join(file.real.parts[at:]) for at in range(1, 32))]
        for name in filter(known.__contains__, names):
            with suppress(ConversionError):
                data = read_bytes(file.real, max_bytes=DEFAULT_MAX_BYTES)
                if known[name] == fingerprint(data, salt=salt):
                    duplicates.append((name, document_id))
    if 2 * len(duplicates) > len(sample):
        name, document_id = duplicates[0]
        raise ParameterError(
            f"{name!r} is indexed already and would be indexed again as {document_id!r}; give the "
            "base it was indexed with, or delete the documents of the other base"
        )


def fingerprint_salt(settings: ChunkSettings, encoding: str | None) -> str:
    """Return all that determines the chunks of a file besides its bytes."""
    return f"{_FORMAT}:{settings.signature}:{encoding or ''}"


def chunks_of_file(
    data: bytes,
    document_id: str,
    file: FoundFile,
    settings: ChunkSettings,
    limits: ConversionLimits | None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
) -> list[Chunk]:
    """Convert and split the bytes of a file.

    Raises
    ------
    ConversionError
        If the file cannot be converted within the limits, or makes too many chunks.
    MissingExtraError
        If the extra ``documents`` is needed and not installed.
    """
    document = convert_within(limits, data, path=file.real, max_bytes=max_bytes, encoding=encoding)
    rest = iter_chunks(
        document, document_id=document_id, source=shown_path(file.path), settings=settings
    )
    chunks = list(islice(rest, None if limits is None else limits.chunks))
    if next(rest, None) is not None:
        raise ConversionError(
            f"{shown_path(file.real)}: gives more than {len(chunks):,} chunks; split it, make "
            "chunks longer, or raise the limit chunks"
        )
    return chunks


def chunks_of_bytes(
    data: bytes,
    *,
    name: str,
    settings: ChunkSettings | None = None,
    limits: ConversionLimits | None = DEFAULT_LIMITS,
    encoding: str | None = None,
) -> tuple[str, list[Chunk]]:
    """Convert and split the content of a file, as :func:`ingest` does.

    Parameters
    ----------
    data : bytes
    name : str
        The document's id; its suffix is the format.
    settings, limits, encoding
        See :func:`ingest`.

    Returns
    -------
    tuple of str and list of Chunk
        The fingerprint and the chunks, for ``put_document``.

    Raises
    ------
    ConversionError
        If the file cannot be converted within the limits.
    MissingExtraError
        If the extra ``documents`` is needed and not installed.

    Examples
    --------
    >>> print_, (chunk,) = chunks_of_bytes(b"It learns.", name="brain.txt")
    >>> chunk.text, chunk.document_id
    ('It learns.', 'brain.txt')
    """
    settings = settings or ChunkSettings()
    file = FoundFile(Path(name), Path(name))
    check_id(name, file)
    if not data:
        raise ConversionError(f"{shown_path(name)}: is empty")
    chunks = chunks_of_file(data, name, file, settings, limits, encoding=encoding)
    return fingerprint(data, salt=fingerprint_salt(settings, encoding)), chunks


def _document_id(real: Path, root: Path | None) -> str:
    if root is None:
        return real.as_posix()
    if not real.is_relative_to(root):
        raise ParameterError(
            f"{shown_path(real)} lies outside base {shown_path(root)}; give a base above all paths"
        )
    return real.relative_to(root).as_posix()


def check_id(document_id: str, file: FoundFile) -> None:
    """Raise ConversionError if a path is no valid document id."""
    if len(document_id) > 512:
        raise ConversionError(
            f"{shown_path(file.real)}: its path has more than 512 characters; give a base below it"
        )
    if not document_id.isprintable():
        raise ConversionError(f"{shown_path(file.real)}: its name holds unprintable characters")


def _gone(
    known: Mapping[str, str],
    absent: Collection[str],
    contents: Collection[str],
    root: Path | None,
    discovery: Discovery,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the absent documents whose file is gone, at or below the given paths and elsewhere.

    Of the latter, only those whose fingerprint is among ``contents``.
    """
    gone: dict[bool, list[str]] = {True: [], False: []}
    for document_id in sorted(absent):
        path = Path(document_id) if root is None else root / document_id
        is_below = any(path.is_relative_to(root_path) for root_path in discovery.roots)
        # Relative paths, if no base is given now, were indexed with one.
        if not is_below and not (path.is_absolute() and known[document_id] in contents):
            continue
        try:
            is_file = stat.S_ISREG(os.lstat(path).st_mode)
        except (OSError, ValueError) as error:
            is_file = not isinstance(error, FileNotFoundError | NotADirectoryError)
        if not is_file:
            gone[is_below].append(document_id)
    return tuple(gone[True]), tuple(gone[False])


def failure(error: Exception, file: FoundFile) -> tuple[str, str]:
    """Return the path of a failed file and the reason, which does not repeat the path."""
    reason = str(error)
    for path in (file.real, file.real.with_suffix("")):  # the second is of an unpacked .gz
        reason = reason.removeprefix(f"{shown_path(path)}: ")
    return shown_path(file.path), reason
