"""One file -> a Document: text as Markdown, a title, a media type.

Plain text and Markdown are read by hebbgraph itself; HTML, Word and PDF need the extra
``files``. Whatever is wrong with a file becomes a ``ConversionError`` that names it.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from hebbgraph.documents.formats import Converted, from_docx, from_html, from_pdf
from hebbgraph.documents.outline import (
    Heading,
    clean_text,
    first_line_title,
    markdown_headings,
    one_line,
    pop_front_matter,
    sole_title,
)
from hebbgraph.errors import ConversionError, MissingExtraError, ParameterError

__all__ = [
    "DEFAULT_MAX_BYTES",
    "MEDIA_TYPES",
    "Document",
    "convert_bytes",
    "markdown_document",
    "read_bytes",
    "read_document",
    "shown_path",
]

DEFAULT_MAX_BYTES = 100_000_000
"""Larger files are refused: 100 MB is some fifty thousand pages of prose."""

_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIA_TYPES = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
    ".docx": _DOCX,
}
"""The suffixes that can be read, in lower case."""

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Document:
    """A file's text, ready to be split.

    Parameters
    ----------
    text : str
        Markdown (plain lines for text/plain and application/pdf), without front matter
        and without characters that an index refuses.
    title : str
    media_type : str
    headings : tuple of Heading
        With the lines of ``text`` that they stand on.
    """

    text: str
    title: str = ""
    media_type: str = "text/markdown"
    headings: tuple[Heading, ...] = ()


def read_document(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
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

    Returns
    -------
    Document
        Its title is the first of: front matter or Word's Title; the one highest heading;
        what the file declares; a first line that stands alone; the file's name.

    Raises
    ------
    ConversionError
        If the file is missing, unreadable, not a regular file, empty, too large,
        encrypted, damaged, binary, in another encoding, or of another kind. The message
        starts with the path; the cause is chained.
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
    return convert_bytes(data, path=path, max_bytes=max_bytes, encoding=encoding)


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Read the bytes of a regular file that is neither empty nor too large.

    Raises
    ------
    ConversionError
        If it is not, or cannot be read.
    """
    if max_bytes < 1:
        raise ParameterError(f"max_bytes must be positive, got {max_bytes}")
    try:
        # Opening a pipe would wait for a writer, so look before.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ConversionError(f"{shown_path(path)}: is not a regular file")
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
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
    if not data:
        raise ConversionError(f"{shown_path(path)}: is empty")
    return data


def convert_bytes(
    data: bytes,
    *,
    path: str | os.PathLike[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
) -> Document:
    """Convert bytes that were read from ``path``; see :func:`read_document`.

    Examples
    --------
    >>> convert_bytes(b"It learns.", path="notes/the_brain.txt").title
    'the brain'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in MEDIA_TYPES:
        known = ", ".join(sorted(MEDIA_TYPES))
        raise ConversionError(f"{shown_path(path)}: unknown kind {suffix!r}; readable are {known}")
    media_type = MEDIA_TYPES[suffix]
    encoding = _known_encoding(encoding)
    try:
        if media_type == "text/html":
            converted = from_html(data, encoding=None if _marked(data) else encoding)
        elif media_type == _DOCX:
            converted = from_docx(data, max_bytes=max_bytes)
        elif media_type == "application/pdf":
            converted = from_pdf(data)
        else:
            converted = Converted(_decode(data, encoding))
        document = _finish(converted, media_type, Path(path).stem)
    except MissingExtraError as error:
        raise MissingExtraError(f"{shown_path(path)}: {error}") from error
    except ConversionError as error:
        raise ConversionError(f"{shown_path(path)}: {error}") from error
    except Exception as error:  # converters raise what they like
        reason = one_line(str(error)) or type(error).__name__
        raise ConversionError(
            f"{shown_path(path)}: is damaged or not really {suffix}: {reason}"
        ) from error
    if not document.text and not document.headings:
        raise ConversionError(f"{shown_path(path)}: holds no text")
    return document


def markdown_document(text: str, *, title: str = "") -> Document:
    r"""Make a Document of Markdown that did not come from a file.

    Examples
    --------
    >>> markdown_document("# The brain\n\nIt learns.").title
    'The brain'
    """
    return _finish(Converted(text, title), "text/markdown", "")


def _finish(converted: Converted, media_type: str, stem: str) -> Document:
    text, declared, named, headings = converted
    text = clean_text(text)
    if media_type == "text/markdown":
        named, text = pop_front_matter(text)
    if headings is None:  # line numbers count from the start of the text as it is kept
        text = text.strip("\n").rstrip()
        headings = () if media_type == "text/plain" else markdown_headings(text)
    if not text.strip():
        text = ""
    title = named or sole_title(headings) or one_line(declared)
    if not title and media_type.startswith("text/") and not headings:
        title = first_line_title(text)
    title = title or one_line(re.sub(r"[\s_-]+", " ", clean_text(stem)))
    return Document(text, title, media_type, headings)


def _decode(data: bytes, encoding: str | None) -> str:
    encoding = _marked(data) or encoding or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ConversionError(
            f"is not {encoding.upper()} text ({error.reason} at byte {error.start}); "
            "convert it to UTF-8, or name its encoding"
        ) from error
    head = text[:100_000]
    if "\0" in head or sum(map(head.count, "\1\2\3\4\5\6\x0e\x0f\x10")) > len(head) // 20:
        raise ConversionError(
            "looks binary, not text; if it is UTF-16 without byte order mark, name its encoding"
        )
    return text


def _marked(data: bytes) -> str | None:
    return next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)


def _known_encoding(encoding: str | None) -> str | None:
    try:
        "x".encode(encoding or "utf-8")
    except LookupError as error:
        raise ParameterError(
            f"unknown text encoding {encoding!r}; try 'utf-8' or 'windows-1252'"
        ) from error
    return encoding


def shown_path(path: str | os.PathLike[str]) -> str:
    r"""Return a path that can be printed: what cannot, or moves a terminal, is written out.

    Examples
    --------
    >>> print(shown_path("notes/\x1b[2J.md"))
    notes/\x1b[2J.md
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in Path(path).as_posix()
    )
