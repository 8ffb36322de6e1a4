from __future__ import annotations

from typing import Any

import pytest
from hebbgraph import ParameterError
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index

from langchain_hebbgraph import HebbianVectorStore

QUERY = "Where was the builder of the Petrel born?"


@pytest.fixture
def store(documents: list[Document]) -> HebbianVectorStore:
    store = HebbianVectorStore()
    store.add_documents(documents)
    return store


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


async def test_every_search_has_its_twin(store: HebbianVectorStore) -> None:
    found = store.similarity_search(QUERY, k=3)
    assert len(found) == 3
    assert await store.asimilarity_search(QUERY, k=3) == found
    for kind in ("similarity", "mmr"):
        assert store.search(QUERY, kind) == await store.asearch(QUERY, kind)
    scored = store.similarity_search_with_score(QUERY, k=3)
    assert [document for document, _ in scored] == found
    assert await store.asimilarity_search_with_score(QUERY, k=3) == scored
    relevant = store.similarity_search_with_relevance_scores(QUERY, k=8)
    assert relevant == await store.asimilarity_search_with_relevance_scores(QUERY, k=8)
    assert all(0 <= score <= 1 for _, score in relevant)
    above = store.similarity_search_with_relevance_scores(QUERY, k=8, score_threshold=0.3)
    assert above == [pair for pair in relevant if pair[1] >= 0.3]
    assert 0 < len(above) < 8
    threshold = {"k": 8, "score_threshold": 0.3}
    assert store.search(QUERY, "similarity_score_threshold", **threshold) == [
        document for document, _ in above
    ]
    assert store.get_by_ids(["moss", "none"]) == await store.aget_by_ids(["moss", "none"])


async def test_by_vector() -> None:
    embedding = DeterministicFakeEmbedding(size=16)
    store = HebbianVectorStore.from_texts(["one", "two", "three"], embedding, ids=["1", "2", "3"])
    vector = embedding.embed_query("two")
    assert ids(store.similarity_search_by_vector(vector, k=1)) == ["2"]
    assert ids(await store.asimilarity_search_by_vector(vector, k=1)) == ["2"]
    assert ids(store.max_marginal_relevance_search_by_vector(vector, k=1)) == ["2"]
    assert ids(await store.amax_marginal_relevance_search_by_vector(vector, k=1)) == ["2"]


def test_filters_and_strategies(store: HebbianVectorStore) -> None:
    found = store.similarity_search(QUERY, filter={"n": {"$in": [4, 7]}})
    assert set(ids(found)) == {"lamp", "bread"}
    assert ids(store.similarity_search(QUERY, filter=lambda document: document.id == "ash")) == [
        "ash"
    ]
    assert ids(store.similarity_search("Petrel", 1, strategy="neighbourhood")) == ["petrel"]
    with pytest.raises(ParameterError, match="where"):
        store.similarity_search(QUERY, where={"n": 1})


def test_mmr_passes_over_duplicates() -> None:
    text = "The Petrel was built by Ida Moss in the yard at Dunmore"
    store = HebbianVectorStore.from_texts(
        [text, f"{text}.", f"{text}!", "The Petrel sank in a storm."], ids=list("abcd")
    )
    found = ids(store.max_marginal_relevance_search("Petrel built Dunmore", k=2, lambda_mult=0.2))
    assert "d" in found
    assert "d" not in ids(store.similarity_search("Petrel built Dunmore", k=2))
    alike = store.max_marginal_relevance_search("Petrel built Dunmore", k=2, lambda_mult=1.0)
    assert alike == store.similarity_search("Petrel built Dunmore", k=2)
    assert store.max_marginal_relevance_search("nothing", k=0 + 1, fetch_k=1)
    for odd in ({"lambda_mult": 2.0}, {"lambda_mult": "0.5"}, {"fetch_k": 0}):
        with pytest.raises(ParameterError, match=next(iter(odd))):
            store.max_marginal_relevance_search("nothing", **odd)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "count"),
    [
        ({}, 4),
        ({"search_kwargs": {"k": 2, "filter": {"n": {"$lt": 4}}}}, 2),
        ({"search_type": "mmr", "search_kwargs": {"k": 3, "fetch_k": 5}}, 3),
        (
            {
                "search_type": "similarity_score_threshold",
                "search_kwargs": {"score_threshold": 0.37},
            },
            2,
        ),
    ],
)
async def test_as_retriever(store: HebbianVectorStore, how: dict[str, Any], count: int) -> None:
    retriever = store.as_retriever(**how)
    assert len(retriever.invoke(QUERY)) == count
    assert retriever.invoke(QUERY) == await retriever.ainvoke(QUERY)
    assert len(retriever.invoke(QUERY, k=1)) == 1
    assert retriever.tags == ["HebbianVectorStore"]


