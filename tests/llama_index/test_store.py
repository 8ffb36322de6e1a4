"""HebbianVectorStore: the interface of a vector store, and pipelines that fill it."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    ExactMatchFilter,
    FilterCondition,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.retrievers.hebbgraph import (
    HebbianNodeParser,
    HebbianRetriever,
    HebbianVectorStore,
)
from llama_index.retrievers.hebbgraph.store import _MarkBare
from llama_models import QUESTION, WordEmbedding

from hebbgraph.errors import HebbgraphError, ParameterError

A = "AF3BE6C4-5F43-4D74-B075-6B0E07900DE8"
B = "7D9CD555-846C-445C-A9DD-F8924A01411D"
C = "452D24AB-F185-414C-A352-590B4B9EE51B"


def weighted() -> list[BaseNode]:
    """The nodes of LlamaIndex's own tests of its simple store."""
    rows = [
        (A, "lorem ipsum", [1.0, 0.0], "test-0", {"weight": 1.0, "rank": "a"}),
        (B, "lorem ipsum", [0.0, 1.0], "test-1", {"weight": 2.0, "rank": "c"}),
        (C, "lorem ipsum", [1.0, 1.0], "test-2", {"weight": 3.0, "rank": "b"}),
    ]
    return [
        TextNode(
            id_=id_,
            text=text,
            embedding=vector,
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
            metadata=metadata,
        )
        for id_, text, vector, document, metadata in rows
    ]


@pytest.fixture
def store() -> Any:
    with HebbianVectorStore(embed_model=MockEmbedding(embed_dim=2)) as made:
        made.add(weighted())
        yield made


def asked(store: HebbianVectorStore, **query: Any) -> list[str]:
    given = {"query_embedding": [1.0, 1.0], "similarity_top_k": 3, **query}
    return store.query(VectorStoreQuery(**given)).ids or []


# -- LlamaIndex's own tests of its simple store, adapted ----------------------------------


def test_query_without_filters(store: HebbianVectorStore) -> None:
    assert asked(store)[0] == C
    assert sorted(asked(store)) == sorted([A, B, C])
    assert asked(store, similarity_top_k=1) == [C]
    assert asked(store, query_embedding=[1.0, 0.1]) == [A, C, B]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (MetadataFilters(filters=[ExactMatchFilter(key="rank", value="a")]), [A]),
        (
            MetadataFilters(
                filters=[
                    ExactMatchFilter(key="rank", value="c"),
                    ExactMatchFilter(key="weight", value=2.0),
                ]
            ),
            [B],
        ),
        (
            MetadataFilters(
                filters=[
                    MetadataFilter(key="rank", value="a", operator="!="),  # type: ignore[arg-type]
                    MetadataFilter(key="weight", value=2.0, operator="<="),  # type: ignore[arg-type]
                ],
                condition=FilterCondition.AND,
            ),
            [B],
        ),
        (MetadataFilters(filters=[ExactMatchFilter(key="unknown", value="a")]), []),
    ],
)
def test_query_with_filters(
    store: HebbianVectorStore, filters: MetadataFilters, expected: list[str]
) -> None:
    assert asked(store, filters=filters) == expected


def test_query_with_ids_and_after_deleting(store: HebbianVectorStore) -> None:
    assert sorted(asked(store, node_ids=[A, B])) == sorted([A, B])
    assert asked(store, doc_ids=["test-1"]) == [B]
    store.delete_nodes([A])
    store.delete_nodes([], MetadataFilters(filters=[]))
    assert sorted(asked(store)) == sorted([B, C])
    store.delete("test-1")
    store.delete("unknown")
    assert asked(store) == [C]
    store.delete_nodes(filters=MetadataFilters(filters=[ExactMatchFilter(key="rank", value="b")]))
    assert store.get_nodes() == []
    store.add(weighted())
    store.clear()
    store.clear()
    assert store.get_nodes() == []


# -- the interface ------------------------------------------------------------------------


def test_nodes_by_id_and_in_order(store: HebbianVectorStore) -> None:
    assert [node.node_id for node in store.get_nodes()] == [A, B, C]
    assert [node.node_id for node in store.get_nodes([C, "unknown", A])] == [C, A]
    assert store.get_nodes([]) == []
    ranked = MetadataFilters(filters=[ExactMatchFilter(key="rank", value="a")])
    assert store.get_nodes(filters=ranked)[0].metadata == {"weight": 1.0, "rank": "a"}


