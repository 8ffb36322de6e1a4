from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.formulas.evidence import fuse
from hebbgraph.formulas.languages import counterparts, language_means


def test_a_language_with_few_texts_stays_near_the_overall_mean() -> None:
    vectors = np.array([[1, 0]] * 15 + [[0, 1]] * 5, np.float32)
    found = language_means(vectors, np.repeat([0, 1], [15, 5]), 3).means
    # (15 · (1, 0) + 5 · (.75, .25)) / 20, (5 · (0, 1) + 5 · (.75, .25)) / 10, the mean itself
    assert found.tolist() == [[0.9375, 0.0625], [0.375, 0.625], [0.75, 0.25]]


@given(st.permutations(range(12)))
def test_the_order_of_texts_is_irrelevant(order: list[int]) -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    languages = np.arange(12) % 3
    expected = language_means(vectors, languages, 3).means
    found = language_means(vectors[order], languages[order], 3).means
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(
    st.integers(0, 14), st.sampled_from([1, 7, 40, 600]), st.integers(0, 9), st.integers(1, 10**6)
)
def test_counterparts_are_mutual_nearest_and_clear(n: int, m: int, seed: int, margin: int) -> None:
    rng = np.random.default_rng(seed)
    # Whole numbers, so that every order of summing gives the same.
    # 600 names are more than a block.
    names, things = (rng.integers(-2000, 2000, (size, 4)).astype(np.float32) for size in (m, n))
    of_names, of_things = rng.integers(0, 3, m), rng.integers(0, 3, n)
    expected = []
    for one in range(m):
        for other in range(n):
            if of_names[one] == of_things[other]:
                continue
            rivals = things[of_things == of_things[other]] @ names[one]
            namesakes = names[of_names == of_names[one]] @ things[other]
            own = names[one] @ things[other]
            next_best = np.sort(rivals)[-2] if len(rivals) > 1 else -np.inf
            if own >= max(10**6, rivals.max(), namesakes.max()) and own - next_best >= margin:
                expected.append((one, other))
    at, to = counterparts(names, of_names, things, of_things, least=10**6, margin=margin)
    assert list(zip(at.tolist(), to.tolist(), strict=True)) == expected


def test_chunks_in_another_language_are_ranked_by_dense_search() -> None:
    # Chunk 1 has the question's words by chance, 0 is in another language and nearest.
    some = np.array([0, 1, 2])
    fused = fuse(
        np.array([1]), np.array([5.0]), some, np.array([0.9, 0.5, 0.1]), n_chunks=3,
        weights=EvidenceWeights(dense=0.5, agreement=0.0, coverage=0.0),
        similarity=lambda chunks: np.zeros(len(chunks)),
        foreign=np.array([True, False, False, True]),
    )  # fmt: skip
    assert fused.values.tolist() == [1.0, 0.75, 0.0]
    assert fused.lexical is not None
    assert fused.lexical.tolist() == [0.0, 1.0, 0.0], "what was found stays as it was"
    assert fused.values_of(np.array([3])).tolist() == [0.0]
