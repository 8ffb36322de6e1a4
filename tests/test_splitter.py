"""Splitting: worked examples, and what holds for every text."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.errors import InvalidChunkError, ParameterError
from hebbgraph.records import Chunk, storable
from hebbgraph.splitter import Splitter
from hebbgraph.text.blocks import count_tokens

WORDS = "The schooner Petrel left Tessel Bay with salt and ice. "
PICTURE = "iVBORw0KGgoAAAANSUhEUgAA+/" * 200
LINES = "\n".join(PICTURE[at : at + 76] for at in range(0, len(PICTURE), 76))


def words(tokens: int) -> str:
    """Return sentences of about so many tokens."""
    sentence = count_tokens(WORDS)
    return (WORDS * (tokens // sentence + 1)).strip()


def split(text: str, least: int = 1, most: int = 40, **options: object) -> list[Chunk]:
    return Splitter(chunk_tokens=(least, most)).split(text, **options)  # type: ignore[arg-type]


# -- worked examples ----------------------------------------------------------------------


def test_sections_become_chunks_with_paths_and_titles() -> None:
    text = "\ufeff# Ice\n\nIt floats.\n\n## Trade\n\nIt was shipped.\n\n### Salt ice\n\nIt melts."
    chunks = split(text, document_id="ice", metadata={"lang": "en"})
    assert [(chunk.title, chunk.text) for chunk in chunks] == [
        ("Ice", "# Ice\n\nIt floats."),
        ("Ice: Trade", "## Trade\n\nIt was shipped."),
        ("Salt ice", "### Salt ice\n\nIt melts."),
    ]
    assert chunks[2].metadata == {
        "lang": "en",
        "headings": ["Ice", "Trade", "Salt ice"],
        "position": 2,
        "start": text.index("###"),
        "end": len(text),
    }


def test_without_a_sole_heading_the_given_title_stands_before_headings() -> None:
    chunks = split("Preface.\n\n# One\n\nText.\n\n# Two\n\nText.", title="Handbook")
    assert [chunk.title for chunk in chunks] == ["Handbook", "Handbook: One", "Handbook: Two"]


def test_short_sections_are_joined_within_their_chapter() -> None:
    text = "# A\n\n## a1\n\nOne two.\n\n## a2\n\nThree four.\n\n# B\n\nFive six."
    joined = split(text, least=12)
    assert [chunk.text for chunk in joined] == [text]
    chapters = split(text.replace("# B", f"# B\n\n{words(30)}"), least=8)
    assert [chunk.metadata["headings"] for chunk in chapters] == [["A"], ["B"]]
    assert chapters[0].text.startswith("# A")
    assert "## a2" in chapters[0].text


def test_a_long_section_is_cut_at_paragraphs_then_items_then_sentences() -> None:
    paragraphs = f"{words(20)}\n\n{words(20)}\n\n{words(20)}"
    assert all(chunk.text == words(20) for chunk in split(paragraphs, least=10))
    items = "\n".join(f"- {words(12)}" for _ in range(6))
    assert all(chunk.text.startswith("- ") for chunk in split(items, least=10))
    assert all(chunk.text.startswith("The ") for chunk in split(words(200), least=10))


def test_a_fence_is_cut_only_if_it_alone_is_too_long() -> None:
    code = "```python\n# no heading\n\nif owls:\n    hunt(voles)\n```"
    chunks = split(f"{words(35)}\n\n{code}\n\n{words(35)}", least=5)
    assert [chunk for chunk in chunks if code in chunk.text]
    lines = "\n".join(f"line_{n} = {n}" for n in range(40))
    parts = split(f"```\n{lines}\n```", least=5)
    assert len(parts) > 2
    assert all(part.text.startswith(("line_", "```")) for part in parts)


def test_each_part_of_a_long_table_has_the_header() -> None:
    header = "|Part|Price in crowns|\n|---|---|"
    rows = [f"|XN-{n:04}|{n}|" for n in range(100)]
    text = f"# Parts\n\nOf 1871.\n{header}\n" + "\n".join(rows) + "\n\nThe end."
    chunks = split(text, least=5)
    assert len(chunks) > 3
    assert all("Price in crowns" in chunk.text for chunk in chunks if "XN-" in chunk.text)
    assert [row for chunk in chunks for row in chunk.text.split("\n") if "XN-" in row] == rows
    assert chunks[1].text == f"{header}\n{_at(text, chunks[1])}"


@pytest.mark.parametrize(
    "image",
    [
        f"![plan](data:image/png;base64,{PICTURE})",
        f"<img alt='x' src='data:image/png;base64,{PICTURE}'>",
        f"![plan][p]\n\n[p]: data:image/png;base64,{PICTURE}",
        LINES,
        f"![plan](data:image/png;base64,{LINES})",
        f"![plan](data:image/png;base64,\n{LINES[:300]})",
    ],
    ids=["inline", "html", "reference", "lines", "inline in lines", "few lines"],
)
def test_images_in_base64_are_left_out(image: str) -> None:
    text = f"# Mill\n\nIda Moss built it.\n\n{image}\n\nIt grinds rye."
    chunks = Splitter().split(text)
    assert not [chunk for chunk in chunks if PICTURE[30:60] in chunk.text]
    assert [chunk.text[-14:] for chunk in chunks] == ["It grinds rye."]
    assert _at(text, chunks[0]) == text


def test_addresses_are_github_anchors_and_links_are_resolved() -> None:
    text = (
        "# Set up, once!\n\nSee [b](b.md#x), [up](../c.md 'C'), [this](#set-up-once), "
        "[[Ice trade]], <https://e.org/a>, [that][T], [t] and `[no](no.md)` ![no](no.png).\n\n"
        "```\n[no](no.md)\n```\n\n[T]: /d.md\n\n# Set up, *once*\n\n[mail](mailto:jo@e.org)"
    )
    first, second = split(text, most=90, address="docs/guide/a.md")
    assert first.addresses == ("docs/guide/a.md#set-up-once",)
    assert second.addresses == ("docs/guide/a.md#set-up-once-1",)
    assert first.references == (
        "docs/guide/b.md#x",
        "docs/c.md",
        "docs/guide/a.md#set-up-once",
        "[[Ice trade]]",
        "https://e.org/a",
        "d.md",
    )
    assert second.references == ()
    (site,) = split("See [b](../b#x).", address="https://e.org/docs/a/")
    assert (site.addresses, site.references) == (
        ("https://e.org/docs/a/",),
        ("https://e.org/docs/b#x",),
    )


def test_equal_texts_have_distinct_ids() -> None:
    chunks = split("# A\n\nSame.\n\n# A\n\nSame.", document_id="d")
    assert chunks[0].text == chunks[1].text
    assert chunks[0].id != chunks[1].id


@pytest.mark.parametrize("limits", [(0, 100), (50, 20), (1, 15), 400, (1, 2, 3)])
def test_invalid_limits_are_refused(limits: object) -> None:
    with pytest.raises(ParameterError, match="chunk_tokens"):
        Splitter(chunk_tokens=limits)  # type: ignore[arg-type]


def test_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(InvalidChunkError, match="document_id"):
        Splitter().split("Text.", document_id="a\nb")


def test_what_is_indented_or_quoted_is_no_heading() -> None:
    text = "# Ice\n\nSo:\n\n    # no heading\n    melt()\n\n> # nor this\n\n- # nor that"
    assert [chunk.title for chunk in split(text)] == ["Ice"]


def test_a_crlf_text_reads_as_others() -> None:
    text = "# Ice\n\nIt floats.\n\n|a|b|\n|-|-|\n|c|d|\n\nTitle\n===\n\nIt melts."
    titles = [chunk.title for chunk in split(text.replace("\n", "\r\n"))]
    assert titles == [chunk.title for chunk in split(text)] == ["Ice", "Title"]


@pytest.mark.parametrize(
    "unit", ["owl ", "- a\n", "a|b\n", "突触会学习", "x\ny\n---\n", "](a", "A" * 511 + " "]
)
def test_time_is_linear(unit: str) -> None:
    """Quadratic code takes a quarter of a minute for these."""
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    Splitter().split(text)
    assert time.process_time() - started < 6


# -- what holds for every text ------------------------------------------------------------

_FRAGMENTS = st.sampled_from(
    [
        "# Ice\n",
        "## Trade\n",
        "### Salt `x`\n",
        "Setext\n===\n",
        "\n",
        "\n\n",
        " ",
        WORDS,
        WORDS * 4,
        "- item one\n- item two\n",
        "  more of it\n",
        "```\ncode = 1\n\nmore()\n```\n",
        "~~~\n",
        "|a|b|\n|--|--|\n|1|2|\n" + "|3|4|\n" * 12,
        "突触会学习。记忆会留下。" * 5,
        "x" * 90,
        "See [a](b.md) and [[c]].\n",
        f"![p](data:image/png;base64,{PICTURE})",
        "\x00\x0b\u2028",
    ]
)
TEXTS = st.lists(_FRAGMENTS | st.text(max_size=30), max_size=25).map("".join)
_BODIES = st.sampled_from([WORDS, f"{WORDS}\n\n", "- salt\n"])
LIMITS = st.tuples(st.integers(1, 30), st.integers(30, 80))


def _at(text: str, chunk: Chunk) -> str:
    return storable(text)[slice(*_place(chunk))]


def _place(chunk: Chunk) -> tuple[int, int]:
    start, end = chunk.metadata["start"], chunk.metadata["end"]
    assert isinstance(start, int)
    assert isinstance(end, int)
    return start, end


@given(TEXTS, LIMITS)
def test_chunks_cover_the_text_in_order_within_the_limits(
    text: str, limits: tuple[int, int]
) -> None:
    chunks = Splitter(chunk_tokens=limits).split(text)
    picture = f"(data:image/png;base64,{PICTURE})"
    seen = storable(text).replace(picture, " " * len(picture))
    end = 0
    for number, chunk in enumerate(chunks):
        start, stop = _place(chunk)
        assert start >= end
        assert not seen[end:start].strip()
        assert picture not in chunk.text
        own = _at(text, chunk).replace(picture, "")
        assert chunk.text.endswith(own)
        assert chunk.text == own or "|a|b|\n|--|--|\n" in chunk.text
        assert 1 <= count_tokens(chunk.text) <= limits[1]
        assert chunk.metadata["position"] == number
        end = stop
    assert not seen[end:].strip()
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@given(TEXTS, LIMITS)
def test_splitting_is_a_function_of_its_arguments(text: str, limits: tuple[int, int]) -> None:
    splitter = Splitter(chunk_tokens=limits)
    metadata = {"a": [1]}
    options = {"document_id": "d", "address": "d.md", "metadata": metadata}
    chunks = splitter.split(text, **options)  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(splitter)).split(text, **options)
    assert chunks == again
    assert metadata == {"a": [1]}


@given(
    st.lists(st.lists(_BODIES, max_size=9), min_size=2, max_size=6),
    st.data(),
)
def test_an_edit_leaves_the_ids_of_other_sections(
    bodies: list[list[str]], data: st.DataObject
) -> None:
    """Sections here are long enough to stand alone."""
    sections = [f"# Section {n}\n\n{WORDS}{''.join(body)}\n\n" for n, body in enumerate(bodies)]
    edited = data.draw(st.integers(0, len(sections) - 1))
    changed = sections[edited] + "A new sentence about owls.\n\n"
    after = [*sections[:edited], changed, *sections[edited + 1 :]]
    before_ids, after_ids = (
        [
            {chunk.id for chunk in chunks if chunk.metadata["headings"] == [f"Section {n}"]}
            for n in range(len(sections))
        ]
        for chunks in (
            split("".join(part), least=12, document_id="d") for part in (sections, after)
        )
    )
    for number in range(len(sections)):
        assert bool(before_ids[number] - after_ids[number]) <= (number == edited)
    assert before_ids[edited] != after_ids[edited]
