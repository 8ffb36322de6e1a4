from __future__ import annotations

import numpy as np

from hebbgraph.text.words import WordCounts


def test_a_word_seen_once_is_not_among_the_most_frequent() -> None:
    counts = WordCounts()
    assert counts.most_frequent(5).tolist() == []
    counts.add(np.array([0, 1, 1]))
    counts.add(np.array([4, 0, 0]))  # 2 and 3 not at all
    assert counts.most_frequent(5).tolist() == [0, 1]
    assert counts.most_frequent(1).tolist() == [0]
