"""Both frameworks over a server: their adapters take a client as they take an index."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from httpx2 import AsyncClient

from hebbgraph_server.client import HebbianClient

Connect = Callable[..., HebbianClient]
QUESTION = "Where was the builder of the Petrel born?"


def test_langchain_asks_and_learns(connect: Connect) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    adapter = pytest.importorskip("langchain_hebbgraph", reason="needs the integration")
    from langchain_core.language_models import FakeListChatModel

    with connect() as client:
        retriever = adapter.HebbianRetriever.from_index(client, k=4)
        found = retriever.invoke(QUESTION)
        assert [one.id for one in found] == [
            hit.chunk.id for hit in client.recall(QUESTION, k=4).hits
        ]
        keys = adapter.format_documents(found)
        key = keys[keys.index("[") + 1 : keys.index("]")]
        llm = FakeListChatModel(responses=[f"In Tessel Bay [{key}]."])
        context = {"context": retriever | adapter.format_documents, "question": lambda one: one}
        learner = adapter.CitationLearner(retriever)
        chain = context | adapter.citation_prompt() | llm
        chain.invoke(QUESTION, config={"callbacks": [learner], "metadata": {"user_id": "ida"}})
        assert learner.flush(30)
        (lesson,) = client.lessons()
        assert lesson.cited == (found[0].id,)
        store = adapter.HebbianVectorStore(index=client)
        store.add_texts(["Owls hunt voles."], ids=["owl"])
        assert store.similarity_search("What do owls hunt?", k=1)[0].id == "owl"
        store.delete(["owl"])
        assert client.holds(["owl"]) == set()


def test_llama_index_asks_and_learns(connect: Connect) -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    adapter = pytest.importorskip(
        "llama_index.retrievers.hebbgraph", reason="needs the integration"
    )
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import CitationQueryEngine

    with connect() as client:
        retriever = adapter.HebbianRetriever(client, similarity_top_k=4)
        found = [one.node_id for one in retriever.retrieve(QUESTION)]
        assert found == [hit.chunk.id for hit in client.recall(QUESTION, k=4).hits]
        engine = CitationQueryEngine(retriever=retriever, llm=MockLLM())
        with adapter.CitationLearner() as learner:
            assert "built by Ida Moss" in str(engine.query(QUESTION))
            assert learner.flush(30)


async def test_llama_index_finds_the_tools(connect: Connect) -> None:
    tools = pytest.importorskip("llama_index.tools.mcp", reason="llama-index-tools-mcp is missing")
    # The adapter leaves a client of its own to the garbage collector, and a collection that
    # warns of open connections while CPython 3.11 parses a module makes it raise SystemError.
    async with AsyncClient(follow_redirects=True) as http:
        with connect() as client:
            speaking = tools.BasicMCPClient(f"{client._http.url}/mcp", http_client=http)
            source = tools.McpToolSpec(client=speaking)
            found = {tool.metadata.name: tool for tool in await source.to_tool_list_async()}
            assert set(found) == {"recall", "cite", "remember", "forget", "explain"}
            answer = await found["recall"].acall(query=QUESTION, k=2)
            assert "Tessel Bay" in str(answer)
