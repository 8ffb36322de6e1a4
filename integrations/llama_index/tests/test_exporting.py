"""Into a property graph: chunks, tags, and the edges between them."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.schema import TextNode

from hebbgraph import ParameterError
from llama_index.retrievers.hebbgraph import HebbianRetriever
from llama_index.retrievers.hebbgraph.exporting import export_property_graph


def test_chunks_and_tags_are_nodes_and_what_joins_them_relations(nodes: list[TextNode]) -> None:
    index, store = HebbianRetriever.from_nodes(nodes).index, SimplePropertyGraphStore()
    n_nodes, n_relations = export_property_graph(index, store, min_weight=1)
    assert n_nodes == len(store.graph.nodes) == len(nodes) + index.stats().tags
    triplets = {(one.id, rel.label, other.id) for one, rel, other in store.graph.get_triplets()}
    assert len(triplets) == n_relations
    assert {
        ("petrel", "TITLED", "petrel (tag)"),  # a chunk has that id
        ("petrel", "MENTIONS", "ida moss"),
        ("moss", "TITLED", "ida moss"),
        ("ida moss", "CO_OCCUR", "petrel (tag)"),
    } <= triplets
    labels = {one.label for one in store.graph.get_all_nodes()}
    assert labels == {"text_chunk", "tag", "address"}
    (back,) = store.get_llama_nodes(["moss"])
    assert back.get_content() == nodes[1].text
    assert back.metadata["title"] == "Ida Moss"


def test_what_is_no_store_is_refused(nodes: list[TextNode]) -> None:
    store: Any = {}
    with pytest.raises(ParameterError, match="store is a PropertyGraphStore, got dict"):
        export_property_graph(HebbianRetriever.from_nodes(nodes).index, store)
