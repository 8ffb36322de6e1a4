from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph import HebbianIndex, ParameterError, Settings
from hebbgraph.graph.aliases import Aliases, acronym_pairs, similar_pairs, spelling_pairs

# The question names the plural; the ship's builder is found over the singular's title.
CHUNKS = [
    {"id": "s", "title": "Spider-Man", "text": "A schooner that was built by Ida Moss."},
    {"id": "t", "title": "Spiderman", "text": "Sold at auction."},
    {"id": "n", "title": "North Atlantic Ice Trade", "text": "Known as NAIT. So NAIT ended."},
    {"id": "m", "title": "NAIT", "text": "An abbreviation."},
]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["schooner", "schooners"], [(0, 1)]),
        (["spider man", "spiderman"], [(0, 1)]),
        (["err-4071", "err 4071"], [(0, 1)]),
        (["cat", "cats"], []),  # too short to say enough
        (["gull", "tern"], []),
        ([f"a{'b' * at}c d" for at in range(3)], []),
    ],
)
def test_spellings(keys: list[str], expected: list[tuple[int, int]]) -> None:
    assert spelling_pairs(keys) == expected


def test_bare_acronyms_need_a_common_chunk() -> None:
    keys = [
        "nato", "north atlantic treaty organization", "us army", "united states army",
        "university of california los angeles", "ucla", "uk army", "united kingdom army",
        "upper karelia army", "us", "united states",
    ]  # fmt: skip
    shared = {frozenset((0, 1)), frozenset((6, 8))}

    def share(one: int, other: int) -> bool:
        return frozenset((one, other)) in shared

    assert acronym_pairs(keys, share) == [(0, 1), (2, 3), (6, 8)]
    assert (5, 4) in acronym_pairs(keys, lambda one, other: True)


@given(st.integers(0, 30), st.integers(0, 99), st.floats(0.5, 0.99))
def test_near_vectors_are_all_pairs_above(n: int, seed: int, least: float) -> None:
    vectors = np.random.default_rng(seed).standard_normal((n, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    expected = [(i, j) for i, j in combinations(range(n), 2) if vectors[i] @ vectors[j] >= least]
    assert similar_pairs(vectors, least) == expected


def test_alias_edges_carry_activation_and_can_be_left_out(
    make_index: Callable[..., HebbianIndex],
) -> None:
    index = make_index(CHUNKS)
    plain = index.recall("Who built Spider-Man?", k=4)
    index.close()
    index = make_index([], settings=Settings(aliases=("spelling", "acronyms")))
    joined = index.recall("Who built Spider-Man?", k=4)
    scores = [{hit.chunk.id: hit.score for hit in recall.hits} for recall in (plain, joined)]
    assert scores[1]["t"] > scores[0]["t"]
    path = next(hit.path for hit in joined.hits if hit.chunk.id == "t")
    assert [step.value for step in path if step.kind == "tag"] == ["spider man", "spiderman"]
    # They go with the tags, and nothing of them is kept.
    index.delete(["t"])
    assert "spiderman" not in index.to_networkx("tags")
    index.close()
    index = make_index([])
    again = index.recall("Who built Spider-Man?", k=4)
    assert {hit.chunk.id for hit in again.hits} == {"s", "n", "m"}


def test_near_vectors_by_the_embedder_of_the_index(
    make_index: Callable[..., HebbianIndex],
) -> None:
    class Lengths:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(len(text) % 3), 1.0] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [float(len(text) % 3), 1.0]

    index = make_index(CHUNKS, embedder=Lengths(), settings=Settings(aliases=("vectors",)))
    assert index.recall("Spiderman").hits
    aliases = Aliases(("vectors",), weight=0.5, language="english", embed=index.parts.embed_phrases)
    edges = aliases.edges(index.parts.derived.graph)
    assert len(edges) > 0
    with pytest.raises(ParameterError, match="aliases"):
        Settings(aliases=("synonyms",))


def test_without_text_tags_a_chunk_has_titles_and_given_tags(
    make_index: Callable[..., HebbianIndex],
) -> None:
    chunks = [
        {"id": "a", "title": "Petrel", "text": "By Ida Moss.", "tags": ["ship"]},
        {"id": "b", "title": "Heron", "text": "By Ida Moss."},
    ]
    index = make_index(chunks, settings=Settings(text_tags=False))
    assert set(index.to_networkx("tags")) == {"petrel", "ship", "heron"}
