from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.derived import metadata as columns
from hebbgraph.derived.metadata import MetadataFields
from hebbgraph.filters import Cover, parse_filter
from hebbgraph.store.facts import DOCUMENT, fact, facts_of

plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -2.0, 1e300]),
    st.sampled_from(["", "1", "a b", "true", "ö", "أ"]),
)
values = st.one_of(plain, st.lists(plain, max_size=2), st.dictionaries(st.just("a"), plain))
metadata = st.dictionaries(st.sampled_from(["x", "y", "x.a", "$z"]), values, max_size=3)
conditions = st.one_of(
    st.tuples(st.sampled_from(["x", "y", "x.a", DOCUMENT, "$id"]), values).map(
        lambda c: {c[0]: c[1]}
    ),
    st.tuples(
        st.sampled_from(["x", "y"]),
        st.sampled_from(["$ne", "$contains"]),
        plain,
    ).map(lambda c: {c[0]: {c[1]: c[2]}}),
    st.tuples(
        st.sampled_from(["x", "y"]), st.sampled_from(["$lt", "$gte"]), st.integers(-2, 2)
    ).map(lambda c: {c[0]: {c[1]: c[2]}}),
    st.tuples(st.sampled_from(["x", "y"]), st.booleans()).map(lambda c: {c[0]: {"$exists": c[1]}}),
    st.lists(plain, max_size=3).map(lambda c: {"x": {"$in": c}}),
)
filters = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["$and", "$or"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda c: {c[0]: c[1]}
        ),
        inner.map(lambda c: {"$not": c}),
    ),
    max_leaves=4,
)


def test_lists_and_objects_are_no_facts_and_types_differ() -> None:
    held = {"year": 1987, "tags": ["a"], "of": {"a": 1}, "draft": None, "on": True}
    assert facts_of(None, json.dumps(held)).split() == [
        fact("year", 1987),
        fact("draft", None),
        fact("on", True),
    ]
    assert facts_of("doc", "{}") == fact(DOCUMENT, "doc")
    assert len({fact("a", value) for value in (1, 1.0, "1", True, None)}) == 5


@given(st.lists(metadata, min_size=1, max_size=6), filters)
def test_every_passing_chunk_has_one_of_the_terms(held: list[dict[str, Any]], where: Any) -> None:
    chunks = [
        Chunk(id=f"c{at}", text="word", metadata=one, document_id="d" if at % 2 else None)
        for at, one in enumerate(held)
    ]
    with HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        passing = index.ids(where)
        graph = index.parts.derived.graph
        reader = MetadataFields(index.parts.truth, graph)
        cover = parse_filter(where).cover(reader)
        if cover is None:
            return
        having = {
            chunk.id
            for chunk in chunks
            if cover.terms & set(facts_of(chunk.document_id, json.dumps(chunk.metadata)).split())
        }
        assert set(passing) <= having
        assert cover.n_chunks >= len(passing)


@pytest.fixture(scope="module")
def reader() -> Any:
    kinds = ["a", "b", "b", "c", ["a"], "d"]
    with HebbianIndex.open(":memory:") as index:
        index.add(
            Chunk(
                id=f"{at}",
                text="w",
                metadata={"kind": kind, "n": at} | ({"few": 1} if at < 2 else {}),
            )
            for at, kind in enumerate(kinds)
        )
        yield MetadataFields(index.parts.truth, index.parts.derived.graph)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"kind": "b"}, (["b"], 2)),
        ({"kind": {"$in": ["b", "c"]}}, (["b", "c"], 3)),
        ({"kind": "a"}, None),  # ["a"] passes too, and a list is no fact
        ({"kind": {"$ne": "b"}}, None),
        ({"few": {"$exists": False}}, None),  # what lacks a field has no fact
        ({"$and": [{"kind": "a"}, {"kind": "b"}]}, (["b"], 2)),
        ({"$or": [{"kind": "c"}, {"kind": "b"}]}, (["b", "c"], 3)),
        ({"$or": [{"kind": "c"}, {"kind": "a"}]}, None),
        ({"$not": {"kind": "c"}}, None),
        ({"kind": "nobody's"}, ([], 0)),
        ({"$id": "1"}, None),
        ({"kind.of": "b"}, None),
        ({}, None),
    ],
)
def test_covers_by_hand(reader: MetadataFields, where: Any, expected: Any) -> None:
    found = parse_filter(where).cover(reader)
    if expected is not None:
        expected = Cover(frozenset(fact("kind", value) for value in expected[0]), expected[1])
    assert found == expected


def test_the_condition_that_fewer_chunks_meet_is_the_cover(reader: MetadataFields) -> None:
    found = parse_filter({"kind": {"$in": ["b", "c"]}, "n": 2}).cover(reader)
    assert found == Cover(frozenset({fact("n", 2)}), 1)


def test_too_many_facts_are_none(reader: MetadataFields, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_MAX_FACTS", 3)
    assert parse_filter({"n": {"$lt": 3}}).cover(reader) is not None
    assert parse_filter({"n": {"$lt": 4}}).cover(reader) is None
