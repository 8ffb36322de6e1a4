from __future__ import annotations

import datetime
import enum
import pathlib
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hebbgraph import Chunk, InvalidChunkError
from langchain_core.documents import Document

from langchain_hebbgraph.conversion import chunk_filter, stable_id, to_chunk, to_document


class Colour(enum.Enum):
    RED = "red"


def test_what_comes_back_equals_what_went_in() -> None:
    document = Document(
        "Built by Ida Moss.",
        id="petrel",
        metadata={"title": "Petrel", "source": "ships.md", "tags": ["ship"], "deep": {"n": [1]}},
    )
    chunk = to_chunk(document)
    assert (chunk.id, chunk.title, chunk.document_id, chunk.tags) == (
        "petrel",
        "Petrel",
        "ships.md",
        ("ship",),
    )
    assert to_document(chunk) == document


def test_copies_go_out() -> None:
    chunk = to_chunk(Document("x", metadata={"deep": {"list": [1]}}))
    to_document(chunk).metadata["deep"]["list"].append(2)
    assert chunk.metadata == {"deep": {"list": [1]}}


def test_title_and_source_of_chunks_from_elsewhere() -> None:
    chunk = Chunk(text="x", title="Petrel", document_id="ships.md")
    assert to_document(chunk).metadata == {"title": "Petrel", "source": "ships.md"}


def test_ids_are_stable_and_differ_by_content_and_metadata() -> None:
    one, same = Document("x", metadata={"a": 1, "b": 2}), Document("x", metadata={"b": 2, "a": 1})
    assert stable_id(one) == stable_id(same)
    assert len({stable_id(one), stable_id(Document("x")), stable_id(Document("y"))}) == 3
    assert stable_id(Document("x", id="own")) == "own"


def test_metadata_that_json_does_not_know() -> None:
    metadata: dict[Any, Any] = {
        "day": datetime.date(2020, 1, 2),
        "at": datetime.datetime(2020, 1, 2, 3, 4),
        "path": pathlib.PurePosixPath("a/b"),
        "id": uuid.UUID(int=1),
        "price": Decimal("1.5"),
        "colour": Colour.RED,
        "pair": (1, 2),
        "set": {"b", "a"},
        7: "seven",
    }
    assert to_chunk(Document("x", metadata=metadata)).metadata == {
        "day": "2020-01-02",
        "at": "2020-01-02T03:04:00",
        "path": "a/b",
        "id": "00000000-0000-0000-0000-000000000001",
        "price": 1.5,
        "colour": "red",
        "pair": [1, 2],
        "set": ["a", "b"],
        "7": "seven",
    }


def test_metadata_that_cannot_be_kept() -> None:
    with pytest.raises(InvalidChunkError, match="metadata"):
        to_chunk(Document("x", metadata={"what": object()}))


@pytest.mark.parametrize("field", ["title", "source", "tags"])
@pytest.mark.parametrize("value", [None, 7, [1, None], {"a": 1}, "", "\n", "x" * 10_000, ["", " "]])
def test_fields_with_a_meaning_may_hold_anything(field: str, value: Any) -> None:
    chunk = to_chunk(Document("x", metadata={field: value}))
    assert chunk.metadata == {field: value}


def test_characters_that_no_database_keeps_go() -> None:
    chunk = to_chunk(Document("a\x00b", metadata={"title": "Petrel"}))
    assert chunk.text == "a b"


def test_filters() -> None:
    assert chunk_filter(None) is None
    assert chunk_filter({"n": 1}) == {"n": 1}
    by_document = chunk_filter(lambda document: document.metadata["n"] == 1)
    assert callable(by_document)
    assert by_document(Chunk(text="x", metadata={"n": 1})) is True
    assert by_document(Chunk(text="x", metadata={"n": 2})) is False


def test_links_are_read_from_the_metadata() -> None:
    metadata = {
        "source": "docs/a.md",
        "addresses": ["docs/a.md#top", 5, " "],
        "references": ["b.md#x"] * 2,
    }
    chunk = to_chunk(Document("x", metadata=metadata))
    assert chunk.addresses == ("docs/a.md#top", "docs/a.md")
    assert chunk.references == ("b.md#x",)
    assert to_document(chunk).metadata == metadata
    odd = to_chunk(Document("x", metadata={"source": "My notes", "references": {"a": 1}}))
    assert (odd.addresses, odd.references) == ((), ())
