from __future__ import annotations

from typing import Any

import numpy as np
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


def test_by_hand() -> None:
    incidence = Incidence(_postings([{0: True, 1: False}, {1: True}]), 2)
    assert incidence.df(np.array([0, 1])).tolist() == [1, 2]
    incidence.set_row(0, *_arrays({1: False, 3: True}))
    assert incidence.df(np.array([0, 1, 2, 3, 9])).tolist() == [0, 2, 0, 1, 0]
    assert _gathered(incidence.chunks_of(np.array([1, 3]))) == [
        (0, 0, False), (0, 1, True), (1, 0, True),
    ]  # fmt: skip
    incidence.clear_row(0)
    incidence.clear_row(0)  # clearing twice is clearing once
    assert incidence.df(np.array([0, 1, 3])).tolist() == [0, 1, 0]
    assert _gathered(incidence.chunks_of(np.array([0, 1, 3]))) == [(1, 1, True)]
    assert incidence.delta_size == 0


def test_a_row_set_twice_holds_the_second() -> None:
    incidence = Incidence(Postings.empty(), 0)
    incidence.set_row(2, *_arrays({0: False, 1: True}))
    incidence.set_row(2, *_arrays({1: False}))
    assert _gathered(incidence.tags_of(np.array([2]))) == [(0, 1, False)]
    assert incidence.df(np.array([0, 1])).tolist() == [0, 1]


_ROW = st.dictionaries(st.integers(0, N_TAGS + 1), st.booleans(), max_size=4)
_BASE = st.lists(
    st.dictionaries(st.integers(0, N_TAGS - 1), st.booleans(), max_size=4), max_size=N_CHUNKS
)
_STEPS = st.lists(st.tuples(st.integers(0, N_CHUNKS + 1), st.none() | _ROW), max_size=12)


@given(_BASE, _STEPS)
def test_any_steps_equal_a_dict(base: list[Row], steps: list[tuple[int, Row | None]]) -> None:
    incidence = Incidence(_postings(base), N_TAGS)
    oracle = {chunk: dict(row) for chunk, row in enumerate(base)}
    for chunk, row in steps:
        if row is None:
            incidence.clear_row(chunk)
            oracle.pop(chunk, None)
        else:
            incidence.set_row(chunk, *_arrays(row))
            oracle[chunk] = row
        _check(incidence, oracle, N_TAGS + 2)


@given(
    _BASE, _STEPS, st.dictionaries(st.integers(0, 7), _ROW, max_size=4), st.sets(st.integers(0, 7))
)
def test_merging_many_rows_equals_a_dict(
    base: list[Row],
    steps: list[tuple[int, Row | None]],
    changed: dict[int, Row],
    dropped: set[int],
) -> None:
    incidence = Incidence(_postings(base), N_TAGS)
    oracle = {chunk: dict(row) for chunk, row in enumerate(base)}
    for chunk, row in steps:
        oracle.pop(chunk, None)
        incidence.clear_row(chunk)
        if row is not None:
            incidence.set_row(chunk, *_arrays(row))
            oracle[chunk] = row
    kept = np.array(sorted(set(range(8)) - changed.keys() - dropped), dtype=np.int64)
    merged = incidence.merged(
        8, N_TAGS + 2, kept, np.array(list(changed), dtype=np.int64), _postings([*changed.values()])
    )
    expected = {chunk: row for chunk, row in oracle.items() if chunk in set(kept.tolist())}
    _check(merged, expected | changed, N_TAGS + 2)
    assert merged.delta_size == 0


def test_postings_are_rows_in_the_order_asked_for() -> None:
    incidence = Incidence(_postings([{0: True}, {2: False, 1: True}, {}]), 3)
    incidence.set_row(3, *_arrays({0: False}))
    indptr, tags, is_title = incidence.postings(np.array([3, 1, 2]))
    assert indptr.tolist() == [0, 1, 3, 3]
    assert tags.tolist() == [0, 1, 2]
    assert is_title.tolist() == [False, True, False]
