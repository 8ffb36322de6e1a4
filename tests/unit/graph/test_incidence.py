from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.graph.incidence import Incidence, Postings

N_CHUNKS, N_TAGS = 6, 5

Row = dict[int, bool]


def _arrays(row: Row) -> tuple[Any, Any]:
    tags = sorted(row)
    return np.array(tags, dtype=np.int32), np.array([row[tag] for tag in tags], dtype=np.bool_)


def _postings(rows: list[Row]) -> Postings:
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    parts = [_arrays(row) for row in rows]
    return Postings(
        indptr,
        np.concatenate([np.empty(0, np.int32), *(tags for tags, _ in parts)]),
        np.concatenate([np.empty(0, np.bool_), *(own for _, own in parts)]),
    )


def _gathered(parts: tuple[Any, Any, Any]) -> list[tuple[int, int, bool]]:
    owner, values, flags = parts
    assert owner.tolist() == sorted(owner.tolist())
    return sorted(zip(owner.tolist(), values.tolist(), flags.tolist(), strict=True))


def _check(incidence: Incidence, oracle: dict[int, Row], n_tags: int) -> None:
    chunks = np.array([3, 0, 7, 1, 2, 4, 5, 6])  # not in order; some in the delta alone
    tags = np.arange(n_tags + 2)[::-1].copy()
    assert _gathered(incidence.tags_of(chunks)) == sorted(
        (at, tag, own)
        for at, chunk in enumerate(chunks.tolist())
        for tag, own in oracle.get(chunk, {}).items()
    )
    assert _gathered(incidence.chunks_of(tags)) == sorted(
        (at, chunk, row[tag])
        for at, tag in enumerate(tags.tolist())
        for chunk, row in oracle.items()
        if tag in row
    )
    expected = [sum(tag in row for row in oracle.values()) for tag in tags.tolist()]
    assert incidence.df(tags).tolist() == expected
    for chunk in range(8):
        held, own = incidence.row(chunk)
        assert dict(zip(held.tolist(), own.tolist(), strict=True)) == oracle.get(chunk, {})


def _set(incidence: Incidence, rows: dict[int, Row], removed: Iterable[int] = ()) -> Incidence:
    changed = np.array(list(rows), dtype=np.int64)
    gone = np.array(sorted(removed), dtype=np.int64)
    return incidence.updated(8, N_TAGS + 2, gone, changed, _postings([*rows.values()]))


def test_the_first_rows_form_the_base() -> None:
    rows: dict[int, Row] = {4: {1: True}, 2: {0: False, 3: True}}  # not in order, none of 0
    incidence = _set(Incidence(_postings([]), 0), rows)
    _check(incidence, rows, N_TAGS + 2)
    assert incidence.base is not None


def test_a_first_build_is_sorted_once() -> None:
    tags = np.tile(np.arange(10, dtype=np.int32), 5000)
    first = Postings(np.arange(0, 50_001, 10), tags, np.zeros(50_000, np.bool_))
    tracemalloc.start()
    incidence = Incidence(Postings.empty(), 0).updated(
        5000, 10, np.empty(0, np.int64), np.arange(5000), first
    )
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert incidence.df(np.arange(10)).tolist() == [5000] * 10
    assert peak < 3 * size  # 4 if the postings are a level before they are the base


def test_by_hand() -> None:
    first = Incidence(_postings([{0: True, 1: False}, {1: True}]), 2)
    assert first.df(np.array([0, 1])).tolist() == [1, 2]
    second = _set(first, {0: {1: False, 3: True}})
    assert second.df(np.array([0, 1, 2, 3, 9])).tolist() == [0, 2, 0, 1, 0]
    assert _gathered(second.chunks_of(np.array([1, 3]))) == [
        (0, 0, False), (0, 1, True), (1, 0, True),
    ]  # fmt: skip
    third = _set(_set(second, {}, {0}), {}, {0})  # clearing twice is clearing once
    assert third.df(np.array([0, 1, 3])).tolist() == [0, 1, 0]
    assert _gathered(third.chunks_of(np.array([0, 1, 3]))) == [(1, 1, True)]
    # What others hold has not changed.
    assert _gathered(first.tags_of(np.array([0]))) == [(0, 0, True), (0, 1, False)]


def test_setting_a_row_twice_keeps_the_second() -> None:
    incidence = _set(Incidence(Postings.empty(), 0), {2: {0: False, 1: True}})
    incidence = _set(incidence, {2: {1: False}})
    assert _gathered(incidence.tags_of(np.array([2]))) == [(0, 1, False)]
    assert incidence.df(np.array([0, 1])).tolist() == [0, 1]


def test_levels_stay_few() -> None:
    rows: list[Row] = [{n % 5: False} for n in range(4000)]
    incidence = Incidence(_postings(rows), N_TAGS)
    most = 0
    for n in range(300):
        changed = np.array([n * 13 % 4000], dtype=np.int64)
        rows[int(changed[0])] = {n % 7: True}
        incidence = incidence.updated(4000, 7, changed[:0], changed, _postings([{n % 7: True}]))
        most = max(most, len(incidence._levels))
    assert 2 <= most <= 5
    assert sum(level.n_rows for level in incidence._levels[1:]) < 500 + 8
    _check(incidence, dict(enumerate(rows)), 5)
    assert incidence.df(np.arange(7)).tolist() == [sum(t in row for row in rows) for t in range(7)]


_ROW = st.dictionaries(st.integers(0, N_TAGS + 1), st.booleans(), max_size=4)
_BASE = st.lists(
    st.dictionaries(st.integers(0, N_TAGS - 1), st.booleans(), max_size=4), max_size=N_CHUNKS
)
_STEPS = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 7), _ROW, max_size=4), st.sets(st.integers(0, 7))),
    max_size=8,
)


@given(_BASE, _STEPS, st.sampled_from([1, 2, 8]))
def test_any_steps_equal_a_dict(
    base: list[Row], steps: list[tuple[dict[int, Row], set[int]]], share: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hebbgraph.graph.incidence._MERGE_SHARE", share)
        incidence = Incidence(_postings(base), N_TAGS)
        oracle = {chunk: dict(row) for chunk, row in enumerate(base)}
        for changed, dropped in steps:
            incidence = _set(incidence, changed, dropped - changed.keys())
            oracle = {at: row for at, row in oracle.items() if at not in dropped} | changed
            _check(incidence, oracle, N_TAGS + 2)


def test_postings_are_rows_in_the_order_asked_for() -> None:
    incidence = Incidence(_postings([{0: True}, {2: False, 1: True}, {}]), 3)
    incidence = _set(incidence, {3: {0: False}})
    indptr, tags, is_title = incidence.postings(np.array([3, 1, 2]))
    assert indptr.tolist() == [0, 1, 3, 3]
    assert tags.tolist() == [0, 1, 2]
    assert is_title.tolist() == [False, True, False]
