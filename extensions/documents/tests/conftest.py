"""Files made byte by byte, so that no test needs a writer for their formats."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

import pytest

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.wordprocessingml.styles+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _relation(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="r1" '
        f'Type="{_OFFICE}/{kind}" Target="{target}"/></Relationships>'
    )


def make_docx(paragraphs: Sequence[tuple[str, str]], *, core_title: str = "") -> bytes:
    """A .docx of (style name, text) paragraphs."""
    styles = {style: style.replace(" ", "") for style, _ in paragraphs}
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{styles[style]}"/></w:pPr>'
        f"<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"
        for style, text in paragraphs
    )
    style_list = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for name, key in styles.items()
    )
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _relation("officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": _relation("styles", "styles.xml"),
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{style_list}</w:styles>',
        "docProps/core.xml": f"<c><dc:title>{escape(core_title)}</dc:title></c>",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return buffer.getvalue()


def make_pdf(
    pages: Sequence[Sequence[str]],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    encrypted: bool = False,
) -> bytes:
    """A PDF with one line of Helvetica for each string, and (title, page) bookmarks."""
    objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td {shown} ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    objects.append(f"<< /Title ({title}) >>".encode("latin-1"))
    info = len(objects)
    outlines = b""
    if bookmarks:
        first, root = len(objects) + 2, len(objects) + 1
        last = root + len(bookmarks)
        objects.append(b"<< /Type /Outlines /First %d 0 R /Last %d 0 R >>" % (first, last))
        for number, (text, page) in enumerate(bookmarks, start=first):
            following = f"/Next {number + 1} 0 R" if number < last else ""
            objects.append(
                f"<< /Title ({text}) /Parent {root} 0 R {following} "
                f"/Dest [{kids[page]} 0 R /Fit] >>".encode("latin-1")
            )
        outlines = b"/Outlines %d 0 R" % root
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R %s >>" % outlines
    references = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (references, len(kids))
    extra = b""
    if encrypted:
        key = b"<" + b"5A" * 32 + b">"
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /O %s /U %s /P -4 >>" % (key, key))
        extra = b"/Encrypt %d 0 R /ID [<00> <00>]" % len(objects)
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R %s >>\n" % (
        len(objects) + 1,
        info,
        extra,
    )
    return bytes(out) + b"startxref\n%d\n%%%%EOF\n" % table


@pytest.fixture
def docx() -> Callable[..., bytes]:
    return make_docx


@pytest.fixture
def pdf() -> Callable[..., bytes]:
    return make_pdf
