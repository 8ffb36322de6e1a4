"""Adding adds; replacing whole documents has a name of its own, ``refresh``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hebbgraph import Chunk, HebbianIndex, InvalidChunkError, ParameterError, Settings

OWLS = "https://example.org/owls.pdf"


def _page(number: int, document_id: str | None = OWLS, **fields: Any) -> dict[str, Any]:
    text = f"Page {number} says that owl number {number} hunts voles."
    return {"id": f"p{number}", "text": text, "document_id": document_id} | fields


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        yield opened


def test_a_document_that_is_added_a_part_at_a_time_is_whole(index: HebbianIndex) -> None:
    for first in range(0, 100, 40):
        index.add([_page(number) for number in range(first, min(first + 40, 100))])
    assert index.stats().chunks == 100
    index.add([_page(0, text="Owls sing.")])
    assert index.stats().chunks == 100
    assert index.get(["p0"])[0].text == "Owls sing."


def test_refresh_replaces_the_documents_that_are_named_and_no_others(index: HebbianIndex) -> None:
    index.add([*(_page(n) for n in range(3)), _page(7, "other"), _page(8, None)])
    cited = index.reinforce(index.recall("What does owl number 1 hunt?"), cited=["p1"])
    report = index.refresh([_page(1), _page(2, text="Owls sing."), _page(9, None)])
    assert (report.added, report.replaced, report.unchanged, report.deleted) == (1, 1, 1, 1)
    assert index.ids() == ["p1", "p2", "p7", "p8", "p9"]
    assert [lesson.active > 0 for lesson in index.lessons(recall=cited.recall_id)] == [True]
    assert index.doctor().ok


def test_a_document_of_which_nothing_is_left_goes(index: HebbianIndex) -> None:
    index.add([_page(1), _page(2, "other")])
    assert index.refresh([], document_ids=[OWLS]).deleted == 1
    assert index.ids() == ["p2"]


def test_what_is_missing_goes_if_that_is_said(index: HebbianIndex) -> None:
    index.add([_page(1), _page(2, "other"), _page(3, None)])
    assert index.refresh([_page(1)], delete_missing=True).deleted == 2
    assert index.ids() == ["p1"]


@pytest.mark.parametrize("documents", [[], [OWLS]])
def test_a_refresh_without_chunks_does_not_empty_an_index(
    index: HebbianIndex, documents: list[str]
) -> None:
    assert index.refresh([], delete_missing=True).deleted == 0
    index.add([_page(1), _page(2, "other")])
    with pytest.raises(ParameterError, match=r"\(2 chunks\).* index\.delete\(index\.ids\(\)\)"):
        index.refresh([], document_ids=documents, delete_missing=True)
    assert index.delete(index.ids()) == 2


def test_a_chunk_that_is_skipped_stays_as_it_was(index: HebbianIndex) -> None:
    index.add([_page(1), _page(2), _page(3)])
    report = index.refresh([_page(1), _page(2, text=5)], on_error="skip")
    assert [failed.id for failed in report.failed] == ["p2"]
    assert index.ids() == ["p1", "p2"]


def test_nothing_is_replaced_if_a_chunk_cannot_be_taken(index: HebbianIndex) -> None:
    index.add([_page(1), _page(2)])
    with pytest.raises(InvalidChunkError):
        index.refresh([_page(1, text="New."), _page(3, text=5)])
    with pytest.raises(InvalidChunkError, match="twice"):
        index.refresh([_page(1, text="New."), _page(1, text="Newer.")])
    with pytest.raises(ParameterError, match="put it into a list"):
        index.refresh(Chunk(id="p1", text="New."))  # type: ignore[arg-type]
    assert index.get(["p1", "p2"]) == [Chunk(**_page(1)), Chunk(**_page(2))]


def test_former_versions_stay_found_at_their_time() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(keep_versions=True)) as index:
        index.add([_page(1, valid_from="2020-01-01"), _page(2, valid_from="2020-01-01")])
        index.refresh([_page(1, text="Owls sing.", valid_from="2022-01-01")], delete_missing=True)
        old = index.recall("What do owls do?", as_of="2021-01-01").hits
        assert {hit.chunk.text for hit in old} == {_page(1)["text"], _page(2)["text"]}
        now = index.recall("What do owls do?", as_of="2030-01-01").hits
        assert [hit.chunk.text for hit in now] == ["Owls sing."]


async def test_its_async_twin(index: HebbianIndex) -> None:
    await index.aadd([_page(1), _page(2)])
    assert (await index.arefresh([_page(2)])).deleted == 1
