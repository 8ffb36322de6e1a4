"""Direct evidence worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.formulas.evidence import DENSE_SHARE, Evidence, fuse

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
        share=0.7,
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
    evidence = fuse(*lexical, *found, n_chunks=8, share=0.7)
    assert evidence.chunks.tolist() == [0, 1, 2]
    last, beyond = 0.7 * (5 - -3) / 12, 0.7 * (9 - 4 * np.log2(3) - -3) / 12
    assert evidence.values == pytest.approx([0.7, last, beyond + 0.3])
    assert evidence.values_of(np.array([7])) == pytest.approx([beyond])


@pytest.mark.parametrize("found", [[4], [4, 5]])
def test_equal_external_scores_count_as_the_best(found: list[int]) -> None:
    lexical, scores = np.array([2]), np.full(len(found), 0.2)
    evidence = fuse(lexical, np.array([3.0]), np.array(found), scores, n_chunks=9, share=0.7)
    assert evidence.chunks.tolist() == [2, *found]
    assert evidence.values == pytest.approx([0.3, *[0.7] * len(found)])
    assert evidence.values_of(np.array([7])).tolist() == [0.0]


def test_evidence_elsewhere_by_function() -> None:
    evidence = Evidence(np.array([2]), np.array([1.0]), lambda chunks: chunks / 10)
    assert evidence.values_of(np.array([5, 2])).tolist() == [0.5, 1.0]


def test_the_scores_that_evidence_was_fused_from() -> None:
    cosine = np.array([0.2, 0.6, 0.4])
    both = fuse(
        np.array([2, 0]),
        np.array([1.0, 4.0]),
        np.array([1, 2]),
        cosine[[1, 2]],
        similarity=lambda chunks: cosine[chunks],
    )
    parts = [both.parts(chunk) for chunk in range(3)]
    assert np.array(parts) == pytest.approx(np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.5]]))
    assert both.parts(7) == (None, None)
    assert fuse(np.array([4]), np.array([6.0])).parts(4) == (1.0, None)


def test_a_chunk_without_a_vector_counts_as_the_farthest() -> None:
    cosine = np.array([np.nan, 0.6, 0.4, np.nan])
    evidence = fuse(
        np.array([0]),
        np.array([3.0]),
        np.array([1, 2]),
        cosine[[1, 2]],
        similarity=lambda chunks: cosine[chunks],
        share=0.7,
    )
    assert evidence.values == pytest.approx([0.3, 0.7, 0.0])
    assert evidence.values_of(np.array([3])).tolist() == [0.0]


@st.composite
def searches(draw: st.DrawFn):
    """What both searches found among ten chunks."""
    chunks = st.lists(st.integers(0, 9), unique=True, max_size=8)
    lexical, dense = draw(chunks), draw(chunks.filter(bool))
    bm25 = [float(1 + draw(st.integers(0, 9))) for _ in lexical]
    cosine = np.array(draw(st.permutations(range(10))), np.float64) / 10
    return np.array(lexical, np.int64), np.array(bm25), np.array(dense, np.int64), cosine


@given(searches(), st.floats(0, 1))
def test_evidence_is_between_the_two_scores_and_their_order_is_irrelevant(found, share) -> None:
    lexical, bm25, dense, cosine = found

    def fused(lexical, bm25, dense):
        return fuse(
            lexical, bm25, dense, cosine[dense], similarity=lambda c: cosine[c], share=share
        )

    evidence = fused(lexical, bm25, dense)
    assert evidence.chunks.tolist() == sorted({*lexical.tolist(), *dense.tolist()})
    low, high = (pick(evidence.lexical, evidence.dense) for pick in (np.minimum, np.maximum))
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    assert (low - 1e-12 <= evidence.values).all()
    assert (evidence.values <= high + 1e-12).all()
    backwards = fused(lexical[::-1], bm25[::-1], dense[::-1])
    assert backwards.values.tolist() == evidence.values.tolist()
    # Who is no candidate gets at most what the nearest of them gets.
    others = evidence.values_of(np.arange(10))
    rest = ~np.isin(np.arange(10), evidence.chunks)
    assert ((others[rest] >= 0.0) & (others[rest] <= share)).all()


def test_dense_search_may_be_kept_from_lowering_a_chunk() -> None:
    lexical, dense = np.array([1.0, 0.2, 0.5]), np.array([0.1, 1.0, 0.0])
    values = DENSE_SHARE * dense + (1 - DENSE_SHARE) * lexical
    fused = Evidence(np.array([2, 5, 7]), values, 0.0, lexical, dense)
    assert fused.upheld(np.array([2, 5])).values.tolist() == [1.0, values[1], values[2]]
    assert fused.upheld(np.array([], np.int64)).values.tolist() == values.tolist()
