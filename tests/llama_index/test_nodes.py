"""Nodes come back as they were stored, or are refused by name."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    IndexNode,
    MediaResource,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore
from llama_index.retrievers.hebbgraph.nodes import to_chunk, to_node

from hebbgraph import HebbianIndex
from hebbgraph.errors import InvalidChunkError, ParameterError

METADATA: dict[str, Any] = {
    "datetime": datetime(2024, 1, 1, 5),
    "zone": datetime(2024, 1, 1, 5, tzinfo=UTC),
    "date": date(2024, 1, 1),
    "set": {1, 2},
    "tuple": (1, ("a", {"b": {3}})),
    "list": [True, 1, None, [2.5]],
    "object": {"name": "Ida", "born": date(1840, 1, 1), 3: "three"},
}
#: As LlamaIndex's own stores return them.
WRITTEN = {
    "datetime": "2024-01-01T05:00:00",
    "zone": "2024-01-01T05:00:00Z",
    "date": "2024-01-01",
    "set": [1, 2],
    "tuple": [1, ["a", {"b": [3]}]],
    "list": [True, 1, None, [2.5]],
    "object": {"name": "Ida", "born": "1840-01-01", "3": "three"},
}


def stored(node: BaseNode) -> BaseNode:
    with HebbianVectorStore() as store:
        store.add([node])
        (found,) = store.get_nodes()
        return found


@pytest.mark.parametrize(
    "node",
    [
        TextNode(text="Ice", start_char_idx=3, excluded_llm_metadata_keys=["a"]),
        Document(text="Ice", metadata={"a": 1}, metadata_template="{key} = {value}"),
        IndexNode(text="Ice", index_id="other"),
        ImageNode(text="Ice", image_path="a.png"),
        Node(
            text_resource=MediaResource(text="Ice"), image_resource=MediaResource(url="http://a/b")
        ),
        TextNode(
            text="Ice",
            relationships={
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d", metadata={"a": 1}, hash="h"),
                NodeRelationship.CHILD: [RelatedNodeInfo(node_id="c1")],
            },
        ),
        TextNode(text="Ice", metadata=WRITTEN),
        TextNode(text="Ice", metadata={"hebbgraph": "mine", "_llama_index": {"mine": ["too"]}}),
    ],
    ids=lambda node: f"{type(node).__name__} {[*node.metadata][:2]}",
)
def test_a_node_comes_back_as_it_was(node: BaseNode) -> None:
    before = node.model_copy(deep=True)
    found = stored(node)
    assert (type(found), found, found.hash) == (type(node), node, node.hash)
    assert node == before


def test_values_that_json_lacks_come_back_as_in_other_stores() -> None:
    node = TextNode(text="Ice", metadata=METADATA)
    assert stored(node).metadata == WRITTEN
    kept = node_to_metadata_dict(node)
    assert {name: kept[name] for name in WRITTEN} == WRITTEN
    with HebbianVectorStore() as store:
        store.add([node])
        where = {"zone": {"$lt": "2025"}, "tuple": {"$contains": 1}, "object.born": "1840-01-01"}
        assert len(store.index.ids(where)) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_cannot_hold_are_refused_by_name(value: float) -> None:
    nodes = [TextNode(text="Ice"), TextNode(text="Ice", metadata={"a": {"rank": [1.0, value]}})]
    with pytest.raises(InvalidChunkError, match=r"nodes\[1\]: metadata\['a'\] is {'rank': "):
        HebbianRetriever.from_nodes(nodes)


def test_what_would_be_lost_is_refused_by_name() -> None:
    class Page(TextNode):
        extra: str = "default"

    class Renamed(TextNode):
        """Without fields of its own, it comes back as its base."""

    with pytest.raises(InvalidChunkError, match="a Page has the field 'extra', which no TextNode"):
        HebbianRetriever.from_nodes([Page(text="Ice", extra="keep me")])
    with pytest.raises(
        InvalidChunkError, match=r"metadata\['f'\] is .*JSON cannot hold a function"
    ):
        HebbianRetriever.from_nodes([TextNode(text="Ice", metadata={"f": stored})])
    assert type(stored(Renamed(text="Ice"))) is TextNode
    with pytest.raises(ParameterError, match="nodes is a list of nodes, got str in it"):
        HebbianRetriever.from_nodes(["Ice"])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="nodes is a list of nodes, got TextNode"):
        HebbianRetriever.from_nodes(TextNode(text="Ice"))  # type: ignore[arg-type]


def test_chunks_from_elsewhere_become_nodes(memory: HebbianIndex) -> None:
    other = {"id": "b", "text": "Salt", "metadata": {"_llama_index": {"node": 3}}}
    memory.add([{"id": "a", "text": "Ice", "title": "On ice", "document_id": "ice.md"}, other])
    assert to_node(memory.get("b")[0]).get_content() == "Salt"
    node = to_node(memory.get("a")[0])
    assert (node.node_id, node.metadata, node.ref_doc_id) == ("a", {"title": "On ice"}, "ice.md")


def test_what_the_index_reads_of_metadata() -> None:
    given = {"title": " On ice ", "tags": ["cold", 3, ""], "references": ("salt.md",)}
    chunk = to_chunk(TextNode(text="Ice", metadata=given))
    assert (chunk.title, chunk.tags, chunk.references) == ("On ice", ("cold",), ("salt.md",))


def test_blank_nodes_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with HebbianRetriever.from_nodes([TextNode(text=" "), TextNode(text="Ice")]) as retriever:
        assert retriever.index.stats()["chunks"] == 1
    assert "1 of 2 nodes have no text and were left out" in caplog.text


@pytest.mark.parametrize("metadata", [{}, *({name: METADATA[name]} for name in METADATA)])
def test_fusion_knows_the_nodes_of_others(metadata: dict[str, Any]) -> None:
    def nodes() -> list[BaseNode]:
        texts = ("The Petrel. " * (8 - at) + "Other words follow here. " * at for at in range(6))
        return [
            TextNode(id_=str(at), text=text, metadata=dict(metadata))
            for at, text in enumerate(texts)
        ]

    words = BM25Retriever.from_defaults(nodes=nodes(), similarity_top_k=6)
    with HebbianRetriever.from_nodes(nodes(), similarity_top_k=6) as retriever:
        fused = QueryFusionRetriever(
            [retriever, words],
            num_queries=1,
            mode="reciprocal_rerank",  # type: ignore[arg-type]
            similarity_top_k=6,
            use_async=False,
            llm=MockLLM(),
        ).retrieve("about the Petrel")
    assert len({result.node_id for result in fused}) == len(fused) == 6
    assert fused[0].score == pytest.approx(2 / 60)
