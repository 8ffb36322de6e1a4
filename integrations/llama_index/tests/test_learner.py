"""The matrix: real framework runs with models that answer by rule."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import RecordingIndex
from fakes import ANSWERS, QUESTION, RuleLLM, ToolLLM, answer_by_rule, react_by_rule
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.memory import Memory
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step

from hebbgraph import HebbianIndex, NotFoundError, ParameterError
from hebbgraph.citations import Reason
from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianRetriever,
    HebbianVectorStore,
    citing_tool,
)
from llama_index.retrievers.hebbgraph.prompts import (
    CITATION_CHAT_TEMPLATE,
    CITATION_INSTRUCTION,
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
)

ORGAN = "Who made the organ of Tessel Bay?"
MARKET = "What happens on Thursdays in Harrow Quay?"


@pytest.fixture
def learner(index: RecordingIndex) -> Iterator[CitationLearner]:
    with CitationLearner(index) as installed:
        yield installed


def test_the_application_vouches_for_some_and_a_judge_decides(
    index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    asked: list[str] = []

    def judge(sentence: str, text: str) -> bool | None:
        asked.append(text)
        return True

    learner = CitationLearner(
        index, judge=judge, trusted=lambda tags: tags.get("user_id") == "editor"
    )
    with learner:
        for user in ("editor", "visitor"):
            with instrument_tags({"user_id": user}):
                response = engine_of(retriever).query(QUESTION)
        assert [one["trusted"] for one in index.lessons] == [True, False]
        assert asked
        learner.feedback(index.lessons[-1]["recall"], True, trusted=True)
    assert index.lessons[-1]["trusted"]
    assert response.source_nodes
    with CitationLearner(index, judge=lambda sentence, text: False) as strict:
        engine_of(retriever).query(MARKET)
        assert len(index.lessons) == 3
        assert sum(strict.counts.values()) == 1


def engine_of(retriever: HebbianRetriever, **options: Any) -> RetrieverQueryEngine:
    options = {"llm": RuleLLM(), "node_postprocessors": [CitationFormatter()], **options}
    return RetrieverQueryEngine.from_args(
        retriever,
        text_qa_template=CITATION_QA_TEMPLATE,
        refine_template=CITATION_REFINE_TEMPLATE,
        **options,
    )


# -- query engines ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["compact", "refine", "tree_summarize", "simple_summarize"])
def test_query_engine(
    mode: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    options = {} if "summarize" not in mode else {"summary_template": CITATION_QA_TEMPLATE}
    response = engine_of(retriever, response_mode=mode, **options).query(QUESTION)
    assert "[" in str(response)
    (lesson,) = index.lessons
    assert lesson["query"] == QUESTION
    assert lesson["cited"] == ["moss"]
    assert set(lesson["shown"]) == {node.node_id for node in response.source_nodes}
    assert len(lesson["shown"]) == 4


async def test_query_engine_async(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    await engine_of(retriever).aquery(QUESTION)
    assert await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]
    assert index.lessons[0]["thread"] == "hebbgraph-learner"


@pytest.mark.parametrize("mode", ["no_text", "context_only", "generation"])
def test_modes_without_an_answer_from_sources_teach_nothing(
    mode: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    said = RuleLLM(rule=lambda prompt: "As [moss] says, [1].")
    engine_of(retriever, llm=said, response_mode=ResponseMode(mode)).query(QUESTION)
    assert index.lessons == []


@pytest.mark.parametrize("chunk_size", [512, 12])
def test_citation_query_engine(
    chunk_size: int, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    engine = CitationQueryEngine(
        retriever, llm=RuleLLM(), citation_chunk_size=chunk_size, citation_chunk_overlap=0
    )
    if chunk_size == 12:  # pieces of a few words: the rule names the piece
        engine = CitationQueryEngine.from_args(
            None,
            retriever=retriever,
            llm=RuleLLM(rule=_cites_the_piece_with("born in Tessel Bay")),
            citation_chunk_size=chunk_size,
            citation_chunk_overlap=0,
        )
    response = engine.query(QUESTION)
    assert str(response).count("[") == 1
    assert len(response.source_nodes) >= 4
    (lesson,) = index.lessons
    assert lesson["cited"] == ["moss"]
    assert len(lesson["shown"]) == 4


def _cites_the_piece_with(words: str) -> Any:
    def rule(prompt: str) -> str:
        sources = prompt.split("Below are several numbered sources")[-1].split("Source ")
        hit = next(one for one in sources if words in one)
        return f"There [{hit.split(':')[0]}]."

    return rule


def test_citation_query_engine_with_metadata(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    CitationQueryEngine(
        retriever,
        llm=RuleLLM(rule=_cites_the_piece_with("born in Tessel Bay")),
        metadata_mode="all",
    ).query(QUESTION)
    assert index.cited() == [(QUESTION, ["moss"])]


def test_truncation_counts_as_not_shown(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    class Huge(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            nodes[1].node.set_content("word " * 9000 + nodes[1].node.get_content())
            return nodes

    found = [node.node_id for node in retriever.retrieve(QUESTION)]
    cites_all = RuleLLM(rule=lambda prompt: "See [1][2][3][4].", context_window=2000)
    engine_of(
        retriever,
        llm=cites_all,
        response_mode="simple_summarize",
        node_postprocessors=[CitationFormatter(), Huge()],
    ).query(QUESTION)
    (lesson,) = index.lessons
    assert found[1] not in lesson["cited"]
    assert found[1] not in lesson["shown"]


def test_fusion_of_two_retrievers(
    learner: CitationLearner,
    index: RecordingIndex,
    retriever: HebbianRetriever,
    nodes: list[TextNode],
) -> None:
    from llama_index.retrievers.bm25 import BM25Retriever

    other = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=4)
    fused = QueryFusionRetriever(
        [other, retriever], llm=RuleLLM(), num_queries=1, similarity_top_k=6, use_async=False
    )
    engine_of(fused).query(QUESTION)
    assert index.cited() == [(QUESTION, ["moss"])]
    own = {node.node_id for node in retriever.retrieve(QUESTION)}
    assert set(index.lessons[0]["shown"]) <= own


def test_store_under_a_vector_store_index(learner: CitationLearner, index: RecordingIndex) -> None:
    from llama_index.core import VectorStoreIndex

    vectors = VectorStoreIndex.from_vector_store(HebbianVectorStore(index), embed_model="default:x"
        if False else _no_embedding())  # fmt: skip
    engine_of(vectors.as_retriever(similarity_top_k=4)).query(QUESTION)
    assert index.cited() == [(QUESTION, ["moss"])]


def _no_embedding() -> Any:
    from llama_index.core import MockEmbedding

    return MockEmbedding(embed_dim=1)


def test_sub_questions_teach_each_its_own(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    class Two(BaseQuestionGenerator):
        def generate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return [
                SubQuestion(sub_question=one, tool_name="all") for one in (QUESTION, ORGAN)
            ]  # fmt: skip

        async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return self.generate(tools, query)

        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None: ...

    tool = QueryEngineTool.from_defaults(engine_of(retriever), name="all", description="all")
    SubQuestionQueryEngine(
        Two(),
        get_response_synthesizer(llm=RuleLLM(rule=lambda prompt: "Both, see [1] and [2].")),
        [tool],
        verbose=False,
        use_async=False,
    ).query("Both?")
    learner.flush()
    assert index.cited() == [(QUESTION, ["moss"]), (ORGAN, ["tessel"])]


# -- streams ------------------------------------------------------------------------


def test_stream_left_after_the_citation(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    engine = engine_of(
        retriever, streaming=True, llm=RuleLLM(rule=lambda p: answer_by_rule(p) + " And more.")
    )
    response = engine.query(QUESTION)
    for part in response.response_gen:
        if "[" in part:
            break
    del response
    gc.collect()
    learner.flush()
    assert index.cited() == [(QUESTION, ["moss"])]


def test_stream_left_before_the_citation(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    response = engine_of(retriever, streaming=True).query(QUESTION)
    next(iter(response.response_gen))
    unread = engine_of(retriever, streaming=True).query(QUESTION)
    del response, unread
    gc.collect()
    learner.flush()
    assert index.lessons == []


async def test_async_stream_left(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    engine = engine_of(
        retriever, streaming=True, llm=RuleLLM(rule=lambda p: answer_by_rule(p) + " And more.")
    )
    response = await engine.aquery(QUESTION)
    async for part in response.response_gen:
        if "[" in part:
            break
    await response.response_gen.aclose()
    await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]


def test_failing_stream(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    def rule(prompt: str) -> str:
        raise RuntimeError("overloaded")

    with pytest.raises(RuntimeError, match="overloaded"):
        list(
            engine_of(retriever, streaming=True, llm=RuleLLM(rule=rule))
            .query(QUESTION)
            .response_gen
        )
    with pytest.raises(RuntimeError, match="overloaded"):
        engine_of(retriever, llm=RuleLLM(rule=rule)).query(QUESTION)
    learner.flush()
    assert index.lessons == []


# -- chat engines -------------------------------------------------------------------


def chat_engine(kind: str, retriever: HebbianRetriever) -> Any:
    options: dict[str, Any] = {"llm": RuleLLM(rule=_chat_rule)}
    if kind == "context":
        return ContextChatEngine.from_defaults(
            retriever,
            node_postprocessors=[CitationFormatter()],
            context_template=CITATION_CHAT_TEMPLATE,
            **options,
        )
    if kind == "condense_plus_context":
        return CondensePlusContextChatEngine.from_defaults(
            retriever,
            node_postprocessors=[CitationFormatter()],
            context_prompt=CITATION_CHAT_TEMPLATE,
            **options,
        )
    return CondenseQuestionChatEngine.from_defaults(
        engine_of(retriever, streaming=kind.endswith("stream")), **options
    )


def _chat_rule(prompt: str) -> str:
    if "standalone question" in prompt.lower():
        return max((QUESTION, ORGAN), key=prompt.rfind)
    return answer_by_rule(prompt)


KINDS = ["context", "condense_plus_context", "condense_question"]


@pytest.mark.parametrize("kind", KINDS)
def test_chat_of_two_turns(
    kind: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    engine = chat_engine(kind, retriever)
    engine.chat(QUESTION)
    engine.chat(ORGAN)
    assert index.cited() == [(QUESTION, ["moss"]), (ORGAN, ["tessel"])]


@pytest.mark.parametrize("implicit", [True, False])
def test_a_question_asked_again_is_doubt(
    index: RecordingIndex, retriever: HebbianRetriever, implicit: bool
) -> None:
    with CitationLearner(index, implicit=implicit):
        engine = chat_engine("context", retriever)
        for question in (QUESTION, f"I mean, in which town: {QUESTION}", ORGAN):
            with instrument_tags({"thread_id": "t"}):
                engine.chat(question)
    doubts = [lesson for lesson in index.lessons if lesson["kind"] == "asked again"]
    assert [(lesson["query"], lesson["rejected"]) for lesson in doubts] == [
        (QUESTION, ["moss"])
    ] * implicit


async def _said(engine: Any, mode: str, question: str) -> str:
    if mode == "chat":
        return str(engine.chat(question))
    if mode == "stream_chat":
        return "".join(engine.stream_chat(question).response_gen)
    if mode == "achat":
        return str(await engine.achat(question))
    streamed = await engine.astream_chat(question)
    return "".join([part async for part in streamed.async_response_gen()])


@pytest.mark.parametrize("mode", ["chat", "stream_chat", "achat", "astream_chat"])
@pytest.mark.parametrize("kind", KINDS[:2])
async def test_a_key_copied_from_an_earlier_answer_names_nothing_of_this_turn(
    kind: str,
    mode: str,
    learner: CitationLearner,
    index: RecordingIndex,
    retriever: HebbianRetriever,
) -> None:
    engine = chat_engine(kind, retriever)
    first = await _said(engine, mode, QUESTION)
    engine._llm.rule = lambda prompt: ORGAN if "standalone question" in prompt.lower() else first
    assert await _said(engine, mode, ORGAN) == first
    await learner.aflush()
    assert "[" in first
    assert {question for question, _ in index.cited()} == {QUESTION}


def test_only_a_chat_engine_has_letters_in_its_keys(retriever: HebbianRetriever) -> None:
    prompts: list[str] = []
    llm = RuleLLM(rule=lambda prompt: prompts.append(prompt) or ORGAN)
    engine_of(retriever, llm=llm).query(ORGAN)
    assert "[1] " in prompts[-1]
    chat = chat_engine("context", retriever)
    chat._llm = llm
    chat.chat(ORGAN)
    assert "[1] " not in prompts[-1]
    assert re.search(r"^\[[a-z]{3}1\] ", prompts[-1], re.MULTILINE)


@pytest.mark.parametrize("kind", KINDS)
async def test_async_chat(
    kind: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    await chat_engine(kind, retriever).achat(QUESTION)
    await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]


@pytest.mark.parametrize("kind", [*KINDS[:2], "condense_question_stream"])
def test_stream_chat(
    kind: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    response = chat_engine(kind, retriever).stream_chat(QUESTION)
    assert "[" in "".join(response.response_gen)
    _wait_for(index)
    assert index.cited() == [(QUESTION, ["moss"])]


@pytest.mark.parametrize("kind", KINDS[:2])
async def test_async_stream_chat(
    kind: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    response = await chat_engine(kind, retriever).astream_chat(QUESTION)
    assert "[" in "".join([part async for part in response.async_response_gen()])
    await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]


def _wait_for(index: RecordingIndex) -> None:
    """A chat engine reads its stream in a thread of its own."""
    import time

    for _ in range(200):
        if index.lessons:
            return
        time.sleep(0.01)


# -- agents and workflows -----------------------------------------------------------


def agents(retriever: HebbianRetriever) -> dict[str, Any]:
    tool = citing_tool(retriever)
    return {
        "function": FunctionAgent(
            tools=[tool], llm=ToolLLM(), system_prompt=CITATION_INSTRUCTION
        ),
        "function_unstreamed": FunctionAgent(tools=[tool], llm=ToolLLM(), streaming=False),
        "react": ReActAgent(tools=[tool], llm=RuleLLM(rule=react_by_rule)),
        "workflow": AgentWorkflow.from_tools_or_functions([tool], llm=ToolLLM()),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["function", "function_unstreamed", "react", "workflow"])
async def test_agent(
    kind: str, learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    output = await agents(retriever)[kind].run(QUESTION)
    assert "[" in str(output)
    await learner.aflush()
    (lesson,) = index.lessons
    assert lesson["cited"] == ["moss"]
    assert len(lesson["shown"]) == 4


async def test_agent_that_searches_twice(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    model = ToolLLM(searches=["Petrel", "stone of the Kestrel Viaduct"])
    agent = FunctionAgent(tools=[citing_tool(retriever)], llm=model)
    await agent.run("What is the stone of the Kestrel Viaduct?")
    await learner.aflush()
    cited = [one for lesson in index.lessons for one in lesson["cited"]]
    assert sorted(cited) == ["kestrel", "ostrand"]
    assert "stone" in index.lessons[-1]["query"]
    for lesson in index.lessons:
        others = set(cited) - set(lesson["cited"])
        assert not others & set(lesson["shown"])


@pytest.mark.parametrize("keeps", ["thread", "memory", "nothing"])
async def test_an_agent_that_cites_what_an_earlier_turn_found(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever, keeps: str
) -> None:
    agent = FunctionAgent(
        tools=[citing_tool(retriever)], llm=ToolLLM(), system_prompt=CITATION_INSTRUCTION
    )
    memory = Memory.from_defaults()
    held: dict[str, Any] = {
        "thread": {"memory": memory},
        "memory": {"memory": memory},
        "nothing": {},
    }[keeps]
    with instrument_tags({"thread_id": "t"} if keeps == "thread" else {}):
        await agent.run(QUESTION, **held)
        await agent.run(ORGAN, **held)  # answers from memory, without a search
    await learner.aflush()
    found_again = ORGAN if keeps == "nothing" else QUESTION
    assert [lesson["cited"] for lesson in index.lessons] == [["moss"], ["tessel"]]
    assert QUESTION in index.lessons[0]["query"]
    assert found_again in index.lessons[1]["query"]


async def test_what_two_conversations_found_stays_apart(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    agent = FunctionAgent(tools=[citing_tool(retriever)], llm=ToolLLM())
    mine, hers = Memory.from_defaults(), Memory.from_defaults()
    await agent.run(QUESTION, memory=mine)
    await agent.run("What is the stone of the Kestrel Viaduct?", memory=hers)
    await agent.run(ORGAN, memory=mine)
    await learner.aflush()
    assert QUESTION in index.lessons[-1]["query"]
    assert "kestrel" not in index.lessons[-1]["shown"]


def test_thumbs_for_a_response(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    first = engine_of(retriever).query(QUESTION)
    engine_of(retriever).query(ORGAN)  # finds the same nodes
    assert [chunk.id for chunk in learner.feedback(first, good=True)] == [index.lessons[0]["id"]]
    named = engine_of(HebbianRetriever(index, include_path=True)).query(QUESTION)
    assert learner.feedback(named, good=True)
    # Its pieces have ids of their own.
    pieces = CitationQueryEngine(retriever, llm=RuleLLM())
    cut = pieces.query(QUESTION)
    pieces.query(ORGAN)
    assert [chunk.id for chunk in learner.feedback(cut, good=True)] == [index.lessons[-2]["id"]]
    with pytest.raises(NotFoundError, match="no recall of the latest ones"):
        learner.feedback(Response("Nobody knows.", source_nodes=[]), good=True)
    thumb: Any = [7]
    with pytest.raises(ParameterError, match=r"name a Recall, its id or a response; got \[7"):
        learner.feedback(thumb, good=True)


async def test_two_agents_at_once(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    made = agents(retriever)
    await asyncio.gather(made["function"].run(QUESTION), made["react"].run(ORGAN))
    await learner.aflush()
    assert sorted(lesson["cited"] for lesson in index.lessons) == [["moss"], ["tessel"]]


async def test_agent_with_a_query_engine_as_its_tool(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    tool = QueryEngineTool.from_defaults(engine_of(retriever), name="search", description="all")
    await FunctionAgent(tools=[tool], llm=ToolLLM()).run(QUESTION)
    await learner.aflush()
    assert [lesson["cited"] for lesson in index.lessons] == [["moss"]]


async def test_own_workflow(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    class Rag(Workflow):
        @step
        async def answer(self, ctx: Context, ev: StartEvent) -> StopEvent:
            found = CitationFormatter().postprocess_nodes(await retriever.aretrieve(ev.question))
            sources = "\n\n".join(node.node.get_content("llm") for node in found)
            response = await RuleLLM().acomplete(f"{sources}\n\n{ev.question}")
            return StopEvent(result=response.text)

    await Rag().run(question=QUESTION)
    await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]


class UnheardLLM(RuleLLM):
    """Lacks the decorators by which LlamaIndex reports a model's calls."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.rule(prompt))


