from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.formulas.confidence import (
    NOTHING_KNOWN,
    confidence,
    coverage,
    nearness,
    share_held,
)

SHARE = st.floats(0.0, 1.0)
COSINE = st.floats(-1.0, 0.99)
# Weight, number of chunks that hold it.
TERMS = st.lists(st.tuples(st.floats(0.1, 3.0), st.integers(0, 60)), min_size=1, max_size=8)


def cover(df: list[int], n_chunks: int, best: float, weights: list[float] | None = None) -> float:
    return coverage(zip(weights or [1.0] * len(df), df, strict=True), n_chunks, best)


def idf(df: int, n_chunks: int) -> float:
    return float(np.log1p((n_chunks - df + 0.5) / (df + 0.5)))


def test_without_words_or_chunks_nothing_is_covered() -> None:
    assert coverage([], 10, 0.0) == 0.0
    assert cover([0], 0, 0.0) == 0.0


def test_coverage_is_relative_to_the_three_rarest_words() -> None:
    most = 2.2 * (idf(1, 100) + idf(2, 100) + idf(10, 100))
    assert cover([90, 2, 10, 1, 40], 100, 3.0) == pytest.approx(3.0 / most)
    assert cover([90, 2, 10, 1, 40], 100, 99.0) == 1.0  # frequent words add to it, up to all


def test_an_unknown_word_counts_like_a_word_of_one_chunk() -> None:
    assert cover([5, 0], 100, 4.0) == cover([5, 1], 100, 4.0) < cover([5], 100, 4.0)


def test_coverage_follows_the_weights_of_words() -> None:
    assert cover([3], 50, 2.0, [2.0]) == pytest.approx(cover([3], 50, 1.0))


def test_document_frequencies_may_exceed_the_number_of_chunks() -> None:
    idf_of_one = np.log(4 / 3)
    assert cover([1], 1, 0.2) == pytest.approx(0.2 / (2.2 * idf_of_one))
    # Deleted chunks are still counted before a compaction.
    assert cover([7], 1, 0.2) == cover([1], 1, 0.2)


def test_a_chunk_with_each_known_word_holds_the_whole_question() -> None:
    """One of mean length scores the idf of each word that it holds."""
    terms = [(1.0, 3), (2.0, 10), (1.0, 0)]
    whole = idf(3, 100) + 2.0 * idf(10, 100)
    assert share_held(terms, 100, whole) == 1.0
    assert share_held(terms, 100, idf(3, 100)) == pytest.approx(idf(3, 100) / whole)
    assert share_held(terms, 100, 99.0) == 1.0
    # What no chunk holds can be held by none.
    assert share_held([(1.0, 0)], 100, 0.0) == share_held([], 0, 0.0) == 1.0


def test_nearness_is_measured_against_the_background() -> None:
    assert nearness(0.6, 0.2) == pytest.approx(0.5)
    assert nearness(1.0, 0.2) == pytest.approx(1.0)
    assert nearness(0.2, 0.2) == 0.0
    assert nearness(1.0, 1.0) == 0.0  # all the same text


@given(TERMS, st.integers(0, 50), st.floats(0.0, 40.0), st.floats(0.0, 40.0))
def test_coverage_is_a_share_and_rises_with_the_best_chunk(
    terms: list[tuple[float, int]], n_chunks: int, best: float, more: float
) -> None:
    weights, df = (list(column) for column in zip(*terms, strict=True))
    one = cover(df, n_chunks, best, weights)
    assert 0.0 <= one <= cover(df, n_chunks, best + more, weights) <= 1.0
    # Whatever the order of the words, and no higher if one more is asked for.
    assert cover(df[::-1], n_chunks, best, weights[::-1]) == pytest.approx(one)
    assert cover([*df, 0], n_chunks, best, [*weights, 1.0]) <= one + 1e-12


@given(COSINE, COSINE, COSINE)
def test_a_nearer_chunk_is_nearer(one: float, other: float, background: float) -> None:
    low, high = sorted((one, other))
    assert nearness(low, background) <= nearness(high, background) <= 1.0 + 1e-9


@given(SHARE, SHARE, st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
def test_confidence_rises_with_both(covered: float, more: float, near: float, by: float) -> None:
    low, high = sorted((covered, more))
    assert 0.0 < confidence(low) <= confidence(high) < 1.0
    assert 0.0 < confidence(low, near) <= confidence(high, near) <= confidence(high, near + by)


def test_confidence_at_both_ends() -> None:
    assert confidence(0.0) < confidence(0.0, 0.0) + 0.05 < NOTHING_KNOWN < 0.9 < confidence(1.0)
    assert confidence(1.0, 1.0) > 0.99
