from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from hebbgraph.records import Chunk
from hebbgraph.storage.database import Database
from hebbgraph.storage.reading import _by_row
from hebbgraph.storage.schema import chunks
from hebbgraph.storage.truth import ChunkWrite, Truth


@pytest.fixture
def truths(tmp_path: Path) -> tuple[Truth, Truth]:
    """Two namespaces whose rows take turns: odd ones are the first's, even ones the other's."""
    database = Database.in_directory(tmp_path / "index", wait_seconds=1.0)
    ours, theirs = Truth(database, "ours"), Truth(database, "theirs")
    for truth in (ours, theirs):
        truth.settle({})
    for number in range(6):
        for truth in (ours, theirs):
            truth.apply([ChunkWrite(Chunk(id=f"c{number}", text=f"{number}"), {})])
    return ours, theirs


def test_rows_are_read_alike_in_ranges_and_one_by_one(truths: tuple[Truth, Truth]) -> None:
    ours, _ = truths
    assert ours.ids([3, 5]) == {3: "c1", 5: "c2"}  # a range, and row 4 is not ours
    assert ours.ids([1, 11]) == {1: "c0", 11: "c5"}  # far apart
    assert ours.ids([11, 9, 7]) == {7: "c3", 9: "c4", 11: "c5"}
    assert list(ours.ids([11, 9, 7])) == [7, 9, 11]
    assert ours.ids([1, 3, 7]) == {1: "c0", 3: "c1", 7: "c3"}  # 5 lies between, not asked for
    assert ours.ids([2, 4, 99]) == ours.ids([]) == {}


@pytest.mark.parametrize(
    "asked", [{"first": 1, "last": 500}, {"rows": list(range(1, 1000, 2))}], ids=["range", "rows"]
)
def test_rows_are_looked_up_by_their_numbers(
    truths: tuple[Truth, Truth], asked: dict[str, object]
) -> None:
    """Whatever SQLite expects of a namespace: reading all of it for a page would be n squared."""
    ours, _ = truths
    query = _by_row("first" in asked, chunks.c.text)
    with ours.database.read() as connection:
        bound = query.params({"namespace": "ours", **asked})
        statement = bound.compile(
            connection.engine, compile_kwargs={"literal_binds": True, "render_postcompile": True}
        )
        plan = connection.execute(sa.text(f"EXPLAIN QUERY PLAN {statement}")).all()
    assert [step[3].split(" (")[0] for step in plan] == ["SEARCH chunks USING INTEGER PRIMARY KEY"]
