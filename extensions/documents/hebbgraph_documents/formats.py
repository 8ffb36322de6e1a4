"""Convert HTML, Word and PDF to Markdown.

The extra ``documents`` installs the libraries, which are imported on first use. ``convert`` turns
their errors into ``ConversionError``.
"""

from __future__ import annotations

import html
import io
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from hebbgraph.errors import ConversionError
from hebbgraph.extras import require
from hebbgraph.limits import MAX_ARCHIVE_ENTRIES, MAX_ARCHIVE_XML

from hebbgraph_documents.links import MAX_MARKS, Mark, usable
from hebbgraph_documents.outline import Heading, clean_text, one_line

__all__ = ["Converted", "check_length", "from_docx", "from_html", "from_pdf"]

_NEVER_SHOWN = ", ".join((
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "title",
))  # fmt: skip
# Navigation, controls and hidden elements.
_AROUND_PROSE = ", ".join((
    "nav", "button", "select", "dialog",
    "[hidden]:not(html, body)", "[aria-hidden=true]:not(html, body)",  # shown by a script
    "body > footer", "body > div > footer",
    *(f"[role={role}]" for role in ("banner", "contentinfo", "dialog", "menu", "menubar",
                                    "navigation", "toolbar")),
))  # fmt: skip
_HEADING = re.compile("h[1-6]")
# The text of a heading's link to itself.
_IN_PAGE = re.compile("#")
_PERMALINK = re.compile(r"\s*[#§¶🔗]\ufe0f?\s*")
# Separates a page's name from the site's.
_BETWEEN_NAMES = re.compile(r"\s+(?:[-–—|·•»«]|::)\s+")
_NO_TITLE = re.compile(r"untitled|microsoft word|\.(?:docx?|pdf|tex|dvi|indd)$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;。！？：；؟।…][)\]\"'”’»]*$")
_LIST_ITEM = re.compile(r"(?:[•▪◦‣●○*–—-]|\(?\d{1,3}[.)])\s")
_CORE_TITLE = re.compile(r"<dc:title[^<>]*>([^<]*)</dc:title>")
_CORE = "docProps/core.xml"
_XML = (".xml", ".rels")
_LARGEST_CORE = 1_000_000
# For each unclosed comment, html.parser searches the rest of the page.
_MOST_UNCLOSED = 1_000
# Markdownify takes quadratic time for a run of blanks.
_LONG_BLANK = re.compile(r"[ \t]{200,}")
_PDF_PASSWORD_ERROR = 4
# A pin is a number between two noncharacters, which no text may hold.
_PIN_CHARACTERS = re.compile("[\ufdd0\ufdd1]")
_PIN = re.compile("\ufdd0[0-9]+\ufdd1")
_PINS = re.compile(f"(?:{_PIN.pattern}\\s*)+\\s")
_MAY_BE_PINNED = (
    "a", "article", "aside", "b", "blockquote", "code", "dd", "div", "dt", "em", "figure", "h1",
    "h2", "h3", "h4", "h5", "h6", "i", "li", "main", "p", "section", "span", "strong", "td", "th",
)  # fmt: skip
_pdfium_lock = threading.Lock()  # PDFium must not be entered by two threads at once


class Converted(NamedTuple):
    """Text as Markdown, with titles, and headings if the format knows them apart from the text.

    ``title`` comes from the file's properties, ``named`` from the text itself.
    """

    text: str
    title: str = ""
    named: str = ""
    headings: tuple[Heading, ...] | None = None
    marks: tuple[Mark, ...] = ()


def from_html(data: bytes, *, encoding: str | None = None) -> Converted:
    r"""Convert the main part of a page, or all of it; links and images become their text.

    Scripts, styles, navigation, menus, buttons, the footer and hidden elements are removed; if
    nothing remains, only scripts and styles are. Of a title like "Functions - Manual", the part
    that is a heading is kept.

    The encoding is that of the byte order mark, ``encoding``, or the one that the page declares.

    Examples
    --------
    >>> from_html(b"<title>Brain</title><h1>The brain</h1><p>It <b>learns</b>.").text
    '# The brain\n\nIt **learns**.'
    """
    last_end = data.rfind(b"-->") + 1
    if data.count(b"<!--", last_end) > _MOST_UNCLOSED:
        data = data[: data.find(b"<!--", last_end)]
    converted = _from_soup(_soup(data, encoding))
    if not converted.text:
        converted = _from_soup(_soup(data, encoding), whole=True)
    return converted


