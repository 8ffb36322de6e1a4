from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hebbgraph.graph.packed_strings import PackedStrings, pack_strings


@pytest.mark.parametrize("numbers", [[], [1], [0, 2, 3], [0, 1, 2], [4], [0, 1, 2, 3, 4]])
def test_strings_are_taken_from_the_packed_and_the_added_ones(numbers: list[int]) -> None:
    keys = ["ida moss", "", "ö", "petrel", "heron"]
    strings = PackedStrings(*pack_strings(keys[:3]))
    for key in keys[3:]:
        strings.append(key)
    taken = PackedStrings(*strings.take(np.array(numbers, np.int64)))
    assert list(taken) == [keys[number] for number in numbers]


@pytest.mark.parametrize("step", [1, 2])
def test_taking_strings_needs_little_more_memory_than_they_have(step: int) -> None:
    data, offsets = pack_strings("petrel " * 20 for _ in range(20_000))
    strings = PackedStrings(data, offsets)
    tracemalloc.start()
    try:
        strings.take(np.arange(0, 20_000, step))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(data)
