"""Every page that a browser shows is indexed: one minimal page of each kind met in the wild."""

from __future__ import annotations

import re

import pytest

from hebbgraph_documents import ConversionLimits, ingest, read_document

LIMITS = ConversionLimits(seconds=30)

PAGES = {
    # GNU Texinfo: the page ends in links to its neighbours, or in an anchor.
    "texinfo": (
        "<html><head><title>Coal</title></head><body><a name='Top'></a><h1 class='top'>Coal</h1>"
        "<p>It burns.</p><hr><div class='header'><p>Next: <a href='Ice.html' accesskey='n'>Ice</a>"
        "</p></div><a name='SEC_End'></a></body></html>",
        "Coal It burns. Next: Ice",
    ),
    # Sphinx: the search page is empty until its script runs, and ends in an empty element.
    "sphinx search": (
        "<body><div role='main'><h1 id='search-documentation'>Search</h1><noscript><p>Please "
        "activate JavaScript.</p></noscript><p>Search the words.</p><div id='search-results'></div>"
        "</div><div class='sphinxsidebar' role='navigation'></div></body>",
        "Search Search the words.",
    ),
    "sphinx": (
        "<body><div class='related' role='navigation'><ul><li><a href='g.html'>index</a></ul></div>"
        "<div class='body' role='main'><section id='ice'><span id='ice-trade'></span><h1>Ice"
        "<a class='headerlink' href='#ice'>¶</a></h1><dl class='py function'><dt id='ice.melt'>"
        "<code>ice.melt()</code></dt><dd><p>It melts.</p></dd></dl></section></div></body>",
        "Ice ice.melt() : It melts.",
    ),
    "mdbook": (
        "<body><div id='mdbook-help'></div><nav id='sidebar'></nav><div id='page-wrapper'>"
        "<div id='menu-bar'></div><main><h1 id='salt'><a class='header' href='#salt'>Salt</a></h1>"
        "<p>It dries.</p></main></div><div id='fullscreen'></div></body>",
        "Salt It dries.",
    ),
    "javadoc": (
        "<body class='class-declaration-page'><header role='banner'><nav role='navigation'>"
        "<a id='navbar.top'></a></nav></header><main role='main'><h1 title='Class Ox'>Class Ox</h1>"
        "<section class='method-details'><ul><li><a id='pull()'></a><h3>pull</h3><div>It pulls."
        "</div></li></ul></section><a id='skip.navbar.bottom'></a></main></body>",
        "Class Ox pull It pulls.",
    ),
    # Old Javadoc: lists of all classes in a page of navigation alone.
    "javadoc frame": (
        "<body><div role='navigation'><h1>All classes</h1><ul><li><a href='Ox.html'>Ox</a></li>"
        "<li><a href='Cart.html'>Cart</a></li></ul></div></body>",
        "All classes Ox Cart",
    ),
    "rustdoc": (
        "<body><main><section id='main-content'><h1>Function <span>melt</span></h1><pre><code>fn "
        "melt()</code></pre><p>It melts.</p><div id='end'></div></section></main></body>",
        "Function melt fn melt() It melts.",
    ),
    "doxygen": (
        "<body><div id='top'></div><div class='contents'><a name='details' id='details'></a>"
        "<h2>Rope</h2><p>It holds.</p><a id='a0'></a></div></body>",
        "Rope It holds.",
    ),
    "news": (
        "<body><dialog>We use cookies.</dialog><div aria-hidden='true'>Menu</div><article>"
        "<h1>Frost</h1><figure><img src='a.jpg' alt='A field'><figcaption>A field</figcaption>"
        "</figure><p>It is cold.</p><div id='comments'></div></article></body>",
        "Frost A field A field It is cold.",
    ),
    "a modal at the end": ("<p>Hello</p><div id='modal-root'></div></body>", "Hello"),
    "anchors alone at both ends": ("<a name='a'></a><p>It lasts.</p><p id='b'></p>", "It lasts."),
    "an anchor behind blank lines": ("<pre>It lasts.\n\n\n</pre><a id='end'></a>", "It lasts."),
    "hidden until a script runs": ("<body><div hidden><p>It lasts.</p></div></body>", "It lasts."),
    "no end tags": ("<title>T</title><h2>One<p>A<p>B<h2>Two<ul><li>C<li>D", "One A B Two C D"),
    "wrong end tags": ("</div><p><b>It<i> lasts</b></i></p></body></html></table>", "It lasts"),
}  # fmt: skip


