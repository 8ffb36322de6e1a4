from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph import (
    Chunk,
    HebbianIndex,
    InvalidChunkError,
    ParameterError,
    Settings,
    SettingsMismatchError,
)
from hebbgraph.graph.references import ADDRESS, link_candidates, link_keys, normal_address

Content = Callable[[HebbianIndex], Any]

SAME = [
    ("https://Example.org/Guide/", "http://example.org/Guide"),
    ("https://example.org:443/", "https://EXAMPLE.org"),
    ("https://example.org/a%20b#", "https://example.org/a b"),
    ("docs/./a/../b.md", "docs/b.md"),
    ("guide #", "guide"),
    ("guide /", "guide"),
    ("[[Ice_Trade|trading ice]]", "[[ice  trade]]"),
    ("doi:10.1000/ABC", "https://dx.doi.org/10.1000/abc"),
    ("<id-7@Mail.example>", "id-7@Mail.example"),
    ("cafe\u0301.md", "caf\u00e9.md"),
]
OTHER = [
    ("docs/A.md", "docs/a.md"),
    ("/a.md", "a.md"),
    ("https://example.org/a", "https://example.org/b"),
    ("https://example.org:8080/a", "https://example.org/a"),
    ("https://example.org/?p=1", "https://example.org/?p=2"),
    ("a.md#x", "a.md#X"),
    ("ftp://example.org/a", "https://example.org/a"),
    ("[[a]]", "a"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_of_one_place(one: str, other: str) -> None:
    assert normal_address(one) == normal_address(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_two_places(one: str, other: str) -> None:
    assert normal_address(one) != normal_address(other)


@given(st.text(max_size=60))
def test_no_link_key_equals_a_phrase(text: str) -> None:
    for key in link_keys([text]):
        assert key.startswith(ADDRESS)
        assert key.split(" ") == key.split()
        assert key.isprintable() or not text.isprintable()


def test_text_names_an_address_only_if_it_is_a_name_in_words(content: Content) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                Chunk(id="path", text="x", addresses=("guide/setup.md", "get", "parse_config")),
                Chunk(id="wiki", text="x", addresses=("[[Ice trade]]",)),
                Chunk(id="free", text="We get the ice trade; parse_config reads guide/setup.md."),
            ]
        )
        assert content(index).postings["free"] == {"ice trade": False, "parse_config": False}
        assert {cue.tag for cue in index.recall("get ice trade guide/setup.md").cues} == {
            "ice trade"
        }


def test_links_may_be_added_before_or_after_their_targets(content: Content) -> None:
    target = Chunk(id="target", text="x", addresses=("a.md#rules",))
    with HebbianIndex.open(":memory:") as index:
        index.add([Chunk(id="link", text="y", references=("a.md#rules", "./lost.md"))])
        held = {"@a.md#rules": False, "@a.md#": False, "@lost.md": False, "@lost.md#": False}
        assert content(index).postings == {"link": held}
        index.add([target])
        assert content(index).postings["target"] == {"@a.md#rules": True, "@a.md#": True}
        assert content(index).df == {"@a.md#rules": 2, "@a.md#": 2, "@lost.md": 1, "@lost.md#": 1}
        index.delete(["link"])
        assert content(index).df == {"@a.md#rules": 1, "@a.md#": 1}
        assert index.get(["target"]) == [target]


def test_a_link_to_itself_is_its_address(content: Content) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([Chunk(id="loop", text="x", addresses=("a.md",), references=("a.md",))])
        assert content(index).postings == {"loop": {"@a.md": True, "@a.md#": True}}


def test_a_wiki_link_leads_to_a_title(content: Content) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                Chunk(id="page", title="Ice trade", text="x"),
                Chunk(id="link", text="as sold abroad", references=("[[Ice trade|sold]]",)),
            ]
        )
        assert content(index).postings["link"]["ice trade"] is False


def test_edges_of_metadata(content: Content) -> None:
    chunks = [
        Chunk(id="a", text="x", metadata={"author": ["Jo  Ann", "Ben"], "year": 1871}),
        Chunk(id="b", text="y", metadata={"author": "jo ann", "year": 1871.0}),
        Chunk(id="c", text="z", metadata={"author": None}),
    ]
    with HebbianIndex.open(":memory:", edges=("author", "year")) as index:
        index.add(chunks)
        assert content(index).postings == {
            "a": {"=author:jo ann": False, "=author:ben": False, "=year:1871": False},
            "b": {"=author:jo ann": False, "=year:1871": False},
            "c": {},
        }
        with pytest.raises(InvalidChunkError, match="'author' is an edge and takes text, numbers"):
            index.add([Chunk(id="d", text="x", metadata={"author": {"name": "Jo"}})])


def test_edges_are_a_build_setting(open_index: Callable[..., HebbianIndex]) -> None:
    with open_index(edges=("author",)) as index:
        index.add(["x"])  # the first write saves the settings
    assert open_index(settings="saved").settings.edges == ("author",)
    assert open_index(settings=Settings(edges=("author",))).settings.edges == ("author",)
    with pytest.raises(SettingsMismatchError, match=r"edges=\['author'\], got edges=\[\]"):
        open_index()
    with pytest.raises(ParameterError, match="write edges="):
        open_index("other", edges="author")
    with pytest.raises(ParameterError, match="name of a metadata field"):
        open_index("other", edges=(" ",))


def test_without_links_there_are_no_keys() -> None:
    assert link_candidates(Chunk(text="See [[Ice trade]] and https://example.org.")) == {}
