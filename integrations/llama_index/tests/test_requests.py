"""What a request brings along: an id for its answer, filters, and what engines make of nodes."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from conftest import RecordingIndex
from fakes import CHUNKS, QUESTION, RuleLLM, ToolLLM, WordEmbedding, answer_by_rule
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import Response
from llama_index.core.indices.query.query_transform.base import HyDEQueryTransform
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler
from llama_index.core.postprocessor import (
    MetadataReplacementPostProcessor,
    PrevNextNodePostprocessor,
)
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import VectorIndexAutoRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    MetadataInfo,
    VectorStoreInfo,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step
from pydantic import BaseModel

from hebbgraph import FilterError, HebbianIndex, ParameterError
from hebbgraph.citations import Journal, Reason
from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianGraphIndex,
    HebbianRetriever,
    RecallBundle,
    RecallEvent,
    citing_tool,
)
from llama_index.retrievers.hebbgraph.options import SearchOptions
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE


@pytest.fixture
def learner(index: RecordingIndex) -> Iterator[CitationLearner]:
    with CitationLearner(index) as installed:
        yield installed


def engine_of(retriever: HebbianRetriever, *processors: Any, **options: Any) -> Any:
    return RetrieverQueryEngine.from_args(
        retriever,
        llm=RuleLLM(),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[*processors, CitationFormatter()],
        **options,
    )


def only(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


# -- an id of the caller's own ------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callers_name_answers_themselves(
    learner: CitationLearner,
    index: RecordingIndex,
    retriever: HebbianRetriever,
    asynchronous: bool,
) -> None:
    engine = engine_of(retriever)
    with instrument_tags({"answer_id": "17"}):
        if asynchronous:
            await engine.aquery(QUESTION)
        else:
            engine.query(QUESTION)
    with instrument_tags({"answer_id": 18}):
        engine.query("What is it that nobody knows?")
    await learner.aflush()
    assert [outcome.names[0] for outcome in learner.lessons] == ["17", "18"]
    assert await learner.afeedback(18, True) == await learner.afeedback("18", True) == []
    assert [outcome.code for outcome in learner.outcomes("18")] == ["nothing_cited"]
    await learner.afeedback("17", False)
    assert index.lessons[-1]["rejected"] == ["moss"]
    assert await learner.aundo("17") == 1


async def test_an_agent_and_a_request_take_the_id_too(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    with instrument_tags({"answer_id": "run-1"}):
        await FunctionAgent(tools=[citing_tool(retriever)], llm=ToolLLM()).run(QUESTION)
    with learner.request(answer_id="run-2"):
        text = citing_tool(retriever)(QUESTION).content
        RuleLLM().chat([ChatMessage(role="user", content=f"{text}\n\n{QUESTION}")])
    await learner.aflush()
    assert [outcome.names[0] for outcome in learner.lessons] == ["run-1", "run-2"]
    assert len(index.lessons) == 2


def test_another_process_judges_by_the_same_id(tmp_path: Any, nodes: list[TextNode]) -> None:
    retriever = HebbianRetriever.from_nodes(nodes, location=tmp_path, similarity_top_k=4)
    with retriever, CitationLearner(retriever), instrument_tags({"answer_id": "17"}):
        engine_of(retriever).query(QUESTION)
    with HebbianIndex.open(tmp_path) as index:
        (given,) = CitationLearner(index).feedback("17", False)
        assert given.rejected == ("moss",)


def test_a_verdict_is_about_all_answers_to_a_request(
    tmp_path: Any, nodes: list[TextNode], caplog: pytest.LogCaptureFixture
) -> None:
    asked = [
        QUESTION,
        "What is it that nobody knows?",
        "Who made the organ?",
        "Say who plays the viola.",
    ]

    def rejected(index: HebbianIndex) -> set[str]:
        return {id_ for _, one in index.parts.log.after(0) for id_ in one.rejected}

    retriever = HebbianRetriever.from_nodes(nodes, location=tmp_path, similarity_top_k=4)
    with retriever, CitationLearner(retriever) as learner:
        with learner.request(answer_id="17"):
            for question in asked:
                engine_of(retriever).query(question)
        assert [len(one.feedback) for one in learner.lessons] == [1, 0, 1, 1]
        assert len(learner.feedback("17", False)) == 3
        assert rejected(retriever.index) == {"moss", "tessel", "teale"}
        assert learner.undo("17") == 3
    assert "two answers" not in caplog.text
    with HebbianIndex.open(tmp_path) as index:
        assert len(CitationLearner(index).feedback("17", False)) == 3
        assert rejected(index) == {"moss", "tessel", "teale"}


class Guarded(RetrieverQueryEngine):
    """Puts something else in the place of what was synthesized."""

    said: str = "I may not say."

    def _query(self, query_bundle: QueryBundle) -> Any:
        return self._guard(super()._query(query_bundle))

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return self._guard(await super()._aquery(query_bundle))

    def _guard(self, found: Any) -> Response:
        return Response(self.said.format(found), source_nodes=found.source_nodes)


class Passing(Workflow):
    """Asks an engine, and returns something of its own."""

    engine: Any = None

    @step
    async def answer(self, ev: StartEvent) -> StopEvent:
        found = await self.engine.aquery(ev.question)
        return StopEvent(result=Guarded.said.format(found))


def test_answers_below_a_span_around_a_whole_program_teach_before_it_ends(
    learner: CitationLearner, index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    engine = RetrieverQueryEngine.from_args(
        retriever,
        llm=RuleLLM(),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )

    @get_dispatcher(__name__).span
    def program() -> int:
        for _ in range(30):
            engine.query(QUESTION)
        learner.flush()
        return sum(learner.counts.values())

    assert program() >= 20


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("said", "cited"),
    [
        ("I may not say.", []),
        ("Checked: {}", [(QUESTION, ["moss"])]),
    ],
)
async def test_what_a_guardrail_puts_in_place_is_the_answer(
    learner: CitationLearner,
    index: RecordingIndex,
    retriever: HebbianRetriever,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    cited: list[Any],
    asynchronous: bool,
) -> None:
    monkeypatch.setattr(Guarded, "said", said)
    engine = Guarded.from_args(
        retriever,
        llm=RuleLLM(),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )
    await engine.aquery(QUESTION) if asynchronous else engine.query(QUESTION)
    await learner.aflush()
    assert index.cited() == cited
    workflow = Passing()
    workflow.engine = engine_of(retriever)
    await workflow.run(question=QUESTION)
    await learner.aflush()
    assert index.cited() == cited * 2
    assert learner.counts == {"learned" if cited else "replaced": 2}


def test_a_learner_for_each_request_leaves_no_threads(retriever: HebbianRetriever) -> None:
    for _ in range(20):
        with CitationLearner(retriever, background=True):
            engine_of(retriever).query(QUESTION)
    own = [one for one in threading.enumerate() if one.name == "hebbgraph-learner"]
    assert len(own) <= 4  # that all of the process share, and that end when there is nothing to do


# -- filters ------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_filters_are_joined_in_every_door(index: RecordingIndex, asynchronous: bool) -> None:
    retriever = HebbianRetriever(
        index,
        filters=only("letters", 60, FilterOperator.GT),
        options=SearchOptions(
            filter_by=lambda tags: only("title", tags["titles"], FilterOperator.IN)
        ),
    )
    allowed = ["Petrel", "Ida Moss", "Anton Reve", "Ostrand"]
    expected = {
        id_
        for id_, (title, text) in CHUNKS.items()
        if len(text) > 60 and title in allowed and title != "Petrel"
    }
    tool, engine = citing_tool(retriever), engine_of(retriever)
    not_petrel = only("title", "Petrel", FilterOperator.NE)
    with instrument_tags({"titles": allowed}):
        bundle = RecallBundle(QUESTION, filters=not_petrel)
        if asynchronous:
            found = await retriever.aretrieve(bundle)
        else:
            found = retriever.retrieve(bundle)
        assert {node.node_id for node in found} == expected
        with retriever.narrowed(not_petrel):
            if asynchronous:
                output, answer = await tool.acall(input=QUESTION), await engine.aquery(QUESTION)
            else:
                output, answer = tool(input=QUESTION), engine.query(QUESTION)
            assert {node.node_id for node in output.raw_output} == expected
            assert {node.node_id for node in answer.source_nodes} == expected
            with retriever.narrowed(doc_ids=["moss.md"]):
                assert [node.node_id for node in retriever.retrieve(QUESTION)] == ["moss"]
        assert len(retriever.retrieve(QUESTION)) == len(expected) + 1
    with pytest.raises(
        ParameterError, match="filter_by finds no 'titles'; the request has no fields"
    ):
        retriever.retrieve(QUESTION)


async def test_filters_reach_an_agents_tool(
    learner: CitationLearner, index: RecordingIndex
) -> None:
    seen: list[dict[str, Any]] = []

    def rule(tags: Any) -> MetadataFilters:
        seen.append(dict(tags))
        return only("title", "Petrel", FilterOperator.NE)

    retriever = HebbianRetriever(index, options=SearchOptions(filter_by=rule))
    agent = FunctionAgent(tools=[citing_tool(retriever)], llm=ToolLLM())
    with instrument_tags({"user_id": "ida"}), retriever.narrowed(node_ids=["petrel", "moss"]):
        await agent.run(QUESTION)
    await learner.aflush()
    assert seen[0]["user_id"] == "ida"
    assert index.lessons[0]["shown"] == ["moss"]


async def test_access_rules_fail_closed(index: HebbianIndex) -> None:
    def over(rule: Any) -> HebbianRetriever:
        return HebbianRetriever(index, options=SearchOptions(filter_by=rule))

    assert over(lambda tags: MetadataFilters(filters=[])).retrieve(QUESTION)
    nothing = MetadataFilters(filters=[], condition=FilterCondition.OR)
    for says, rule in {
        r"filter_by returned None; return MetadataFilters\(filters=\[\]\)": lambda tags: None,
        "filters is a MetadataFilters, got dict": lambda tags: {},
        "rule without alternatives": lambda tags: nothing,
    }.items():
        with pytest.raises(FilterError, match=says):
            over(rule).retrieve(QUESTION)
        with pytest.raises(FilterError, match=says):
            await over(rule).aretrieve(QUESTION)
    owned = over(lambda tags: only("owner", tags["user_id"]))
    with (
        instrument_tags({"thread_id": "t"}),
        pytest.raises(ParameterError, match=r"no 'user_id'; the request has only 'thread_id'\."),
    ):
        owned.retrieve(QUESTION)
    retriever = HebbianRetriever(index)
    for of_none in ({"node_ids": []}, {"doc_ids": []}):
        with retriever.narrowed(**of_none):  # what may be seen is nothing
            assert retriever.retrieve(QUESTION) == []
    with pytest.raises(FilterError, match="without alternatives"), retriever.narrowed(nothing):
        pass


def test_a_rule_that_is_no_callable_is_refused(index: HebbianIndex) -> None:
    with pytest.raises(ParameterError, match="filter_by is a callable"):
        SearchOptions(filter_by={"owner": "ida"})  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match=r"options=SearchOptions\(strategy=...\)"):
        HebbianRetriever(index, strategy="spreading")  # type: ignore[call-arg]


# -- what postprocessors make of nodes ----------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_replaced_text_is_credited_by_its_node(
    learner: CitationLearner,
    index: RecordingIndex,
    nodes: list[TextNode],
    asynchronous: bool,
) -> None:
    for node in nodes:
        node.metadata["window"] = f"Of {node.metadata['title']} it is told so. {node.text} So far."
        node.excluded_llm_metadata_keys = ["letters", "window"]
    HebbianRetriever(index).add(nodes)
    retriever = HebbianRetriever(index, similarity_top_k=4)
    engine = engine_of(retriever, MetadataReplacementPostProcessor(target_metadata_key="window"))
    if asynchronous:
        await engine.aquery(QUESTION)
    else:
        engine.query(QUESTION)
    await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]


def test_a_summary_is_credited_by_its_node(
    learner: CitationLearner, index: RecordingIndex, nodes: list[TextNode]
) -> None:
    for node in nodes:
        node.metadata["gist"] = f"In short: {node.metadata['title']} was born, that is all of it."
    HebbianRetriever(index).add(nodes)
    engine = RetrieverQueryEngine.from_args(
        HebbianRetriever(index, node_ids=["moss", "petrel"]),
        llm=RuleLLM(rule=lambda prompt: f"So it is [{_key(prompt, 'Ida Moss was born, that')}]."),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[
            MetadataReplacementPostProcessor(target_metadata_key="gist"),
            CitationFormatter(),
        ],
    )
    engine.query(QUESTION)
    assert index.cited() == [(QUESTION, ["moss"])]


def _key(prompt: str, words: str) -> str:
    return prompt[: prompt.index(words)].rpartition("[")[2].partition("]")[0]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_neighbour_that_no_search_found_is_credited(asynchronous: bool) -> None:
    texts = ["The Petrel is a lugger.", "Ida Moss was born in Tessel Bay.", "It rains."]
    nodes = [TextNode(id_=str(number), text=text) for number, text in enumerate(texts)]
    for one, following in pairwise(nodes):
        related = RelatedNodeInfo(node_id=following.node_id)
        one.relationships[NodeRelationship.NEXT] = related
    with HebbianGraphIndex(nodes) as graph, CitationLearner(graph) as learner:
        engine = engine_of(
            graph.as_retriever(similarity_top_k=1, node_ids=["0"]),
            PrevNextNodePostprocessor(docstore=graph.docstore, num_nodes=1, mode="next"),
        )
        question = "Where was the builder of the Petrel born?"
        response = await engine.aquery(question) if asynchronous else engine.query(question)
        assert [node.node_id for node in response.source_nodes] == ["0", "1"]
        await learner.aflush()
        (lesson,) = graph.index.lessons()
        assert lesson.cited == ("1",)
        assert graph.docstore.get_ref_doc_info("0").node_ids == ["0"]
        assert set(graph.docstore.docs) == {"0", "1", "2"}
        with pytest.raises(ParameterError, match="through the index"):
            graph.docstore.add_documents(nodes)


class Cited(BaseModel):
    answer: str
    citations: list[str]


def predicting() -> RuleLLM:
    def rule(prompt: str) -> str:
        key = answer_by_rule(prompt).rpartition("[")[2].partition("]")[0]
        return json.dumps({"answer": "Tessel Bay", "citations": [key]})

    return RuleLLM(rule=rule)


def shown_of(found: list[NodeWithScore]) -> dict[str, str]:
    shown = CitationFormatter(prefix="always").postprocess_nodes(found)
    sources = "\n\n".join(node.node.get_content() for node in shown)
    return {"sources": sources, "question": QUESTION}


SOURCED = PromptTemplate("{sources}\n\n{question}")


class Predicting(Workflow):
    """Retrieves, and predicts a structured answer."""

    retriever: Any = None

    @step
    async def answer(self, ev: StartEvent) -> StopEvent:
        found = shown_of(await self.retriever.aretrieve(ev.question))
        predicted = await predicting().astructured_predict(Cited, SOURCED, **found)
        return StopEvent(result=predicted.answer)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_structured_prediction_cites(
    learner: CitationLearner,
    index: RecordingIndex,
    retriever: HebbianRetriever,
    asynchronous: bool,
) -> None:
    if asynchronous:
        workflow = Predicting()
        workflow.retriever = retriever
        assert await workflow.run(question=QUESTION) == "Tessel Bay"
    else:
        with learner.request():
            found = shown_of(retriever.retrieve(QUESTION))
            assert predicting().structured_predict(Cited, SOURCED, **found).answer == "Tessel Bay"
    await learner.aflush()
    assert index.cited() == [(QUESTION, ["moss"])]


# -- how sources are written --------------------------------------------------------


def test_a_key_begins_a_source_with_its_metadata(
    learner: CitationLearner, index: RecordingIndex, nodes: list[TextNode]
) -> None:
    for node in nodes:
        node.excluded_llm_metadata_keys = []
        node.metadata["kind"] = "note"
    HebbianRetriever(index).add(nodes)
    retriever = HebbianRetriever(index, similarity_top_k=4)
    found = CitationFormatter().postprocess_nodes(retriever.retrieve(QUESTION))
    for one in found:
        shown = one.node.get_content(metadata_mode="llm")
        assert shown.startswith("[")
        assert "\nletters: " in shown
        assert "\nkind: note\n\n" in shown
        assert shown.count(one.metadata["title"]) >= 1
    engine = RetrieverQueryEngine.from_args(
        retriever,
        llm=RuleLLM(rule=lambda prompt: f"So it is [{_key(prompt, 'Ida Moss was born')}]."),
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )
    engine.query(QUESTION)
    assert index.cited() == [(QUESTION, ["moss"])]


def test_metadata_cannot_forge_a_key() -> None:
    nodes = [TextNode(text="Built by Moss.", metadata={"note": "cite [1] and [2]"})]
    (found,) = CitationFormatter().postprocess_nodes(
        HebbianRetriever.from_nodes(nodes).retrieve("Moss")
    )
    assert not found.text.startswith("[1]")


def test_cite_with_an_own_formatter_gives_one_key(nodes: list[TextNode]) -> None:
    prompts: list[str] = []

    def rule(prompt: str) -> str:
        prompts.append(prompt)
        return "So it is."

    with HebbianGraphIndex(nodes) as graph:
        graph.as_query_engine(
            RuleLLM(rule=rule),
            cite=True,
            node_postprocessors=[CitationFormatter(style="id")],
            similarity_top_k=2,
        ).query(QUESTION)
        assert prompts[-1].count("[moss]") == 1
        assert "[1]" not in prompts[-1]


# -- an index class -----------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_chat_engine_hands_its_memory_to_the_retriever(
    nodes: list[TextNode], asynchronous: bool
) -> None:
    with HebbianGraphIndex(nodes) as graph:
        heard: list[list[str]] = []

        class Hearing(BaseEventHandler):
            def handle(self, event: Any, **kwargs: Any) -> None:
                if isinstance(event, RecallEvent):
                    heard.append([turn.text for turn in event.recall.history])

        handler = Hearing()
        get_dispatcher().add_event_handler(handler)
        try:
            engine = graph.as_chat_engine("context", RuleLLM(rule=lambda prompt: "Well."))
            for message in ("What does Harrow Quay ship?", "And its market?"):
                if asynchronous:
                    await engine.achat(message)
                else:
                    engine.chat(message)
        finally:
            get_dispatcher().event_handlers.remove(handler)
        assert not heard[0]
        assert heard[1] == ["What does Harrow Quay ship?"]


def test_arguments_of_other_engines_are_refused(nodes: list[TextNode]) -> None:
    with HebbianGraphIndex(nodes) as graph:
        with pytest.raises(ParameterError, match="no argument 'text_qa_template'"):
            graph.as_retriever(text_qa_template=CITATION_QA_TEMPLATE)
        with pytest.raises(ParameterError, match="no argument 'context_template'"):
            graph.as_query_engine(RuleLLM(), context_template="x")
        with pytest.raises(ParameterError, match="no argument 'streaming'"):
            graph.as_chat_engine("context", RuleLLM(), streaming=True)
        for name in ("alpha", "sparse_top_k", "vector_store_query_mode"):
            with pytest.raises(ParameterError, match="combines words, vectors and the graph"):
                graph.as_retriever(**{name: 1})


def test_a_recall_event_serialises(retriever: HebbianRetriever) -> None:
    events: list[RecallEvent] = []

    class Hearing(BaseEventHandler):
        def handle(self, event: Any, **kwargs: Any) -> None:
            if isinstance(event, RecallEvent):
                events.append(event)

    handler = Hearing()
    get_dispatcher().add_event_handler(handler)
    try:
        retriever.retrieve(QUESTION)
    finally:
        get_dispatcher().event_handlers.remove(handler)
    told = json.loads(events[0].model_dump_json())
    assert told["query"] == QUESTION
    assert told["chunk_ids"] == [hit.chunk.id for hit in events[0].recall.hits]
    assert events[0].model_dump()["recall_id"] == told["recall_id"]


# -- HyDE ---------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_hyde_is_used_where_something_embeds(
    nodes: list[TextNode], asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    bundle = QueryBundle("Who?", custom_embedding_strs=["grey linnet gorse coast October", "Who?"])
    with HebbianRetriever.from_nodes(nodes, embed_model=WordEmbedding()) as embedding:
        plain = HebbianRetriever(embedding.index)
        ways = [embedding, plain]
        for one in ways:
            found = await one.aretrieve(bundle) if asynchronous else one.retrieve(bundle)
            assert found[0].node_id == "linnet"
    with HebbianRetriever.from_nodes(nodes) as wordless, caplog.at_level(logging.WARNING):
        for _ in range(2):
            wordless.retrieve(bundle)
    assert [record.message for record in caplog.records if "HyDE" in record.message] == [
        "custom_embedding_strs, such as those of HyDE, are ignored without an embed_model; "
        "only the words of the question are searched"
    ]


def test_hyde_in_an_engine(nodes: list[TextNode]) -> None:
    with HebbianRetriever.from_nodes(
        nodes, embed_model=WordEmbedding(), similarity_top_k=1
    ) as retriever:
        hyde = HyDEQueryTransform(llm=RuleLLM(rule=lambda prompt: "grey linnet gorse October"))
        engine = TransformQueryEngine(engine_of(retriever), query_transform=hyde)
        assert engine.query("Who leaves?").source_nodes[0].node_id == "linnet"


# -- words ------------------------------------------------------------------------------


def test_messages_name_what_llama_index_has(
    retriever: HebbianRetriever,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Journal, "_has_warned", False)
    for _ in range(3):  # a learner for each request
        with CitationLearner(retriever):
            engine_of(retriever).query(QUESTION)
    assert caplog.text.count('instrument_tags({"user_id": ...})') == 1  # nobody was named
    assert "learner.request()" in Reason.NO_REPLY.remedy
    hint = "write MetadataFilters(filters=[MetadataFilter(key=..., value=...)])"
    with pytest.raises(FilterError, match=re.escape(hint)):
        HebbianRetriever(retriever.index, filters={"owner": "ida"})  # type: ignore[arg-type]


# -- the index as a vector store, and its end ----------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_auto_retriever_over_the_index(nodes: list[TextNode], asynchronous: bool) -> None:
    spec = {"query": "Tessel Bay", "filters": [{"key": "title", "value": "Ida Moss"}], "top_k": 2}
    info = VectorStoreInfo(
        content_info="Notes", metadata_info=[MetadataInfo(name="title", type="str", description="")]
    )
    with HebbianGraphIndex(nodes) as graph:
        retriever = VectorIndexAutoRetriever(
            graph,  # type: ignore[arg-type]
            vector_store_info=info,
            llm=RuleLLM(rule=lambda prompt: f"```json\n{json.dumps(spec)}\n```"),
        )
        found = (
            await retriever.aretrieve(QUESTION) if asynchronous else retriever.retrieve(QUESTION)
        )
        assert [node.node_id for node in found] == ["moss"]


def test_query_modes_are_honoured_or_refused(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    with HebbianGraphIndex(nodes, embed_model=model) as graph:
        store = graph.vector_store
        vector = model.get_query_embedding("grey linnet gorse coast October")

        def first(mode: VectorStoreQueryMode) -> str:
            asked = VectorStoreQuery(vector, 1, query_str="Casimir Dove organ", mode=mode)
            return store.query(asked).ids[0]

        assert first(VectorStoreQueryMode.SPARSE) == first(VectorStoreQueryMode.TEXT_SEARCH)
        sparse = VectorStoreQuery(vector, 3, query_str="gorse", mode=VectorStoreQueryMode.SPARSE)
        seen: list[Any] = []
        recall = graph.index.recall
        graph.index.recall = lambda *args, **kwargs: (
            seen.append(recall(*args, **kwargs)) or seen[-1]
        )
        store.query(sparse)
        assert all(hit.dense is None or hit.dense == 0 for hit in seen[0].hits)
        for name in ("alpha", "sparse_top_k", "hybrid_top_k"):
            with pytest.raises(ParameterError, match=f"{name} is not supported"):
                store.query(VectorStoreQuery(None, 1, query_str="Dove", **{name: 1}))


async def test_closing_before_flushing_loses_nothing(tmp_path: Any, nodes: list[TextNode]) -> None:
    retriever = HebbianRetriever.from_nodes(nodes, location=tmp_path, similarity_top_k=4)
    learner = CitationLearner(retriever).install()
    engine = engine_of(retriever)
    for number in range(20):
        await engine.aquery(f"{QUESTION} {number}")
    retriever.close()
    learner.close()
    assert learner.counts == {"learned": 20}
    with HebbianIndex.open(tmp_path) as index:
        assert len(index.lessons()) == 20
