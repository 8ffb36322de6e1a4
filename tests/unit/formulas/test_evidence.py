"""Direct evidence worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.dense_share import EvidenceWeights, dense_share, likeness
from hebbgraph.formulas.evidence import Evidence, fuse

#: As if nothing but the scores were known.
FIXED = EvidenceWeights(dense=0.7, agreement=0.0, coverage=0.0)
NONE = np.array([], np.int64)


def test_lexical_alone_is_divided_by_the_best() -> None:
    evidence = fuse(np.array([7, 3]), np.array([2.0, 8.0]))
    assert evidence.chunks.tolist() == [3, 7]
    assert evidence.values.tolist() == [1.0, 0.25]
    assert evidence.values_of(np.array([7, 1])).tolist() == [0.25, 0.05]


def test_nothing_found() -> None:
    evidence = fuse(NONE, np.array([]))
    assert len(evidence.chunks) == 0
    assert evidence.values_of(np.array([1, 2])).tolist() == [0.05, 0.05]


def test_both_searches() -> None:
    cosine = np.array([0.2, 0.6, 0.4, 0.3, -0.5])
    evidence = fuse(
        np.array([2, 0]),
        np.array([1.0, 4.0]),
        np.array([1, 2]),
        cosine[[1, 2]],
        similarity=lambda chunks: cosine[chunks],
        weights=FIXED,
    )
    # Cosines of the candidates 0, 1, 2 run from 0.2 to 0.6; BM25 of chunk 1 counts as 0.
    assert evidence.chunks.tolist() == [0, 1, 2]
    assert evidence.values == pytest.approx([0.3, 0.7, 0.7 * 0.5 + 0.3 * 0.25])
    assert evidence.values_of(np.array([3, 1, 4])) == pytest.approx([0.7 * 0.25, 0.7, 0.0])


def test_equal_cosines_do_not_divide_by_zero() -> None:
    cosine = np.array([0.4, 0.4])
    evidence = fuse(NONE, np.array([]), np.array([0, 1]), cosine, similarity=lambda c: cosine[c])
    assert np.isfinite(evidence.values).all()


def test_scores_of_an_external_search() -> None:
    """Scores fall by 4 from rank 1 to 2, so by 12 to rank 8; others count as if at rank 3."""
    lexical = np.array([2]), np.array([3.0])
    found = np.array([0, 1]), np.array([9.0, 5.0])
    evidence = fuse(*lexical, *found, n_chunks=8, weights=FIXED)
    assert evidence.chunks.tolist() == [0, 1, 2]
    last, beyond = 0.7 * (5 - -3) / 12, 0.7 * (9 - 4 * np.log2(3) - -3) / 12
    assert evidence.values == pytest.approx([0.7, last, beyond + 0.3])
    assert evidence.values_of(np.array([7])) == pytest.approx([beyond])
    weights = EvidenceWeights(dense=0.5, agreement=0.5, coverage=0.0)
    # Chunk 2, which only lexical search found, tells nothing of how near its finds are.
    assert fuse(*lexical, *found, n_chunks=8, weights=weights).dense_share == 0.5


@pytest.mark.parametrize("found", [[4], [4, 5]])
def test_equal_external_scores_count_as_the_best(found: list[int]) -> None:
    lexical, scores = np.array([2]), np.full(len(found), 0.2)
    evidence = fuse(lexical, np.array([3.0]), np.array(found), scores, n_chunks=9, weights=FIXED)
    assert evidence.chunks.tolist() == [2, *found]
    assert evidence.values == pytest.approx([0.3, *[0.7] * len(found)])
    assert evidence.values_of(np.array([7])).tolist() == [0.0]


def test_the_share_of_dense_search_follows_the_question() -> None:
    weights = EvidenceWeights(dense=0.5, agreement=0.5, coverage=0.5)
    first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    # Each thinks nothing of what the other found: both are trusted as before.
    assert dense_share(first, second, 1.0, weights) == pytest.approx(0.5)
    # The lexical best is near, the dense best holds none of the words: by discounted ranks.
    near = np.array([0.8, 1.0])
    a, b = 1.0, 1 / np.log2(3)
    trust = (0.0 * a + 1.0 * b) / (a + b) - 0.8
    assert dense_share(first, near, 1.0, weights) == pytest.approx(0.5 + 0.5 * trust)
    assert dense_share(first, near, 0.3, weights) == pytest.approx(0.5 + 0.5 * trust + 0.5 * 0.4)
    # It stays within bounds, unless the weight was set outside of them.
    assert dense_share(first, second, 0.0, EvidenceWeights(coverage=9.0)) == 0.9
    assert dense_share(first, near, 1.0, EvidenceWeights(dense=1.0, agreement=0.0)) == 1.0


@pytest.mark.parametrize("wrong", [{"dense": 1.1}, {"agreement": -1}, {"graph": float("nan")}])
def test_wrong_weights(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        EvidenceWeights(**wrong)


def test_evidence_elsewhere_by_function() -> None:
    evidence = Evidence(np.array([2]), np.array([1.0]), lambda chunks: chunks / 10)
    assert evidence.values_of(np.array([5, 2])).tolist() == [0.5, 1.0]


def unit(vectors: FloatArray) -> FloatArray:
    found: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def test_normal_cosines_differ_from_those_of_shared_words() -> None:
    """A normal distribution has a kurtosis of 3; where one pair in m is alike, it is about m."""
    rng = np.random.default_rng(1)
    normal = likeness(unit(rng.normal(size=(400, 300))))
    assert np.exp(normal.tails) == pytest.approx(3.0, abs=0.2)
    pairs = likeness(np.repeat(np.eye(30), 2, axis=0))
    # 59 cosines each: one of 1, 58 of 0. With p = 1/59: (1 - 3p + 3p²) / (p (1 - p)).
    p = 1 / 59
    of_each = np.log((1 - 3 * p + 3 * p * p) / (p * (1 - p)))
    assert pairs.tails == pytest.approx((60 * of_each + 20 * 1.53) / 80, abs=1e-3)
    assert pairs.error == pytest.approx(0.0, abs=1e-6)
    assert pairs.repeats_words
    assert not normal.repeats_words


def test_few_vectors_count_for_little() -> None:
    usual = likeness(np.zeros((0, 8)))
    assert usual.share(EvidenceWeights()) == 0.66
    for same in (np.ones((3, 1)), unit(np.ones((50, 4)))):  # too few, or no difference at all
        assert likeness(same).tails == usual.tails
        assert not likeness(same).repeats_words


@given(st.integers(0, 10_000))
def test_the_order_of_vectors_is_irrelevant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng.normal(size=(12, 5)))
    assert likeness(vectors).tails == pytest.approx(
        likeness(rng.permutation(vectors)).tails, abs=1e-4
    )


def test_an_embedder_that_repeats_words_is_trusted_less_unless_the_share_is_fixed() -> None:
    one, other = np.array([1.0, 0.1]), np.array([0.9, 1.0])
    usual, heavy = (dense_share(one, other, 1.0, EvidenceWeights(), x) for x in (1.53, 2.53))
    assert usual - heavy == pytest.approx(min(0.96 * 0.32, usual - 0.1))
    assert dense_share(one, other, 1.0, FIXED, 9.0) == 0.7


@pytest.mark.parametrize(("kurtosis", "factor"), [(4, 1), (6, 1), (60**0.5, 0.5), (10, 0), (30, 0)])
def test_other_words_lead_to_vectors_only_if_these_know_meanings(
    kurtosis: float, factor: float
) -> None:
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    weights = EvidenceWeights(dense=0.5, agreement=0.0, coverage=0.5)
    share = dense_share(one, other, 0.3, weights, math.log(kurtosis))
    assert share == pytest.approx(0.5 + 0.5 * 0.4 * factor)