def from_docx(data: bytes, *, max_bytes: int) -> Converted:
    """Convert a Word document (.docx), with headings, lists, tables and emphasis.

    Raises
    ------
    ConversionError
        If it is encrypted, in the old binary format, has too many parts, or unpacks to more than
        ten times ``max_bytes`` or to more XML than any book has.
    """
    mammoth = _extra("mammoth")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ConversionError(
            "is encrypted, or an old .doc file; save it as .docx without password"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        core = _checked_core(archive, max_bytes)
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
    converted = _from_soup(soup)
    title = "" if _NO_TITLE.search(title) else title
    return converted._replace(title=title, named=named)


def _checked_core(archive: zipfile.ZipFile, max_bytes: int) -> bytes:
    """Return the properties of a Word document; raise ConversionError if it unpacks to too much.

    The archive declares its sizes, and zipfile reads no more than that.
    """
    entries = archive.infolist()
    if len(entries) > MAX_ARCHIVE_ENTRIES:
        raise ConversionError(f"holds {len(entries):,} parts, more than {MAX_ARCHIVE_ENTRIES:,}")
    for most, unpacked in (
        (10 * max_bytes, sum(entry.file_size for entry in entries)),
        (MAX_ARCHIVE_XML, sum(e.file_size for e in entries if e.filename.endswith(_XML))),
    ):
        if unpacked > most:
            raise ConversionError(f"unpacks to {unpacked:,} bytes, more than {most:,}")
    core = next((entry for entry in entries if entry.filename == _CORE), None)
    return archive.read(core) if core and core.file_size <= _LARGEST_CORE else b""


def from_pdf(data: bytes, *, max_characters: int | None = None) -> Converted:
    """Convert a PDF: join lines to paragraphs, and drop running titles.

    Headings are the bookmarks that match a line of their page.

    Raises
    ------
    ConversionError
        If it needs a password, is a scan without text, or has more text than ``max_characters``.
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
            pages, length = [], 0
            for number in range(len(document)):
                pages.append(_pdf_page(document[number]))
                length += sum(map(len, pages[-1]))
                check_length(length, max_characters)
            bookmarks = _pdf_bookmarks(document)
            title = one_line(document.get_metadata_dict().get("Title") or "")
        finally:
            document.close()
    if pages and not any(pages):
        raise ConversionError("holds no text, only images; run text recognition (OCR) on it first")
    text, headings = _join_pages(_without_running_lines(pages), bookmarks)
    return Converted(text, "" if _NO_TITLE.search(title) else title, headings=headings)


def check_length(length: int, most: int | None) -> None:
    """Raise ConversionError if a text is too long."""
    if most is not None and length > most:
        raise ConversionError(
            f"gives more than {most:,} characters of text; split it, or raise the limit "
            "output_characters"
        )


def _extra(module: str) -> Any:
    return require(module, extra="documents", purpose="reading .html, .docx and .pdf files")


def _soup(page: bytes | str, encoding: str | None = None) -> Any:
    _extra("bs4")
    from hebbgraph_documents.html_tree import html_tree

    return html_tree(page, encoding)


def _from_soup(soup: Any, *, whole: bool = False) -> Converted:
    markdownify = _extra("markdownify")
    declared = soup.find("title")
    title = one_line(declared.get_text(" ")) if declared else ""
    for element in soup.select(_NEVER_SHOWN):
        element.decompose()
    soup = soup if whole else _main_part(soup)
    title = _without_site(title, [one_line(h1.get_text(" ")) for h1 in soup.find_all("h1")])
    for image in soup.find_all("img"):
        image.replace_with(image.get("alt") or "")
    for blank in soup.find_all(string=_LONG_BLANK):
        blank.replace_with(type(blank)(_LONG_BLANK.sub(" ", blank)))
    converter = markdownify.MarkdownConverter(
        heading_style=markdownify.ATX,
        bullets="-",
        strip=["a"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    targets = _place_pins(soup)
    text = _PINS.sub(_behind_space, clean_text(converter.convert_soup(soup)))
    text, marks = _without_pins(re.sub(r"\n{3,}", "\n\n", text).strip(), targets)
    return Converted(text.rstrip(), title, marks=marks)


def _main_part(soup: Any) -> Any:
    """Return the main part of a page, without navigation and controls."""
    for element in soup.select(_AROUND_PROSE):
        if not _is_heading(element):
            element.decompose()
    for link in soup.find_all("a", href=_IN_PAGE):
        if _PERMALINK.fullmatch(link.get_text()):
            if link.get("id") or link.get("name"):  # other pages may link to it
                link.clear()
                del link["href"]
            else:
                link.decompose()
    mains = soup.select("main, [role=main]:not(:has(main))")
    parts = [part for part in mains if part.get_text(strip=True)]
    return parts[0] if len(parts) == 1 else soup


def _is_heading(element: Any) -> bool:
    """Return whether an element is a button that fills a heading, to unfold its section."""
    return (
        element.name == "button"
        and element.parent is not None
        and _HEADING.fullmatch(element.parent.name) is not None
        and element.parent.get_text(strip=True) == element.get_text(strip=True)
    )


def _without_site(title: str, headings: Sequence[str]) -> str:
    """Return the part of a title that is a heading of the page, or else the whole title."""
    parts = _BETWEEN_NAMES.split(title)
    return next((part for part in parts if part in headings), title)


def _place_pins(soup: Any) -> list[tuple[str, bool]]:
    """Insert a pin at every anchor and link; return what each pin marks."""
    for text in soup.find_all(string=_PIN_CHARACTERS):
        text.replace_with(type(text)(_PIN_CHARACTERS.sub(" ", text)))
    targets: list[tuple[str, bool]] = []
    for element in soup.find_all(_MAY_BE_PINNED):
        is_link = element.name == "a"
        named = element.get("id") or (element.get("name") if is_link else None)
        for target, is_anchor in ((named, True), (element.get("href") if is_link else None, False)):
            if isinstance(target, str) and target.strip() and len(targets) < MAX_MARKS:
                element.insert(0, f"\ufdd0{len(targets)}\ufdd1")
                targets.append((target.strip(), is_anchor))
    return targets


def _behind_space(pins: re.Match[str]) -> str:
    """Move pins to the next word: a line of pins alone would leave an empty line."""
    return "".join(_PIN.sub("", pins[0])) + "".join(_PIN.findall(pins[0]))


def _without_pins(text: str, targets: Sequence[tuple[str, bool]]) -> tuple[str, tuple[Mark, ...]]:
    """Remove the pins from a text; return the marks with their lines."""
    parts, marks, line, at = [], [], 0, 0
    for pin in _PIN.finditer(text):
        line += text.count("\n", at, pin.start())
        parts.append(text[at : pin.start()])
        at = pin.end()
        target, is_anchor = targets[int(pin[0][1:-1])]
        marks.append(Mark(line, target, is_anchor))
    return "".join([*parts, text[at:]]), usable(marks)


def _pdf_page(page: Any) -> list[str]:
    """Return the lines of a page, without blank ones."""
    try:
        textpage = page.get_textpage()
        try:
            # PDFium marks a hyphenated line break with one of these.
            text = re.sub("[\x02\ufffe]", "", textpage.get_text_range())
        finally:
            textpage.close()
    finally:
        page.close()
    text = re.sub(r"(?:\. ?){5,}", "… ", clean_text(text))  # the dots of a table of contents
    return [line.strip() for line in text.split("\n") if line.strip()]


def _pdf_bookmarks(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return level (from 1) and title of the bookmarks of each page, in order."""
    bookmarks: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = one_line(bookmark.get_title() or "")
        if page is not None and title:
            bookmarks.setdefault(page, []).append((min(bookmark.level + 1, 6), title))
    return bookmarks


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Drop first and last lines that a third of the pages repeat but for page numbers."""

    def key(line: str) -> str:
        return re.sub(r"\d+", "#", line)

    counts: Counter[str] = Counter()
    for lines in pages:
        counts.update({key(line) for line in (*lines[:1], *lines[-1:])})
    enough = max(3, len(pages) // 3)
    trimmed = []
    for lines in pages:
        first = 1 if lines and counts[key(lines[0])] >= enough else 0
        last = len(lines) - (1 if len(lines) > first and counts[key(lines[-1])] >= enough else 0)
        trimmed.append(lines[first:last])
    return trimmed


def _join_pages(
    pages: list[list[str]], bookmarks: dict[int, list[tuple[int, str]]]
) -> tuple[str, tuple[Heading, ...]]:
    """Join lines to paragraphs, with a blank line between them."""
    widths = sorted(len(line) for lines in pages for line in lines)
    full = 0.75 * widths[int(0.9 * (len(widths) - 1))] if widths else 0.0
    paragraphs: list[list[str]] = []  # of lines
    headings: list[Heading] = []
    open_paragraph = False  # whether the last line is full and ends no sentence
    for number, lines in enumerate(pages):
        expected: dict[str, int] = {}
        for level, title in bookmarks.get(number, ()):
            expected.setdefault(_letters(title), level)
        expected.pop("", None)
        for line in lines:
            if expected and (letters := _letters(line)) in expected:
                level = expected.pop(letters)
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


def _letters(line: str) -> str:
    """Return the letters of a line, by which it is compared with bookmarks."""
    return re.sub(r"[\W\d_]+", "", line).casefold()
