from __future__ import annotations

import codecs
import gzip
import itertools
import os
import sys
from pathlib import Path

import pytest
from hebbgraph.errors import ConversionError, MissingExtraError, ParameterError

from hebbgraph_documents import formats, markdown_document, read, read_document
from hebbgraph_documents.convert import convert_bytes
from hebbgraph_documents.formats import _join_pages, from_pdf
from hebbgraph_documents.outline import pop_front_matter


def texts_of(data: bytes, name: str, **options):
    document = convert_bytes(data, path=name, **options)
    return document.title, document.text


@pytest.mark.parametrize(
    "data",
    [
        "Größe 突触".encode(),
        codecs.BOM_UTF8 + "Größe 突触".encode(),
        "Größe 突触".encode("utf-16"),
        codecs.BOM_UTF16_BE + "Größe 突触".encode("utf-16-be"),
        "Größe 突触".encode("utf-32"),
    ],
)
def test_text_is_utf8_or_what_its_byte_order_mark_says(data):
    assert texts_of(data, "a.txt")[1] == "Größe 突触"


def test_another_encoding_is_refused_unless_named():
    data = "Größe".encode("windows-1252")
    with pytest.raises(ConversionError, match=r"a\.txt: is not UTF-8 text .* at byte 2"):
        convert_bytes(data, path="a.txt")
    assert texts_of(data, "a.txt", encoding="windows-1252")[1] == "Größe"
    with pytest.raises(ConversionError, match="looks binary"):
        convert_bytes("plain".encode("utf-16-le"), path="a.txt")
    for unknown in ("klingon", "hex"):
        with pytest.raises(ParameterError, match="unknown text encoding"):
            convert_bytes(data, path="a.txt", encoding=unknown)


def test_characters_that_no_index_keeps_are_dropped():
    data = "a\x00b\x1b[1m\r\nc\x85d\x9f\ufeff".encode()
    with pytest.raises(ConversionError, match="binary"):
        convert_bytes(data, path="a.txt")
    assert texts_of(data.replace(b"\0", b""), "a.txt")[1] == "ab[1m\nc\nd"
    assert markdown_document("a\ud800b\x00").text == "ab"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'Front: matter'\ntags: [a]\n---\n# Heading\n\nText.", "Front: matter"),
        ("---\ntitle: >\n  Folded\n---\nText.", "Folded"),
        ("---\n---\nText.", "some file"),
        ("---\nText.\n---\nMore.", "Text."),  # a thematic break, then a setext heading
        ("# One *and* `only`\n\n## Below", "One and only"),
        ("Two words\n=========\n\nText.", "Two words"),
        ("# One\n\n# Two", "some file"),
        ("## Below\n\n# Above", "some file"),
        ("```\n# comment\n```\n\ntext.", "some file"),
        ("> # quoted\n\n- # listed\n\n## Own\n\ntext.", "Own"),
        ("Synaptic plasticity\n\nIt learns.", "Synaptic plasticity"),
        ("# " + "long " * 50, "some file"),
    ],
)
def test_title_of_markdown(text, title):
    assert texts_of(text.encode(), "some_file.md")[0] == title


def test_spaces_within_a_title_are_looked_through_once():
    title, text = pop_front_matter(f"---\ntitle: a{' ' * 300_000}b\t \n---\nIt learns.")
    assert (title, text) == ("a b", "It learns.")


def test_lines_of_a_paragraph_without_end_are_joined_once():
    text, _ = _join_pages([["x" * 60] * 60_000], {})
    assert text == " ".join(["x" * 60] * 60_000)


def test_front_matter_leaves_the_text():
    assert texts_of(b"---\ntitle: T\n---\n\nText.", "a.md") == ("T", "Text.")
    with pytest.raises(ConversionError, match="holds no text"):
        convert_bytes(b"---\ntitle: T\n---\n", path="a.md")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The hippocampus\n\nIt keeps.", "The hippocampus"),
        ("The hippocampus\n===\nIt keeps.", "The hippocampus"),
        ("It keeps.\n\nIt replays.", "my notes"),
        ("one line", "my notes"),
        ("# not a heading in plain text\nsecond", "my notes"),
    ],
)
def test_title_of_plain_text(text, title):
    assert texts_of(text.encode(), "my-notes.txt") == (title, text)