def test_what_teaches_nothing_says_what_to_do(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    with learner.request():
        (found, *_) = retriever.retrieve(QUESTION)
        UnheardLLM(rule=lambda prompt: "[1].").complete(f"[1] {found.text}")
    assert "with its decorators llm_completion_callback" in str(learner.lessons[-1])
    index.add([{"id": "code", "text": "Sort the years of the Petrel: sorted([1, 2, 3])."}])
    engine = CitationQueryEngine(retriever, llm=RuleLLM(rule=lambda prompt: "Moss [1]."))
    engine.query("How are the years of the Petrel sorted?")
    assert "formatter chooses keys that occur in no text" in str(learner.lessons[-1])
    assert index.lessons == []
    cited = engine_of(retriever, llm=RuleLLM(rule=lambda prompt: f"Sort {first_key(prompt)}."))
    cited.query("How are the years of the Petrel sorted?")
    assert len(index.lessons) == 1


def first_key(prompt: str) -> str:
    keys = re.findall(r"^\[\w+\]", prompt, re.MULTILINE)
    return keys[0]


def test_no_engine_at_all(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    def ask() -> tuple[str, list[NodeWithScore]]:
        found = CitationFormatter().postprocess_nodes(retriever.retrieve(QUESTION))
        sources = "\n\n".join(node.node.get_content("llm") for node in found)
        message = ChatMessage(role="user", content=f"{sources}\n\n{QUESTION}")
        return str(RuleLLM().chat([message]).message.content), found

    answer, found = ask()
    assert index.lessons == []
    learner.learn(answer, found, tags={"user_id": "ida"})
    assert index.cited() == [(QUESTION, ["moss"])]
    with learner.request(user_id="otto"):
        ask()
    assert index.cited() == [(QUESTION, ["moss"])] * 2
    assert [lesson["actor"] for lesson in index.lessons] == ["ida", "otto"]
    later = CitationLearner(index)  # not installed, so it saw no retrieval
    with pytest.raises(NotFoundError, match="install the learner before"):
        later.learn(answer, found)


def test_a_request_that_fails_teaches_nothing(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    def ask() -> None:
        with learner.request():
            found = CitationFormatter().postprocess_nodes(retriever.retrieve(QUESTION))
            RuleLLM().complete("\n\n".join([*(node.text for node in found), QUESTION]))
            raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        ask()
    assert (index.lessons, learner.lessons[-1].reason) == ([], Reason.FAILED)


def test_synthesis_apart_from_retrieval(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    found = CitationFormatter().postprocess_nodes(retriever.retrieve(QUESTION))
    synthesizer = get_response_synthesizer(
        llm=RuleLLM(), text_qa_template=CITATION_QA_TEMPLATE
    )  # fmt: skip
    synthesizer.synthesize(QUESTION, found)
    assert index.cited() == [(QUESTION, ["moss"])]


# -- many at once, actors, boundaries -----------------------------------------------


async def test_fifty_at_once(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    asked = {QUESTION: "moss", ORGAN: "tessel", MARKET: "harrow"}
    questions = [*asked] * 17
    engine = engine_of(retriever)

    async def ask(number: int, question: str) -> None:
        with instrument_tags({"user_id": f"u{number}"}):
            await engine.aquery(question)

    await asyncio.gather(*(ask(number, one) for number, one in enumerate(questions[:50])))
    await learner.aflush()
    assert len(index.lessons) == 50
    assert len({lesson["recall"] for lesson in index.lessons}) == 50
    by_actor = {lesson["actor"]: lesson for lesson in index.lessons}
    for number, question in enumerate(questions[:50]):
        lesson = by_actor[f"u{number}"]
        assert (lesson["query"], lesson["cited"]) == (question, [asked[question]])


async def test_actor_of_an_agents_run(index: RecordingIndex, retriever: HebbianRetriever) -> None:
    with CitationLearner(index, actor=lambda tags: tags["tenant"]) as learner:
        with instrument_tags({"tenant": "north"}):
            await agents(retriever)["function"].run(QUESTION)
        await learner.aflush()
    assert index.lessons[0]["actor"] == "north"


def test_only_our_own_index(
    index: RecordingIndex, retriever: HebbianRetriever, nodes: list[TextNode]
) -> None:
    with RecordingIndex.open(":memory:") as other:
        HebbianRetriever(other).add(nodes)
        with CitationLearner(index), CitationLearner(other):
            engine_of(HebbianRetriever(other, similarity_top_k=4)).query(QUESTION)
        assert index.lessons == []
        assert other.cited() == [(QUESTION, ["moss"])]


def test_any_index_in_the_background(index: RecordingIndex, retriever: HebbianRetriever) -> None:
    with CitationLearner(background=True) as learner:
        engine_of(retriever).query(QUESTION)
        assert learner.flush(10)
        assert index.lessons[0]["thread"] == "hebbgraph-learner"


def test_installed_once_and_gone_after(index: RecordingIndex, retriever: HebbianRetriever) -> None:
    root = get_dispatcher()
    before = list(root.event_handlers), list(root.span_handlers)
    learner = CitationLearner(index).install().install()
    engine_of(retriever).query(QUESTION)
    assert len(index.lessons) == 1
    learner.uninstall()
    learner.uninstall()
    assert (root.event_handlers, root.span_handlers) == before
    engine_of(retriever).query(QUESTION)
    assert len(index.lessons) == 1


def test_errors_are_logged_not_raised(
    learner: CitationLearner,
    index: RecordingIndex,
    retriever: HebbianRetriever,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(index, "reinforce", fail)
    with caplog.at_level(logging.WARNING):
        assert "[" in str(engine_of(retriever).query(QUESTION))
    assert "disk full" in caplog.text
    caplog.clear()
    monkeypatch.setattr(learner, "actor", fail)
    engine_of(retriever).query(QUESTION)
    assert "disk full" in caplog.text


def test_memory_stays_bounded(
    learner: CitationLearner, retriever: HebbianRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llama_index.retrievers.hebbgraph import tracing

    monkeypatch.setattr(tracing, "MAX_CLOSED", 50)
    engine = engine_of(retriever)
    for _ in range(30):
        engine.query(QUESTION)
    spans = learner._spans
    assert not spans.open_spans
    assert len(spans._closed) <= 50


def test_learning_needs_no_vectors_or_network(index: HebbianIndex) -> None:
    assert ANSWERS
    assert index.stats().chunks == 12