def test_words_and_vectors_together(store: HebbianVectorStore) -> None:
    store.add([TextNode(id_="owl", text="Owls hunt voles.", embedding=[-1.0, 0.2])])
    assert "owl" in asked(store, query_str="owls", query_embedding=None)
    for mode in ("sparse", "text_search"):
        assert asked(store, query_str="owls", mode=VectorStoreQueryMode(mode))[0] == "owl"
    assert asked(store, query_str="", query_embedding=None) == []
    similarities = store.query(VectorStoreQuery(query_str="owls")).similarities or []
    assert [type(score) for score in similarities] == [float]


async def test_async_twins() -> None:
    store = HebbianVectorStore(embed_model=MockEmbedding(embed_dim=2))
    assert await store.async_add(weighted()) == [A, B, C]
    query = VectorStoreQuery(query_embedding=[1.0, 1.0], similarity_top_k=2)
    assert await store.aquery(query) == store.query(query)
    await store.adelete("test-0")
    await store.adelete_nodes([B])
    assert [node.node_id for node in await store.aget_nodes()] == [C]
    await store.aclear()
    assert store.get_nodes() == []
    store.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.delete(None), "delete takes ids, document_id= or a filter"),
        (lambda store: store.delete_nodes(), "delete_nodes takes node_ids or filters; clear()"),
        (lambda store: store.query(VectorStoreQuery()), "set query_str"),
        (lambda store: asked(store, mode=VectorStoreQueryMode.SVM), "no query mode"),
        (lambda store: asked(store, query_str="x", alpha=0.5), "alpha has no meaning here"),
        (lambda store: store.persist("x"), "in memory cannot be persisted; make it with path="),
        (lambda store: HebbianVectorStore(uri="x"), "takes no 'uri'; write path="),
    ],
)
def test_mistakes_are_named(store: HebbianVectorStore, call: Any, message: str) -> None:
    with pytest.raises(HebbgraphError, match=message):
        call(store)


def test_a_store_without_model_reads_no_embedding(caplog: pytest.LogCaptureFixture) -> None:
    with HebbianVectorStore() as store:
        store.add(weighted())
        assert "embeddings of nodes are left out: the index has no embed_model" in caplog.text
        with pytest.raises(ParameterError, match="query_embedding alone takes a store with embed_"):
            asked(store)


def test_what_is_longer_than_a_model_reads_is_embedded_in_parts() -> None:
    class Narrow(WordEmbedding):
        max_length: int = 16

    model = Narrow()
    with HebbianVectorStore(embed_model=model) as store:
        store.add([TextNode(id_="a", text="An owl hunts. " * 30), TextNode(id_="b", text="A bee.")])
        assert len(model.embedded) > 4
        long = TextNode(id_="c", text="A bee stings. " * 30, embedding=[1.0] * 64)
        n_before = len(model.embedded)
        store.add([long])
        assert len(model.embedded) == n_before  # an embedding that it carries is whole


