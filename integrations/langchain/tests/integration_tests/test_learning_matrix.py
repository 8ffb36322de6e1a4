"""Real runs of LangChain and LangGraph: exactly what an answer cites is learned."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langgraph.graph import END, START, StateGraph
from lc_helpers import TEXT, RecordingIndex, ScriptedChat, citing, key_of, prompt_of

from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    HebbianVectorStore,
    citation_prompt,
    create_citing_retriever_tool,
    format_documents,
)
from langchain_hebbgraph.prompts import CitedAnswer, search_result_blocks

PETREL = "Who built the Petrel?"
LIGHT = "What is the lighthouse in Tessel Bay like?"

Chat = Callable[..., ScriptedChat]


@pytest.fixture
def learner(index: RecordingIndex) -> Iterator[CitationLearner]:
    learner = CitationLearner(index)
    yield learner
    learner.uninstall()
    assert learner.flush(5)


@pytest.fixture
def retriever(index: RecordingIndex) -> HebbianRetriever:
    return HebbianRetriever(index=index, k=4)


def rag(
    retriever: Runnable[str, list[Document]], llm: Runnable[Any, Any], **options: Any
) -> Runnable[str, str]:
    return (
        {
            "context": retriever | (lambda documents: format_documents(documents, **options)),
            "question": RunnablePassthrough(),
        }
        | citation_prompt()
        | llm
        | StrOutputParser()
    )


def config(learner: CitationLearner, **metadata: Any) -> Any:
    return {"callbacks": [learner], "metadata": metadata}


# -- LCEL ---------------------------------------------------------------------------


def test_lcel(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    rag(retriever, chat(citing("moss", "petrel"))).invoke(PETREL, config(learner, user_id="ann"))
    learner.flush()
    (lesson,) = index.lessons
    assert lesson.cited == ["moss", "petrel"]
    assert sorted(lesson.shown) == sorted(hit.chunk.id for hit in lesson.recall.hits)
    assert (lesson.recall.query, lesson.actor) == (PETREL, "ann")
    assert index.find_recall(lesson.recall.id) == lesson.recall


def test_a_text_model(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner
) -> None:
    llm = FakeListLLM(responses=["Moss [1]."])
    prompt = PromptTemplate.from_template("{context}\n\n{question}")
    chain = (
        {"context": retriever | format_documents, "question": RunnablePassthrough()} | prompt | llm
    )
    chain.invoke(PETREL, config(learner))
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]


def test_batch_of_twenty_with_one_handler(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    ids = list(TEXT)
    questions = [f"{TEXT[ids[number % len(ids)]]} Question {number}?" for number in range(20)]
    wanted = {question: ids[number % len(ids)] for number, question in enumerate(questions)}

    def script(messages: list[BaseMessage]) -> str:
        question = str(messages[-1].text)
        if question.endswith("7?"):
            return "No idea."
        source = prompt_of(messages[:-1])
        return f"So {key_of([HumanMessage(source)], TEXT[wanted[question]])}"

    rag(retriever, chat(script)).batch(questions, config(learner))
    learner.flush()
    assert index.taught() == sorted(
        (question, [id_]) for question, id_ in wanted.items() if not question.endswith("7?")
    )


async def test_fifty_concurrent_requests(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    ids = list(TEXT)

    def script(messages: list[BaseMessage]) -> str:
        number = int(str(messages[-1].text).rsplit(" ", 1)[1])
        return f"So {key_of(messages[:-1], TEXT[ids[number % len(ids)]])}"

    chain = rag(retriever, chat(script))
    questions = [f"{TEXT[ids[number % len(ids)]]} {number}" for number in range(50)]
    answers = await asyncio.gather(
        *(
            chain.ainvoke(question, config(learner, user_id=f"user-{number}"))
            for number, question in enumerate(questions)
        )
    )
    learner.flush()
    assert len(answers) == 50
    assert sorted(
        (lesson.recall.query, lesson.cited, lesson.actor) for lesson in index.lessons
    ) == (
        sorted(
            (question, [ids[number % len(ids)]], f"user-{number}")
            for number, question in enumerate(questions)
        )
    )


def test_threads_with_an_installed_learner(
    index: RecordingIndex,
    retriever: HebbianRetriever,
    learner: CitationLearner,
    chat: Chat,
    threads: Callable[..., list[Any]],
) -> None:
    chain = rag(retriever, chat(citing("petrel")))
    learner.install()
    threads(lambda number: chain.invoke(PETREL), 8)
    learner.uninstall()
    chain.invoke(PETREL)
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]] * 8


async def test_installed_and_attached_learns_once(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    learner.install()
    chain = rag(retriever, chat(citing("petrel")))
    await chain.ainvoke(PETREL, config(learner))
    chain.invoke(PETREL, config(learner))
    learner.flush()
    assert len(index.lessons) == 2


# -- streams ------------------------------------------------------------------------


async def test_async_stream_and_events(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    chain = rag(retriever, chat(citing("petrel")))
    async for _ in chain.astream(PETREL, config(learner)):
        pass
    async for _ in chain.astream_events(LIGHT, config(learner), version="v2"):
        pass
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]


def _stop_after(number: int, parts: Iterator[str]) -> str:
    said = ""
    for _ in range(number):
        said += next(parts)
    parts.close()  # type: ignore[attr-defined]
    return said


def _two_of_them(messages: list[BaseMessage]) -> str:
    first, second = (key_of(messages, TEXT[id_]) for id_ in ("petrel", "moss"))
    return f"By Moss {first} who was born up north {second}."


def test_of_an_abandoned_stream_counts_what_the_model_said(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    """LangChain lets a model in the middle of a chain finish; its end comes after the root's."""
    said = _stop_after(2, rag(retriever, chat(_two_of_them)).stream(PETREL, config(learner)))
    assert "]" not in said
    gc.collect()
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel", "moss"]]
    assert (learner._traces, learner._trace_of, learner._ending) == ({}, {}, {})


