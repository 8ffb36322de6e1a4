from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.graph.trie import find_sorted

_HASHES = st.integers(0, 2**64 - 1)


@given(st.sets(_HASHES), st.lists(_HASHES, max_size=90), st.data())
def test_find_sorted_returns_positions(
    held: set[int], others: list[int], data: st.DataObject
) -> None:
    table = sorted(held)
    known = data.draw(st.lists(st.sampled_from(table), max_size=90)) if table else []
    wanted = data.draw(st.permutations([*known, *others]))
    found = find_sorted(np.array(table, np.uint64), np.array(wanted, np.uint64))
    assert found.tolist() == [table.index(one) if one in held else -1 for one in wanted]
