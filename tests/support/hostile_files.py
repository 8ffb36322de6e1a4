"""Files made to hang, crash or flood whoever reads them. None is kept: they are made anew."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["HOSTILE_BYTES", "HOSTILE_PLACES", "docx_of", "pdf_of"]

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_CONTENT = "http://schemas.openxmlformats.org/package/2006/content-types"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx_of(body: str, *, before: str = "", more: Sequence[tuple[str, bytes]] = ()) -> bytes:
    """A Word document with this XML in its body, and these parts besides."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{_CONTENT}"/>')
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<?xml version="1.0"?>{before}<w:document xmlns:w="{_WORD}"><w:body>{body}'
            "</w:body></w:document>",
        )
        for name, content in more:
            archive.writestr(name, content)
    return buffer.getvalue()


def pdf_of(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalogue."""
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
    return bytes(out) + b"startxref\n%d\n%%%%EOF\n" % table


def _stream(content: bytes, extra: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    return b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream" % (
        len(packed),
        extra,
        packed,
    )


_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
    b"/Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>"
)


def _pdf_page(content: bytes, *, xobject: bytes = b"null", kids: int = 1) -> bytes:
    pages = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"3 0 R " * kids, kids)
    return pdf_of(_CATALOG, pages, _PAGE, _stream(content), _FONT, xobject)


def _zip_bomb() -> bytes:
    """A document whose main part unpacks to more than three gigabytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("word/document.xml", b"x" * 1000)
    data = bytearray(buffer.getvalue())
    at = data.index(b"PK\x01\x02") + 24  # the size that its directory declares
    data[at : at + 4] = (3_000_000_000).to_bytes(4, "little")
    return bytes(data)


def _lying_zip() -> bytes:
    """A document whose main part unpacks to more than it declares."""
    data = bytearray(docx_of("<w:p/>" * 50_000))
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (100).to_bytes(4, "little")
    return bytes(data)


_LAUGHS = "<!DOCTYPE w [" + '<!ENTITY a0 "ha">' + "".join(
    f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 12)
) + "]>"  # fmt: skip

