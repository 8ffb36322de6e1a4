"""Judges that are models of LlamaIndex: of an answer's citations, and of what a recall found."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import RecordingIndex
from fakes import QUESTION, RuleLLM
from llama_index.core.llms import LLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from pydantic import BaseModel

from hebbgraph import HebbianIndex
from llama_index.retrievers.hebbgraph import CitationFormatter, CitationLearner, HebbianRetriever
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE


class Support(BaseModel):
    """Whether a source supports a sentence."""

    supports: bool


def supports_by_rule(prompt: str) -> str:
    return json.dumps({"supports": "born in Tessel Bay" in prompt})


def number_of_dove(prompt: str) -> str:
    boundary = prompt.split("two lines that read ")[1][:16]
    passages = json.loads(prompt.split(boundary)[2])["passages"]
    number = next(one["number"] for one in passages if one["title"] == "Casimir Dove")
    return json.dumps({"passages": [number]})


def cite_all(prompt: str) -> str:
    return " ".join(f"So it is [{key}]." for key in re.findall(r"^\[(\w+)\]", prompt, re.M))


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_structured_model_judges_what_an_answer_cites(
    is_async: bool, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    model: LLM = RuleLLM(rule=supports_by_rule)
    prompt = PromptTemplate("{sentence}\n{text}")

    def judge(sentence: str, text: str) -> bool:
        found = model.structured_predict(Support, prompt, sentence=sentence, text=text)
        return found.supports

    engine = RetrieverQueryEngine.from_args(
        retriever,
        llm=RuleLLM(rule=cite_all),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )
    async with CitationLearner(index, actor="ida", judge=judge) as learner:
        if is_async:
            await engine.aquery(QUESTION)
        else:
            engine.query(QUESTION)
        await learner.aflush()
        (outcome,) = learner.lessons
    assert outcome.cited == ("moss",)
    assert len(outcome.dismissed) == 3


def test_a_model_judges_what_a_recall_found(nodes: list[TextNode]) -> None:
    model: Any = RuleLLM(rule=number_of_dove)
    with HebbianIndex.open(":memory:", judge=model) as index:
        HebbianRetriever(index).add(nodes)
        retriever = HebbianRetriever(index, similarity_top_k=3)
        assert retriever.retrieve(QUESTION)[0].node.node_id == "dove"
        assert index.recall(QUESTION).notes == ()
