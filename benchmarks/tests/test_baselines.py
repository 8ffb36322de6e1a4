from __future__ import annotations

import sys

import numpy as np
import pytest
from hebbgraph.errors import MissingExtraError, ParameterError
from hebbgraph.records import Chunk

from hebbgraph_bench import BM25, Dataset, Dense, ReciprocalRankFusion, WeightedSum
from hebbgraph_bench.baselines import passage_text


class TableEmbedder:
    """Vectors read from a table, by the first word of the text."""

    def __init__(self, **vectors: list[float]) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vectors[text.split()[0]]


# Cosine to the question: one .6, two .8, three 0. BM25: three, then one; two shares no word.
EMBEDDER = TableEmbedder(one=[3, 4], two=[8, 6], three=[0, 1], ask=[5, 0])
CHUNKS = [
    Chunk(id="three", text="three otters otters"),
    Chunk(id="one", text="one two otters lie there"),
    Chunk(id="two", text="two seals"),
]


def ids(hits) -> list[str]:
    return [hit.id for hit in hits]


def scores(hits) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def test_bm25_equals_the_formula() -> None:
    retriever = BM25(k1=1.2, b=0.75)
    retriever.index(CHUNKS)
    # Tokens without stop words: three otter otter | one two otter lie | two seal
    lengths, frequencies = {"three": 3, "one": 4, "two": 2}, {"three": 2, "one": 1}
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {
        name: idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * lengths[name] / 3))
        for name, tf in frequencies.items()
    }
    hits = retriever.retrieve("ask otter", 10)
    assert scores(hits) == pytest.approx(expected, rel=1e-5)
    assert ids(hits) == ["three", "one"]


def test_bm25_reads_titles_stems_and_returns_matches_only(dataset: Dataset) -> None:
    retriever = BM25()
    retriever.index(dataset.corpus)
    assert ids(retriever.retrieve("gulls nesting", 10)) == ["a"]
    assert retriever.retrieve("the of unheard", 10) == []
    assert retriever.retrieve("", 10) == []


@pytest.mark.parametrize("k", [1, 2, 3])
def test_ties_break_by_id_whatever_the_order(k: int) -> None:
    chunks = [Chunk(id=name, text="one otter") for name in "dbca"]
    for retriever in (BM25(), Dense(EMBEDDER), ReciprocalRankFusion(EMBEDDER)):
        retriever.index(chunks)
        assert ids(retriever.retrieve("one otter", k)) == list("abcd")[:k]


def test_dense_is_cosine() -> None:
    retriever = Dense(EMBEDDER)
    retriever.index(CHUNKS)
    assert scores(retriever.retrieve("ask", 3)) == pytest.approx(
        {"two": 0.8, "one": 0.6, "three": 0}
    )
    assert ids(retriever.retrieve("ask", 2)) == ["two", "one"]


def test_weighted_sum_scales_over_the_candidates() -> None:
    lexical = BM25()
    lexical.index(CHUNKS)
    bm25 = scores(lexical.retrieve("ask otter", 3))
    retriever = WeightedSum(EMBEDDER)
    retriever.index(CHUNKS)
    assert retriever.name == "0.7 dense + 0.3 BM25"
    assert scores(retriever.retrieve("ask otter", 3)) == pytest.approx(
        {"two": 0.7, "one": 0.7 * 0.75 + 0.3 * bm25["one"] / bm25["three"], "three": 0.3},
        rel=1e-5,
    )
    with pytest.raises(ParameterError, match="lies in"):
        WeightedSum(EMBEDDER, weight=1.5)


def test_weighted_sum_without_any_word_in_common_is_dense() -> None:
    retriever = WeightedSum(EMBEDDER)
    retriever.index(CHUNKS)
    assert ids(retriever.retrieve("ask", 3)) == ["two", "one", "three"]


def test_rrf() -> None:
    retriever = ReciprocalRankFusion(EMBEDDER)
    retriever.index(CHUNKS)
    assert scores(retriever.retrieve("ask otter", 3)) == pytest.approx(
        {"one": 1 / 62 + 1 / 62, "three": 1 / 63 + 1 / 61, "two": 1 / 61}
    )


def test_missing_extra_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hebbgraph\[bench\]"'):
        BM25()


def test_passage_text() -> None:
    assert passage_text(Chunk(text="x")) == "x"
    assert passage_text(Chunk(title="t", text="x")) == "t\nx"
