"""What the application binds wins over what a request carries: namespace, filter, actor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_hebbgraph import HebbianRetriever, HebbianVectorStore

from hebbgraph.errors import FilterError, ParameterError

DOCUMENTS = [
    Document("Ann keeps a boat.", metadata={"owner": "ann"}),
    Document("Ben keeps bees.", metadata={"owner": "ben"}),
]
BY_OWNER: Callable[[Any], Any] = lambda request: {"owner": request["user_id"]}  # noqa: E731


def owners(documents: list[Document]) -> list[str]:
    return sorted(document.metadata["owner"] for document in documents)


@pytest.fixture(params=["retriever", "store"])
def guarded(request: pytest.FixtureRequest) -> Any:
    if request.param == "store":
        return HebbianVectorStore.from_documents(DOCUMENTS).as_retriever(filter_by=BY_OWNER)
    return HebbianRetriever.from_documents(DOCUMENTS, filter_by=BY_OWNER)


def test_metadata_of_a_request_has_no_say(guarded: Any) -> None:
    config: RunnableConfig = {
        "configurable": {"user_id": "ann"},
        "metadata": {"user_id": "ben"},
    }
    assert owners(guarded.invoke("Who keeps what?", config)) == ["ann"]
    with pytest.raises(ParameterError, match="finds no 'user_id' in the request"):
        guarded.invoke("Who keeps what?", {"metadata": {"user_id": "ben"}})


def test_each_question_of_a_batch_has_its_own_request(guarded: Any) -> None:
    configs: list[RunnableConfig] = [
        {"configurable": {"user_id": name}} for name in ("ann", "ben", "ann")
    ]
    found = guarded.batch(["Who keeps what?"] * 3, configs)
    assert list(map(owners, found)) == [["ann"], ["ben"], ["ann"]]


def test_requests_and_calls_only_narrow(guarded: Any) -> None:
    wide: dict[str, Any] = {"owner": {"$in": ["ann", "ben"]}}
    for other in ({"owner": "ben"}, lambda document: document.metadata["owner"] == "ben"):
        config: RunnableConfig = {"configurable": {"user_id": "ann", "hebbgraph_filter": other}}
        assert guarded.invoke("Who keeps what?", config) == []
        named: RunnableConfig = {"configurable": {"user_id": "ann"}}
        assert guarded.invoke("Who keeps what?", named, filter=other) == []
    assert owners(guarded.invoke("Who keeps what?", named, filter=wide)) == ["ann"]


def test_a_bound_filter_applies_to_every_request() -> None:
    with HebbianRetriever.from_documents(DOCUMENTS, filter={"owner": "ann"}) as retriever:
        for name in ("hebbgraph_filter", "hebbgraph_filters"):  # as LlamaIndex's adapter says
            config: RunnableConfig = {"configurable": {name: {"owner": "ben"}}}
            assert retriever.invoke("Who keeps what?", config) == []
        assert retriever.invoke("bees", filter={"owner": "ben"}) == []


def test_a_rule_that_returns_nothing_opens_nothing() -> None:
    with (
        HebbianRetriever.from_documents(DOCUMENTS, filter_by=lambda request: None) as retriever,
        pytest.raises(FilterError, match="filter_by returned None"),
    ):
        retriever.invoke("bees")


def test_the_context_of_a_graph_wins_over_its_configuration(guarded: Any) -> None:
    graphs = pytest.importorskip("langgraph.graph")

    @dataclass
    class Context:
        user_id: str

    def node(state: dict[str, Any]) -> dict[str, Any]:
        return {"found": owners(guarded.invoke("Who keeps what?"))}

    graph = graphs.StateGraph(dict, context_schema=Context)
    graph.add_node("ask", node)
    graph.set_entry_point("ask")
    graph.set_finish_point("ask")
    config = {"configurable": {"user_id": "ben"}, "metadata": {"user_id": "ben"}}
    state = graph.compile().invoke({"found": []}, config, context=Context("ann"))
    assert state["found"] == ["ann"]


def test_a_request_is_seen_from_within_a_chain(guarded: Any) -> None:
    chain = RunnableLambda(lambda question: guarded.invoke(question))
    assert owners(chain.invoke("Who keeps what?", {"configurable": {"user_id": "ben"}})) == ["ben"]


def test_names_of_others_in_configurable_do_not_collide() -> None:
    with HebbianRetriever.from_documents(DOCUMENTS, k=1) as retriever:
        names = {spec.id for spec in retriever.config_specs}
        assert names == {"hebbgraph_k", "hebbgraph_filter", "hebbgraph_score_threshold"}
        config: RunnableConfig = {"configurable": {"k": 2, "filter": "news"}}
        assert len(retriever.invoke("keeps", config)) == 1
        mine: RunnableConfig = {"configurable": {"hebbgraph_k": 2}}
        assert len(retriever.invoke("keeps", mine)) == 2
        assert len(retriever.invoke("keeps", mine, k=1)) == 1
        both = retriever | RunnableLambda(len)
        assert {spec.id for spec in (both | both.first).config_specs} == names


# -- namespaces ---------------------------------------------------------------------


@pytest.fixture
def tenants(tmp_path: Path) -> Path:
    path = tmp_path / "memory.hebb"
    for document in DOCUMENTS:
        name = document.metadata["owner"]
        with HebbianRetriever.from_documents([document], path=path, namespace=name):
            pass
    return path


def test_a_request_cannot_choose_a_namespace(tenants: Path) -> None:
    with HebbianRetriever(path=tenants, namespace="ann") as retriever:
        for name in ("namespace", "hebbgraph_namespace"):
            config: RunnableConfig = {"configurable": {name: "ben"}, "metadata": {name: "ben"}}
            assert owners(retriever.invoke("bees", config)) == ["ann"]


def test_the_application_may_choose_it_by_the_request(tenants: Path) -> None:
    with HebbianRetriever(path=tenants, namespace_by=itemgetter("tenant")) as retriever:
        for name in ("ann", "ben", "ann"):
            config: RunnableConfig = {"configurable": {"tenant": name}}
            assert owners(retriever.invoke("Who keeps what?", config)) == [name]
        with pytest.raises(ParameterError, match="finds no 'tenant'"):
            retriever.invoke("Who keeps what?")
        with pytest.warns(UserWarning, match="there is no namespace 'cid'"):
            assert retriever.invoke("bees", {"configurable": {"tenant": "cid"}}) == []
        assert "cid" not in retriever.index.namespaces()
        with pytest.raises(ParameterError, match="namespace_by returned 7"):
            retriever.invoke("bees", {"configurable": {"tenant": 7}})


def test_one_store_beneath_many_namespaces_is_refused(tmp_path: Path) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    with pytest.raises(ParameterError, match="would mix tenants"):
        HebbianRetriever(path=tmp_path / "m", vectorstore=store, namespace_by=itemgetter("tenant"))