def test_as_retriever_checks_its_arguments(store: HebbianVectorStore) -> None:
    with pytest.raises(ValueError, match="search_type"):
        store.as_retriever(search_type="best")
    with pytest.raises(ValueError, match="score_threshold"):
        store.as_retriever(search_type="similarity_score_threshold")


async def test_from_and_deleting(documents: list[Document]) -> None:
    embedding = DeterministicFakeEmbedding(size=8)
    store = HebbianVectorStore.from_documents(documents, embedding)
    other = await HebbianVectorStore.afrom_texts(["x"], embedding, [{"source": "a.md"}], ids=["x"])
    assert (store.embeddings, other.embeddings) == (embedding, embedding)
    assert store.get_by_ids(["moss"])[0] == documents[1]
    assert store.delete(["moss", "nothing"])
    assert store.get_by_ids(["moss"]) == []
    assert await other.adelete(document_id="a.md")
    assert other.get_by_ids(["x"]) == []
    assert store.delete()  # all, as the contract has it
    assert store.similarity_search("Who built the Petrel?") == []


def test_ids_are_stable_and_the_last_of_a_batch_counts() -> None:
    store = HebbianVectorStore()
    (first,) = store.add_texts(["x"], [{"n": 1}])
    (again,) = store.add_texts(["x"], [{"n": 1}])
    assert first == again
    assert store.add_documents([Document("old", id="i"), Document("new", id="i")]) == ["i", "i"]
    assert store.get_by_ids(["i"])[0].page_content == "new"
    assert store.add_documents([Document("y", id="own"), Document("z")], ids=["given", None])[
        0
    ] == ("given")


# -- LangChain's indexing API -------------------------------------------------------


def pages(**texts: str) -> list[Document]:
    return [
        Document(text, metadata={"source": f"{name}.md", "title": name})
        for name, text in texts.items()
    ]


def test_index_adds_updates_and_cleans_up() -> None:
    store, records = HebbianVectorStore(), InMemoryRecordManager("test")
    records.create_schema()

    def run(documents: list[Document], cleanup: Any = "full") -> dict[str, int]:
        options: dict[str, Any] = {"key_encoder": "sha256", "source_id_key": "source"}
        return dict(index(documents, records, store, cleanup=cleanup, **options))

    first = pages(one="Owls hunt at night.", two="Bread rises.", three="Ships sail.")
    assert run(first)["num_added"] == 3
    assert run(first) == {"num_added": 0, "num_updated": 0, "num_skipped": 3, "num_deleted": 0}
    changed = pages(one="Owls hunt at dusk.", two="Bread rises.")
    assert run(changed) == {"num_added": 1, "num_updated": 0, "num_skipped": 1, "num_deleted": 2}
    assert store.index.stats().chunks == 2
    assert store.similarity_search("owls", k=1)[0].page_content == "Owls hunt at dusk."
    more = pages(two="Bread rises slowly.")
    assert run(more, "incremental")["num_deleted"] == 1
    assert run([])["num_deleted"] == 2
    assert store.index.stats().chunks == 0


async def test_aindex() -> None:
    store, records = HebbianVectorStore(), InMemoryRecordManager("test")
    await records.acreate_schema()
    options: dict[str, Any] = {"key_encoder": "sha256", "source_id_key": "source"}
    first = pages(one="Owls hunt at night.", two="Bread rises.")
    added = await aindex(first, records, store, cleanup="full", **options)
    gone = await aindex(first[:1], records, store, cleanup="full", **options)
    assert (added["num_added"], gone["num_deleted"], store.index.stats().chunks) == (2, 1, 1)
