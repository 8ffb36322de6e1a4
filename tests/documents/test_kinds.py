"""Each kind of file becomes text that a person would read."""

from __future__ import annotations

import io
import json
import zipfile
from importlib.util import find_spec

import pytest

from hebbgraph.documents import Document, convert
from hebbgraph.errors import ConversionError

pandoc = pytest.mark.skipif(find_spec("pypandoc") is None, reason="needs the extra documents")


def read(name: str, content: str | bytes) -> Document:
    return convert(content.encode() if isinstance(content, str) else content, name)


# -- Markdown -----------------------------------------------------------------------------


def test_markdown_loses_what_only_its_renderer_needs() -> None:
    document = read(
        "guide/setup.md",
        "---\ntitle: Setting up\nweight: 3\n---\n"
        "[![ci](https://img.shields.io/x.svg)](https://ci.example)\n"
        "<!-- a comment -->\n"
        '<div align="center"><b>Fast</b> &amp; small</div>\n\n'
        ":::{note}\nMind the {ref}`gap <the-gap>` and {class}`~a.Door`.\n:::\n\n"
        '!!! tip "Use a rope"\n    It helps.\n\n'
        "{% include 'x' %}\n"
        "![A picture](data:image/png;base64," + "A" * 400 + ")\n",
    )
    assert document.title == "Setting up"
    assert document.text.split() == [
        "Fast",
        "&",
        "small",
        "Mind",
        "the",
        "gap",
        "and",
        "`a.Door`.",
        "Use",
        "a",
        "rope",
        "It",
        "helps.",
        "A",
        "picture",
    ]


def test_code_in_markdown_stays() -> None:
    text = "Use `<b>` so:\n\n```html\n<b>{% x %}</b>\n<!-- kept -->\n```\n"
    assert read("a.md", text).text == text


def test_mdx_is_text_without_jsx() -> None:
    document = read(
        "a.mdx",
        "import Tabs from '@theme/Tabs'\nexport const x = {\n  a: 1\n}\n\n# Ice {#ice-id}\n\n"
        '<Tabs groupId={x}>\n<TabItem value="a">It floats, {props.name}.</TabItem>\n</Tabs>\n',
    )
    assert " ".join(document.text.split()) == "# Ice It floats, ."
    (chunk,) = document.chunks()
    assert "a.mdx#ice-id" in chunk.addresses


def test_directives_of_myst_are_read() -> None:
    document = read(
        "a.md",
        "(start)=\n# Ice\n\n```{toctree}\nsalt\n```\n\n```{versionadded} 2.0\n```\n\n"
        "```{eval-rst}\n.. click:example::\n    :x: y\n\n    import ice\n```\n\n"
        "```{code-block} python\n:linenos:\nmelt()\n```\n",
    )
    assert (
        " ".join(document.text.split())
        == "# Ice Added in 2.0 ``` import ice ``` ```python melt() ```"
    )
    assert "label:start" in document.chunks()[0].addresses


# -- reStructuredText, Org, notebooks -----------------------------------------------------


@pandoc
def test_restructuredtext_is_read_without_roles_and_directives() -> None:
    document = read(
        "guide/ice.rst",
        ".. _the-ice:\n\n===\nIce\n===\n\n.. toctree::\n   :maxdepth: 2\n\n   salt\n\n"
        "See :ref:`the salt <the-salt>`, :class:`~sea.Water` and `home <https://e.org>`_.\n\n"
        ".. note:: It *floats*.\n\n.. versionadded:: 2.0\n   Slowly.\n\n"
        ".. function:: melt(degrees)\n\n   Melts it.\n\n.. autoclass:: sea.Ship\n   :members:\n",
    )
    assert document.title == "Ice"
    assert ":" not in document.text.replace("e.org", "")
    assert "See the salt, `Water` and home." in document.text
    assert "Added in 2.0 Slowly." in document.text
    assert "toctree" not in document.text
    assert "sea.Ship" not in document.text
    (chunk,) = document.chunks()
    assert {"label:the-ice", "guide/ice.rst#melt", "symbol:melt"} <= set(chunk.addresses)
    assert {"label:the-salt", "symbol:sea.Water", "https://e.org"} <= set(chunk.references)


@pandoc
def test_org_is_read() -> None:
    document = read("a.org", "#+TITLE: x\n* Ice :tag:\n:PROPERTIES:\n:ID: 7\n:END:\nIt /floats/.\n")
    assert " ".join(document.text.split()) == "# Ice tag It floats."


@pandoc
def test_a_notebook_is_read() -> None:
    image = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 400}}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Ice\n", "\n", "It *floats*."]},
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": 1,
            "source": "melt()",
            "outputs": [image],
        },
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    document = read("a.ipynb", json.dumps(notebook))
    assert document.title == "Ice"
    assert "melt()" in document.text
    assert "AAAA" not in document.text
    assert "nbformat" not in document.text