def words_of(text: str) -> str:
    """The words of Markdown, without its signs."""
    return " ".join(re.findall(r"[\w.():]+", text))


@pytest.fixture
def convert(tmp_path):
    def converted(page: str | bytes):
        path = tmp_path / "page.html"
        path.write_bytes(page if isinstance(page, bytes) else page.encode())
        return read_document(path, limits=LIMITS)

    return converted


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_read_with_all_its_words(kind, convert):
    page, words = PAGES[kind]
    document = convert(page)
    assert words_of(document.text) == words
    assert all(mark.line <= document.text.count("\n") for mark in document.marks)


@pytest.mark.parametrize(
    ("page", "anchors"),
    [
        ("<p>Hello</p><div id='modal-root'></div>", {"modal-root": 0}),
        ("<h1 id=top>Ice</h1><p>It melts.</p><a name=end></a>", {"top": 0, "end": 2}),
        ("<a name=top></a><p>Ice</p><p id=x></p><p>melts</p>", {"top": 0, "x": 2}),
    ],
)
def test_an_anchor_in_an_empty_element_leads_to_the_text_beside_it(page, anchors, convert):
    marks = convert(page).marks
    assert {mark.target: mark.line for mark in marks if mark.is_anchor} == anchors


@pytest.mark.parametrize(
    ("page", "last"),
    [
        ("<ul>" + "".join(f"<li>item {n}" for n in range(2_000)) + "</ul>", "- item 1999"),
        ("".join(f"<p>item {n}" for n in range(2_000)), "item 1999"),
        ("<dl>" + "".join(f"<dt>{n}<dd>item {n}" for n in range(2_000)), "item 1999"),
        ("<table>" + "".join(f"<tr><td>{n}<td>item {n}" for n in range(2_000)), "item 1999 |"),
        ("".join(f"<a name=a{n}>item {n}<br>" for n in range(2_000)), "item 1999"),
        ("".join(f"<font><b>item {n}" for n in range(2_000)), "item 1999"),
        ("<div>" * 5_000 + "item 1999", "item 1999"),
        ("<blockquote>" * 400 + "x" + "</blockquote>" * 400 + "<p>item 1999", "item 1999"),
    ],
    ids=["li", "p", "dt", "tr", "a", "font", "div", "blockquote"],
)  # fmt: skip
def test_deep_pages_and_pages_without_end_tags_are_read_to_the_end(page, last, convert):
    assert convert(page).text.splitlines()[-1].rstrip("*").endswith(last)


def test_lists_without_end_tags_keep_their_shape(convert):
    text = convert("<ul><li>coal<ul><li>hard<li>soft</ul><li>ice</ul>").text
    assert text.split("\n") == ["- coal", "  - hard", "  - soft", "- ice"]


def test_a_folder_of_all_kinds_is_indexed_whole(tmp_path):
    class Shelf(dict):
        def document_fingerprints(self):
            return {}

        def put_document(self, document_id, fingerprint, chunks):
            self[document_id] = len(chunks)

        def delete(self, *, document_id):
            raise AssertionError

    for number, (page, _) in enumerate(PAGES.values()):
        (tmp_path / f"{number}.html").write_text(page)
    report = ingest([tmp_path], Shelf(), limits=LIMITS)
    assert report.failed == ()
    assert len(report.indexed) == len(PAGES)