HOSTILE_BYTES: dict[str, Callable[[], bytes]] = {
    # HTML
    "comments.html": lambda: b"<!--" * 80_000,
    "cdata.html": lambda: b"<![CDATA[" * 40_000,
    "instructions.html": lambda: b"<?" * 200_000,
    "open-tags.html": lambda: b"<a " * 100_000,
    "end-tags.html": lambda: b"</a " * 100_000,
    "nested.html": lambda: b"<div>" * 100_000 + b"text",
    "tables.html": lambda: b"<table><tr><td>" * 20_000 + b"text",
    "attribute.html": lambda: b"<p title='" + b"x" * 1_000_000 + b"'>It lasts.",
    "attributes.html": lambda: b"<p " + b"a=b " * 200_000 + b">It lasts.",
    "doctype.html": lambda: (_LAUGHS + "<p>&a11;").encode() + b"<!DOCTYPE [" * 50_000,
    "blanks.html": lambda: b"<p>It" + b" " * 500_000 + b"lasts.",
    "lines.html": lambda: b"<p>It" + b" \n" * 200_000 + b"lasts.",
    "colspan.html": lambda: b"<table><tr><td colspan=1000000000>a</table>" * 1_000,
    "quotes.html": lambda: b"<blockquote>" * 150 + b"a<br>" * 30_000,
    "list.html": lambda: b"<ol start=999999>" + b"<li>a" * 60_000,
    "utf16.html": lambda: "<p>It lasts.".encode("utf-16-le") * 10_000,
    # Markdown
    "hashes.md": lambda: b"#\n" * 300_000,
    "headings.md": lambda: b"# a\n\nb\n\n" * 100_000,
    "brackets.md": lambda: b"# a\n\n" + b"[" * 500_000,
    "links.md": lambda: b"# a\n\n" + b"[a](" * 200_000,
    "quoted.md": lambda: b"# a\n\n" + b"> " * 300_000,
    "bullets.md": lambda: b"# a\n\n" + b"- " * 300_000,
    "indented.md": lambda: b"# a\n\n" + b"".join(b" " * n + b"- a\n" for n in range(1_000)),
    "backticks.md": lambda: b"# a\n\n" + b"".join(b"`" * n + b"a" for n in range(1_000)),
    "stars.md": lambda: b"# a\n\n" + b"**a *b_c " * 60_000,
    "table.md": lambda: b"# a\n\n" + b"|a" * 50_000 + b"|\n" + b"|-" * 50_000 + b"|\n" + b"|\n" * 9,
    "definitions.md": lambda: b"# a\n\n" + b"[a]: b '\n" * 60_000,
    "front.md": lambda: b"---\na: b\n" + b"---x\n" * 100_000,
    # Text
    "endless.txt": lambda: b"and so on " * 100_000,
    "run.txt": lambda: b"a" * 1_000_000,
    "stops.txt": lambda: "。".encode() * 200_000,
    "marks.txt": lambda: "a\u0301\u0302".encode() * 200_000,
    "newlines.txt": lambda: b"\r\n" * 500_000,
    "nul.txt": lambda: b"\0" * 1_000_000,
    "utf16.txt": lambda: "It lasts. ".encode("utf-16-be") * 10_000,
    "empty.txt": lambda: b"",
    # Word
    "paragraphs.docx": lambda: docx_of("<w:p/>" * 700_000),
    "bomb.docx": _zip_bomb,
    "lying.docx": _lying_zip,
    "parts.docx": lambda: docx_of("<w:p/>", more=[(f"x/{n}", b"") for n in range(11_000)]),
    "laughs.docx": lambda: docx_of("<w:p><w:r><w:t>&a11;</w:t></w:r></w:p>", before=_LAUGHS),
    "nested.docx": lambda: docx_of(
        "<w:tbl><w:tr><w:tc>" * 30_000 + "</w:tc></w:tr></w:tbl>" * 30_000
    ),
    "title.docx": lambda: docx_of(
        "<w:p><w:r><w:t>It lasts.</w:t></w:r></w:p>",
        more=[("docProps/core.xml", b"<dc:title" * 100_000)],
    ),
    # PDF
    "bomb.pdf": lambda: _pdf_page(b"BT /F1 1 Tf " + b"(It lasts.) Tj " * 3_000_000 + b"ET"),
    "pages.pdf": lambda: _pdf_page(b"BT /F1 9 Tf (It lasts.) Tj ET", kids=300_000),
    "tree.pdf": lambda: pdf_of(
        _CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000000 >>"
    ),
    "form.pdf": lambda: _pdf_page(
        b"/X Do BT /F1 9 Tf (It lasts.) Tj ET",
        xobject=_stream(
            b"/X Do /X Do",
            b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] "
            b"/Resources << /XObject << /X 6 0 R >> >>",
        ),
    ),
    "image.pdf": lambda: _pdf_page(
        b"/X Do BT /F1 9 Tf (It lasts.) Tj ET",
        xobject=_stream(
            b"\0" * 1_000_000,
            b"/Type /XObject /Subtype /Image /Width 100000 /Height 100000 "
            b"/ColorSpace /DeviceRGB /BitsPerComponent 8",
        ),
    ),
    "outline.pdf": lambda: pdf_of(
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
        b"<< /Type /Pages /Kids [] /Count 0 >>",
        b"<< /Type /Outlines /First 4 0 R /Last 4 0 R >>",
        b"<< /Title (It) /Parent 3 0 R /First 4 0 R /Next 4 0 R >>",
    ),
    "xref.pdf": lambda: pdf_of(_CATALOG, b"null", trailer=b"/Prev 9"),
    "locked.pdf": lambda: pdf_of(
        _CATALOG,
        b"<< /Type /Pages /Kids [] /Count 0 >>",
        b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (b"5A" * 32, b"5A" * 32),
        trailer=b"/Encrypt 3 0 R /ID [<00> <00>]",
    ),
}
"""Name to what makes the bytes of the file."""


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _locked(path: Path) -> None:
    path.write_bytes(b"x")
    path.chmod(0)


HOSTILE_PLACES: dict[str, Callable[[Path], None]] = {
    "folder.pdf": _folder,
    "loop.md": _loop,
    "unreadable.md": _locked,
}
"""Name to what makes something that is no file of text."""

if hasattr(os, "mkfifo"):
    HOSTILE_PLACES |= {"pipe.md": os.mkfifo, "device.txt": _device}
