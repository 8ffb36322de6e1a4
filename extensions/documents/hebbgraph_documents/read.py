"""One file to a Document, within limits of time, memory and output.

This process reads plain text and short Markdown. HTML, Word, PDF and long Markdown go to a
worker process (:mod:`hebbgraph_documents.worker`): a hostile file can keep their libraries
busy for hours, or make them allocate gigabytes.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from pathlib import Path

from hebbgraph.errors import ConversionError, ParameterError

from hebbgraph_documents.convert import (
    DEFAULT_MAX_BYTES,
    Document,
    convert_bytes,
    known_encoding,
    media_type_of,
    shown_path,
)
from hebbgraph_documents.worker import DEFAULT_LIMITS, ConversionLimits, convert_apart

__all__ = ["convert_within", "read_bytes", "read_document"]

_SHORT_MARKDOWN = 100_000
"""In bytes. The worst such file takes the Markdown parser two seconds."""


def read_document(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
    limits: ConversionLimits | None = DEFAULT_LIMITS,
) -> Document:
    r"""Read one file.

    Parameters
    ----------
    path : path
        The suffix, one of ``MEDIA_TYPES``, tells the format.
    max_bytes : int
        Larger files are refused.
    encoding : str, optional
        Of a text or HTML file without byte order mark. By default .txt and .md must be
        UTF-8, and .html is read as it declares.
    limits : ConversionLimits, optional
        A worker process converts HTML, Word, PDF and long Markdown, and is killed when it
        exceeds them. It starts with the first such file and stays for the next. None
        converts them in this process without limits: for files that you trust, or where
        no process can be started.

    Returns
    -------
    Document
        Its title is the first of: front matter or Word's Title; the only heading of the
        highest level; the declared title; a first line that stands alone; the file name.

    Raises
    ------
    ConversionError
        If the file is missing, unreadable, not a regular file, empty, too large,
        encrypted, damaged, binary, in another encoding, of an unknown kind, modified during
        the read, or beyond a limit. The message starts with the path; the cause is chained
        unless it arose in a worker.
    MissingExtraError
        If the extra ``documents`` is needed and not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "brain.md")
    >>> _ = path.write_text("# The brain\n\nIt learns.", encoding="utf-8")
    >>> document = read_document(path)
    >>> document.title, document.media_type
    ('The brain', 'text/markdown')
    """
    data = read_bytes(path, max_bytes=max_bytes)
    return convert_within(limits, data, path=path, max_bytes=max_bytes, encoding=encoding)


def convert_within(
    limits: ConversionLimits | None,
    data: bytes,
    *,
    path: str | os.PathLike[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
) -> Document:
    """Convert the bytes of the file ``path``; see :func:`read_document`."""
    media_type = media_type_of(path)
    data, path = _unpacked(data, Path(path), max_bytes)
    known_encoding(encoding)
    is_light = media_type == "text/plain" or (
        media_type == "text/markdown" and len(data) <= _SHORT_MARKDOWN
    )
    if limits is None or is_light:
        return convert_bytes(data, path=path, max_bytes=max_bytes, encoding=encoding)
    return convert_apart(data, path=path, max_bytes=max_bytes, encoding=encoding, limits=limits)


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Return the bytes of a regular file that is neither empty nor too large.

    Raises
    ------
    ConversionError
        If it is not, cannot be read, or is modified during the read.
    """
    if max_bytes < 1:
        raise ParameterError(f"max_bytes must be positive, got {max_bytes}")
    try:
        # Check first: opening a pipe waits for a writer, and a device may react. If one
        # replaces the file after the check, the open does not block.
        _check_regular(os.stat(path), path)
        with open(path, "rb", opener=_without_waiting) as file:
            before = os.fstat(file.fileno())
            _check_regular(before, path)
            data = file.read(max_bytes + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConversionError(f"{shown_path(path)}: cannot be read: {reason}") from error
    except ValueError as error:  # a NUL or an unencodable character in the path
        if isinstance(error, ConversionError):
            raise
        raise ConversionError(f"{shown_path(path)}: cannot be read: {error}") from error
    if len(data) > max_bytes:
        raise ConversionError(
            f"{shown_path(path)}: is larger than {max_bytes:,} bytes; split it or raise max_bytes"
        )
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ConversionError(f"{shown_path(path)}: changed while it was read; read it again")
    if not data:
        raise ConversionError(f"{shown_path(path)}: is empty")
    return data


def _unpacked(data: bytes, path: Path, max_bytes: int) -> tuple[bytes, Path]:
    """Return what a ``.gz`` holds and is called without that, and anything else as it is."""
    if path.suffix.lower() != ".gz":
        return data, path
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            data = packed.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ConversionError(
            f"{shown_path(path)}: is damaged or not really .gz: {error}"
        ) from error
    if len(data) > max_bytes:
        raise ConversionError(f"{shown_path(path)}: unpacks to more than {max_bytes:,} bytes")
    if not data:
        raise ConversionError(f"{shown_path(path)}: holds an empty file")
    return data, path.with_suffix("")


def _check_regular(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConversionError(f"{shown_path(path)}: is not a regular file")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
