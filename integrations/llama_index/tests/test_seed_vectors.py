"""Over a vector index, its vectors weigh what its search left out: hits are those of an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fakes import WordEmbedding
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from pydantic import PrivateAttr

from hebbgraph import ParameterError
from llama_index.retrievers.hebbgraph import HebbianRetriever, RecallBundle
from llama_index.retrievers.hebbgraph.options import SearchOptions

PLACES = ["Anwick", "Borve", "Crail", "Dornie", "Elgol", "Fyvie", "Garve", "Huna"]
METALS = ["brass", "tin", "iron", "lead", "zinc", "steel", "copper", "pewter"]
TEXTS = {
    f"{place}-{n}": text
    for place, metal in zip(PLACES, METALS, strict=True)
    for n, text in enumerate(
        (
            f"The ferry to {place} carries {metal} in summer.",
            f"{place} lies by the sea; its bell is of {metal}.",
            f"A keeper tends the lamp of {place} through winter storms.",
        )
    )
}
QUESTIONS = [
    "Where is a bell of copper?",
    "Who tends the lamp of Crail?",
    "What lies by the sea at Huna?",
]


class Bare(BasePydanticVectorStore):
    """Keeps no text and gives no vectors back, as many stores."""

    stores_text: bool = False
    _inner: SimpleVectorStore = PrivateAttr(default_factory=SimpleVectorStore)
    _client: Any = PrivateAttr(default=None)

    @property
    def client(self) -> Any:
        return self._client

    def add(self, nodes: Sequence[Any], **kwargs: Any) -> list[str]:
        return self._inner.add(list(nodes))

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        self._inner.delete(ref_doc_id)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        return self._inner.query(query)


class Collection:
    """As Chroma's: ``get(ids, include=...)``."""

    def __init__(self, held: dict[str, list[float]]) -> None:
        self._held = held

    def get(self, ids: list[str], include: list[str]) -> dict[str, Any]:
        assert include == ["embeddings"]
        found = [id_ for id_ in ids if id_ in self._held][::-1]
        return {"ids": found, "embeddings": np.array([self._held[id_] for id_ in found])}


def simple() -> BasePydanticVectorStore:
    return SimpleVectorStore()


def included() -> BasePydanticVectorStore:
    store = Bare()
    store._client = Collection(store._inner.data.embedding_dict)
    return store


def numbered() -> BasePydanticVectorStore:
    """As FAISS, which numbers vectors; the vector index maps nodes to the numbers."""

    class Numbered(Bare):
        def add(self, nodes: Sequence[Any], **kwargs: Any) -> list[str]:
            first = len(held)
            held.extend(node.get_embedding() for node in nodes)
            return [str(at) for at in range(first, len(held))]

        def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
            found = np.array(held) @ np.array(query.query_embedding)
            best = np.argsort(-found)[: query.similarity_top_k]
            return VectorStoreQueryResult(
                similarities=found[best].tolist(), ids=[str(at) for at in best]
            )

    held: list[list[float]] = []
    store = Numbered()
    store._client = SimpleNamespace(reconstruct=lambda number: np.array(held[number]))
    return store


def faiss() -> BasePydanticVectorStore:
    library = pytest.importorskip("faiss")
    module = pytest.importorskip("llama_index.vector_stores.faiss")
    store: BasePydanticVectorStore = module.FaissVectorStore(library.IndexFlatL2(64))
    return store


def chroma() -> BasePydanticVectorStore:
    library = pytest.importorskip("chromadb")
    module = pytest.importorskip("llama_index.vector_stores.chroma")
    client = library.EphemeralClient()
    if any(one.name == "places" for one in client.list_collections()):
        client.delete_collection("places")
    store: BasePydanticVectorStore = module.ChromaVectorStore(client.create_collection("places"))
    return store


def nodes() -> list[TextNode]:
    return [TextNode(id_=id_, text=text) for id_, text in TEXTS.items()]


def vectors_in(store: BasePydanticVectorStore, model: WordEmbedding) -> VectorStoreIndex:
    context = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes(), storage_context=context, embed_model=model)


def found(answer: list[NodeWithScore]) -> list[str]:
    """The best, whose scores stand apart: all else ties or nearly ties."""
    return [node.node_id for node in answer[:2]]


@pytest.mark.parametrize("make", [simple, included, numbered, faiss, chroma])
async def test_hits_are_those_of_an_index_with_the_same_model(
    make: Callable[[], BasePydanticVectorStore],
) -> None:
    model = WordEmbedding()
    alone = HebbianRetriever.from_nodes(nodes(), embed_model=WordEmbedding())
    over = HebbianRetriever.from_vector_store_index(
        vectors_in(make(), model), options=SearchOptions(seed_top_k=10)
    )
    for question in QUESTIONS:
        wanted = found(alone.retrieve(question))
        assert found(over.retrieve(question)) == wanted
        assert found(await over.aretrieve(question)) == wanted
        embedded = QueryBundle(question, embedding=np.array(model._vector(question)))
        assert found(over.retrieve(embedded)) == wanted
    assert len(model.embedded) == len(TEXTS)
    recalls = [recall.recall for recall in over._latest._entries]
    assert len(recalls) == 3 * len(QUESTIONS)
    assert not any(one.notes and "vectors" in one.notes[-1] for one in recalls)
    asked = RecallBundle("And who at Crail?", history=["Who tends the lamp of Huna?"])
    assert found(over.retrieve(asked))[0] == "Crail-2"


def test_a_store_that_gives_no_vectors_can_have_its_texts_embedded() -> None:
    model = WordEmbedding()
    vectors = vectors_in(Bare(), model)
    alone = HebbianRetriever.from_nodes(nodes(), embed_model=WordEmbedding())
    over = HebbianRetriever.from_vector_store_index(
        vectors, options=SearchOptions(seed_top_k=10, seed_vectors="embed")
    )
    for _ in range(2):
        for question in QUESTIONS:
            assert found(over.retrieve(question)) == found(alone.retrieve(question))
        assert len(model.embedded) == 2 * len(TEXTS)  # each once more
    plain = HebbianRetriever.from_vector_store_index(vectors, options=SearchOptions(seed_top_k=10))
    assert plain.retrieve(QUESTIONS[0])
    assert len(model.embedded) == 2 * len(TEXTS)
    with pytest.raises(ParameterError, match='or "embed"'):
        HebbianRetriever.from_vector_store_index(vectors, options={"seed_vectors": 7})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed_vectors", [None, "embed", lambda ids: {}])
def test_what_a_score_is_made_of_adds_up(seed_vectors: Any) -> None:
    vectors = vectors_in(SimpleVectorStore(), WordEmbedding())
    over = HebbianRetriever.from_vector_store_index(
        vectors, options=SearchOptions(seed_top_k=10, seed_vectors=seed_vectors)
    )
    for taught in (False, True):
        answer = over.retrieve(QUESTIONS[1])
        for node in answer:
            parts = over.why(node).causes.model_dump().values()
            assert sum(parts) == pytest.approx(node.score, abs=1e-9)
        if not taught:
            (latest,) = over._latest._entries
            over.index.reinforce(latest.recall, [answer[-1].node_id])
