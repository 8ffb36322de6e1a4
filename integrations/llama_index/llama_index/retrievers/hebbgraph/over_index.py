"""A vector index that people have, beneath an index: it finds seeds, and it knows what is true."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core import QueryBundle, VectorStoreIndex
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from hebbgraph import AddReport, Chunk, HebbianIndex, Hit, Recall
from hebbgraph.errors import ParameterError
from hebbgraph.records import text_digest
from llama_index.retrievers.hebbgraph.nodes import listed, text_of, to_chunk

__all__ = ["MARGIN", "IndexBeneath", "renewed"]

logger = logging.getLogger(__name__)

MARGIN = 10  # hits beyond k, in place of those whose original is gone
_FIELDS = ("title", "text", "metadata", "document_id")


@dataclass(frozen=True)
class IndexBeneath:
    """A ``VectorStoreIndex`` beneath an index of copies; ``kwargs`` go to its retriever."""

    vector_index: VectorStoreIndex
    kwargs: Mapping[str, Any]

    def search(self, bundle: QueryBundle) -> list[tuple[str, float]]:
        """Return the ids of what it finds, 50 by default, with scores."""
        retriever = self.vector_index.as_retriever(**{"similarity_top_k": 50, **self.kwargs})
        return [(found.node.node_id, found.score or 0.0) for found in retriever.retrieve(bundle)]

    @property
    def is_readable(self) -> bool:
        """Whether nodes can be read by their ids in one call."""
        store: Any = self.vector_index.vector_store
        return not store.stores_text or type(store).get_nodes != BasePydanticVectorStore.get_nodes

    def read(self, ids: Sequence[str] | None = None) -> dict[str, BaseNode]:
        """Return the nodes of these ids that it holds now, or all, if it can list them."""
        store: Any = self.vector_index.vector_store
        if not store.stores_text:  # a docstore keeps what was deleted
            listed_there = self.vector_index.index_struct.nodes_dict.values()
            is_simple = isinstance(store, SimpleVectorStore)
            current = set(store.data.embedding_dict if is_simple else listed_there)
            wanted = sorted(current if ids is None else current.intersection(ids))
            nodes = self.vector_index.docstore.get_nodes(wanted, raise_error=False)
            return {node.node_id: node for node in nodes}
        try:
            return {node.node_id: node for node in store.get_nodes(ids)}
        except Exception as error:
            if ids is not None:
                raise
            raise ParameterError("its nodes cannot be listed; call refresh(nodes)") from error

    def refresh(self, index: HebbianIndex, nodes: Sequence[BaseNode] | None = None) -> AddReport:
        """Update an index to what the vector index holds now."""
        held = self.read() if nodes is None else {node.node_id: node for node in listed(nodes)}
        report = index.add(_chunk(node) for node in held.values() if text_of(node).strip())
        gone = index.delete(sorted(set(index.ids()) - held.keys()))
        resting = report.resting + gone.resting
        return report.model_copy(update={"deleted": gone.deleted, "resting": resting})


def renewed(recall: Recall, held: Mapping[str, BaseNode], k: int, *, is_filtered: bool) -> Recall:
    """Return a recall's hits as the vector index holds them: what is gone is left out.

    Where a filter is in force, so are hits whose metadata changed: they may not pass any more.
    """
    hits = list[Hit]()
    for hit in recall:
        chunk = _chunk(held[hit.id]) if hit.id in held else None
        if chunk is not None and not (is_filtered and chunk.metadata != hit.metadata):
            now = {name: getattr(chunk, name) for name in _FIELDS}
            now |= {"rank": len(hits) + 1, "digest": text_digest(chunk.title, chunk.text)}
            hits.append(hit.model_copy(update=now))
    if n_gone := len(recall) - len(hits):
        logger.warning("hits that are gone from the vector index: %d; call refresh()", n_gone)
    return recall.model_copy(update={"hits": tuple(hits[:k])})


def _chunk(node: BaseNode) -> Chunk:
    """Return a copy of a node under its own id, which the vector index keeps."""
    return to_chunk(node).model_copy(update={"id": node.node_id})
