"""A citation, noticed by LlamaIndex's instrumentation, ends as a lesson in the index."""

from __future__ import annotations

import asyncio
import gc
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from edges import edges
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.llms import ChatMessage, CompletionResponse
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import Memory
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RecursiveRetriever
from llama_index.core.schema import IndexNode, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step
from llama_index.retrievers.hebbgraph import (
    CITATION_TEMPLATE,
    CitationFormatter,
    CitationLearner,
    HebbianGraphIndex,
    HebbianRetriever,
    citing_tool,
)
from llama_index.retrievers.hebbgraph.citing import QA_TEMPLATES, citing
from llama_index_instrumentation.dispatcher import instrument_tags
from llama_models import CORPUS, QUESTION, BareLLM, RuleLLM, ToolLLM, cite_moss, react

from hebbgraph import HebbianIndex, Lesson
from hebbgraph.errors import ParameterError


def lesson_of(learner: CitationLearner, index: HebbianGraphIndex) -> Lesson:
    """Return the one lesson, on the passage that the models cite."""
    learner.flush()
    (lesson,) = index.index.lessons()
    assert ([*lesson.cited], learner.counts) == (["moss"], {"learned": 1})
    return lesson


@pytest.fixture
def engine(index: HebbianGraphIndex) -> Any:
    return index.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4)


# -- query engines ------------------------------------------------------------------------


def test_a_query(engine: Any, index: HebbianGraphIndex, learner: CitationLearner) -> None:
    before = index.as_retriever(similarity_top_k=6).recall("Who was born where?")
    assert str(engine.query(QUESTION)).startswith("In Tessel Bay [")
    lesson = lesson_of(learner, index)
    assert (lesson.actor, lesson.trusted) == (None, False)
    after = index.as_retriever(similarity_top_k=6).recall(QUESTION)
    assert (after[0].id, after[0].score > after[0].untaught) == ("moss", True)
    assert before["moss"].untaught == before["moss"].score


def test_an_engine_of_parts(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=4),
        RuleLLM(),
        text_qa_template=CITATION_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )
    engine.query(QUESTION)
    lesson_of(learner, index)


def test_a_parent_is_credited_to_what_was_found_in_it() -> None:
    small = {"house": "Her house stood long.", "birth": "Moss was born in Tessel Bay."}
    nodes = [IndexNode(id_=name, text=text, index_id="page") for name, text in small.items()]
    page = TextNode(id_="page", text=f"On Ida Moss. {' '.join(small.values())}")
    with HebbianRetriever.from_nodes(nodes) as retriever, CitationLearner(retriever) as learner:
        recursive = RecursiveRetriever("", retriever_dict={"": retriever}, node_dict={"page": page})
        options = citing({}, QA_TEMPLATES, apart=False)
        RetrieverQueryEngine.from_args(recursive, RuleLLM(), **options).query("Where was she born?")
        learner.flush()
        assert [[*lesson.cited] for lesson in retriever.index.lessons()] == [["birth"]]


def test_a_node_in_other_words_is_credited_to_what_refers_to_it() -> None:
    summary = IndexNode(id_="summary", text="Where she came from.", index_id="page")
    page = TextNode(id_="page", text=CORPUS["moss"][1])
    with HebbianRetriever.from_nodes([summary]) as retriever, CitationLearner(retriever) as learner:
        recursive = RecursiveRetriever("", retriever_dict={"": retriever}, node_dict={"page": page})
        options = citing({}, QA_TEMPLATES, apart=False)
        RetrieverQueryEngine.from_args(recursive, RuleLLM(), **options).query("Where from?")
        learner.flush()
        assert [[*lesson.cited] for lesson in retriever.index.lessons()] == [["summary"]]


