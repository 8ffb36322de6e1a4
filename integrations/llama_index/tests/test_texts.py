"""Texts that stay in the docstore or vector store that an application has already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes import QUESTION, WordEmbedding
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode

from hebbgraph import TextSourceError
from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore
from llama_index.retrievers.hebbgraph.texts import texts_of


@pytest.fixture
def vectors(nodes: list[TextNode]) -> VectorStoreIndex:
    return VectorStoreIndex(nodes, embed_model=WordEmbedding())


def found(retriever: HebbianRetriever) -> list[Any]:
    return [(node.node.model_dump(), node.score) for node in retriever.retrieve(QUESTION)]


def test_texts_stay_in_the_docstore(
    vectors: VectorStoreIndex, nodes: list[TextNode], tmp_path: Path
) -> None:
    kept, bare = (
        HebbianRetriever.from_vector_store_index(
            vectors, location=tmp_path / name, keep_text=keep_text, similarity_top_k=4
        )
        for name, keep_text in (("kept", True), ("bare", False))
    )
    assert found(bare) == found(kept)
    bare.index.close()
    files = [path.read_bytes() for path in (tmp_path / "bare").rglob("*") if path.is_file()]
    assert not any(node.text.encode() in content for node in nodes for content in files)


def test_changes_follow_by_refresh(vectors: VectorStoreIndex) -> None:
    bare = HebbianRetriever.from_vector_store_index(vectors, keep_text=False, similarity_top_k=4)
    vectors.insert_nodes([TextNode(id_="late", text=QUESTION)])
    bare.refresh(vectors)
    assert bare.retrieve(QUESTION)[0].node.get_content() == QUESTION
    vectors.delete_nodes(["late"], delete_from_docstore=True)
    assert "late" not in [node.node_id for node in bare.retrieve(QUESTION)]
    bare.refresh(vectors)
    assert not bare.index.holds(["late"])
    assert bare.index.maintenance.doctor().ok


def test_a_vector_store_that_has_the_texts(nodes: list[TextNode]) -> None:
    store = HebbianVectorStore.open(":memory:")
    context = StorageContext.from_defaults(vector_store=store)
    vectors = VectorStoreIndex(nodes, storage_context=context, embed_model=WordEmbedding())
    assert not vectors.docstore.docs
    texts = texts_of(vectors)
    assert texts([nodes[0].node_id, "never"]) == {nodes[0].node_id: nodes[0].text}
    bare = HebbianRetriever.from_vector_store_index(vectors, keep_text=False, similarity_top_k=2)
    assert [node.node_id for node in bare.retrieve(QUESTION)] == ["petrel", "moss"]


def test_a_store_that_fails_is_told(
    vectors: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = HebbianRetriever.from_vector_store_index(vectors, keep_text=False, similarity_top_k=2)

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("the docstore is down")

    monkeypatch.setattr(type(vectors.docstore), "get_nodes", fail)
    with pytest.raises(TextSourceError, match="the docstore is down"):
        bare.index.recall(QUESTION)
