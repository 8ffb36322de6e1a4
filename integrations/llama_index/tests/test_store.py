"""The store: alone, under VectorStoreIndex, and as the sink of a pipeline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from fakes import QUESTION, WordEmbedding
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.schema import TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from hebbgraph import HebbianIndex, ParameterError
from llama_index.retrievers.hebbgraph import (
    HebbianNodeParser,
    HebbianRetriever,
    HebbianVectorStore,
    TagExtractor,
)
from llama_index.retrievers.hebbgraph.options import SearchOptions
from llama_index.retrievers.hebbgraph.tags import SkipEmbedding


def same_graph(one: HebbianIndex, other: HebbianIndex) -> bool:
    return all(
        nx.utils.graphs_equal(
            nx.Graph(one.inspect.to_networkx(kind)), nx.Graph(other.inspect.to_networkx(kind))
        )
        for kind in ("tags", "incidence")
    )  # fmt: skip


def assert_exact(store: HebbianVectorStore) -> None:
    """The graph equals one built at once from what the store holds."""
    with HebbianIndex.open(":memory:") as fresh:
        HebbianVectorStore(fresh).add(store.get_nodes())
        for kind in ("tags", "incidence"):
            grown, built = store.index.inspect.to_networkx(kind), fresh.inspect.to_networkx(kind)
            assert dict(grown.nodes(data=True)) == dict(built.nodes(data=True))
            assert nx.utils.edges_equal(list(grown.edges(data=True)), list(built.edges(data=True)))


@pytest.fixture
def store(nodes: list[TextNode]) -> HebbianVectorStore:
    opened = HebbianVectorStore.open(":memory:")
    opened.add(nodes)
    return opened


# -- alone --------------------------------------------------------------------------


def test_add_get_delete(store: HebbianVectorStore, nodes: list[TextNode]) -> None:
    assert isinstance(store, BasePydanticVectorStore)
    assert store.stores_text
    assert not store.is_embedding_query
    assert store.client is store.index
    assert [node.model_dump() for node in store.get_nodes(["moss", "petrel", "none"])] == [
        nodes[1].model_dump(),
        nodes[0].model_dump(),
    ]
    store.delete("moss.md")
    store.delete("never there")
    assert store.get_nodes(["moss"]) == []
    store.delete_nodes(["petrel", "none"])
    ship = MetadataFilters(filters=[MetadataFilter(key="title", value="Ostrand")])
    store.delete_nodes(filters=ship)
    store.delete_nodes(["lamp", "teale"], MetadataFilters(
        filters=[MetadataFilter(key="title", value="Skerrow Light")]))  # fmt: skip
    assert len(store.index.ids()) == 8
    assert_exact(store)
    store.clear()
    store.clear()
    assert store.get_nodes() == []
    with pytest.raises(ParameterError, match="clear"):
        store.delete_nodes()


async def test_async_twins(nodes: list[TextNode]) -> None:
    store = HebbianVectorStore.open(":memory:")
    assert await store.async_add(nodes) == [node.node_id for node in nodes]
    query = VectorStoreQuery(query_str=QUESTION, similarity_top_k=2)
    assert (await store.aquery(query)).ids == store.query(query).ids == ["petrel", "moss"]
    await store.adelete("petrel.md")
    await store.adelete_nodes(["moss"])
    assert {node.node_id for node in await store.aget_nodes(["petrel", "moss", "reve"])} == {"reve"}
    await store.aclear()
    assert await store.aget_nodes() == []


def test_queries(store: HebbianVectorStore) -> None:
    assert store.query(VectorStoreQuery(query_str=" ", similarity_top_k=2)).ids == []
    for mode in ("default", "sparse", "hybrid", "text_search", "semantic_hybrid"):
        query = VectorStoreQuery(query_str="Moss", mode=VectorStoreQueryMode(mode))
        assert store.query(query).ids == ["moss"]
    restricted = VectorStoreQuery(query_str="Moss", doc_ids=["dove.md"], similarity_top_k=5)
    assert store.query(restricted).ids == ["dove"]
    with pytest.raises(ParameterError, match="svm"):
        store.query(VectorStoreQuery(query_str="Moss", mode=VectorStoreQueryMode.SVM))
    with pytest.raises(ParameterError, match="query_str"):
        store.query(VectorStoreQuery(query_embedding=[1.0]))


def test_keeps_what_was_added(tmp_path: Path, nodes: list[TextNode]) -> None:
    store = HebbianVectorStore.open(tmp_path / "index")
    vectors = VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())
    vectors.insert_nodes(nodes)
    vectors.storage_context.persist(tmp_path / "storage")
    expected = [node.node_id for node in vectors.as_retriever().retrieve(QUESTION)]
    store.index.close()
    again = HebbianVectorStore.open(tmp_path / "index")
    reopened = VectorStoreIndex.from_vector_store(again, embed_model=WordEmbedding())
    assert [node.node_id for node in reopened.as_retriever().retrieve(QUESTION)] == expected
    again.index.close()


def test_an_index_in_memory_says_that_it_is_not_kept(
    store: HebbianVectorStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.persist("anywhere")
    assert "memory" in caplog.text


# -- under VectorStoreIndex ---------------------------------------------------------


def test_under_a_vector_store_index(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    store = HebbianVectorStore.open(":memory:", embed_model=model)
    vectors = VectorStoreIndex(
        nodes, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=model
    )
    assert len(model.embedded) == len(nodes)  # by LlamaIndex; not again by us
    assert vectors.as_retriever(similarity_top_k=2).retrieve(QUESTION)[0].node_id == "petrel"
    vectors.delete_ref_doc("petrel.md")
    vectors.insert(Document(text="The Petrel is now a house.", id_="house.md"))
    assert "petrel" not in store.index.ids()
    assert_exact(store)


async def test_vectors_are_used(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    retriever = HebbianRetriever.from_nodes(nodes, embed_model=model, similarity_top_k=3)
    assert len(model.embedded) == len(nodes)
    recalls: list[Any] = []
    index = retriever.index
    seen = index.recall

    def noting(*args: Any, **kwargs: Any) -> Any:
        recalls.append(kwargs.get("vector"))
        return seen(*args, **kwargs)

    index.recall = noting  # type: ignore[method-assign]
    index.arecall = lambda *a, **k: asyncio.to_thread(noting, *a, **k)  # type: ignore[assignment]
    from llama_index.core.schema import QueryBundle

    given = model._vector("porphyry quarry")
    retriever.retrieve(QueryBundle("Where?", embedding=given))
    retriever.retrieve(QueryBundle("Where?", custom_embedding_strs=["porphyry quarry"]))
    await retriever.aretrieve(QueryBundle("Where?", custom_embedding_strs=["porphyry quarry"]))
    await retriever.aretrieve("porphyry quarry")
    assert recalls == [pytest.approx(given)] * 4


# -- as the sink of a pipeline ------------------------------------------------------


def text_of(name: str, owner: str) -> str:
    return f"# {name}\n\nThe {name} was built by {owner} in Tessel Bay.\n\n{owner} kept bees.\n"


def documents(**owners: str) -> list[Document]:
    return [
        Document(id_=f"{name}.md", text=text_of(name.title(), owner), metadata={"file": name})
        for name, owner in owners.items()
    ]


def pipeline_into(store: HebbianVectorStore, **options: Any) -> IngestionPipeline:
    steps = [HebbianNodeParser(chunk_tokens=(1, 16)), TagExtractor(), SkipEmbedding()]
    return IngestionPipeline(
        transformations=options.pop("steps", steps),
        vector_store=store,
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        **options,
    )


@pytest.mark.parametrize("workers", [None, 2])
def test_pipeline_with_changed_and_deleted_documents(workers: int | None) -> None:
    store = HebbianVectorStore.open(":memory:")
    pipeline = pipeline_into(store)
    first = documents(petrel="Ida Moss", kestrel="Otto Brandt", linnet="Ida Moss")
    pipeline.run(documents=first, num_workers=workers)
    assert store.index.stats().documents == 3 if hasattr(store.index.stats(), "documents") else True
    before = store.index.ids()
    assert_exact(store)

    pipeline.run(documents=first, num_workers=workers)  # nothing new
    assert store.index.ids() == before

    pipeline.run(
        documents=documents(petrel="Ida Moss", kestrel="Anton Reve"), num_workers=workers
    )  # fmt: skip
    texts = " ".join(node.get_content() for node in store.get_nodes())
    assert "Anton Reve" in texts
    assert "Otto Brandt" not in texts
    assert "Linnet" not in texts
    assert_exact(store)


async def test_async_pipeline() -> None:
    store = HebbianVectorStore.open(":memory:")
    pipeline = pipeline_into(store)
    await pipeline.arun(documents=documents(petrel="Ida Moss", kestrel="Otto Brandt"))
    await pipeline.arun(documents=documents(petrel="Anton Reve"))
    assert {node.ref_doc_id for node in store.get_nodes()} == {"petrel.md"}
    assert_exact(store)


def test_pipeline_without_splitting() -> None:
    store = HebbianVectorStore.open(":memory:")
    pipeline = pipeline_into(store, steps=[SkipEmbedding()])
    pipeline.run(documents=documents(petrel="Ida Moss", kestrel="Otto Brandt"))
    pipeline.run(documents=documents(petrel="Anton Reve"))
    assert store.index.ids() == ["petrel.md"]
    assert "Anton Reve" in store.get_nodes()[0].get_content()
    assert_exact(store)


def test_cache_hit_fills_a_second_store(tmp_path: Path) -> None:
    calls = []

    class Noting(SentenceSplitter):
        def _parse_nodes(self, nodes: Any, **kwargs: Any) -> Any:
            calls.append(len(nodes))
            return super()._parse_nodes(nodes, **kwargs)

    steps = [HebbianNodeParser(parser=Noting(chunk_size=40, chunk_overlap=0)), TagExtractor(),
             WordEmbedding()]  # fmt: skip
    one, other = (
        HebbianVectorStore.open(":memory:", embed_model=WordEmbedding()) for _ in range(2)
    )
    pipeline = IngestionPipeline(transformations=steps, vector_store=one)
    pipeline.run(documents=documents(petrel="Ida Moss"))
    pipeline.vector_store = other
    pipeline.run(documents=documents(petrel="Ida Moss"))
    assert calls == [1]
    assert [n.model_dump() for n in one.get_nodes()] == [n.model_dump() for n in other.get_nodes()]
    assert same_graph(one.index, other.index)


# -- over another index -------------------------------------------------------------


def test_over_a_vector_store_index(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    vectors = VectorStoreIndex(nodes, embed_model=model)
    embedded = len(model.embedded)
    retriever = HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=2)
    assert [node.node_id for node in retriever.retrieve(QUESTION)] == ["petrel", "moss"]
    assert len(model.embedded) == embedded

    late = TextNode(id_="late", text=QUESTION)
    vectors.insert_nodes([late])
    assert "late" in [node.node_id for node in retriever.retrieve(QUESTION)]  # as the source had it
    assert "late" not in retriever.index.ids()
    retriever.refresh(vectors, [*nodes[2:], late])
    assert retriever.index.ids() == sorted(
        [*(node.node_id for node in nodes[2:]), "late"]
    )  # fmt: skip


def test_over_any_retriever(nodes: list[TextNode]) -> None:
    from llama_index.retrievers.bm25 import BM25Retriever

    source = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=12)
    retriever = HebbianRetriever.from_nodes(
        nodes, options=SearchOptions(source=source), similarity_top_k=2
    )
    assert [node.node_id for node in retriever.retrieve(QUESTION)] == ["petrel", "moss"]


def test_blank_and_endless_questions(nodes: list[TextNode]) -> None:
    retriever = HebbianRetriever.from_nodes(nodes)
    for blank in ("", " "):
        with pytest.raises(ParameterError, match="the query is empty; ask something"):
            retriever.retrieve(blank)
    assert retriever.retrieve("Petrel " * 20_000)
    retriever.similarity_top_k = 0
    with pytest.raises(ParameterError, match="similarity_top_k"):
        retriever.retrieve("Petrel")


def test_parents_of_a_hierarchy_are_kept_and_not_searched(tmp_path: Path) -> None:
    text = "The Petrel is a lugger. Ida Moss built the Petrel. " * 3 + "Bakers knead dough. " * 12
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[96, 32], chunk_overlap=0)
    nodes = parser([Document(id_="ships.md", text=text)])
    parents = [node.node_id for node in nodes if node.child_nodes]
    store = HebbianVectorStore.open(tmp_path / "i")
    assert len(store.add(nodes)) == len(nodes)
    assert store.index.stats().chunks == len(nodes) - len(parents)
    assert {node.node_id for node in store.get_nodes(parents)} == set(parents)
    store.close()
    store.close()
    again = HebbianVectorStore.open(tmp_path / "i")
    assert len(again.get_nodes(parents)) == len(parents)
    again.delete("ships.md")
    assert again.get_nodes(parents) == []
    again.close()


def test_nodes_that_differ(nodes: list[TextNode]) -> None:
    built = "The Petrel was built by Ida Moss"
    texts = [f"{built}.", f"{built}!", f"{built} !", "The Petrel was sold to a bishop."]
    store = HebbianVectorStore.open(":memory:")
    store.add([TextNode(id_=str(at), text=text) for at, text in enumerate(texts)])
    vectors = VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())
    retriever = vectors.as_retriever(
        similarity_top_k=2,
        vector_store_query_mode="mmr",
        vector_store_kwargs={"mmr_threshold": 0.3},
    )
    assert [node.node_id for node in retriever.retrieve("Who built the Petrel?")][1] == "3"
