"""What metadata may hold: converted by one rule on the way in and in filters."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from hebbgraph import Chunk, FilterError, HebbianIndex, InvalidChunkError

ID = UUID("12345678-1234-5678-1234-567812345678")
CET = timezone(timedelta(hours=1))


class Kind(enum.Enum):
    NOTE = "note"
    PAGE = "page"


class Level(enum.IntEnum):
    LOW = 1


KEPT: list[tuple[Any, Any]] = [
    (datetime(2024, 5, 17, 9, 30), "2024-05-17T09:30:00"),
    (datetime(2024, 5, 17, 9, 30, tzinfo=CET), "2024-05-17T08:30:00+00:00"),
    (date(2024, 5, 17), "2024-05-17"),
    (time(9, 30), "09:30:00"),
    (Kind.NOTE, "note"),
    (Level.LOW, 1),
    (Decimal("19.99"), 19.99),
    (Decimal("3"), 3),
    (ID, str(ID)),
    (PurePosixPath("docs/a.md"), "docs/a.md"),
    (np.int64(7), 7),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("en"), "en"),
    (np.datetime64("2024-05-17T09:30:00.000000000"), "2024-05-17T09:30:00"),
]


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        yield opened


@pytest.mark.parametrize(("value", "kept"), KEPT, ids=[type(value).__name__ for value, _ in KEPT])
def test_a_value_is_kept_and_found_by_itself(index: HebbianIndex, value: Any, kept: Any) -> None:
    index.add([{"id": "a", "text": "Owls.", "metadata": {"x": value, "in": {"x": (value,)}}}])
    index.add([Chunk(id="b", text="Owls.", metadata={"x": "other"})])
    metadata = index.get(["a"])[0].metadata
    assert metadata == {"x": kept, "in": {"x": [kept]}}
    assert type(metadata["x"]) is type(kept)
    for where in ({"x": value}, {"x": {"$eq": value}}, {"x": {"$in": {value}}}, {"in.x": value}):
        assert index.ids(where) == ["a"]
        recall = index.recall("owls", where=where)
        assert [hit.chunk.id for hit in recall.hits] == ["a"]
        assert index.explain(recall, "b").excluded
    assert index.ids({"x": {"$ne": value}}) == ["b"]


def test_moments_are_compared_in_the_order_of_time(index: HebbianIndex) -> None:
    for hour, zone in ((8, UTC), (8, CET), (10, CET)):
        at = datetime(2024, 5, 17, hour, tzinfo=zone)
        index.add([{"id": f"{hour}{zone}", "text": "Owls.", "metadata": {"at": at}}])
    after = {"at": {"$gt": datetime(2024, 5, 17, 8, 30, tzinfo=CET)}}
    assert index.ids(after) == [f"10{CET}", f"8{UTC}"]
    assert index.ids({"at": {"$gte": date(2024, 5, 17)}}) == sorted(index.ids())
    assert index.ids({"at": {"$lt": Decimal(5)}}) == []


def test_arrays_are_lists(index: HebbianIndex) -> None:
    days = np.array(["2024-05-17", "NaT"], "datetime64[ns]")  # tolist() makes them integers
    metadata = {"sizes": np.array([[1, 2], [3, 4]]), "days": days, "none": np.array([])}
    index.add([{"id": "a", "text": "Owls.", "metadata": metadata}])
    kept = {"sizes": [[1, 2], [3, 4]], "days": ["2024-05-17T00:00:00", None], "none": []}
    assert index.get(["a"])[0].metadata == kept
    assert index.ids({"sizes": np.array([[1, 2], [3, 4]])}) == ["a"]


def test_lists_and_keys(index: HebbianIndex) -> None:
    metadata = MappingProxyType({"t": ("b", 1), "s": {"b", "a"}, "f": frozenset({2, 1}), 5: None})
    index.add([{"id": "a", "text": "Owls.", "metadata": dict(metadata)}])
    assert index.get(["a"])[0].metadata == {"t": ["b", 1], "s": ["a", "b"], "f": [1, 2], "5": None}
    assert index.ids({"s": {"$all": {"a"}}}) == ["a"]


@pytest.mark.parametrize(
    "value", [float("nan"), np.float32("nan"), Decimal("nan"), np.datetime64("NaT")]
)
def test_nan_is_missing(index: HebbianIndex, value: Any) -> None:
    rows = [{"id": str(n), "text": f"Owl {n}.", "metadata": {"rank": n}} for n in range(3)]
    rows[1]["metadata"] = {"rank": value, "deep": {"rank": value, "x": 1}, "list": [value, 1]}
    assert index.add(rows).added == 3
    assert index.get(["1"])[0].metadata == {"deep": {"x": 1}, "list": [None, 1]}
    assert index.ids({"rank": {"$exists": False}}) == ["1"]
    with pytest.raises(FilterError, match=r"'rank'.*\$exists"):
        index.recall("owls", where={"rank": value})


@pytest.mark.parametrize("value", [float("inf"), object(), b"bytes", 1j])
def test_what_json_cannot_say_is_named(index: HebbianIndex, value: Any) -> None:
    with pytest.raises(InvalidChunkError, match=r"chunk 'a': metadata: deep\.list\[1\] is .*JSON"):
        index.add([{"id": "a", "text": "Owls.", "metadata": {"deep": {"list": [1, value]}}}])
    with pytest.raises(FilterError, match=r"'x' .*JSON"):
        index.ids({"x": value})
