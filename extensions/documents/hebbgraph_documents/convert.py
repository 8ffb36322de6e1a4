"""Convert the bytes of a file to a Document.

Plain text, Markdown and source code are read here; HTML, Word and PDF need the extra
``documents``. Every fault of a file becomes a ``ConversionError`` that names it.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from hebbgraph.errors import ConversionError, MissingExtraError, ParameterError

from hebbgraph_documents.code import CODE, code_headings
from hebbgraph_documents.formats import Converted, check_length, from_docx, from_html, from_pdf
from hebbgraph_documents.links import Mark, markdown_marks, usable
from hebbgraph_documents.outline import (
    Heading,
    clean_text,
    first_line_title,
    markdown_headings,
    one_line,
    parse_markdown,
    pop_front_matter,
    pop_unseen,
    sole_title,
)
from hebbgraph_documents.rst import rst_headings, rst_marks

__all__ = [
    "DEFAULT_MAX_BYTES",
    "MEDIA_TYPES",
    "Document",
    "convert_bytes",
    "known_encoding",
    "markdown_document",
    "media_type_of",
    "shown_path",
    "text_document",
]

DEFAULT_MAX_BYTES = 100_000_000
"""Larger files are refused; 100 MB is some fifty thousand pages of prose."""

_SOURCE = "text/x-code"
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIA_TYPES = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".rst": "text/x-rst",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
    ".docx": _DOCX,
}
"""Supported suffixes, in lower case."""

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
    """The text of a file, ready to be split.

    Parameters
    ----------
    text : str
        Markdown (plain lines for text/plain and application/pdf), without front matter
        and without characters that an index refuses.
    title : str
    media_type : str
    headings : tuple of Heading
        With their lines in ``text``.
    marks : tuple of Mark
        Links, and anchors other than headings, with their lines.
    """

    text: str
    title: str = ""
    media_type: str = "text/markdown"
    headings: tuple[Heading, ...] = ()
    marks: tuple[Mark, ...] = ()


def convert_bytes(
    data: bytes,
    *,
    path: str | os.PathLike[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    encoding: str | None = None,
    max_characters: int | None = None,
) -> Document:
    """Convert the bytes of the file ``path`` in this process, without a time limit.

    See :func:`~hebbgraph_documents.read_document`. ``max_characters`` limits the text, but
    one no longer than ``data`` always passes.

    Examples
    --------
    >>> convert_bytes(b"It learns.", path="notes/the_brain.txt").title
    'the brain'
    """
    media_type = media_type_of(path)
    encoding = known_encoding(encoding)
    if max_characters is not None:
        max_characters = max(max_characters, len(data))
    try:
        if media_type == "text/html":
            converted = from_html(data, encoding=None if _marked_encoding(data) else encoding)
        elif media_type == _DOCX:
            converted = from_docx(data, max_bytes=max_bytes)
        elif media_type == "application/pdf":
            converted = from_pdf(data, max_characters=max_characters)
        else:
            name = Path(path).name if media_type == _SOURCE else ""
            converted = Converted(_decode(data, encoding), named=name)
        document = _finish(converted, media_type, Path(path).stem)
        check_length(len(document.text), max_characters)
    except MissingExtraError as error:
        raise MissingExtraError(f"{shown_path(path)}: {error}") from error
    except ConversionError as error:
        raise ConversionError(f"{shown_path(path)}: {error}") from error
    except MemoryError as error:
        raise ConversionError(f"{shown_path(path)}: takes more memory than there is") from error
    except Exception as error:  # the libraries raise errors of all kinds
        reason = one_line(str(error)) or type(error).__name__
        raise ConversionError(
            f"{shown_path(path)}: is damaged or not really {Path(path).suffix.lower()}: {reason}"
        ) from error
    if not document.text and not document.headings:
        raise ConversionError(f"{shown_path(path)}: holds no text")
    return document


#: Suffixes of files of chunks, which ``hebbgraph build`` takes.
_OF_CHUNKS = frozenset({".jsonl", ".ndjson", ".parquet", ".pq"})


def media_type_of(path: str | os.PathLike[str]) -> str:
    """Return the media type for a file's suffix, or for the one before ``.gz``.

    Raises
    ------
    ConversionError
        If the suffix is not in ``MEDIA_TYPES``.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        suffix = Path(Path(path).stem).suffix.lower()
    if suffix in CODE:
        return _SOURCE
    if suffix not in MEDIA_TYPES:
        if suffix in _OF_CHUNKS:
            raise ConversionError(
                f"{shown_path(path)}: holds chunks, not a document; `hebbgraph build` adds it, "
                "unpacked"
            )
        known = ", ".join(sorted(MEDIA_TYPES))
        raise ConversionError(f"{shown_path(path)}: unknown kind {suffix!r}; readable are {known}")
    return MEDIA_TYPES[suffix]