def test_nothing_is_embedded_twice(tmp_path: Path, nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    carried = [node.model_copy(update={"embedding": [0.5] * 64}) for node in nodes[1:]]
    for _ in range(2):
        with HebbianVectorStore(path=tmp_path, embed_model=model) as store:
            store.add([nodes[0], *carried])
            store.persist("ignored")
            assert store.index.stats()["vectors"] == len(nodes)
    assert len(model.embedded) == 3  # a node, and the same words in two orders


def test_under_a_vector_store_index(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    with HebbianVectorStore(embed_model=model) as store:
        context = StorageContext.from_defaults(vector_store=store)
        index = VectorStoreIndex(nodes, storage_context=context, embed_model=model)
        found = index.as_retriever(similarity_top_k=3).retrieve(QUESTION)
        assert {result.node_id for result in found} >= {"petrel", "moss"}
        index.delete_nodes(["petrel"])
        index.insert(Document(text="The Petrel sank.", id_="end"))
        index.delete_ref_doc("end", delete_from_docstore=True)
        assert len(store.get_nodes()) == len(nodes) - 1


# -- pipelines ----------------------------------------------------------------------------


def pipeline(store: Any, *steps: Any, **options: Any) -> IngestionPipeline:
    steps = steps or (SentenceSplitter(chunk_size=64, chunk_overlap=0),)
    return IngestionPipeline(transformations=[*steps], vector_store=store, **options)


def paragraphs() -> str:
    names = ["Ida", "Bo", "Cy", "Dan", "Eve", "Flo"]
    return "\n\n".join(
        f"Paragraph {at} tells how {name} builds the vessel number {at} in the yard of the town, "
        "with oak and pine and much patience over the whole long winter of that year."
        for at, name in enumerate(names)
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_nodes_without_an_embedding_are_stored(is_async: bool) -> None:
    documents = [Document(id_="a.md", text=paragraphs())]
    with HebbianVectorStore() as store:
        pipe = pipeline(store, docstore=SimpleDocumentStore())
        nodes = asyncio.run(pipe.arun(documents=documents)) if is_async else pipe.run(
            documents=documents
        )  # fmt: skip
        assert [node.node_id for node in store.get_nodes()] == [node.node_id for node in nodes]
        assert {node.embedding for node in nodes} == {None}
        assert store.index.doctor() == []
        assert pipe.run(documents=documents) == []
        assert len(store.get_nodes()) == len(nodes) > 3


def test_a_pipeline_with_workers() -> None:
    documents = [Document(id_=f"{at}.md", text=paragraphs()) for at in range(3)]
    with HebbianVectorStore() as store:
        # Unpickling LlamaIndex's own splitters looks for a tokenizer on the network.
        pipe = pipeline(store, HebbianNodeParser())
        nodes = pipe.run(documents=documents, num_workers=2)
        assert len(store.get_nodes()) == len(nodes) == 3
        assert {node.embedding for node in nodes} == {None}


def test_a_pipeline_that_embeds(store: HebbianVectorStore) -> None:
    model = MockEmbedding(embed_dim=2)
    pipeline(store, SentenceSplitter(), model).run(documents=[Document(id_="d", text="Ice.")])
    assert store.index.stats()["vectors"] == 4


def test_other_stores_are_left_alone() -> None:
    other = SimpleVectorStore()
    HebbianVectorStore().close()
    pipe = pipeline(other)
    pipe.run(documents=[Document(text="Ice.")])
    assert (len(pipe.transformations), other.data.embedding_dict) == (1, {})


def test_the_step_of_a_pipeline_goes_to_workers_and_caches() -> None:
    step = pickle.loads(pickle.dumps(_MarkBare()))
    assert step.to_dict()["kind"] == "HebbgraphMarkBare"
    cache = IngestionCache()
    for _ in range(2):
        with HebbianVectorStore() as store:
            pipeline(store, cache=cache).run(documents=[Document(id_="a", text="Ice.")])
            assert len(store.get_nodes()) == 1


@pytest.mark.parametrize(
    "parser", [SentenceSplitter(chunk_size=64, chunk_overlap=0), HebbianNodeParser()]
)
def test_an_edit_keeps_what_was_learned(parser: Any) -> None:
    text, question = paragraphs(), "who is the shipwright of vessel 3?"
    with HebbianVectorStore() as store:
        pipe = pipeline(
            store,
            parser,
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS,
        )
        sections = "\n\n".join(f"# Part {part[10]}\n\n{part * 9}" for part in text.split("\n\n"))
        text = sections if isinstance(parser, HebbianNodeParser) else text
        pipe.run(documents=[Document(id_="a.md", text=text)])
        recall = store.index.recall(question, k=3)
        store.index.reinforce(recall, cited=[recall[0].id])
        pipe.run(documents=[Document(id_="a.md", text=text + "\n\n# End\n\nA new last part.")])
        hit = store.index.recall(question, k=3)[0]
        assert (hit.text, hit.score > hit.untaught) == (recall[0].text, True)


def test_strategies_of_ingestion() -> None:
    """LlamaIndex's own tests of upserts and deletes, with a vector store."""
    documents = [Document(text="one", id_="1"), Document(text="two", id_="2")]
    with HebbianVectorStore() as store:
        pipe = pipeline(
            store,
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        )
        assert len(pipe.run(documents=documents)) == 2
        documents = [Document(text="one, edited", id_="1"), Document(text="three", id_="3")]
        assert len(pipe.run(documents=documents)) == 2
        assert [node.get_content() for node in store.get_nodes()] == ["one, edited", "three"]
        with HebbianRetriever(store.index) as retriever:
            assert retriever.retrieve("edited")[0].node.ref_doc_id == "1"
