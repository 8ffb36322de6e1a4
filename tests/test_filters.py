"""Every operator against plain Python, on random metadata.

With ``HEBBGRAPH_SOAK=1``: 5,000 filters instead of 300.
"""

from __future__ import annotations

import random
import reprlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from naive import passes
from soak import SOAK

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.errors import FilterError

_KEYS = ["a", "b", "a.b", "b.a", "a.b.a", "$id", "$document_id", "none", "a'b", "a%", "é"]
_STRINGS = ["", "a", "ab", "b", "Straße", "STRASSE", "İ", "%", "_", "'", '"', "a.b", "1", "true",
            "2024-05-17", "東京", "\U0001f989", "c7", "d1"]  # fmt: skip
_NUMBERS = [0, 1, -1, 2, 0.5, 1.0, 1e-9, 0.1, 0.30000000000000004, 1 / 3, 1e300, -1e300, 5e-324,
            2**53 + 1, 2**53, -(2**63), 2**63 - 1, 123456.789012345]  # fmt: skip

_scalars = st.one_of(st.sampled_from(_STRINGS), st.sampled_from(_NUMBERS), st.booleans(), st.none())
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "a'b", "é"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_metadata = st.dictionaries(st.sampled_from(["a", "b", "a'b", "a%", "é"]), _values, max_size=4)
_lists = st.lists(_scalars, max_size=4)
_conditions = st.one_of(
    _scalars,
    st.one_of(
        st.tuples(st.sampled_from(["$eq", "$ne"]), _scalars),
        st.tuples(st.sampled_from(["$in", "$nin", "$any", "$all"]), _lists),
        st.tuples(
            st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
            st.sampled_from(_STRINGS) | st.sampled_from(_NUMBERS),
        ),
        st.tuples(st.sampled_from(["$exists", "$is_empty"]), st.booleans()),
        st.tuples(st.just("$contains"), _scalars),
        st.tuples(
            st.sampled_from(["$text_match", "$text_match_insensitive"]),
            st.sampled_from([text for text in _STRINGS if text]),
        ),
    ).map(lambda pair: {pair[0]: pair[1]}),
)
_filters = st.recursive(
    st.dictionaries(st.sampled_from(_KEYS), _conditions, max_size=2),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def mixed() -> Iterator[tuple[HebbianIndex, list[Chunk]]]:
    """An index of chunks with metadata of all kinds."""
    drawn: list[dict[str, Any]] = []

    @settings(max_examples=150, database=None, derandomize=True, deadline=None)
    @given(_metadata)
    def draw(metadata: dict[str, Any]) -> None:
        drawn.append(metadata)

    draw()
    chunks = [
        Chunk(id=f"c{n}", text="x", metadata=metadata, document_id=f"d{n % 3}" if n % 4 else None)
        for n, metadata in enumerate(drawn)
    ]
    with HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        yield index, chunks


@settings(max_examples=5000 if SOAK else 300)
@given(where=_filters)
def test_filters_equal_plain_python(
    mixed: tuple[HebbianIndex, list[Chunk]], where: dict[str, Any]
) -> None:
    index, chunks = mixed
    note(repr(where))
    expected = sorted(chunk.id for chunk in chunks if passes(chunk, where))
    assert index.ids(where) == expected
    assert sorted(hit.id for hit in index.recall("x", k=1000, where=where)) == expected


def test_any_float_equals_itself(memory: HebbianIndex) -> None:
    """Lists of numbers reach the database as text and must not be rounded on the way."""
    rng = random.Random(1)
    numbers = [rng.uniform(-1, 1) * 10 ** rng.randrange(-300, 300) for _ in range(3000)]
    memory.add({"id": f"c{n}", "text": "x", "metadata": {"x": x}} for n, x in enumerate(numbers))
    assert len(memory.ids({"x": {"$in": numbers}})) == len(numbers)


class _Color(str, Enum):  # noqa: UP042 - what users write
    RED = "red"


class _Size(IntEnum):
    LARGE = 3


class _Shape(Enum):
    ROUND = "round"


_CONVERTED: list[tuple[Any, Any]] = [
    (_Color.RED, "red"),
    (_Size.LARGE, 3),
    (_Shape.ROUND, "round"),
    (np.int64(7), 7),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("ice"), "ice"),
    (np.array([1, 2]), [1, 2]),
    (date(2024, 5, 17), "2024-05-17"),
    (datetime(2024, 5, 17, 12, tzinfo=UTC), "2024-05-17T12:00:00+00:00"),
    (np.datetime64("2024-05-17T12", "ns"), "2024-05-17T12:00:00"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Decimal("1.5"), "1.5"),
    (Path("/srv/ships"), "/srv/ships"),
    ({"a"}, ["a"]),
    ((1, 2), [1, 2]),
    (float("nan"), None),
    (b"ice", "ice"),
]


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**70, -(2**63) - 1, 10**400])
def test_numbers_of_any_size_are_kept_and_compared(memory: HebbianIndex, number: int) -> None:
    memory.add([{"id": "a", "text": "x", "metadata": {"n": number}}, {"id": "b", "text": "y"}])
    assert memory.get("a")[0].metadata == {"n": number}
    assert memory.ids({"n": number}) == memory.ids({"n": {"$in": [number]}}) == ["a"]
    assert memory.ids({"n": {"$gt": 0}}) == (["a"] if number > 0 else [])
    assert memory.ids({"n": {"$lte": number}}) == ["a"]


