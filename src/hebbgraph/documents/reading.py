"""One file on disk -> a Document, within limits of time, memory and output.

Plain text is read in this process, and so is Markdown that is short. HTML, Word, PDF and
long Markdown pass through libraries that a hostile file can keep busy for hours or feed
gigabytes; another process takes them (see :mod:`hebbgraph.documents.worker`).
"""

from __future__ import annotations

import os
import stat

from hebbgraph.documents.bounds import DEFAULT_LIMITS, ConversionLimits
from hebbgraph.documents.convert import (
    DEFAULT_MAX_BYTES,
    Document,
    convert_bytes,
    known_encoding,
    media_type_of,
    shown_path,
)
from hebbgraph.documents.worker import convert_apart
from hebbgraph.errors import ConversionError, ParameterError

__all__ = ["convert_within", "read_bytes", "read_document"]

_SHORT_MARKDOWN = 100_000
"""Bytes. The worst of them take the Markdown parser two seconds."""


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
        Its suffix says how to read it: one of ``MEDIA_TYPES``.
    max_bytes : int
        Larger files are refused.
    encoding : str, optional
        Of a text or HTML file without byte order mark. Left out, .txt and .md are UTF-8
        and anything else is refused rather than guessed; .html is what it declares.
    limits : ConversionLimits, optional
        What it may cost. HTML, Word, PDF and long Markdown are converted by another
        process, which is killed when it exceeds them; it is started at the first of these
        files and kept for the next. With None they are converted in this process, for
        as long and with as much memory as it takes: for files that you trust, or where no
        process can be started.

    Returns
    -------
    Document
        Its title is the first of: front matter or Word's Title; the one highest heading;
        what the file declares; a first line that stands alone; the file's name.

    Raises
    ------
    ConversionError
        If the file is missing, unreadable, not a regular file, empty, too large,
        encrypted, damaged, binary, in another encoding, of another kind, changing while
        it is read, or beyond a limit. The message starts with the path; the cause is
        chained, unless it lies in another process.
    MissingExtraError
        If the extra ``files`` is needed and absent.

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
    """Convert bytes that were read from ``path``; see :func:`read_document`."""
    media_type = media_type_of(path)
    known_encoding(encoding)
    is_light = media_type == "text/plain" or (
        media_type == "text/markdown" and len(data) <= _SHORT_MARKDOWN
    )
    if limits is None or is_light:
        return convert_bytes(data, path=path, max_bytes=max_bytes, encoding=encoding)
    return convert_apart(data, path=path, max_bytes=max_bytes, encoding=encoding, limits=limits)


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Read the bytes of a regular file that is neither empty nor too large.

    Raises
    ------
    ConversionError
        If it is not, cannot be read, or changes meanwhile.
    """
    if max_bytes < 1:
        raise ParameterError(f"max_bytes must be positive, got {max_bytes}")
    try:
        # Opening a pipe would wait for a writer, and a device may act on it: look before.
        # What has taken the file's place since then is opened without waiting.
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


def _check_regular(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConversionError(f"{shown_path(path)}: is not a regular file")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
