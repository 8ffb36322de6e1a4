from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.arrays import (
    GrowableArray,
    RaggedArray,
    concatenated_ranges,
    evenly_chosen,
    is_in,
    sum_by,
    top_n,
    top_n_per_owner,
    transpose,
    unique,
)

_ROWS = st.lists(st.sets(st.integers(0, 6)).map(sorted), max_size=8)


def test_extending_keeps_what_was_there() -> None:
    numbers = GrowableArray(np.int32)
    for value in range(200):
        numbers.extend([value])
    assert numbers.view.tolist() == list(range(200))
    assert len(numbers) == 200
    assert numbers.view.dtype == np.int32


def test_a_read_only_array_is_copied_before_it_is_changed() -> None:
    initial = np.array([1, 2, 3])
    initial.flags.writeable = False
    numbers = GrowableArray(np.int64, initial)
    numbers.writable()[0] = 9
    numbers.extend([4])
    assert numbers.view.tolist() == [9, 2, 3, 4]
    assert initial.tolist() == [1, 2, 3]


def test_extending_a_read_only_array_leaves_it_alone() -> None:
    initial = np.array([1])
    initial.flags.writeable = False
    numbers = GrowableArray(np.int64, initial)
    numbers.extend([2])
    assert numbers.view.tolist() == [1, 2]
    assert initial.tolist() == [1]


def test_whoever_keeps_the_elements_sees_that_they_have_changed() -> None:
    numbers = GrowableArray(np.int64, np.array([1, 2, 3]))
    first = numbers.view
    assert numbers.view is first
    numbers.extend([4])
    second = numbers.view
    assert second is not first
    numbers.writable()[0] = 9
    assert numbers.view is not second


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 70))
def test_evenly_chosen_is_every_nth_of_all_places(flags: list[bool], most: int) -> None:
    every = [place for place, flag in enumerate(flags) if flag]
    chosen = evenly_chosen(np.array(flags, dtype=np.bool_), most).tolist()
    assert chosen == every[:: max(-(-len(every) // most), 1)]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=10))
def test_concatenated_ranges_is_the_loop(pairs: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    expected = [n for start, count in pairs for n in range(start, start + count)]
    assert concatenated_ranges(starts, counts).tolist() == expected


@given(_ROWS)
def test_transposing_twice_gives_the_rows_again(rows: list[list[int]]) -> None:
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    indices = np.array([tag for row in rows for tag in row], dtype=np.int32)
    pointer, owners, order = transpose(indptr, indices, 7)
    for column in range(7):
        here = slice(pointer[column], pointer[column + 1])
        assert owners[here].tolist() == [i for i, row in enumerate(rows) if column in row]
        assert set(indices[order[here]].tolist()) <= {column}
    back_pointer, back, _ = transpose(pointer, owners, len(rows))
    assert [back[a:b].tolist() for a, b in pairwise(back_pointer)] == rows


@pytest.mark.parametrize("n_columns", [0, 3])
def test_transposing_nothing(n_columns: int) -> None:
    nothing = np.empty(0, dtype=np.int32)
    pointer, owners, order = transpose(np.zeros(1, dtype=np.int64), nothing, n_columns)
    assert pointer.tolist() == [0] * (n_columns + 1)
    assert len(owners) == len(order) == 0


@given(st.lists(st.integers(-5, 5)))
def test_different_values_are_a_sorted_set(values: list[int]) -> None:
    assert unique(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))


def test_sum_by() -> None:
    assert sum_by(np.array([1, 1, 0]), np.array([1.0, 2.0, 4.0]), 3).tolist() == [4.0, 3.0, 0.0]
    assert sum_by(np.array([], np.int64), np.array([]), 2).tolist() == [0.0, 0.0]


def test_among_few_and_many() -> None:
    values = np.arange(20)
    assert np.flatnonzero(is_in(values, np.array([3, 5]))).tolist() == [3, 5]
    assert np.flatnonzero(is_in(values, np.arange(0, 20, 2))).tolist() == list(range(0, 20, 2))
    assert not is_in(values, np.array([], np.int64)).any()


def test_best_keeps_equals_but_not_without_bound() -> None:
    assert top_n(np.array([1.0, 5.0, 5.0, 5.0]), 2).tolist() == [1, 2, 3]
    assert len(top_n(np.ones(100), 2)) == 8


def test_sums_in_another_order_are_equals() -> None:
    forward, backward = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert forward != backward
    for values in (np.array([forward, backward, 0.5]), np.array([backward, forward, 0.5])):
        assert top_n(values, 1).tolist() == [0, 1]
        owner = np.zeros(3, np.int64)
        assert top_n_per_owner(owner, values, 1, 1).tolist() == [True, True, False]
    endless = np.array([np.inf, -np.inf, 1.0])
    assert top_n(endless, 1).tolist() == [0]
    assert top_n(endless, 2).tolist() == [0, 2]


def test_best_per_owner() -> None:
    owner = np.array([0, 0, 0, 1, 1])
    values = np.array([1.0, 2.0, 2.0, 1.0, 3.0])
    marked = top_n_per_owner(owner, values, 2, 1)
    assert np.flatnonzero(marked).tolist() == [1, 2, 4]
    assert top_n_per_owner(owner, values, 2, 3).all()
    equal = np.zeros(20, np.int64), np.ones(20)
    assert np.flatnonzero(top_n_per_owner(*equal, 1, 2)).tolist() == list(range(8))
    assert top_n_per_owner(*equal, 1, 2, all_ties=True).all()
    assert len(top_n_per_owner(np.array([], np.int64), np.array([]), 0, 1)) == 0


_LISTS = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6)


@given(_LISTS, st.data())
def test_ragged_arrays_give_back_what_was_put_in(
    lists: list[list[int]], data: st.DataObject
) -> None:
    ragged = RaggedArray(np.int32)
    for one in lists:
        ragged.extend([len(one)], one)
    which = data.draw(st.lists(st.sampled_from(range(len(lists))), max_size=8))
    for held, asked in (
        (ragged, which),
        (ragged.take(np.array(which, np.int64)), range(len(which))),
    ):
        counts, positions = held.positions(np.array([*asked], dtype=np.int64))
        found = np.split(held.values[positions], np.cumsum(counts))[:-1]
        assert [one.tolist() for one in found] == [lists[at] for at in which]