@pytest.mark.parametrize(("words", "cited"), [(2, []), (3, ["petrel"])])
def test_of_a_model_stopped_in_the_middle_counts_what_it_had_said(
    words: int,
    cited: list[str],
    index: RecordingIndex,
    retriever: HebbianRetriever,
    learner: CitationLearner,
    chat: Chat,
) -> None:
    llm = chat(_two_of_them)

    @RunnableLambda
    def chain(question: str) -> Iterator[str]:
        found = format_documents(retriever.invoke(question))
        for part in llm.stream(citation_prompt().invoke({"context": found, "question": question})):
            yield str(part.text)

    _stop_after(words, chain.stream(PETREL, config(learner)))
    gc.collect()
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [cited] * bool(cited)
    assert (learner._traces, learner._trace_of) == ({}, {})


def test_a_model_that_never_ends_is_given_up(
    index: RecordingIndex, learner: CitationLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_hebbgraph.tracing.GRACE_SECONDS", 0.0)
    root, child = uuid.uuid4(), uuid.uuid4()
    learner.on_chain_start({}, {}, run_id=root)
    learner.on_chat_model_start({}, [[HumanMessage("x")]], run_id=child, parent_run_id=root)
    learner.on_chain_end(None, run_id=root)
    assert root in learner._traces
    other = uuid.uuid4()
    learner.on_chain_start({}, {}, run_id=other)
    assert list(learner._traces) == [other]


async def test_an_abandoned_async_stream_and_a_cancelled_request(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    chain = rag(retriever, chat(citing("petrel")))
    parts = chain.astream(PETREL, config(learner))
    async for part in parts:
        if "]" in part:
            break
    await parts.aclose()  # type: ignore[attr-defined]
    slow = asyncio.create_task(
        rag(retriever, chat(citing("moss"), pause=0.2)).ainvoke(PETREL, config(learner))
    )
    await asyncio.sleep(0.1)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    await asyncio.sleep(0.3)
    gc.collect()
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]
    assert len(learner._ending) == len(learner._traces) <= 1  # the cancelled one: _GRACE seconds


# -- between retriever and prompt ---------------------------------------------------


class Fused(BaseRetriever):
    """As EnsembleRetriever: reciprocal ranks of several retrievers."""

    retrievers: list[BaseRetriever]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        scores: dict[str, float] = {}
        by_text: dict[str, Document] = {}
        for retriever in self.retrievers:
            found = retriever.invoke(query, {"callbacks": run_manager.get_child()})
            for rank, document in enumerate(found, start=1):
                by_text.setdefault(document.page_content, document)
                scores[document.page_content] = scores.get(document.page_content, 0) + 1 / rank
        return [by_text[text] for text in sorted(scores, key=lambda text: -scores[text])]


class Fixed(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents


def test_truncation_of_the_prompt(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    cut = retriever | format_documents | (lambda text: text[:140])
    chain = (
        {"context": cut, "question": RunnablePassthrough()} | citation_prompt() | chat("[1] [4]")
    )
    chain.invoke(PETREL, config(learner))
    learner.flush()
    (lesson,) = index.lessons
    assert lesson.cited == [lesson.recall.hits[0].chunk.id]
    assert len(lesson.shown) < len(lesson.recall.hits)


def test_fusion_with_foreign_documents(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    web = Document("From the web: the Petrel sank in a storm off the cape.", id="web")
    fused = Fused(retrievers=[Fixed(documents=[web]), retriever])
    rag(fused, chat("It sank [1]. By Moss [2].")).invoke(PETREL, config(learner))
    learner.flush()
    (lesson,) = index.lessons
    assert lesson.cited == [lesson.recall.hits[0].chunk.id] or lesson.cited == ["petrel"]
    assert "web" not in lesson.shown


def test_a_key_shared_with_a_foreign_document_counts_for_nothing(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    web = Document("From the web: the Petrel sank in a storm off the cape.")
    other = Fixed(documents=[web])
    both = RunnableParallel(a=retriever | format_documents, b=other | format_documents)
    context = both | (lambda found: f"{found['a']}\n\n{found['b']}")
    chain = (
        {"context": context, "question": RunnablePassthrough()} | citation_prompt() | chat("[1][2]")
    )
    chain.invoke(PETREL, config(learner))
    learner.flush()
    (lesson,) = index.lessons
    assert lesson.cited == [lesson.recall.hits[1].chunk.id]


# -- several retrievals, nested chains ----------------------------------------------


def test_two_branches_of_one_run(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    first = rag(retriever, chat(citing("petrel", say="One")))
    second = RunnableLambda(lambda _: LIGHT) | rag(retriever, chat(citing("bay", say="Two")))
    RunnableParallel(first=first, second=second).invoke(PETREL, config(learner))
    learner.flush()
    assert index.taught() == [(LIGHT, ["bay"]), (PETREL, ["petrel"])]


def test_a_rewriter_before_and_a_grader_after(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    rewriter = chat("Who built the ship Petrel? [1]") | StrOutputParser()
    answering = rag(retriever, chat(citing("petrel")))
    grading = chat(lambda messages: f"grounded: yes [2] {prompt_of(messages)[:3]}")

    def graded(answer: str) -> str:
        documents = format_documents(retriever.invoke(PETREL))
        grading.invoke(f"Is it so? {answer}\n\n{documents}")
        return answer

    (rewriter | answering | graded).invoke(PETREL, config(learner))
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]


def test_errors_and_retries(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    attempts = iter([RuntimeError("busy"), "So [1]."])
    llm = chat(lambda messages: next(attempts)).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False
    )
    rag(retriever, llm).invoke(PETREL, config(learner))

    failing = chat(RuntimeError("down"))
    with pytest.raises(RuntimeError):
        rag(retriever, failing).invoke(PETREL, config(learner))
    rag(retriever, failing.with_fallbacks([chat(citing("moss"))])).invoke(PETREL, config(learner))

    def parse(message: BaseMessage) -> str:
        raise ValueError("unreadable answer")

    unparsed = rag(retriever, chat(citing("petrel"))) | parse
    with pytest.raises(ValueError, match="unreadable"):
        unparsed.invoke(PETREL, config(learner))
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"], ["moss"]]
    assert learner._traces == {}
    assert learner._trace_of == {}


def test_a_draft_that_a_retry_threw_away_teaches_nothing(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    drafts = iter(["not json [2]", '{"answer": "Moss", "citations": [1]}'])
    llm = chat(lambda messages: next(drafts))
    answering = (citation_prompt() | llm | JsonOutputParser()).with_retry(
        wait_exponential_jitter=False
    )
    chain = {
        "context": retriever | format_documents,
        "question": RunnablePassthrough(),
    } | answering
    assert chain.invoke(PETREL, config(learner))["answer"] == "Moss"
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]


@pytest.mark.parametrize(
    ("put", "cited"),
    [
        (lambda said: "I may not say.", []),
        (lambda said: AIMessage("I may not say."), []),
        (lambda said: {"question": PETREL, "answer": "I may not say."}, []),
        (lambda said: f"Checked: {said}", ["petrel"]),
        (lambda said: said.split("[")[0], ["petrel"]),  # the reader sees no markers
        (lambda said: "Nobody but Moss [2].", ["moss"]),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_guardrail_puts_in_place_is_the_answer(
    put: Callable[[str], Any],
    cited: list[str],
    is_async: bool,
    index: RecordingIndex,
    learner: CitationLearner,
    chat: Chat,
) -> None:
    retriever = HebbianRetriever(index=index, filter={"$id": {"$in": ["petrel", "moss"]}})
    chain = rag(retriever, chat(citing("petrel"))) | put
    await chain.ainvoke(PETREL, config(learner)) if is_async else chain.invoke(
        PETREL, config(learner)
    )
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [cited] * bool(cited)
    assert learner.counts == {"learned" if cited else "replaced": 1}


# -- forms of citations -------------------------------------------------------------


def _tool_call(name: str, args: dict[str, Any], id: str = "call-1") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id}])


@pytest.mark.parametrize(
    "citations", [["1"], ["[1]"], ["petrel"], ["The Petrel was built by Ida Moss in the yard"]]
)
def test_structured_output(
    citations: list[str],
    index: RecordingIndex,
    retriever: HebbianRetriever,
    learner: CitationLearner,
    chat: Chat,
) -> None:
    args = {"answer": "Moss", "citations": citations}
    llm = chat(_tool_call("CitedAnswer", args)).with_structured_output(CitedAnswer)
    chain = {
        "context": retriever | format_documents,
        "question": RunnablePassthrough(),
    } | citation_prompt()
    result = (chain | llm).invoke(PETREL, config(learner))
    assert isinstance(result, CitedAnswer)
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]


def test_native_citations_in_content_blocks(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    def script(messages: list[BaseMessage]) -> AIMessage:
        citation = {
            "type": "citation",
            "cited_text": "Ida Moss was born in Tessel Bay",
            "extras": {"search_result_index": 9},
        }
        by_source = {"type": "citation", "extras": {"source": "petrel"}}
        return AIMessage(
            content=[
                {"type": "text", "text": "Up north.", "annotations": [citation]},
                {"type": "text", "text": "Moss.", "annotations": [by_source]},
            ]
        )

    def ask(question: str) -> list[BaseMessage]:
        blocks = search_result_blocks(retriever.invoke(question))
        return [HumanMessage([*blocks, {"type": "text", "text": question}])]

    (RunnableLambda(ask) | chat(script)).invoke(PETREL, config(learner))
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["moss", "petrel"]]


def test_anthropic_citations_through_their_translator(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    raw = {
        "type": "search_result_location",
        "cited_text": "The Petrel was built by Ida Moss",
        "source": "petrel",
        "title": "Petrel",
        "search_result_index": 0,
        "start_block_index": 0,
        "end_block_index": 1,
    }
    reply = AIMessage(
        content=[{"type": "text", "text": "By Ida Moss.", "citations": [raw]}],
        response_metadata={"model_provider": "anthropic"},
    )

    def ask(question: str) -> list[BaseMessage]:
        blocks = search_result_blocks(retriever.invoke(question))
        return [
            HumanMessage(question),
            _tool_call("search", {"query": question}),
            ToolMessage(content=blocks, tool_call_id="call-1"),
        ]

    (RunnableLambda(ask) | chat(reply)).invoke(PETREL, config(learner))
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]]


# -- agents and graphs --------------------------------------------------------------


def _two_searches(messages: list[BaseMessage]) -> AIMessage:
    results = [message for message in messages if isinstance(message, ToolMessage)]
    if not results:
        return _tool_call("search", {"query": PETREL}, "call-1")
    if len(results) == 1:
        return _tool_call("search", {"query": LIGHT}, "call-2")
    first, second = key_of(results[:1], TEXT["petrel"]), key_of(results[1:], TEXT["bay"])
    assert first
    assert second
    assert first != second
    return AIMessage(f"By Moss {first}; a tall one {second}. Not [1].")


def test_an_agent_with_two_retrievals(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    agent = create_agent(chat(_two_searches), [create_citing_retriever_tool(retriever)])
    out = agent.invoke({"messages": [HumanMessage("Tell me.")]}, config(learner, user_id="ann"))
    learner.flush()
    assert isinstance(out["messages"][2].artifact[0], Document)
    assert index.taught() == [(LIGHT, ["bay"]), (PETREL, ["petrel"])]
    assert {lesson.actor for lesson in index.lessons} == {"ann"}


async def test_agents_at_once_and_streaming(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    agent = create_agent(chat(_two_searches), [create_citing_retriever_tool(retriever)])
    ask: Any = {"messages": [HumanMessage("Tell me.")]}

    async def streamed() -> None:
        async for _ in agent.astream(ask, config(learner), stream_mode="messages"):
            pass

    await asyncio.gather(
        *(agent.ainvoke(ask, config(learner)) for _ in range(3)), *(streamed() for _ in range(2))
    )
    learner.flush()
    assert index.taught() == [(LIGHT, ["bay"])] * 5 + [(PETREL, ["petrel"])] * 5


class State(TypedDict):
    question: str
    documents: list[Document]
    answer: str


def test_a_graph_whose_nodes_pass_no_config(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    llm = chat(citing("petrel"))

    def retrieve(state: State) -> dict[str, Any]:
        return {"documents": retriever.invoke(state["question"])}

    def generate(state: State) -> dict[str, Any]:
        prompt = citation_prompt().invoke(
            {"context": format_documents(state["documents"]), "question": state["question"]}
        )
        return {"answer": str(llm.invoke(prompt).text)}

    builder: Any = StateGraph(State)
    builder.add_node("retrieve", retrieve)
    builder.add_node("generate", generate)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "generate")
    builder.add_edge("generate", END)
    graph = builder.compile()
    graph.invoke({"question": PETREL}, config(learner))
    for _ in graph.stream({"question": PETREL}, config(learner)):
        pass
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]] * 2


# -- vector store retrievers --------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"search_type": "mmr"},
        {
            "search_type": "similarity_score_threshold",
            "search_kwargs": {"score_threshold": 0.01},
        },
    ],
)
async def test_the_retriever_of_a_vector_store_learns(
    how: dict[str, Any], index: RecordingIndex, learner: CitationLearner, chat: Chat
) -> None:
    store = HebbianVectorStore(index=index)
    chain = rag(store.as_retriever(**how), chat(citing("petrel")))
    chain.invoke(PETREL, config(learner))
    await chain.ainvoke(PETREL, config(learner))
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]] * 2


