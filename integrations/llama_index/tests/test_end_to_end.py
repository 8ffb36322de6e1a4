"""Real learning: what was cited is found better, through this framework and others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes import CHUNKS, QUESTION, RuleLLM, WordEmbedding, answer_by_rule
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import TextNode
from test_learner import ORGAN, engine_of

from hebbgraph import HebbianIndex, Recall
from llama_index.retrievers.hebbgraph import CitationLearner, HebbianRetriever

#: Its words name no chunk that answers it.
RIDDLE = "Which vessel's maker came from above a loft?"


@pytest.fixture
def real(tmp_path: Path, nodes: list[TextNode]) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(tmp_path / "index") as opened:
        HebbianRetriever(opened).add(nodes)
        yield opened


def rank_of(found: Any, id_: str) -> int:
    ids = [node.node_id for node in found]
    return ids.index(id_)


def cites(id_: str) -> RuleLLM:
    """Cites the source with this chunk's text, whatever is asked."""

    def rule(prompt: str) -> str:
        before = prompt.split(CHUNKS[id_][1])[0]
        key = before.rsplit("[", 1)[1].split("]")[0]
        return f"It is so [{key}]."

    return RuleLLM(rule=rule)


def test_a_citation_raises_what_was_cited(real: HebbianIndex) -> None:
    retriever = HebbianRetriever(real, similarity_top_k=12)
    question = "What of the Petrel and Tessel Bay and Ostrand and the linnet?"
    before = rank_of(retriever.retrieve(question), "linnet")
    assert before > 0
    with CitationLearner(real):
        for _ in range(3):
            engine_of(retriever, llm=cites("linnet")).query(question)
    after = rank_of(retriever.retrieve(question), "linnet")
    assert after < before
    assert rank_of(real_hits(real.recall(question, k=12)), "linnet") == after


def real_hits(recall: Recall) -> list[Any]:
    class Found:
        def __init__(self, id_: str) -> None:
            self.node_id = id_

    return [Found(hit.chunk.id) for hit in recall.hits]


def test_what_was_taught_outlives_the_process(tmp_path: Path, nodes: list[TextNode]) -> None:
    question = "What of the Petrel and Tessel Bay and Ostrand and the linnet?"
    with HebbianIndex.open(tmp_path / "index") as index:
        HebbianRetriever(index).add(nodes)
        retriever = HebbianRetriever(index, similarity_top_k=12)
        with CitationLearner(index):
            engine_of(retriever, llm=cites("linnet")).query(question)
        expected = [node.node_id for node in retriever.retrieve(question)]
    with HebbianIndex.open(tmp_path / "index") as again:
        found = HebbianRetriever(again, similarity_top_k=12).retrieve(question)
        assert [node.node_id for node in found] == expected


def test_feedback_names_what_was_shown_and_who_asked(
    real: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    reinforce = real.reinforce
    monkeypatch.setattr(
        real, "reinforce", lambda *a, **k: kept.append(reinforce(*a, **k)) or kept[-1]
    )
    retriever = HebbianRetriever(real, similarity_top_k=4)
    with CitationLearner(real), instrument_tags({"user_id": "ida"}):
        engine_of(retriever).query(QUESTION)
        CitationQueryEngine(retriever, llm=RuleLLM()).query(ORGAN)
    assert [lesson.cited for lesson in kept] == [("moss",), ("tessel",)]
    assert [lesson.actor for lesson in kept] == ["ida", "ida"]
    assert [len(one.shown) for one in kept] == [4, 4]


def test_forgetting_an_actor(real: HebbianIndex) -> None:
    retriever = HebbianRetriever(real, similarity_top_k=12)

    def scores() -> dict[str, float | None]:
        return {node.node_id: node.score for node in retriever.retrieve(RIDDLE)}

    before = scores()
    with CitationLearner(real), instrument_tags({"user_id": "ida"}):
        engine_of(retriever, llm=cites("glaze")).query(RIDDLE)
    assert scores() != pytest.approx(before)
    real.forget(actor="ida")
    assert scores() == pytest.approx(before)


async def test_async_with_embeddings(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    retriever = HebbianRetriever.from_nodes(nodes, embed_model=model, similarity_top_k=5)
    async with CitationLearner(retriever.index):
        await engine_of(retriever, llm=RuleLLM(rule=answer_by_rule)).aquery(QUESTION)
    assert (await retriever.aretrieve(QUESTION))[0].node_id in ("petrel", "moss")


def test_a_closed_index_breaks_no_answer(
    real: HebbianIndex, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = HebbianRetriever(real, similarity_top_k=4)
    engine = engine_of(retriever, streaming=True)
    with CitationLearner(real):
        response = engine.query(QUESTION)
        real.close()
        assert "[" in str(response)
    assert "closed" in caplog.text