@pytest.mark.parametrize(("given_", "stored"), _CONVERTED, ids=lambda value: repr(value)[:20])
def test_values_of_other_types_are_stored_and_found_alike(
    memory: HebbianIndex, given_: Any, stored: Any
) -> None:
    memory.add([{"id": "a", "text": "x", "metadata": {"v": given_}}, {"id": "b", "text": "y"}])
    assert memory.get("a")[0].metadata == {"v": stored}
    assert type(memory.get("a")[0].metadata["v"]) is type(stored)
    if isinstance(stored, list):
        assert memory.ids({"v": {"$all": given_}}) == ["a"]
    else:
        assert memory.ids({"v": given_}) == ["a"]
        assert memory.recall("x", where={"v": {"$in": [given_]}})[0].id == "a"


def test_filters_that_look_alike_are_not_mixed_up(memory: HebbianIndex) -> None:
    """A filter is kept for later recalls; long arrays print alike."""
    memory.add(
        {"id": f"c{n}", "text": f"ship {n}", "metadata": {"n": n, "s": str(n)}} for n in range(3000)
    )
    numbers = np.arange(2000)
    for n in (2500, 2501, 2502):
        numbers[1000] = n
        hits = memory.recall(f"ship {n}", k=1, where={"n": {"$in": numbers.copy()}})
        assert hits[0].id == f"c{n}"
    assert memory.recall("ship", where={"n": 1})[0].id == "c1"
    assert not memory.recall("ship", where={"n": True})
    assert not memory.recall("ship", where={"n": "1"})
    assert memory.recall("ship", where={"s": "1"})[0].id == "c1"
    assert memory.recall("ship", where={"n": 1.0})[0].id == "c1"
    assert len(memory.recall("ship", where={"n": {"$in": {1, 2}}})) == 2


_NESTED: dict[str, Any] = {"n": 1}
for _ in range(50_000):
    _NESTED = {"$not": _NESTED}
_CIRCULAR: dict[str, Any] = {}
_CIRCULAR["$and"] = [_CIRCULAR]


@pytest.mark.parametrize(
    "where",
    [
        [1], "n", 5, {1: 2}, {(1, 2): 3}, {1: 2, "a": 3}, {"$near": 1}, {"n": {"$near": 1}},
        {"n": {"$in": 5}}, {"n": {"$in": "ab"}}, {"n": {"$in": None}}, {"n": {"$gt": None}},
        {"n": {"$gt": [1]}}, {"n": {"$gt": True}}, {"n": [1]}, {"n": {"$eq": {"a": 1}}},
        {"n": {"$exists": 1}}, {"n": {"$is_empty": "no"}}, {"n": {"$text_match": 5}},
        {"$and": []}, {"$or": {}}, {"$and": [5]}, {"$not": [1]}, {"n": float("inf")},
        {"n": object}, {"n": {"$gt": float("-inf")}}, _NESTED, _CIRCULAR,
        {"n": {"$regex": "a"}}, {"n": {1: 2}},
    ],
    ids=lambda where: reprlib.repr(where)[:40],
)  # fmt: skip
def test_wrong_filters_are_filter_errors(ships: HebbianIndex, where: Any) -> None:
    for call in (ships.recall, ships.ids):
        arguments = ("Petrel",) if call == ships.recall else ()
        with pytest.raises(FilterError):
            call(*arguments, where=where)
    with pytest.raises(FilterError):
        ships.delete(where=where)
    assert len(ships.ids()) == 8


@pytest.mark.parametrize(("levels", "passes"), [(30, True), (31, False)])
def test_a_filter_is_as_deep_as_a_recall_can_record(levels: int, passes: bool) -> None:
    where: dict[str, Any] = {"year": {"$in": [1871]}}
    for _ in range(levels):
        where = {"$and": [where]}
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "1", "text": "Moss built it.", "metadata": {"year": 1871}}])
        if passes:
            assert [hit.id for hit in index.recall("Moss", where=where)] == ["1"]
        else:
            with pytest.raises(FilterError):
                index.recall("Moss", where=where)


@pytest.mark.parametrize(
    "where",
    [
        {"$or": [{"year": {"$gte": 0}}] * 501},
        {f"field {n}": 1 for n in range(501)},
        {"crew": {"$all": ["ann"] * 501}},
    ],
    ids=["or", "fields", "all"],
)
def test_a_filter_has_a_bounded_number_of_conditions(where: dict[str, Any]) -> None:
    metadata = {"year": 1871, "crew": ["ann"]}
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "1", "text": "Moss built it.", "metadata": metadata}])
        with pytest.raises(FilterError, match="at most 500 conditions"):
            index.recall("Moss", where=where)
        assert index.recall(
            "Moss", where={"crew": {"$in": [f"c{n}" for n in range(501)] + ["ann"]}}
        )
        assert index.recall("Moss", where={"$and": [{"year": {"$ne": n}} for n in range(500)]})


def test_an_empty_condition_is_refused_and_lets_nothing_through() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "a", "text": "owl", "metadata": {"owner": "ann"}}])
        with pytest.raises(FilterError, match="unknown operator"):
            index.recall("owl", where={"owner": {}})
