"""Files with links become chunks with addresses and references."""

from __future__ import annotations

from pathlib import Path

import pytest
from hebbgraph import Chunk, HebbianIndex

from hebbgraph_documents import ChunkSettings, ingest, split_document
from hebbgraph_documents.convert import convert_bytes, markdown_document
from hebbgraph_documents.links import MAX_MARKS, addresses_at, resolved
from hebbgraph_documents.rst import rst_headings

SMALL = ChunkSettings(chunk_tokens=(1, 60))


def chunks(data: str, path: str) -> list[Chunk]:
    document = convert_bytes(data.encode(), path=path)
    return split_document(document, document_id=path, settings=SMALL)


def test_markdown_gives_each_section_its_anchor_and_its_links() -> None:
    first, second, linux, last = chunks(
        "# Guide\n\nSee [the rules](rules.md#two) and [[Ice trade]], not `[x](y.md)`.\n\n"
        "## Set up\n\nWith [an api][1] <https://example.org/a>, ![no](picture.png).\n\n"
        "### Linux\n\n## Set up\n\n<a id='manual'></a> By [hand](#linux).\n\n[1]: ../api.html\n",
        "docs/guide.md",
    )
    assert first.addresses == ("docs/guide.md", "docs/guide", "docs/guide#guide")
    assert first.references == ("docs/rules#two", "[[Ice trade]]")
    assert second.addresses[2:] == ("docs/guide#set-up",)
    assert second.references == ("api", "https://example.org/a")
    assert linux.addresses[2:] == ("docs/guide#linux",)
    assert last.addresses[2:] == ("docs/guide#set-up-1", "docs/guide#manual")
    assert last.references == ("docs/guide#linux",)


def test_html_keeps_ids_and_targets_where_they_stand() -> None:
    first, second = chunks(
        "<title>Guide</title><nav><a href='no.html'>menu</a></nav><h1 id=top>Guide</h1>"
        "<p>See <a href='../rules.html#two'>the rules</a>.</p><a name=old></a>\n\n"
        "<h2>Set up</h2><ul id=list><li id=one>One</li><li>Two</li></ul>"
        "<p><a href='mailto:a@b.c'>me</a>",
        "docs/a/guide.html",
    )
    assert "See the rules." in first.text
    assert first.addresses[2:] == ("docs/a/guide#guide", "docs/a/guide#top")
    assert first.references == ("docs/rules#two",)
    assert second.text == "Set up\n\n- One\n- Two\n\nme"
    # What stands between two sections is the next one's.
    assert set(second.addresses[2:]) == {
        "docs/a/guide#old",
        "docs/a/guide#set-up",
        "docs/a/guide#one",
    }
    assert second.references == ()


def test_the_anchor_of_a_link_from_a_heading_to_itself_is_kept() -> None:
    """As Node's manual has it."""
    (only,) = chunks(
        "<h2>Set up<a class=mark href='#set_up_api' id='set_up_api'>#</a></h2><p>Do it.</p>",
        "docs/a.html",
    )
    assert (only.title, only.text) == ("Set up", "Do it.")
    assert "docs/a#set_up_api" in only.addresses
    assert only.references == ()


def test_rst_gives_labels_symbols_and_their_references() -> None:
    first, second = chunks(
        "Guide\n=====\n\n.. _start:\n\nSee :ref:`the rules <Rules>`, :doc:`/api/index`,"
        " :func:`~a.b`\nand `home <https://example.org>`_ or Manual_.\n\n"
        "Set up\n------\n\n.. py:function:: x.y(z)\n\n   Does it.\n\n.. _Manual: manual.html\n",
        "docs/guide.rst",
    )
    assert first.title == "Guide"
    assert first.addresses[2:] == ("docs/guide#guide", "docs/guide#start", "label:start")
    assert first.references == (
        "label:rules",
        "api/index",
        "a.b",
        "https://example.org",
        "docs/manual",
    )
    assert second.addresses[2:] == ("docs/guide#set-up", "x.y")
    assert second.text.startswith("Set up\n\n.. py:function:: x.y(z)")


def test_rst_tables_and_transitions_are_no_titles() -> None:
    text = "=====  ====\nkey    is\n=====  ====\n\nA line\nof text\n-------\n\n----\n\nShort\n--\n"
    assert rst_headings(text) == ()


def test_all_parts_of_a_long_section_have_its_anchor() -> None:
    parts = chunks("# Guide\n\n## Set up\n\n" + "It takes a while to read.\n\n" * 40, "g.md")
    assert len(parts) > 3
    assert {part.addresses[2:] for part in parts[1:]} == {("g#set-up",)}


@pytest.mark.parametrize(
    ("target", "document_id", "expected"),
    [
        ("b.md", "a.md", "b"),
        ("./b", "docs/a.md", "docs/b"),
        ("/b.html", "docs/a.md", "b"),
        ("/b.html", "/srv/docs/a.md", "/b"),
        ("b%20c.md?x=1#y", "a.md", "b c#y"),
        ("", "a.md", "a"),
        ("#", "a.md", "a"),
        ("../../b", "a.md", "../../b"),
        ("//cdn.example/x", "a.md", "https://cdn.example/x"),
        ("b", "https://example.org/docs/a", "https://example.org/docs/b"),
        ("JavaScript:alert(1)", "a.md", ""),
        ("c%23.md", "a.md", "c%23"),
    ],
)
def test_links_are_resolved_against_the_document(
    target: str, document_id: str, expected: str
) -> None:
    assert resolved(target, document_id) == expected


def test_a_hash_in_a_path_is_no_anchor() -> None:
    assert addresses_at("c#.md", ["x"]) == ("c%23.md", "c%23", "c%23#x")


@pytest.mark.parametrize("text", ["[" * 100_000 + "](a)", "[a](b) " * 200_000, "[[" * 50_000])
def test_hostile_markdown_is_bounded(text: str) -> None:
    assert len(markdown_document("\n\n".join([text, "[a](b)\n\n" * 10])).marks) <= MAX_MARKS


def test_files_are_linked_in_an_index(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Guide\n\nFrost heaves; [see](rules.md#salt).")
    (tmp_path / "rules.md").write_text("# Winter\n\nNothing.\n\n## Salt\n\nUse little of it.")
    with HebbianIndex.open(":memory:") as index:
        ingest([tmp_path], index, base=tmp_path, settings=SMALL)
        hit = index.recall("When does frost heave?", k=2).hits[1]
    assert hit.chunk.metadata["headings"] == ["Salt"]
    assert [step.value for step in hit.path if step.kind == "tag"] == ["@rules#salt"]
