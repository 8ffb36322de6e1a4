"""Read one file into a Document, within limits of time, memory and output.

Plain text and short Markdown are read in this process, HTML, Word, PDF and long Markdown in a
worker process (:mod:`hebbgraph_documents.worker`): a hostile file can keep their parsers busy for
hours, or make them allocate gigabytes.
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
"""In bytes. The worst file of this size takes the Markdown parser two seconds."""


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
        The suffix, one of ``MEDIA_TYPES``, is the format.
    max_bytes : int
        Larger files are refused.
    encoding : str, optional
        Of a text or HTML file without byte order mark. The default is UTF-8 for .txt and .md,
        and the declared encoding for .html.
    limits : ConversionLimits, optional
        Of the worker process that converts HTML, Word, PDF and long Markdown. None converts them
        in this process, without limits: for trusted files, or where no process can start.

    Returns
    -------
    Document
        Its title is the first of: front matter or Word's Title; the only heading of the
        highest level; the declared title; a first line that stands alone; the file name.

    Raises
    ------
    ConversionError
        If the file is missing, unreadable, not a regular file, empty, too large, encrypted,
        damaged, binary, in another encoding, of an unknown kind, modified during the read, or
        beyond a limit. The message starts with the path.
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
        If the file is not, is unreadable, or is modified during the read.
    """
    if max_bytes < 1:
        raise ParameterError(f"max_bytes must be positive, got {max_bytes}")
    try:
        # Check before opening: opening a pipe blocks, and a device may react. O_NONBLOCK helps if
        # one replaces the file after the check.
        _check_regular(os.stat(path), path)
        with open(path, "rb", opener=_without_waiting) as file:
            before = os.fstat(file.fileno())
            _check_regular(before, path)
            data = file.read(max_bytes + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConversionError(f"{shown_path(path)}: cannot be read: {reason}") from error
    except ValueError as error:  # the path holds a NUL or an unencodable character
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
    """Return the content and path of an unpacked ``.gz``; other files as they are."""
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


def _check_regular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ConversionError(f"{shown_path(path)}: is not a regular file")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
