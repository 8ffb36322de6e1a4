from __future__ import annotations

from pathlib import Path

import pytest

from hebbgraph import HebbianIndex
from hebbgraph.records import Chunk
from hebbgraph.store.chunks import by_rows
from hebbgraph.store.database import Database
from hebbgraph.store.truth import ChunkWrite, Truth


@pytest.fixture
def truths(tmp_path: Path) -> tuple[Truth, Truth]:
    """Two namespaces whose rows take turns: odd ones are the first's, even ones the other's."""
    database = Database.in_directory(tmp_path / "index", wait_seconds=1.0)
    ours, theirs = Truth(database, "ours"), Truth(database, "theirs")
    for truth in (ours, theirs):
        truth.settings.settle({}, make=True)
    for number in range(6):
        for truth in (ours, theirs):
            truth.apply([ChunkWrite(Chunk(id=f"c{number}", text=f"{number}"), {})])
    return ours, theirs


def test_ranges_and_single_rows_read_the_same(truths: tuple[Truth, Truth]) -> None:
    ours, _ = truths
    assert ours.ids([3, 5]) == {3: "c1", 5: "c2"}  # a range, and row 4 is not ours
    assert ours.ids([1, 11]) == {1: "c0", 11: "c5"}  # far apart
    assert ours.ids([11, 9, 7]) == {7: "c3", 9: "c4", 11: "c5"}
    assert list(ours.ids([11, 9, 7])) == [7, 9, 11]
    assert ours.ids([1, 3, 7]) == {1: "c0", 3: "c1", 7: "c3"}  # 5 lies between, not asked for
    assert ours.ids([2, 4, 99]) == ours.ids([]) == {}


@pytest.mark.parametrize("count", [None, 20, 500])
def test_rows_are_found_by_the_primary_key(truths: tuple[Truth, Truth], count: int | None) -> None:
    """Reading all chunks of a namespace for each page would take quadratic time."""
    ours, _ = truths
    values = [1, 500] if count is None else range(count)
    plan = ours.database.ask(f"EXPLAIN QUERY PLAN {by_rows('text', count)}", [*values, "ours"])
    assert [step[3].split(" (")[0] for step in plan] == ["SEARCH chunks USING INTEGER PRIMARY KEY"]


def test_any_number_of_rows_is_fetched_in_its_namespace() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([Chunk(id=f"c{number:04}", text=f"text {number}") for number in range(1100)])
        truth = index.parts.truth
        rows = truth.rows_of(f"c{number:04}" for number in range(1100))
        for count in (0, 1, 19, 20, 21, 499, 500, 501, 1100):
            for every in (1, 2, 3):
                wanted = {f"c{number:04}" for number in range(0, count, every)}
                found = truth.fetch(rows[id_] for id_ in wanted)
                assert {chunk.id for chunk in found.values()} == wanted
        assert len(truth.fetch([*rows.values(), 10**9])) == 1100
        assert len(list(truth.texts(rows.values()))) == 1100
