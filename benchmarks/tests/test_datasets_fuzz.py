"""Files of evaluation sets with bytes changed at random: read, or refused in our own words."""

from __future__ import annotations

from pathlib import Path

from hebbgraph.errors import HebbgraphError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hebbgraph_bench.datasets import load

CORPUS = b'{"id": "d1", "title": "t", "text": "x"}\n{"id": "d2", "title": "", "text": "y"}\n'
QUERIES = b'{"id": "q1", "question": "x?", "answers": ["y"], "supporting_ids": ["d1"]}\n'


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 8))] = draw(st.binary(max_size=8))
    return bytes(data)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(corpus=damaged(CORPUS), queries=damaged(QUERIES))
def test_a_damaged_set_is_read_or_refused(tmp_path: Path, corpus: bytes, queries: bytes) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(corpus)
    (tmp_path / "queries.jsonl").write_bytes(queries)
    try:
        dataset = load(tmp_path)
    except HebbgraphError:
        return
    ids = {chunk.id for chunk in dataset.corpus}
    assert all(set(query.relevant) <= ids for query in dataset.queries)
