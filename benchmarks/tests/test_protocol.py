from __future__ import annotations

from collections.abc import Sequence
from time import sleep

import numpy as np
import pytest
from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk

from hebbgraph_bench import (
    CachingEmbedder,
    Dataset,
    Dense,
    RankedChunk,
    WeightedSum,
    compare,
    run,
)

from .conftest import HashEmbedder


class Fixed:
    """Answers every question with the same ids."""

    def __init__(self, name: str, answer: str) -> None:
        self.name = name
        self.answer = answer
        self.indexed: Sequence[Chunk] = ()
        self.asked: list[tuple[str, int]] = []
        self.closed = False

    def index(self, chunks: Sequence[Chunk]) -> None:
        self.indexed = chunks

    def retrieve(self, query: str, k: int) -> list[RankedChunk]:
        self.asked.append((query, k))
        return [RankedChunk(chunk_id, 1.0) for chunk_id in self.answer]

    def close(self) -> None:
        self.closed = True


def test_values_per_question(dataset: Dataset) -> None:
    retriever = Fixed("fixed", "aacb")
    result = run(dataset, [retriever], k=2)
    system = result.system("fixed")
    assert list(system.values) == ["R@2", "all-gold@2", "nDCG@2", "MRR", "tokens", "answer"]
    assert system.rankings == (("a", "c"),) * 3, "once each, two at most"
    assert system.values["R@2"].tolist() == [1, 0.5, 1]
    assert system.values["all-gold@2"].tolist() == [1, 0, 1]
    assert system.values["MRR"].tolist() == [1, 0.5, 0.5]
    assert system.mean("R@2") == pytest.approx(2.5 / 3)
    # "Gull A gull nests on the cliff above the harbour." and "Mira Voss Mira Voss was ..."
    assert system.values["tokens"].tolist() == [11 + 11] * 3
    assert system.values["answer"][:2].tolist() == [1, 1]
    assert np.isnan(system.values["answer"][2]), "'no' cannot be looked for in a text"
    assert system.mean("answer") == 1
    assert system.settings == {"name": "fixed", "answer": "aacb", "closed": True}
    assert retriever.closed
    assert result.query_ids == ("q1", "q2", "q3")
    assert (system.query_ms >= 0).all()
    assert system.index_mb_per_second > 0


def test_blank_chunks_are_not_indexed(dataset: Dataset) -> None:
    retriever = Fixed("fixed", "a")
    blank = Dataset("x", (*dataset.corpus, Chunk(id="blank", text=" ")), dataset.queries)
    assert run(blank, [retriever]).chunks == 3
    assert [chunk.id for chunk in retriever.indexed] == ["a", "b", "c"]


def test_equal_tokens_takes_hits_in_order_until_the_next_does_not_fit(dataset: Dataset) -> None:
    retriever = Fixed("fixed", "abc")  # 11, 9 and 11 tokens
    system = run(dataset, [retriever], k=2, at_tokens=[10, 20, 1000]).system("fixed")
    assert [budget.tokens for budget in system.at_tokens] == [10, 20, 1000]
    none, two, all_three = (budget.values for budget in system.at_tokens)
    assert none["chunks"].tolist() == [0, 0, 0]
    assert none["recall"].tolist() == [0, 0, 0]
    assert two["chunks"].tolist() == [2, 2, 2]
    assert two["recall"].tolist() == [1, 0.5, 0]
    assert all_three["all-gold"].tolist() == [1, 1, 1]
    assert retriever.asked[-1][1] == 3, "deep enough for the largest budget"


def test_time_in_the_embedder_is_reported_apart(dataset: Dataset) -> None:
    class Slow(HashEmbedder):
        def embed_query(self, text: str) -> list[float]:
            sleep(0.005)
            return super().embed_query(text)

    class Uncached(Dense):
        """Asks for a text that was not embedded ahead."""

        name = "uncached"

        def retrieve(self, query: str, k: int) -> list[RankedChunk]:
            return super().retrieve(query + " ?", k)

    embedder = CachingEmbedder(Slow())
    result = run(dataset, [Dense(embedder), Uncached(embedder)], embedder=embedder)
    assert result.embedding is not None
    assert (result.embedding.query_ms >= 5).all()
    assert result.embedding.passages_seconds >= 0.015
    for system in result.systems:
        assert (system.query_ms < 5).all()
        assert system.index_seconds < 0.015


def test_systems_share_vectors(dataset: Dataset, embedder: HashEmbedder) -> None:
    shared = CachingEmbedder(embedder)
    run(dataset, [Dense(shared), WeightedSum(shared)], embedder=shared)
    assert embedder.calls == 3 + 3
    assert shared.name == "words"


def test_closed_even_when_it_fails(dataset: Dataset) -> None:
    class Failing(Fixed):
        def retrieve(self, query: str, k: int) -> list[RankedChunk]:
            raise ValueError(query)

    retriever = Failing("failing", "")
    with pytest.raises(ValueError, match="gull"):
        run(dataset, [retriever])
    assert retriever.closed


def test_compare_leaves_out_undefined_questions(dataset: Dataset) -> None:
    result = run(dataset, [Fixed("good", "abc"), Fixed("bad", "b")], k=3)
    assert compare(result, "good", "bad", "answer").wins == 2
    assert compare(result, "good", "bad", "answer").ties == 0
    found = compare(result, "good", "bad", "R@3")
    assert (found.mean, found.wins, found.losses) == (pytest.approx(2.5 / 3), 3, 0)
    with pytest.raises(ParameterError, match="no metric is called 'R@9'"):
        compare(result, "good", "bad", "R@9")
    with pytest.raises(ParameterError, match="no system is called 'x'; there are: good, bad"):
        compare(result, "x", "bad", "R@3")


def test_bad_parameters(dataset: Dataset) -> None:
    with pytest.raises(ParameterError, match="its own name"):
        run(dataset, [Fixed("same", ""), Fixed("same", "")])
    with pytest.raises(ParameterError, match="at least 1"):
        run(dataset, [], k=0)
    with pytest.raises(ParameterError, match="at least 1"):
        run(dataset, [], at_tokens=[0])
