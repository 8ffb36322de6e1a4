"""Agreement of two partitions, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hebbgraph_bench.papers.navigation import adjusted_rand_index


def test_agreement_of_partitions() -> None:
    one = np.array([0, 0, 0, 1, 1, 1])
    assert adjusted_rand_index(one, one + 7) == 1.0
    # Worked: 2 pairs together in both, 6 and 3 in each, 15 in all.
    other = np.array([0, 0, 1, 1, 2, 2])
    assert adjusted_rand_index(one, other) == pytest.approx((2 - 6 * 3 / 15) / (4.5 - 6 * 3 / 15))
    assert adjusted_rand_index(np.zeros(4, int), np.zeros(4, int)) == 1.0