async def test_a_chain_that_searches_a_store_by_itself_learns(
    index: RecordingIndex, learner: CitationLearner, chat: Chat
) -> None:
    store = HebbianVectorStore(index=index)
    prompt = citation_prompt() | chat(citing("petrel"))

    @RunnableLambda
    def chain(question: str) -> Any:
        found = store.similarity_search(question)
        return prompt.invoke({"context": format_documents(found), "question": question})

    chain.invoke(PETREL, config(learner))
    await chain.ainvoke(PETREL, config(learner))
    store.similarity_search(PETREL)
    learner.flush()
    assert [lesson.cited for lesson in index.lessons] == [["petrel"]] * 2


# -- without a chain ----------------------------------------------------------------


async def test_a_session(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    llm = chat(citing("petrel"))
    with learner.session({"user_id": "ann"}) as session:
        documents = retriever.invoke(PETREL)
        llm.invoke(f"{format_documents(documents)}\n\n{PETREL}")
    with learner.session():
        documents = await retriever.ainvoke(PETREL)
        await llm.ainvoke(f"{format_documents(documents)}\n\n{PETREL}")
    learner.flush()
    assert [(lesson.cited, lesson.actor) for lesson in index.lessons] == [
        (["petrel"], "ann"),
        (["petrel"], None),
    ]
    assert learner.feedback(session, True)


async def test_a_task_that_outlives_a_session_is_no_part_of_it(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    llm, is_over = chat(citing("petrel")), asyncio.Event()

    async def continued() -> None:
        await is_over.wait()
        await (retriever | format_documents | llm).ainvoke(PETREL)

    with learner.session({"user_id": "ann"}):
        task = asyncio.create_task(continued())
        documents = await retriever.ainvoke(PETREL)
        await llm.ainvoke(f"{format_documents(documents)}\n\n{PETREL}")
    is_over.set()
    await task
    learner.flush()
    assert [(lesson.cited, lesson.actor) for lesson in index.lessons] == [
        (["petrel"], "ann"),
        (["petrel"], None),
    ]


@pytest.mark.parametrize("is_store", [False, True])
def test_a_retriever_by_itself_is_a_turn_of_its_thread(
    index: RecordingIndex,
    retriever: HebbianRetriever,
    learner: CitationLearner,
    chat: Chat,
    is_store: bool,
) -> None:
    request: Any = {**config(learner), "configurable": {"thread_id": "t", "user_id": "ann"}}
    searching = HebbianVectorStore(index=index).as_retriever() if is_store else retriever
    prompt = format_documents(searching.invoke(PETREL, request))
    (RunnableLambda(str) | chat(citing("petrel"))).invoke(prompt, request)
    learner.flush()
    assert [(lesson.cited, lesson.actor) for lesson in index.lessons] == [(["petrel"], "ann")]


def test_a_session_that_fails_teaches_nothing(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    def ask() -> None:
        with learner.session():
            chat(citing("petrel")).invoke(format_documents(retriever.invoke(PETREL)))
            raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        ask()
    learner.flush()
    assert (index.lessons, learner.counts) == ([], {"failed": 1})


def test_two_calls_that_nothing_links_teach_nothing(
    index: RecordingIndex, retriever: HebbianRetriever, learner: CitationLearner, chat: Chat
) -> None:
    documents = retriever.invoke(PETREL, config(learner))
    chat(citing("petrel")).invoke(format_documents(documents), config(learner))
    learner.flush()
    assert index.lessons == []
    assert learner._trace_of == {}


# -- never in the way ---------------------------------------------------------------


def test_a_broken_index_is_logged_and_breaks_nothing(
    index: RecordingIndex,
    retriever: HebbianRetriever,
    learner: CitationLearner,
    chat: Chat,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise OSError("disk on fire")

    monkeypatch.setattr(index, "reinforce", broken)
    with caplog.at_level(logging.ERROR, "hebbgraph"):
        answer = rag(retriever, chat(citing("petrel"))).invoke(PETREL, config(learner))
        learner.flush()
    assert answer.startswith("It is so")
    assert "could not be learned" in caplog.text


def test_a_slow_index_does_not_slow_the_chain(
    index: RecordingIndex,
    retriever: HebbianRetriever,
    learner: CitationLearner,
    chat: Chat,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()
    learned = []

    def slow(*args: Any, **kwargs: Any) -> None:
        learned.append(gate.wait(5))

    monkeypatch.setattr(index, "reinforce", slow)
    chain = rag(retriever, chat(citing("petrel")))
    for _ in range(3):
        chain.invoke(PETREL, config(learner))
    assert learned == []
    gate.set()
    assert learner.flush(5)
    assert learned == [True] * 3


def test_notes_are_bounded(
    index: RecordingIndex, learner: CitationLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that never end are given up, the oldest first."""
    monkeypatch.setattr("langchain_hebbgraph.tracing.MAX_OPEN", 100)
    for _ in range(500):
        root, child = uuid.uuid4(), uuid.uuid4()
        learner.on_chain_start({}, {}, run_id=root)
        learner.on_chat_model_start({}, [[HumanMessage("x")]], run_id=child, parent_run_id=root)
    assert len(learner._traces) == 100
    assert len(learner._trace_of) == 200
    monkeypatch.setattr("langchain_hebbgraph.tracing.PATIENCE_SECONDS", 0.0)
    learner.on_chain_start({}, {}, run_id=uuid.uuid4())
    assert len(learner._traces) <= 1


def test_answers_remembered_are_bounded(
    index: RecordingIndex, retriever: HebbianRetriever, chat: Chat
) -> None:
    learner = CitationLearner(index, remember=5, background=False)
    chain = rag(retriever, chat(citing("petrel")))
    for _ in range(20):
        chain.invoke(PETREL, config(learner))
    recalls = [lesson.recall.id for lesson in index.lessons]
    assert len(recalls) == 20
    assert len(learner.lessons) == 5
    for recall_id in recalls:  # the index keeps more
        assert learner.feedback(recall_id, True)
