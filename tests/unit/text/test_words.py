from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text.words import Met, Ragged

_LISTS = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6)


@given(_LISTS, st.data())
def test_ragged_arrays_give_back_what_was_put_in(
    lists: list[list[int]], data: st.DataObject
) -> None:
    ragged = Ragged(np.int32)
    for one in lists:
        ragged.extend([len(one)], one)
    which = data.draw(st.lists(st.sampled_from(range(len(lists))), max_size=8))
    for held, asked in (
        (ragged, which),
        (ragged.taken(np.array(which, np.int64)), range(len(which))),
    ):
        counts, places = held.places(np.array([*asked], dtype=np.int64))
        found = np.split(held.values[places], np.cumsum(counts))[:-1]
        assert [one.tolist() for one in found] == [lists[at] for at in which]


def test_what_is_met_once_is_not_met_often() -> None:
    met = Met()
    assert met.often(5).tolist() == []
    met.note(np.array([0, 1, 1]))
    met.note(np.array([4, 0, 0]))  # 2 and 3 not at all
    assert met.often(5).tolist() == [0, 1]
    assert met.often(1).tolist() == [0]