def test_html():
    page = (
        "<!doctype html><html><head><title>Site | Memory</title><style>p{}</style></head>"
        "<body><nav>Home</nav><h1>Memory</h1><p>It <a href='http://x.y'>lasts</a>.</p>"
        "<h2>Kinds</h2><ul><li>short</li><li>long_term</li></ul>"
        "<img src='data:xyz' alt='a sketch'><script>alert(1)</script>"
        "<table><tr><th>kind</th></tr><tr><td>1*2</td></tr></table></body></html>"
    )
    title, text = texts_of(page.encode(), "a.html")
    assert title == "Memory"
    assert text == (
        "# Memory\n\nIt lasts.\n\n## Kinds\n\n- short\n- long_term\n\na sketch\n\n"
        "| kind |\n| --- |\n| 1*2 |"
    )


def test_html_of_a_site_keeps_the_page_and_drops_what_stands_around_it():
    """As mdBook, Sphinx and others write it: menus and help on every page."""
    page = (
        "<title>Functions - The Manual</title><body>"
        "<div hidden>Press S to search</div><ul role=menu><li><button>Coal</button></ul>"
        "<h1 class=menu-title>The Manual</h1>"
        "<main><h1><a href='#f'>Functions</a><a class=headerlink href='#f'>¶</a></h1>"
        "<p>A price is <span aria-hidden=true>€</span>5.</p><footer>See also.</footer></main>"
        "<footer>© The authors</footer></body>"
    )
    assert texts_of(page.encode(), "a.html") == (
        "Functions",
        "# Functions\n\nA price is 5.\n\nSee also.",
    )


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Before.</p><main> </main>", "Before."),  # filled by a script
        ("<main>One.</main><p>Two.</p><main>Three.</main>", "One.\n\nTwo.\n\nThree."),
        ("<body><p>It ends.</p><footer>© us</footer></body>", "It ends."),
        ("<h2><button>Coal</button></h2><p>It burns.</p>", "## Coal\n\nIt burns."),
        ("<h2>Coal<button>Copy</button></h2><p>It burns.</p>", "## Coal\n\nIt burns."),
        ("<body hidden><p>Shown by a script.</p></body>", "Shown by a script."),
        ("<p>Menu</p><div role=main>Around. <main>Text.</main></div>", "Text."),
        ("<p>Issue <a href='#n'>#</a>5 and <a href='/x'>#</a></p>", "Issue 5 and #"),
    ],
)
def test_html_without_one_main_part_is_read_whole(page, text):
    assert texts_of(page.encode(), "a.html")[1] == text


@pytest.mark.parametrize(
    ("declared", "headings", "title"),
    [
        ("Traits | Book", ["Traits", "Traits in use"], "Traits"),
        ("Book — Traits", ["Book", "Traits"], "Book"),
        ("std::vec - Rust", ["Module vec", "Other"], "std::vec - Rust"),
        ("Cut-off", ["Cut", "off"], "Cut-off"),
    ],
)
def test_of_a_title_with_the_name_of_the_site_the_heading_is_taken(declared, headings, title):
    page = f"<title>{declared}</title>" + "".join(f"<h1>{h1}</h1><p>Text." for h1 in headings)
    assert texts_of(page.encode(), "a.html")[0] == title


def test_html_declares_its_encoding_and_title():
    page = '<meta charset="windows-1252"><title>Maß</title><p>Größe'
    assert texts_of(page.encode("windows-1252"), "a.htm") == ("Maß", "Größe")
    assert texts_of("<p>Größe".encode("koi8-r", "ignore"), "a.htm", encoding="koi8-r")[0] == "a"


def test_docx(docx):
    paragraphs = [
        ("Title", "On memory"),
        ("heading 1", "Kinds"),
        ("Normal", "Short & long."),
        ("heading 1", "Places"),
        ("Normal", "The hippocampus."),
    ]
    title, text = texts_of(docx(paragraphs, core_title="Template"), "a.docx")
    assert title == "On memory"
    assert text == "# Kinds\n\nShort & long.\n\n# Places\n\nThe hippocampus."
    assert texts_of(docx(paragraphs[1:], core_title="A &amp; B"), "a.docx")[0] != "Kinds"
    assert texts_of(docx(paragraphs[1:3], core_title="Template"), "a.docx")[0] == "Kinds"


