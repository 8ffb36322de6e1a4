"""Direct evidence worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hebbgraph.formulas.evidence import Evidence, fuse

NONE = np.array([], np.int64)


def test_lexical_alone_is_divided_by_the_best() -> None:
    evidence = fuse(np.array([7, 3]), np.array([2.0, 8.0]))
    assert evidence.chunks.tolist() == [3, 7]
    assert evidence.values.tolist() == [1.0, 0.25]
    assert evidence.of(np.array([7, 1])).tolist() == [0.25, 0.05]


def test_nothing_found() -> None:
    evidence = fuse(NONE, np.array([]))
    assert len(evidence.chunks) == 0
    assert evidence.of(np.array([1, 2])).tolist() == [0.05, 0.05]


def test_both_searches() -> None:
    cosine = np.array([0.2, 0.6, 0.4, 0.3, -0.5])
    evidence = fuse(
        np.array([2, 0]),
        np.array([1.0, 4.0]),
        np.array([1, 2]),
        cosine[[1, 2]],
        similarity=lambda chunks: cosine[chunks],
    )
    # Cosines of the candidates 0, 1, 2 run from 0.2 to 0.6; BM25 of chunk 1 counts as 0.
    assert evidence.chunks.tolist() == [0, 1, 2]
    assert evidence.values == pytest.approx([0.3, 0.7, 0.7 * 0.5 + 0.3 * 0.25])
    assert evidence.of(np.array([3, 1, 4])) == pytest.approx([0.7 * 0.25, 0.7, 0.0])


def test_equal_cosines_do_not_divide_by_zero() -> None:
    cosine = np.array([0.4, 0.4])
    evidence = fuse(NONE, np.array([]), np.array([0, 1]), cosine, similarity=lambda c: cosine[c])
    assert np.isfinite(evidence.values).all()


def test_similarity_is_needed() -> None:
    with pytest.raises(TypeError, match="similarity"):
        fuse(NONE, np.array([]), np.array([1]), np.array([0.5]))


def test_evidence_elsewhere_by_function() -> None:
    evidence = Evidence(np.array([2]), np.array([1.0]), lambda chunks: chunks / 10)
    assert evidence.of(np.array([5, 2])).tolist() == [0.5, 1.0]