def test_a_citation_strengthens_the_edges_of_its_path(
    engine: Any, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    before = edges(index.index)
    engine.query(QUESTION)
    lesson = lesson_of(learner, index)
    after = edges(index.index)
    assert after.keys() == before.keys()
    assert any(after[edge][1] > before[edge][1] == 0 for edge in after)
    index.index.forget(lesson.id)
    assert edges(index.index) == before


async def test_an_async_query(
    engine: Any, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    await engine.aquery(QUESTION)
    lesson_of(learner, index)


def test_a_stream(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    engine = index.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4, streaming=True)
    response: Any = engine.query(QUESTION)
    assert not index.index.lessons()
    assert "".join(response.response_gen).endswith("That is all I know. ") is False
    lesson_of(learner, index)


async def test_an_async_stream(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    engine = index.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4, streaming=True)
    response: Any = await engine.aquery(QUESTION)
    assert [part async for part in response.response_gen]
    lesson_of(learner, index)


def test_an_abandoned_stream(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    engine = index.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4, streaming=True)
    response: Any = engine.query(QUESTION)
    for part in response.response_gen:
        if "[" in part:
            break
    del response
    gc.collect()
    lesson_of(learner, index)


async def test_an_answer_that_is_cancelled_is_forgotten(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    asked = asyncio.Event()

    class Waiting(RuleLLM):
        @llm_completion_callback()
        async def acomplete(self, *args: Any, **kwargs: Any) -> CompletionResponse:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    task = asyncio.create_task(index.as_query_engine(Waiting(), cite=True).aquery(QUESTION))
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    learner.flush()
    assert (learner._follower._spans, {**learner._follower._traces}) == ({}, {})
    assert index.index.lessons() == []


@pytest.mark.parametrize(
    ("mode", "window"),
    [("refine", 1100), ("tree_summarize", 450), ("accumulate", 8000), ("simple_summarize", 8000)],
)
def test_answers_in_several_calls(
    mode: str, window: int, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    llm = RuleLLM(context_window=window)
    engine = index.as_query_engine(llm, cite=True, similarity_top_k=4, response_mode=mode)
    engine.query(QUESTION)
    assert (len(llm.prompts) > 1) is (mode != "simple_summarize")
    lesson_of(learner, index)


@pytest.mark.parametrize("mode", ["no_text", "context_only", "generation"])
def test_what_is_no_answer_teaches_nothing(
    mode: str, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    engine = index.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4, response_mode=mode)
    engine.query(QUESTION)
    learner.flush()
    assert index.index.lessons() == []


def test_a_model_without_decorators(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    index.as_query_engine(BareLLM(), cite=True, similarity_top_k=4).query(QUESTION)
    lesson_of(learner, index)


def test_llama_indexs_own_citation_engine(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    CitationQueryEngine.from_args(index, llm=RuleLLM(), similarity_top_k=4).query(QUESTION)
    lesson_of(learner, index)


def test_parts_of_a_node_are_credited_to_it(learner: CitationLearner) -> None:
    text = " ".join(f"Sentence {at} is about rigging." for at in range(60))
    node = TextNode(id_="moss", text=f"{text} Ida Moss was born in Tessel Bay. {text}")
    with HebbianGraphIndex([node]) as index, CitationLearner(index) as own:
        engine = CitationQueryEngine.from_args(index, llm=RuleLLM(), citation_chunk_size=64)
        assert len(engine.query(QUESTION).source_nodes) > 5
        lesson_of(own, index)
    assert learner.counts == {}


def test_a_failed_request_teaches_nothing(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    def fail(prompt: str) -> str:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        index.as_query_engine(RuleLLM(rule=fail), cite=True).query(QUESTION)
    learner.flush()
    assert (learner.counts, index.index.lessons()) == ({}, [])
    assert learner._follower._spans == {}


def test_numbers_in_texts_forge_no_key(learner: CitationLearner) -> None:
    nodes = [
        TextNode(id_="moss", text="Ida Moss was born in Tessel Bay, see [1] and [2]."),
        TextNode(id_="petrel", text="[1] The Petrel was built by Ida Moss. Cite [2] for it."),
    ]
    with HebbianGraphIndex(nodes) as index, CitationLearner(index) as own:
        answer = str(index.as_query_engine(RuleLLM(), cite=True).query(QUESTION))
        lesson_of(own, index)
    assert "[1]" not in answer
    assert "[2]" not in answer


# -- chat engines -------------------------------------------------------------------------

CHATS = [
    ChatMode.BEST,
    ChatMode.CONTEXT,
    ChatMode.CONDENSE_PLUS_CONTEXT,
    ChatMode.CONDENSE_QUESTION,
]


@pytest.mark.parametrize("mode", CHATS)
def test_a_chat(mode: ChatMode, index: HebbianGraphIndex, learner: CitationLearner) -> None:
    chat = index.as_chat_engine(mode, RuleLLM(), cite=True, similarity_top_k=4)
    chat.chat(QUESTION)
    lesson_of(learner, index)


@pytest.mark.parametrize("mode", CHATS[1:3])
def test_a_streamed_chat(
    mode: ChatMode, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    chat = index.as_chat_engine(mode, RuleLLM(), cite=True, similarity_top_k=4)
    assert "".join(chat.stream_chat(QUESTION).response_gen)
    lesson_of(learner, index)


async def test_an_async_streamed_chat(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    chat = index.as_chat_engine(ChatMode.CONTEXT, RuleLLM(), cite=True, similarity_top_k=4)
    response = await chat.astream_chat(QUESTION)
    assert [part async for part in response.async_response_gen()]
    lesson_of(learner, index)


def test_a_key_of_an_earlier_turn_names_nothing(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    answers = iter(["In Tessel Bay [1]."])
    chat = index.as_chat_engine("context", RuleLLM(rule=lambda _: next(answers)), cite=True)
    chat.chat(QUESTION)
    learner.flush()
    assert learner.counts == {"not_a_key": 1}


# -- agents and workflows -----------------------------------------------------------------


async def test_a_function_agent(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    tool = citing_tool(index.as_retriever(similarity_top_k=4))
    with instrument_tags({"user_id": "ida"}):
        await FunctionAgent(tools=[tool], llm=ToolLLM()).run(QUESTION)
    assert lesson_of(learner, index).actor == "ida"


async def test_a_react_agent(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    tool = citing_tool(index.as_retriever(similarity_top_k=4))
    await ReActAgent(tools=[tool], llm=RuleLLM(rule=react)).run(QUESTION)
    lesson_of(learner, index)


async def test_each_search_of_an_engine_learns_its_own(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    """Both questions find both passages; the second ranks what the first one's answer cites."""
    asked = {QUESTION: "Moss was born", "Who is Ida Moss of Tessel Bay?": "two white flashes"}

    def cite(prompt: str) -> str:
        text = next(text for question, text in asked.items() if question in prompt)
        return f"{text} [{re.findall(r'^.([0-9]+).', prompt[: prompt.index(text)], re.M)[-1]}]."

    def act(prompt: str) -> str:
        done = prompt.split("## Current Conversation")[-1].split("Observation:")[1:]
        if len(done) == len(asked):
            return f"Thought: Done.\nAnswer: So it is: {' '.join(map(str.strip, done))}"
        question = [*asked][len(done)]
        return f'Thought: I ask.\nAction: search\nAction Input: {{"input": "{question}"}}'

    engine = index.as_query_engine(RuleLLM(rule=cite), cite=True, similarity_top_k=6)
    tool = QueryEngineTool.from_defaults(engine, name="search", description="Answers.")
    await ReActAgent(tools=[tool], llm=RuleLLM(rule=act)).run("Tell me both.")
    learner.flush()
    assert [[*lesson.cited] for lesson in index.index.lessons()] == [["moss"], ["lamp"]]
    for question, chunk in zip(asked, ("moss", "lamp"), strict=True):
        assert index.index.recall(question)[0].id == chunk


async def test_an_answer_may_cite_an_earlier_turn(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    tool = citing_tool(index.as_retriever(similarity_top_k=4))
    llm = ToolLLM(rule=lambda text: "I shall tell." if "again" not in text else cite_moss(text))
    agent = FunctionAgent(tools=[tool], llm=llm)
    memory = Memory.from_defaults(session_id="chat-7", token_limit=8000)
    with instrument_tags({"thread_id": "chat-7"}):
        await agent.run(QUESTION, memory=memory)
        learner.flush()
        assert learner.counts == {"nothing_cited": 1}
        llm.searches = []
        await agent.run("Tell me again.", memory=memory)
    learner.flush()
    assert learner.counts == {"nothing_cited": 1, "learned": 1}
    assert [[*lesson.cited] for lesson in index.index.lessons()] == [["moss"]]


async def test_a_workflow_of_the_application(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    retriever, llm = index.as_retriever(similarity_top_k=4), RuleLLM()

    class Asking(Workflow):
        @step
        async def ask(self, event: StartEvent) -> StopEvent:
            found = CitationFormatter().postprocess_nodes(await retriever.aretrieve(QUESTION))
            prompt = "\n\n".join(result.text for result in found)
            response = await llm.achat([ChatMessage(role="user", content=prompt)])
            return StopEvent(result=response.message.content)

    await Asking().run()
    lesson_of(learner, index)


async def test_an_empty_question_of_an_agent(index: HebbianGraphIndex) -> None:
    tool = citing_tool(index.as_retriever())
    assert tool(input=" ").content.startswith("No passage was found")
    assert (await tool.acall(input={"query": "flashes"})).content.startswith("\n[")
    with pytest.raises(ParameterError, match=r"got HebbianIndex; see index.as_retriever\(\)"):
        citing_tool(index.index)  # type: ignore[arg-type]


# -- who learns, and in whose name --------------------------------------------------------


def test_what_the_application_binds_is_the_actor(
    engine: Any, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    learner.close()
    with CitationLearner(index, actor="editor") as bound, instrument_tags({"user_id": "mallory"}):
        engine.query(QUESTION)
        assert lesson_of(bound, index).actor == "editor"
    with CitationLearner(index, actor=lambda request: request["team"]) as bound:
        with instrument_tags({"user_id": "mallory", "team": "ships"}):
            engine.query("Where was Ida Moss born?")
        bound.flush()
    assert index.index.lessons()[-1].actor == "ships"


def test_each_index_has_its_own_learner(nodes: list[TextNode], learner: CitationLearner) -> None:
    with HebbianGraphIndex(nodes) as other, CitationLearner(other) as own:
        other.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4).query(QUESTION)
        lesson_of(own, other)
    assert learner.counts == {}
    with pytest.raises(ParameterError, match="a learner takes a retriever, an index or a store"):
        CitationLearner("memory.hebb")


def test_of_two_learners_of_an_index_the_latest_learns(
    engine: Any, index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    with CitationLearner(index) as second:
        engine.query(QUESTION)
        lesson_of(second, index)
    assert learner.counts == {}
    engine.query(QUESTION)
    learner.flush()
    assert learner.counts == {"learned": 1}


def test_a_learner_leaves_no_handler(index: HebbianGraphIndex) -> None:
    root = get_dispatcher()
    before = [*root.event_handlers, *root.span_handlers]
    with CitationLearner(index) as learner:
        learner.install()
        assert len(root.event_handlers) + len(root.span_handlers) == len(before) + 2
    assert [*root.event_handlers, *root.span_handlers] == before


def test_a_verdict_by_the_name_of_the_answer(tmp_path: Any, nodes: list[TextNode]) -> None:
    with HebbianIndex.open(tmp_path) as core, HebbianGraphIndex(nodes, index=core) as index:
        with CitationLearner(index) as learner:
            engine = index.as_query_engine(RuleLLM(), cite=True, similarity_top_k=4)
            with instrument_tags({"answer_id": 17, "user_id": "ida"}):
                engine.query(QUESTION)
            assert learner.verdict("17", -1).result(60).lessons
        verdict = core.lessons()[-1]
        assert ([*verdict.rejected], verdict.actor) == (["moss"], "ida")


def test_many_users_at_once(index: HebbianGraphIndex, learner: CitationLearner) -> None:
    questions = {id_: text for id_, (_, text) in CORPUS.items()}

    def cite(prompt: str) -> str:
        asked = prompt.rpartition("Question: ")[2].partition("\n")[0]
        key = re.search(rf"\[(\d+)\] [^\n]*\n[^\n]*\n\n{re.escape(asked)}", prompt)
        return f"So it is [{key[1]}]." if key else "Nobody knows."

    def ask(user: str) -> None:
        engine = index.as_query_engine(RuleLLM(rule=cite), cite=True, similarity_top_k=3)
        with instrument_tags({"user_id": user}):
            for _ in range(3):
                engine.query(questions[user])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, questions))
    learner.flush()
    assert learner.counts == {"learned": 18}
    for lesson in index.index.lessons():
        assert [*lesson.cited] == [lesson.actor]
    assert learner._follower._traces == {}


async def test_a_fusion_that_searches_in_threads(
    index: HebbianGraphIndex, learner: CitationLearner
) -> None:
    own = index.as_retriever(similarity_top_k=3)
    fused = QueryFusionRetriever([own, own], num_queries=1, llm=RuleLLM(), use_async=True)
    tool = citing_tool(fused)
    await FunctionAgent(tools=[tool], llm=ToolLLM()).run(QUESTION)
    lesson_of(learner, index)


async def test_tenants_learn_apart(tmp_path: Any, nodes: list[TextNode]) -> None:
    for name in ("anna", "ben"):
        HebbianGraphIndex(nodes, path=tmp_path, namespace=name).close()
    with (
        HebbianRetriever(
            path=tmp_path, similarity_top_k=4, namespace_by=lambda request: request["user_id"]
        ) as retriever,
        CitationLearner(retriever) as learner,
    ):
        tool = citing_tool(retriever)
        with instrument_tags({"user_id": "anna"}):
            await FunctionAgent(tools=[tool], llm=ToolLLM()).run(QUESTION)
        learner.flush()
        assert learner.counts == {"learned": 1}
        anna, ben = (retriever.index.in_namespace(name) for name in ("anna", "ben"))
        assert [len(index.lessons()) for index in (anna, ben, retriever.index)] == [1, 0, 0]
        anna.close()
        ben.close()
