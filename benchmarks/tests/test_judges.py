"""An oracle for a judge."""

from __future__ import annotations

from hebbgraph import Chunk, Hit

from hebbgraph_bench.datasets import Query
from hebbgraph_bench.judges import Oracle


def test_an_oracle_names_the_gold_and_errs_as_often_as_told() -> None:
    hits = [Hit(chunk=Chunk(id=name, text=name), score=1.0, rank=1) for name in "abcd"]
    query = Query("1", "which?", {"b": 1, "d": 1, "elsewhere": 1})
    assert Oracle([query])("which?", hits) == ["b", "d"]
    assert set(Oracle([query], errors=1.0)("which?", hits)) <= {"a", "c"}
    often = Oracle([query], errors=0.3)
    named = [one for _ in range(500) for one in often("which?", hits)]
    assert 0.25 < sum(one in "ac" for one in named) / len(named) < 0.35
    assert often.asked == 500
