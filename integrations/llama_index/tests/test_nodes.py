from __future__ import annotations

from datetime import date

import pytest
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

from hebbgraph import Chunk, HebbianIndex
from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node, node_to_chunk

RELATED = {
    NodeRelationship.SOURCE: RelatedNodeInfo(
        node_id="doc", metadata={"z": 1, "a": {"b": [1, 2]}}, hash="h", node_type="4"
    ),
    NodeRelationship.PREVIOUS: RelatedNodeInfo(node_id="before"),
    NodeRelationship.CHILD: [RelatedNodeInfo(node_id="c1"), RelatedNodeInfo(node_id="c2")],
}

NODES: list[BaseNode] = [
    TextNode(id_="plain", text="Built by Moss."),
    TextNode(
        id_="full",
        text="Built by Moss.",
        metadata={"z": 1, "a": 2.5, "nested": {"k": [None, True]}, "title": "Petrel"},
        excluded_embed_metadata_keys=["z"],
        excluded_llm_metadata_keys=["a"],
        metadata_template="{key}={value}",
        metadata_separator="; ",
        text_template="<{metadata_str}> {content}",
        start_char_idx=3,
        end_char_idx=17,
        mimetype="text/markdown",
        relationships=RELATED,
    ),
    Node(id_="node", text_resource=MediaResource(text="Built."), metadata={"a": "b"}),
    IndexNode(id_="index", text="All of Moss.", index_id="moss-index"),
    ImageNode(id_="image", text="A lugger", image_path="lugger.png"),
    Document(id_="document", text="A whole document.", metadata={"a": "b"}),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.node_id)
def test_round_trip_through_an_index(node: BaseNode) -> None:
    with HebbianIndex.open(":memory:") as index:
        HebbianVectorStore(index).add([node])
        (back,) = (chunk_to_node(chunk) for chunk in index.get([node.node_id]))
    assert type(back) is type(node)
    assert back.hash == node.hash
    assert back.model_dump() == node.model_dump()
    assert list(back.metadata) == list(node.metadata)


def test_round_trip_keeps_no_hidden_key() -> None:
    assert list(chunk_to_node(node_to_chunk(NODES[1])).metadata) == ["z", "a", "nested", "title"]
    assert node_to_chunk(NODES[1]).title == "Petrel"
    assert node_to_chunk(NODES[1]).document_id == "doc"


def test_what_json_has_no_word_for_is_kept_as_text() -> None:
    node = TextNode(text="x", metadata={"day": date(2024, 5, 1), "nan": float("nan"), "s": {1}})
    with HebbianIndex.open(":memory:") as index:
        HebbianRetriever(index).add([node])
        (back,) = (chunk_to_node(chunk) for chunk in index.get([node.node_id]))
    assert back.metadata == {"day": "2024-05-01", "s": [1]}  # NaN is a value that is missing


def test_characters_that_cannot_be_stored_become_spaces() -> None:
    assert node_to_chunk(TextNode(text="a\x00b\ud800c\td")).text == "a b c\td"


def test_chunks_of_others() -> None:
    chunk = Chunk(id="a", text="Built.", title="Petrel", document_id="d", metadata={"y": 1})
    node = chunk_to_node(chunk)
    assert node.metadata == {"y": 1, "title": "Petrel"}
    assert node.ref_doc_id == "d"
    node.metadata["y"] = 2
    assert chunk.metadata == {"y": 1}


def test_nodes_lead_to_their_objects(nodes: list[TextNode]) -> None:
    inner = HebbianRetriever.from_nodes(nodes, similarity_top_k=1)
    pointer = IndexNode(id_="p", text="All about ships and Petrels", index_id="ships", obj=inner)
    outer = HebbianRetriever.from_nodes([pointer], similarity_top_k=1)
    assert [node.node_id for node in outer.retrieve("Petrel")] == ["petrel"]


def test_metadata_that_is_embedded_is_searched() -> None:
    node = TextNode(
        id_="n",
        text="Two sets.",
        metadata={
            "title": "Keys",
            "thread": "Handover of the Graz flat",
            "section_summary": "Who brings what.",
            "file_path": "/home/ada/letters/boiler_room.md",
            "page_label": "3",
            "author": "Ida Moss",
        },
        excluded_embed_metadata_keys=["author"],
    )
    chunk = node_to_chunk(node)
    assert chunk.context == "Handover of the Graz flat\nWho brings what.\nboiler_room.md"
    assert chunk.text == "Two sets."
    node.excluded_embed_metadata_keys = list(node.metadata)
    with HebbianIndex.open(":memory:") as index:  # which would search the summary by itself
        HebbianRetriever(index).add([node])
        assert index.recall("Who brings what?").nothing_known


def test_links_are_read_from_the_metadata() -> None:
    metadata = {
        "file_path": "docs/a.md",
        "hebbgraph_addresses": ["docs/a.md#top", 5, " "],
        "hebbgraph_references": ["b.md#x"] * 2,
    }
    chunk = node_to_chunk(TextNode(id_="n", text="x", metadata=metadata))
    assert chunk.addresses == ("docs/a.md#top", "docs/a.md")
    assert chunk.references == ("b.md#x",)
    assert chunk_to_node(chunk).metadata == metadata
    assert node_to_chunk(TextNode(id_="my node", text="x")).addresses == ()


def test_fields_of_the_metadata_join_nodes() -> None:
    nodes = [
        TextNode(id_="a", text="Frost heaves.", metadata={"author": "Jo"}),
        TextNode(id_="b", text="Use little salt.", metadata={"author": ["jo", "Ann"]}),
        TextNode(id_="c", text="Nothing.", metadata={"author": "Ben"}),
    ]
    retriever = HebbianRetriever.from_nodes(nodes, similarity_top_k=2, edges=("author",))
    found = retriever.retrieve("When does frost heave?")
    assert [node.node.node_id for node in found] == ["a", "b"]


def test_metadata_of_no_known_kind_are_text_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Berth:
        def __str__(self) -> str:
            return "berth 7"

    nodes = [
        TextNode(id_=str(n), text="Owls hunt.", metadata={"at": Berth(), "on": date(2024, 5, 17)})
        for n in range(3)
    ]
    assert [node_to_chunk(one).metadata["at"] for one in nodes] == ["berth 7"] * 3
    (said,) = [record.getMessage() for record in caplog.records]
    assert "of type" in said
    assert "Berth are stored, filtered and returned as text" in said