def test_pdf_joins_lines_drops_running_titles_and_reads_bookmarks(pdf):
    prose = ["Synapses that fire together wire together, as the say-", "ing goes, and they do."]
    pages = [
        ["Handbook of memory 1", "1 Synapses", *prose],
        ["Handbook of memory 2", "2 Sleep", "Sleep replays what the day has brought to mind."],
        ["Handbook of memory 3", "Nothing follows after this last line of all the text."],
    ]
    document = convert_bytes(
        pdf(pages, title="Memory", bookmarks=[("Synapses", 0), ("Sleep", 1), ("None", 2)]),
        path="a.pdf",
    )
    assert document.title == "Memory"
    assert [(heading.level, heading.text) for heading in document.headings] == [
        (1, "1 Synapses"),
        (1, "2 Sleep"),
    ]
    lines = document.text.split("\n")
    assert [lines[heading.start] for heading in document.headings] == ["1 Synapses", "2 Sleep"]
    assert "Handbook" not in document.text
    assert "wire together, as the saying goes, and they do." in document.text
    assert from_pdf(pdf(pages, title="Microsoft Word - x")).title == ""


def bad_files(docx, pdf):
    good_docx, good_pdf = docx([("Normal", "text")]), pdf([["text"]])
    return {
        "zero.md": (b"", "is empty"),
        "blank.md": (b" \n\t\n", "holds no text"),
        "blank.html": (b"<script>x</script>", "holds no text"),
        "picture.txt": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "is not UTF-8"),
        "nul.md": (b"a\0b", "looks binary"),
        "odd.txt": ("ab".encode("utf-16")[:-1], "is not UTF-16"),
        "cut.txt": ("aé".encode()[:-1], "is not UTF-8"),
        "cut.docx": (good_docx[:-200], "damaged"),
        "zip.docx": (good_docx[:100], "damaged"),
        "text.docx": (b"just text", "damaged"),
        "old.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "encrypted"),
        "text.pdf": (b"just text", "damaged"),
        "cut.pdf": (good_pdf[:60], "damaged"),
        "scan.pdf": (pdf([[]]), "holds no text"),
        "locked.pdf": (pdf([["text"]], encrypted=True), "password"),
        "noise.pdf": (b"%PDF-1.7\n" + os.urandom(2000), "damaged"),
        "sheet.xlsx": (b"x", "unknown kind '.xlsx'"),
        "lines.jsonl.gz": (gzip.compress(b"{}"), "`hebbgraph build` adds it"),
        "none": (b"x", "unknown kind ''"),
    }


def test_bad_files_say_what_is_wrong(tmp_path, docx, pdf):
    for name, (data, reason) in bad_files(docx, pdf).items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ConversionError) as caught:
            read_document(path)
        assert str(caught.value).startswith(f"{path.as_posix()}: "), name
        assert reason in str(caught.value), name