def markdown_document(text: str, *, title: str = "") -> Document:
    r"""Make a Document from Markdown that is not in a file.

    Examples
    --------
    >>> markdown_document("# The brain\n\nIt learns.").title
    'The brain'
    """
    return _finish(Converted(text, title), "text/markdown", "")


def text_document(text: str, *, path: str | os.PathLike[str], title: str = "") -> Document:
    r"""Make a Document from the text of a file, in the format of the path's suffix.

    That is reStructuredText, source code (where a comment is no heading), a notebook, or else
    Markdown, also for plain text.

    Examples
    --------
    >>> [heading.text for heading in text_document("Fees\n====\n\nTen.", path="a.rst").headings]
    ['Fees']
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".rst":
        return _finish(Converted(text, title), "text/x-rst", "")
    if suffix == ".ipynb":
        return markdown_document(_notebook(text), title=title)
    if suffix in CODE:
        return _finish(Converted(text, named=title or Path(path).name), _SOURCE, "")
    return markdown_document(text, title=title)


def _notebook(text: str) -> str:
    """Return a Jupyter notebook as Markdown, with fenced code cells."""
    try:
        notebook = json.loads(text)
        cells = [(cell["cell_type"], "".join(cell["source"]).strip()) for cell in notebook["cells"]]
        language = (notebook.get("metadata") or {}).get("kernelspec", {}).get("language", "python")
    except (ValueError, KeyError, TypeError, AttributeError):
        return text  # no notebook, or an incomplete one
    return "\n\n".join(
        f"```{language}\n{source}\n```" if kind == "code" else source
        for kind, source in cells
        if source
    )


def _finish(converted: Converted, media_type: str, stem: str) -> Document:
    text, declared, named, headings, marks = converted
    text = clean_text(text)
    if media_type == "text/markdown":
        named, text = pop_front_matter(text)
        markdown = pop_unseen(parse_markdown(text))
        text, headings, marks = markdown.text, markdown_headings(markdown), markdown_marks(markdown)
    elif headings is None:  # find them in the final text, for the right line numbers
        text = text.strip("\n").rstrip()
        if media_type == "text/x-rst":
            headings, marks = rst_headings(text), usable(rst_marks(text))
        elif media_type == _SOURCE:
            headings = code_headings(text)
        else:
            is_plain = media_type == "text/plain"
            headings = () if is_plain else markdown_headings(parse_markdown(text))
    if not text.strip():
        text = ""
    last = text.count("\n")  # a final anchor may have been on a blank line that was removed
    marks = tuple(mark._replace(line=min(mark.line, last)) for mark in marks)
    title = named or sole_title(headings) or one_line(declared)
    if not title and media_type.startswith("text/") and not headings:
        title = first_line_title(text)
    title = title or one_line(re.sub(r"[\s_-]+", " ", clean_text(stem)))
    return Document(text, title, media_type, headings, marks)


def _decode(data: bytes, encoding: str | None) -> str:
    encoding = _marked_encoding(data) or encoding or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ConversionError(
            f"is not {encoding.upper()} text ({error.reason} at byte {error.start}); "
            "convert it to UTF-8, or name its encoding (--encoding)"
        ) from error
    head = text[:100_000]
    if "\0" in head or sum(map(head.count, "\1\2\3\4\5\6\x0e\x0f\x10")) > len(head) // 20:
        raise ConversionError(
            "looks binary, not text; if it is UTF-16 without byte order mark, name its encoding "
            "(--encoding)"
        )
    return text


def _marked_encoding(data: bytes) -> str | None:
    return next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)


def known_encoding(encoding: str | None) -> str | None:
    """Check the name of a text encoding and return it.

    Raises
    ------
    ParameterError
        If no such encoding exists.
    """
    try:
        "x".encode(encoding or "utf-8")
    except LookupError as error:
        raise ParameterError(
            f"unknown text encoding {encoding!r}; try 'utf-8' or 'windows-1252'"
        ) from error
    return encoding


def shown_path(path: str | os.PathLike[str]) -> str:
    r"""Return a path for display, with control and other unprintable characters escaped.

    Examples
    --------
    >>> print(shown_path("notes/\x1b[2J.md"))
    notes/\x1b[2J.md
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in Path(path).as_posix()
    )
