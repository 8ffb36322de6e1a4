"""One server, many tenants: each request names its namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hebbgraph import IndexPool, NamespaceNotFoundError, NotFoundError, ParameterError, Settings
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import START, StateGraph
from lc_helpers import citing

from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    HebbianStore,
    citation_prompt,
    format_documents,
)
from langchain_hebbgraph.options import SearchOptions

QUERY = "Where does the boat lie?"
BERTH = {"anna": "Anna's boat lies at berth 7.", "bert": "Bert's boat lies at berth 9."}


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[IndexPool]:
    with IndexPool(tmp_path, max_open=1) as pool:
        for tenant, text in BERTH.items():
            HebbianRetriever.from_index(pool[tenant]).add([Document(text, id="berth")])
        yield pool


@pytest.fixture
def retriever(pool: IndexPool) -> HebbianRetriever:
    return HebbianRetriever.from_pool(pool)


def asking(tenant: str) -> Any:
    return {"configurable": {"hebbgraph_namespace": tenant}}


async def test_a_request_names_its_namespace(retriever: HebbianRetriever) -> None:
    for tenant, text in BERTH.items():
        for found in (
            retriever.invoke(QUERY, asking(tenant)),
            await retriever.ainvoke(QUERY, asking(tenant)),
            retriever.invoke(QUERY, namespace=tenant),
            retriever.with_config(asking(tenant)).invoke(QUERY),
            (retriever | RunnableLambda(lambda found: found)).invoke(QUERY, asking(tenant)),
            RunnableLambda(lambda query: retriever.invoke(query)).invoke(QUERY, asking(tenant)),
            retriever.batch([QUERY], asking(tenant))[0],
        ):
            assert [one.page_content for one in found] == [text]
    assert retriever.why("berth", namespace="anna").chunk_id == "berth"


async def test_why_is_told_of_the_recall_that_a_document_came_from(
    pool: IndexPool, retriever: HebbianRetriever
) -> None:
    for tenant in BERTH:
        pool[tenant].add([{"id": "1", "title": f"{tenant.title()} Quay", "text": "A quay."}])
    asked = [(tenant, word) for tenant in BERTH for word in ("boat", "quay") * 3]
    batches = await asyncio.gather(
        *(retriever.ainvoke(f"Whose {word}?", asking(tenant)) for tenant, word in asked)
    )
    for (tenant, _), documents in zip(asked, batches, strict=True):
        (document,) = [one for one in documents if one.id == "1"]
        explanation = retriever.why(document)
        assert explanation.tags == (f"{tenant} quay",)
        assert explanation.rank == documents.index(document) + 1
    with pytest.raises(ParameterError, match="say whose is meant"):
        retriever.why("1")
    with pytest.raises(ParameterError, match="a copy does not say which one is meant"):
        retriever.why(batches[0][0].model_copy(), namespace="anna")


def test_a_copy_that_names_its_recall_explains_it(pool: IndexPool) -> None:
    retriever = HebbianRetriever.from_pool(pool, include_path=True)
    document = retriever.invoke(QUERY, asking("anna"))[0]
    copy = document.model_copy(deep=True)
    assert retriever.why(copy) == retriever.why(document)
    with pytest.raises(NotFoundError, match=r"no recall '.*' is kept"):
        HebbianRetriever.from_pool(pool).why(copy)  # has asked nothing itself


def test_a_copy_that_names_a_recall_that_is_kept_is_explained_by_any_retriever(
    pool: IndexPool, tmp_path: Path
) -> None:
    pool.close()
    pool = IndexPool(tmp_path, max_open=1, settings=Settings(keep_recalls=8))
    retriever = HebbianRetriever.from_pool(pool, include_path=True)
    kept = {tenant: retriever.invoke(QUERY, asking(tenant))[0] for tenant in BERTH}
    again = HebbianRetriever.from_pool(pool)  # has asked nothing itself
    for tenant, document in kept.items():
        assert document.metadata["hebbgraph"]["namespace"] == tenant
        for one in (retriever, again):
            assert one.why(document.model_copy(deep=True)) == retriever.why(document)
    alone = HebbianRetriever.from_index(pool["anna"])
    with pytest.raises(ParameterError, match="searches only 'anna'"):
        alone.why(kept["bert"])
    pool.close()


async def test_a_misspelt_namespace_is_an_error_and_is_not_made(
    pool: IndexPool, retriever: HebbianRetriever
) -> None:
    with pytest.raises(NamespaceNotFoundError, match=r"no namespace 'ana'\. The first"):
        retriever.invoke(QUERY, asking("ana"))
    with pytest.raises(NamespaceNotFoundError, match="'ana'"):
        await retriever.ainvoke(QUERY, namespace="ana")
    assert pool.namespaces() == ["anna", "bert"]


def test_what_keeps_things_makes_its_namespace(pool: IndexPool) -> None:
    memory = HebbianStore(pool["memory"])
    assert memory.search(("anna",), query="boats") == []
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    store.add_documents([Document(BERTH["anna"], id="berth")])
    grown = HebbianRetriever.from_vectorstore(store, index=pool["grown"])
    assert [found.id for found in grown.invoke(QUERY)] == ["berth"]
    assert pool.namespaces() == ["anna", "bert", "grown", "memory"]


def test_a_request_that_names_none_is_refused(pool: IndexPool, retriever: HebbianRetriever) -> None:
    with pytest.raises(ParameterError, match="names no namespace; pass config="):
        retriever.invoke(QUERY)
    for write in (lambda: retriever.add([Document("Whose?")]), lambda: retriever.delete(["berth"])):
        with pytest.raises(ParameterError, match=r"no namespace is named; pool\['anna'\]"):
            write()
    known = HebbianRetriever.from_pool(pool, namespace="bert")
    assert known.invoke(QUERY)[0].page_content == BERTH["bert"]
    assert known.invoke(QUERY, asking("anna"))[0].page_content == BERTH["anna"]


def test_one_store_is_not_put_beneath_all_namespaces(pool: IndexPool) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    with pytest.raises(ParameterError, match="would mix tenants"):
        HebbianRetriever(
            index=pool["anna"], options=SearchOptions(namespaces=pool, seed_source=store)
        )


class State(TypedDict):
    found: str


@dataclass
class Context:
    hebbgraph_namespace: str


def test_the_context_of_a_graph_names_it(retriever: HebbianRetriever) -> None:
    def search(state: State) -> State:
        return {"found": retriever.invoke(QUERY)[0].page_content}

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("search", search)
    graph.add_edge(START, "search")
    app = graph.compile()
    for tenant, text in BERTH.items():
        assert app.invoke({"found": ""}, context=Context(tenant)) == {"found": text}


@pytest.fixture
def answering(pool: IndexPool, chat: Any) -> Any:
    """Answer as a chain does, each tenant's answer under a name that may be anyone's."""
    retriever = HebbianRetriever.from_pool(pool)

    def answer(learner: CitationLearner, tenant: str, name: str, **metadata: str) -> None:
        chain = (
            RunnableLambda(
                lambda query: {
                    "context": format_documents(retriever.invoke(query)),
                    "question": query,
                }
            )
            | citation_prompt()
            | chat(citing("berth", texts={"berth": BERTH[tenant]}))
        )
        chain.invoke(
            QUERY,
            {
                **asking(tenant),
                "callbacks": [learner],
                "metadata": {"answer_id": name, "user_id": tenant, **metadata},
            },
        )
        learner.flush()

    return answer


def learned(pool: IndexPool) -> dict[str, list[tuple[int, int]]]:
    return {
        tenant: [(len(one.cited), len(one.rejected)) for _, one in pool[tenant].parts.log.after(0)]
        for tenant in BERTH
    }


LESSON, REJECTION = (1, 0), (0, 1)


def test_a_thumb_is_about_the_answer_of_its_tenant(pool: IndexPool, answering: Any) -> None:
    learner = CitationLearner()
    for tenant in BERTH:
        answering(learner, tenant, "9")
    assert learned(pool) == {"anna": [LESSON], "bert": [LESSON]}
    for act in (partial(learner.feedback, good=False), learner.undo):
        with pytest.raises(ParameterError, match=r"say whose is meant: namespace=\.\.\.") as raised:
            act("9")
        assert "anna" not in str(raised.value)
    assert learned(pool) == {"anna": [LESSON], "bert": [LESSON]}
    assert len(learner.feedback("9", False, namespace="bert")) == 1
    assert learned(pool) == {"anna": [LESSON], "bert": [REJECTION]}
    within = RunnableLambda(lambda name: learner.feedback(name, False))
    assert len(within.invoke("9", asking("anna"))) == 1
    assert learned(pool) == {"anna": [REJECTION], "bert": [REJECTION]}
    with pytest.raises(ParameterError, match="namespace 'bert', and its request 'anna'"):
        RunnableLambda(lambda name: learner.undo(name, namespace="bert")).invoke(
            "9", asking("anna")
        )
    assert learner.undo("9", namespace="bert") == 1
    assert learned(pool) == {"anna": [REJECTION], "bert": []}
    (outcome,) = learner.outcomes("9", namespace="anna")
    assert (outcome.actor, len(learner.outcomes("9")), len(learner.outcomes())) == ("anna", 2, 2)


def test_nobody_judges_an_answer_that_only_another_tenant_has(
    pool: IndexPool, answering: Any
) -> None:
    learner = CitationLearner()
    answering(learner, "anna", "9")
    answering(learner, "bert", "10")
    with pytest.raises(ParameterError, match="may be several tenants'"):
        learner.feedback("9", False)
    with pytest.raises(NotFoundError, match="no answer of run '9' is remembered in namespace 'be"):
        learner.feedback("9", False, namespace="bert")
    assert learned(pool) == {"anna": [LESSON], "bert": [LESSON]}
    run = learner.outcomes("9")[0].names[1]  # random, so nobody else's
    assert learner.undo(run) == 1


@pytest.mark.parametrize("home", ["pool", "retriever", "default"])
def test_a_learner_over_a_pool_judges_in_any_process(
    pool: IndexPool, answering: Any, home: str
) -> None:
    for tenant in BERTH:
        answering(CitationLearner(), tenant, "9")
    given: Any = pool
    if home != "pool":
        default = "bert" if home == "default" else None
        given = HebbianRetriever.from_pool(pool, namespace=default)
    with CitationLearner(given) as learner:
        if home == "default":
            assert learner.undo("9") == 1
        else:
            with pytest.raises(ParameterError, match="say whose is meant"):
                learner.undo("9")
            assert learner.undo("9", namespace="bert") == 1
        assert learned(pool) == {"anna": [LESSON], "bert": []}
        assert len(learner.feedback("9", False, namespace="anna")) == 1
        answering(learner, "bert", "11")
        assert learned(pool) == {"anna": [REJECTION], "bert": [LESSON]}
        assert learner.index is None
        recall = pool["anna"].recall(QUERY)
        assert learner.learn("See berth.", recall) == []
        assert learner.learn("At berth 7 [berth].", recall)[0].namespace == "anna"


def test_conversations_of_one_name_are_each_tenants_own(
    pool: IndexPool, answering: Any, chat: Any
) -> None:
    learner = CitationLearner()
    answering(learner, "anna", "1", thread_id="chat")
    prompt = format_documents(HebbianRetriever.from_pool(pool).invoke(QUERY, asking("anna")))
    for tenant, expected in (("bert", 1), ("anna", 2)):
        chat(citing("berth", texts={"berth": BERTH["anna"]})).invoke(
            [HumanMessage(f"{prompt}\n\nAnd where is it?")],
            {
                "callbacks": [learner],
                "metadata": {"thread_id": "chat", "hebbgraph_namespace": tenant},
            },
        )
        learner.flush()
        assert len(learned(pool)["anna"]) == expected


def test_a_name_that_is_used_again_means_the_later_answer(
    pool: IndexPool, answering: Any, caplog: pytest.LogCaptureFixture
) -> None:
    learner = CitationLearner()
    answering(learner, "anna", "9")
    assert "two answers" not in caplog.text
    answering(learner, "anna", "9")
    first, second = learner.outcomes(namespace="anna")
    assert (
        f"two answers are named '9'; from now on that means the later one, and the earlier "
        f"one goes by '{first.names[1]}'" in caplog.text
    )
    assert [one.id for one in learner.feedback("9", True, namespace="anna")] == [
        second.feedback[0].id
    ]
    assert learner.undo(first.names[1], namespace="anna") == 1
    assert learned(pool)["anna"] == [LESSON]
