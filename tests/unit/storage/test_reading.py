from __future__ import annotations

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.storage.reading import _by_row
from hebbgraph.storage.schema import chunks


def test_rows_are_found_by_the_primary_key() -> None:
    with HebbianIndex.open(":memory:") as index, index._truth.database.read() as connection:
        statement = str(_by_row(20, chunks.c.id).compile(connection))
        values = (*range(20), "default")
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
        assert "USING INTEGER PRIMARY KEY" in plan[0][3]


def test_any_number_of_rows_is_fetched_in_its_namespace() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([Chunk(id=f"c{number:04}", text=f"text {number}") for number in range(1100)])
        truth = index._truth
        rows = truth.rows_of(f"c{number:04}" for number in range(1100))
        for count in (0, 1, 19, 20, 21, 499, 500, 501, 1100):
            wanted = {f"c{number:04}" for number in range(count)}
            found = truth.fetch(rows[id_] for id_ in wanted)
            assert {chunk.id for chunk in found.values()} == wanted
        assert len(truth.fetch([*rows.values(), 10**9])) == 1100
        assert len(list(truth.texts(rows.values()))) == 1100
