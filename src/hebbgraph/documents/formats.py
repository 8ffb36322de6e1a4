"""HTML, Word and PDF bytes -> Markdown, each through the library that knows the format.

The libraries come with the extra ``files`` and are imported when the first file of their
kind is read. Whatever they raise passes through here; ``convert`` turns it into a
``ConversionError``.
"""

from __future__ import annotations

import html
import importlib
import io
import re
import threading
import warnings
import zipfile
from collections import Counter
from types import ModuleType
from typing import Any, NamedTuple

from hebbgraph.documents.outline import Heading, clean_text, one_line
from hebbgraph.errors import ConversionError, MissingExtraError

__all__ = ["Converted", "from_docx", "from_html", "from_pdf"]

# Elements that hold no prose of the page.
_NOT_PROSE = ("script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "nav")
_NO_TITLE = re.compile(r"untitled|microsoft word|\.(?:docx?|pdf|tex|dvi|indd)$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;。！？：；؟।…][)\]\"'”’»]*$")
_LIST_ITEM = re.compile(r"(?:[•▪◦‣●○*–—-]|\(?\d{1,3}[.)])\s")
_CORE_TITLE = re.compile(r"<dc:title[^>]*>([^<]*)</dc:title>")
_PDF_PASSWORD_ERROR = 4
_pdfium_lock = threading.Lock()  # PDFium must not be entered by two threads at once


class Converted(NamedTuple):
    """Text as Markdown, titles, and headings where they are known apart from the text.

    ``title`` is declared in the file's properties, ``named`` stands in the text as such.
    """

    text: str
    title: str = ""
    named: str = ""
    headings: tuple[Heading, ...] | None = None


def from_html(data: bytes, *, encoding: str | None = None) -> Converted:
    r"""Convert a page: scripts, styles and navigation go; links and images leave their words.

    The encoding is that of the byte order mark, of ``encoding``, or what the page declares.

    Examples
    --------
    >>> from_html(b"<title>Brain</title><h1>The brain</h1><p>It <b>learns</b>.").text
    '# The brain\n\nIt **learns**.'
    """
    return _from_soup(_soup(data, encoding))


def from_docx(data: bytes, *, max_bytes: int) -> Converted:
    """Convert a Word document (.docx): headings, lists, tables and emphasis stay.

    Raises
    ------
    ConversionError
        If it is encrypted, in the old binary format, or swells beyond ``max_bytes``
        tenfold when unpacked.
    """
    mammoth = _extra("mammoth")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ConversionError(
            "is encrypted, or an old .doc file; save it as .docx without password"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > 10 * max_bytes:
            raise ConversionError(f"unpacks to {unpacked:,} bytes, more than {10 * max_bytes:,}")
        names = set(archive.namelist())
        core = archive.read("docProps/core.xml") if "docProps/core.xml" in names else b""
    page = mammoth.convert_to_html(
        io.BytesIO(data),
        style_map="p[style-name='Title'] => h1.document-title:fresh",
        convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
    ).value
    soup = _soup(page)
    named = ""
    for element in soup.select("h1.document-title"):
        line = one_line(element.get_text(" "))
        named = named or line
        if line == named:
            element.decompose()
    declared = _CORE_TITLE.search(core.decode("utf-8", "replace"))
    title = one_line(html.unescape(declared.group(1))) if declared else ""
    return Converted(_from_soup(soup).text, "" if _NO_TITLE.search(title) else title, named)


def from_pdf(data: bytes) -> Converted:
    """Take the text of a PDF: lines are joined to paragraphs, running titles dropped.

    Headings are the bookmarks that are found as a line on their page.

    Raises
    ------
    ConversionError
        If it needs a password, or has pages but no text (a scan).
    """
    pdfium = _extra("pypdfium2")
    with _pdfium_lock:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == _PDF_PASSWORD_ERROR or "assword" in str(error):
                raise ConversionError("needs a password; save it without one") from error
            raise
        try:
            pages = [_pdf_page(document[number]) for number in range(len(document))]
            bookmarks = _pdf_bookmarks(document)
            title = one_line(document.get_metadata_dict().get("Title") or "")
        finally:
            document.close()
    if pages and not any(pages):
        raise ConversionError("holds no text, only images; run text recognition (OCR) on it first")
    text, headings = _join_pages(_without_running_lines(pages), bookmarks)
    return Converted(text, "" if _NO_TITLE.search(title) else title, headings=headings)


def _extra(module: str) -> Any:
    try:
        loaded: ModuleType = importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"reading .html, .docx and .pdf files needs {module}; "
            'install it with: pip install "hebbgraph[files]"'
        ) from error
    return loaded


def _soup(page: bytes | str, encoding: str | None = None) -> Any:
    bs4 = _extra("bs4")
    with warnings.catch_warnings():  # it wonders about XHTML, and about text like a file name
        warnings.simplefilter("ignore")
        return bs4.BeautifulSoup(page, "html.parser", from_encoding=encoding)


def _from_soup(soup: Any) -> Converted:
    markdownify = _extra("markdownify")
    declared = soup.find("title")
    title = declared.get_text(" ") if declared else ""
    for element in soup.find_all((*_NOT_PROSE, "title")):
        element.decompose()
    for image in soup.find_all("img"):
        image.replace_with(image.get("alt") or "")
    converter = markdownify.MarkdownConverter(
        heading_style=markdownify.ATX,
        bullets="-",
        strip=["a"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    text = clean_text(converter.convert_soup(soup))
    return Converted(re.sub(r"\n{3,}", "\n\n", text).strip(), one_line(title))


def _pdf_page(page: Any) -> list[str]:
    """Return the lines of one page that are not blank."""
    try:
        textpage = page.get_textpage()
        try:
            # PDFium marks a hyphen at the end of a line by one of these: the word goes on.
            text = re.sub("[\x02\ufffe]", "", textpage.get_text_range())
        finally:
            textpage.close()
    finally:
        page.close()
    text = re.sub(r"(?:\. ?){5,}", "… ", clean_text(text))  # the dots of a table of contents
    return [line.strip() for line in text.split("\n") if line.strip()]


def _pdf_bookmarks(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return level (from 1) and title of the bookmarks of each page, in order."""
    found: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = one_line(bookmark.get_title() or "")
        if page is not None and title:
            found.setdefault(page, []).append((min(bookmark.level + 1, 6), title))
    return found


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Drop first and last lines that come back on a third of the pages, whatever the number."""

    def key(line: str) -> str:
        return re.sub(r"\d+", "#", line)

    counts: Counter[str] = Counter()
    for lines in pages:
        counts.update({key(line) for line in (*lines[:1], *lines[-1:])})
    enough = max(3, len(pages) // 3)
    kept = []
    for lines in pages:
        first = 1 if lines and counts[key(lines[0])] >= enough else 0
        last = len(lines) - (1 if len(lines) > first and counts[key(lines[-1])] >= enough else 0)
        kept.append(lines[first:last])
    return kept


def _join_pages(
    pages: list[list[str]], bookmarks: dict[int, list[tuple[int, str]]]
) -> tuple[str, tuple[Heading, ...]]:
    """Join broken lines to paragraphs, one a line, with blank lines between them."""
    widths = sorted(len(line) for lines in pages for line in lines)
    full = 0.75 * widths[int(0.9 * (len(widths) - 1))] if widths else 0.0
    paragraphs: list[list[str]] = []  # of lines
    headings: list[Heading] = []
    open_paragraph = False  # the last line ran on to the margin without ending a sentence
    for number, lines in enumerate(pages):
        expected = bookmarks.get(number, [])
        for line in lines:
            level = next((lv for lv, title in expected if _same_line(line, title)), None)
            if level is not None:
                expected = [mark for mark in expected if not _same_line(line, mark[1])]
                headings.append(
                    Heading(level, line[:200], 2 * len(paragraphs), 2 * len(paragraphs) + 1)
                )
                paragraphs.append([line])
                open_paragraph = False
                continue
            if open_paragraph and not _LIST_ITEM.match(line):
                paragraphs[-1].append(line)
            else:
                paragraphs.append([line])
            open_paragraph = len(line) >= full or not (
                _SENTENCE_END.search(line) or len(line) < 0.5 * full
            )
    return "\n\n".join(map(" ".join, paragraphs)), tuple(headings)


def _same_line(line: str, title: str) -> bool:
    """Tell whether a line is the bookmark's title, numbers and marks aside."""
    ours, theirs = (re.sub(r"[\W\d_]+", "", text).casefold() for text in (line, title))
    return ours == theirs and bool(ours)