def test_every_truncation_is_an_answer_or_a_conversion_error(docx, pdf):
    for name, data in {
        "a.docx": docx([("heading 1", "Kinds"), ("Normal", "text " * 50)]),
        "a.pdf": pdf([["text"] * 5], title="t", bookmarks=[("text", 0)]),
    }.items():
        for length in range(1, len(data), max(1, len(data) // 60)):
            try:
                convert_bytes(data[:length], path=name)
            except ConversionError as error:
                unchained = error.__cause__ is None
                assert not unchained


def test_places_that_are_no_files(tmp_path):
    with pytest.raises(ConversionError, match=r"gone\.md: cannot be read: no such file"):
        read_document(tmp_path / "gone.md")
    with pytest.raises(ConversionError, match="not a regular file"):
        read_document(tmp_path)
    with pytest.raises(ConversionError, match="cannot be read"):
        read_document(tmp_path / "nul\0.md")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.md")
        with pytest.raises(ConversionError, match="not a regular file"):
            read_document(tmp_path / "pipe.md")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.md"
    path.write_text("It lasts.")
    fstat = os.fstat

    def changing(descriptor):
        found = fstat(descriptor)
        with path.open("a") as file:
            file.write("It does not.")
        return found

    monkeypatch.setattr(read.os, "fstat", changing)
    with pytest.raises(ConversionError, match=r"a\.md: changed while it was read"):
        read_document(path)
    monkeypatch.undo()
    assert read_document(path).text == "It lasts." + "It does not." * 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "a.md"
    path.write_text("It lasts.")
    stat = os.stat

    def replaced(given, **options):
        found = stat(given, **options)
        path.unlink()
        os.mkfifo(path)
        return found

    monkeypatch.setattr(read.os, "stat", replaced)
    with pytest.raises(ConversionError, match="not a regular file"):
        read_document(path)


def test_a_page_with_many_bookmarks_and_lines_is_looked_through_once(monkeypatch):
    looked_at = []
    letters = formats._letters
    monkeypatch.setattr(formats, "_letters", lambda text: looked_at.append(1) or letters(text))
    words = ["".join(letter) for letter in itertools.product("abcdefghij", repeat=3)]
    lines = [f"x{word}" for word in words]
    _, headings = _join_pages([lines], {0: [(1, f"1 {line}") for line in reversed(lines)]})
    assert [heading.text for heading in headings] == lines
    assert len(looked_at) == 2 * len(lines)


def test_properties_of_a_word_document_are_looked_through_once(docx):
    # Each of these begins where the one before it would have looked on to the end.
    data = docx([("Normal", "text")], core_title="")
    started = formats._CORE_TITLE.search("<dc:title" * 100_000 + ">It</dc:title>")
    assert started.group(1) == "It"
    assert convert_bytes(data, path="a.docx").title == "a"


def test_a_long_run_of_blanks_in_a_page_is_one_blank():
    page = b"<p>It" + b" " * 300_000 + b"lasts.<pre>a" + b" " * 100 + b"b</pre>"
    text = convert_bytes(page, path="a.html").text
    assert text.startswith("It lasts.")
    assert f"a{' ' * 100}b" in text


def test_the_size_limit(tmp_path, docx):
    path = tmp_path / "a.txt"
    path.write_text("x" * 11)
    assert read_document(path, max_bytes=11).text
    with pytest.raises(ConversionError, match="larger than 10 bytes"):
        read_document(path, max_bytes=10)
    with pytest.raises(ParameterError):
        read_document(path, max_bytes=0)
    bomb = docx([("Normal", "0" * 100_000)])
    with pytest.raises(ConversionError, match="unpacks to"):
        convert_bytes(bomb, path="a.docx", max_bytes=len(bomb))


@pytest.mark.parametrize(
    ("module", "name"), [("bs4", "a.html"), ("mammoth", "a.docx"), ("pypdfium2", "a.pdf")]
)
def test_a_missing_extra_names_its_command(monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r'pip install "hebbgraph\[documents\]"'):
        convert_bytes(b"x", path=name)


def test_plain_text_needs_no_extra(monkeypatch, tmp_path: Path):
    for module in ("bs4", "mammoth", "markdownify", "pypdfium2"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "a.md").write_text("# T\n\ntext")
    assert read_document(tmp_path / "a.md").title == "T"


def test_a_flood_of_unclosed_comments_swallows_the_rest():
    """Each makes the parser look through all that follows: a minute for 80,000."""
    page = b"<p>Seen <!-- closed -->too</p>" + b"<!-- " * 2_000 + b"<p>Not seen</p>"
    assert texts_of(page, "a.html")[1] == "Seen too"


def test_what_no_reader_of_a_markdown_page_sees_is_not_indexed_and_its_links_are():
    page = (
        "<!-- SPDX: MIT -->\n# Ferries\n\n<!-- YAML\nadded: v1\n-->\n\nSee the [fares][].\n\n"
        "```md\n<!-- shown -->\n[shown]: a.md\n```\n\n"
        "* Boats<!-- inline -->\n\n  <!-- in a list -->\n\n"
        "> [quoted]: b.md\n\n<!-- x --> trailing words\n\n"
        "[fares]: fares.md 'Fares'\n[unused]: c.md\n"
    )
    document = markdown_document(page)
    assert document.title == "Ferries"
    assert [heading.start for heading in document.headings] == [0]
    assert "SPDX" not in document.text
    assert "YAML" not in document.text
    assert "fares.md" not in document.text
    assert "in a list" not in document.text
    assert "<!-- shown -->\n[shown]: a.md" in document.text
    assert "trailing words" in document.text
    line = document.text.split("\n").index("See the [fares][].")
    assert [(mark.line, mark.target) for mark in document.marks] == [(line, "fares.md")]


def test_a_page_of_comments_alone_is_empty():
    assert markdown_document("<!-- nothing yet -->\n").text == ""
    unclosed = "Words.\n\n<!-- the rest of the page"
    assert markdown_document(unclosed).text == unclosed


def test_blocks_that_only_a_comment_divides_stay_apart():
    document = markdown_document("# Tides\n\nHigh at noon.\n<!-- checked -->\n---\nLow at dusk.")
    assert [heading.text for heading in document.headings] == ["Tides"]
    assert "checked" not in document.text