# -- tables and data ----------------------------------------------------------------------

ROWS = [(f"ship {n}", f"{1000 + n} tons of ice and salt") for n in range(400)]


def _docx_table() -> bytes:
    cells = "".join(
        "<w:tr>"
        + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row)
        + "</w:tr>"
        for row in [("name", "cargo"), *ROWS]
    )
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as package:
        package.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{types}"><Default Extension="rels" ContentType="application/'
            'vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{word}"/></Types>',
        )
        package.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}" '
            'Target="word/document.xml"/></Relationships>',
        )
        package.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{main}"><w:body><w:tbl>{cells}</w:tbl></w:body></w:document>',
        )
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "name,cargo\n" + "\n".join(",".join(row) for row in ROWS)),
        ("a.tsv", "name\tcargo\n" + "\n".join("\t".join(row) for row in ROWS)),
        ("a.md", "|name|cargo|\n|---|---|\n" + "\n".join(f"|{a}|{b}|" for a, b in ROWS)),
        pytest.param(
            "a.html",
            "<table><tr><th>name<th>cargo</tr>"
            + "".join(f"<tr><td>{a}<td>{b}</tr>" for a, b in ROWS)
            + "</table>",
            marks=pandoc,
        ),
        pytest.param("a.docx", _docx_table(), marks=pandoc),
    ],
)
def test_each_passage_of_a_table_has_its_header(name: str, content: str | bytes) -> None:
    chunks = read(name, content).chunks()
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.text.split("\n")[0].replace(" ", "") == "|name|cargo|"
    assert sum(chunk.text.count("tons") for chunk in chunks) == len(ROWS)


def test_json_is_read_line_by_line() -> None:
    data = {"ship": {"name": "Pétrel", "log": "Ice.\nSalt."}, "ids": [1]}
    assert read("a.json", json.dumps(data)).text.split("\n") == [
        "{",
        ' "ship": {',
        '  "name": "Pétrel",',
        '  "log": "Ice.',
        'Salt."',
        " },",
        ' "ids": [',
        "  1",
        " ]",
        "}",
    ]


def test_a_backslash_in_json_begins_no_line() -> None:
    assert read("a.json", json.dumps(["C:\\new", "Ice.\nSalt."])).text.split("\n")[1:-1] == [
        r' "C:\\new",',
        ' "Ice.',
        'Salt."',
    ]


def test_code_is_cut_before_what_it_defines() -> None:
    functions = [f"def melt_{n}():\n    warm()\n\n    drip({n})\n" for n in range(300)]
    document = read("melt.py", "# no heading\n\n" + "\n".join(functions))
    assert document.title == "melt"
    chunks = document.chunks()
    assert len(chunks) > 1
    assert chunks[0].text.startswith("```py\n# no heading\n\ndef melt_0")
    assert all(chunk.text.startswith("def melt_") for chunk in chunks[1:])


# -- HTML ---------------------------------------------------------------------------------

PAGE = """<html><head><title>Ice — The Sea Manual 2.1 documentation</title></head><body>
<div class="cookie-banner">We use cookies. Accept all?</div>
<p>This site uses cookies to please you. <button>I agree</button></p>
<div class="top"><ul><li><a href="a">Home</a></li><li><a href="b">Ships</a></li>
<li><a href="c">Trade</a></li></ul></div>
<p><a href="p">Prev</a> · <a href="u">Up</a> · <a href="n">Next</a></p>
<div class="section" id="ice-section"><h1>Ice<a class="headerlink" href="#i">¶</a></h1>
<p>It <em>floats</em>; see <a href="salt.html#road">the salt</a>
 and <a href="file:///srv/x.html">here</a>. <img alt="" src="data:image/png;base64,AAAA"></p>
<pre>melt(<span>1</span>)
stir()</pre>
<dl><dt class="sig" id="sea.melt"><code>melt</code>(degrees)</dt><dd><p>Melts it.</p></dd></dl>
</div><div class="footer">© The Sea</div></body></html>"""


@pandoc
def test_a_page_is_read_without_what_surrounds_it() -> None:
    document = read("docs/ice.html", PAGE)
    assert document.title == "Ice"
    assert document.text.split() == [
        "#",
        "Ice",
        "It",
        "floats;",
        "see",
        "the",
        "salt",
        "and",
        "here.",
        "melt(1)",
        "stir()",
        "####",
        "sea.melt",
        "`melt`(degrees)",
        "Melts",
        "it.",
    ]
    assert "melt(1)\n    stir()" in document.text
    (chunk,) = document.chunks()
    assert {"docs/ice.html#ice-section", "docs/ice.html#sea.melt"} <= set(chunk.addresses)
    assert chunk.references == ("docs/salt.html#road",)


