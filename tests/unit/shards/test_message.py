"""Messages: what comes back is what was sent, and nothing else is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.shards.message import pack, unpack

plain = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=8) | st.binary()
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


@given(values)
def test_what_is_sent_comes_back(value: Any) -> None:
    assert unpack(pack(value)) == value


def test_arrays_and_sets_come_back() -> None:
    rows, ids = unpack(pack([np.array([1, 2**41]), frozenset("ba")]))
    assert rows.dtype == np.int64
    assert rows.tolist() == [1, 2**41]
    assert ids == ["a", "b"]


@given(st.binary(max_size=40))
def test_nothing_else_is_a_message(content: bytes) -> None:
    with pytest.raises(ValueError, match="no message"):
        unpack(content)


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_a_message_that_broke_off_is_none(cut: int) -> None:
    with pytest.raises(ValueError, match="no message"):
        unpack(pack([b"some bytes", np.arange(3)])[:-cut])


@pytest.mark.parametrize(
    "told",
    [
        b'{"$": ["b", -1, 1]}',
        b'{"$": ["b", 0, 2]}',
        b'{"$": ["f8", 0, 0]}',
        b'{"$": ["i8", 0, 1]}',
        b'{"$": 3}',
        b'{"$": ["b", 0.5, 1]}',
        b'{"$": ["b", 0, 0]}',
        b'[{"$": ["b", 0, 1]}, {"$": ["b", 0, 1]}]',
        b"[" * 100_000,
    ],
)
def test_bytes_that_lie_nowhere_twice_or_for_nothing_are_refused(told: bytes) -> None:
    content = b"hebb" + len(told).to_bytes(4, "little") + told + b"x"
    with pytest.raises(ValueError, match="no message"):
        unpack(content)
