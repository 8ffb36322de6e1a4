"""Nodes into an index: adding, and mirroring another index."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode

from hebbgraph import AddReport, Chunk, HebbianIndex, ParameterError
from hebbgraph.embedders import passage_text
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.nodes import node_to_chunk

__all__ = ["add_nodes", "mirror"]

logger = logging.getLogger(__name__)


def add_nodes(
    index: HebbianIndex, nodes: Sequence[BaseNode], *, show_progress: bool = False
) -> AddReport:
    """Add nodes; of several with one id, the last counts. Embeddings they carry are used."""
    by_id: dict[str, tuple[Chunk, BaseNode]] = {}
    for node in nodes:
        chunk = node_to_chunk(node)
        by_id[chunk.id] = chunk, node
    vectors = {
        passage_text(chunk): node.embedding for chunk, node in by_id.values() if node.embedding
    }
    with LlamaIndexEmbedder.given(vectors):
        return index.add([chunk for chunk, _ in by_id.values()], show_progress=show_progress)


def mirror(
    index: HebbianIndex, vector_index: VectorStoreIndex, nodes: Sequence[BaseNode] | None = None
) -> None:
    """Make an index hold the nodes of a vector index, and no others."""
    wanted = list(nodes) if nodes is not None else _nodes_of(vector_index)
    add_nodes(index, wanted)
    ids = {node.node_id for node in wanted}
    if gone := [id_ for id_ in index.ids() if id_ not in ids]:
        index.delete(gone)


def _nodes_of(vector_index: VectorStoreIndex) -> list[BaseNode]:
    docstore = list(vector_index.docstore.docs.values())
    if docstore:
        return docstore
    try:
        nodes = vector_index.vector_store.get_nodes(None)
    except (NotImplementedError, AttributeError, TypeError, ValueError) as error:
        raise ParameterError(
            f"{type(vector_index.vector_store).__name__} cannot list its nodes; "
            "pass them as nodes=[...]"
        ) from error
    return list(nodes)