@pandoc
def test_what_holds_headings_only_has_no_passages() -> None:
    assert read("api.rst", "API\n===\n\n.. autoclass:: sea.Ship\n\nMore\n----\n").chunks() == []


@pandoc
def test_a_page_that_is_mostly_links_with_notes_stays() -> None:
    items = "".join(
        f"<li><a href='{n}'>Ship {n}</a>: carried salt from the bay to the north.</li>"
        for n in range(5)
    )
    assert read("a.html", f"<h1>Ships</h1><ul>{items}</ul>").text.count("carried salt") == 5


# -- PDF ----------------------------------------------------------------------------------


def test_a_damaged_pdf_says_so() -> None:
    pytest.importorskip("pypdfium2")
    with pytest.raises(ConversionError, match=r"a\.pdf: is encrypted or damaged"):
        read("a.pdf", b"%PDF-1.4 nonsense")


def test_a_pdf_has_an_address_for_each_page() -> None:
    pytest.importorskip("pypdfium2")
    stream = b"BT /F1 12 Tf 50 700 Td (Ice floats on the sea.) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
    ]
    data = b"%PDF-1.4\n" + b"".join(
        b"%d 0 obj%s endobj\n" % (n, body) for n, body in enumerate(objects, 1)
    )
    (chunk,) = read("ice.pdf", data + b"trailer<</Root 1 0 R>>").chunks()
    assert chunk.text == "Ice floats on the sea."
    assert "ice.pdf#page=1" in chunk.addresses


# -- titles and encodings -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("ships/index.md", "# Index\n\nText.", "ships"),
        ("ships/README.md", "Text.", "ships"),
        ("ships/README.md", "Text.\n\n## The fleet\n\nMore.\n\n## Trade\n\nx", "The fleet"),
        ("ships/11.txt", "Text.", "ships"),
        ("ships/[.md", "# [\n\nText.", "ships"),
        ("a/ice_trade.txt", "Text.", "ice trade"),
        ("a/b.md", "# Ice\n\n## Salt\n\nText.", "Ice"),
        ("README", "Text.", "README"),
        ("a/optional.md", "# Optional&lt;T&gt;\n\nText.", "Optional<T>"),
        ("a/empty.md", "# \u200b\n\nText.", "empty"),
    ],
)
def test_titles_say_something(name: str, content: str, title: str) -> None:
    assert read(name, content).title == title


def test_the_name_of_an_upload_is_a_place() -> None:
    for name in ("/srv/docs/a.md", "../../srv/docs/a.md", "srv\\docs\\a.md"):
        assert read(name, "Text.").document_id == "srv/docs/a.md"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_texts_in_other_encodings_are_read(encoding: str) -> None:
    assert read("a.txt", "Das Café ist geöffnet.".encode(encoding)).text == "Das Café ist geöffnet."


@pandoc
def test_a_long_line_of_a_script_without_spaces_is_text() -> None:
    assert read("a.txt", "船は九時に港を出る。" * 1_000).text.count("船") == 1_000


def test_a_page_declares_its_encoding() -> None:
    page = '<meta charset="iso-8859-5"><p>Лёд плавает.</p>'
    assert read("a.html", page.encode("iso-8859-5")).text.strip() == "Лёд плавает."


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b" \n", "is empty"),
        ("a.txt", b"\x7fELF\0\0\1", "is binary"),
        ("a.js", b"a=1;b(a);" * 5000, "minified"),
        ("a.json", b"{", "is not valid JSON"),
        ("a.csv", b'"a\n', "cannot be read as a table"),
        pytest.param("a.docx", b"PK nonsense", "cannot be read by pandoc", marks=pandoc),
    ],
)
def test_what_cannot_be_read_gives_the_reason(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(ConversionError, match=f"{name}: .*{reason}"):
        read(name, data)


@pandoc
def test_pandoc_reads_no_other_file() -> None:
    secret = ".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\nText."
    assert "root" not in read("a.rst", secret).text
    assert "root" not in read("a.tex", "\\input{/etc/passwd} Text.").text


@pytest.mark.parametrize(
    "unit",
    [
        "{%",
        "{{",
        "<!--",
        "<script",
        "<a href='x'>",
        "[![",
        "``` {x}\n",
        '<b "',
        "<b {",
        "(x)=\n",
        "{#a ",
    ],
)
def test_markdown_is_cleaned_in_linear_time(unit: str) -> None:
    """Quadratic code takes minutes for these, and the limit ends it."""
    read("a.md", f"Ice. {unit * (200_000 // len(unit))}")
