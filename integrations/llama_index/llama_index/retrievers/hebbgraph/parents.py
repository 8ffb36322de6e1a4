"""The parents of a hierarchy of nodes, stored beside the index of the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core.schema import BaseNode

from hebbgraph import HebbianIndex, Settings
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node, node_to_chunk
from llama_index.retrievers.hebbgraph.parsing import leaves

__all__ = ["Parents"]

_PARENTS_NAMESPACE = "{} (parents of a hierarchy)"


class Parents:
    """Stores the parents of an index's nodes in a separate namespace, opened when needed.

    In one graph with their children, they would make a tag of every phrase.
    """

    def __init__(self, index: HebbianIndex, location: str | Path) -> None:
        self._location = location
        self._namespace = _PARENTS_NAMESPACE.format(index.namespace)
        self._opened: HebbianIndex | None = None
        if self._namespace in index.namespaces():
            self._open()

    def _open(self) -> HebbianIndex:
        if self._opened is None:
            self._opened = HebbianIndex.open(
                self._location, namespace=self._namespace, settings=Settings(text_tags=False)
            )
        return self._opened

    def put(self, nodes: Sequence[BaseNode], *, documents: Sequence[str] = ()) -> None:
        """Store the parents in a hierarchy of nodes; delete earlier ones of ``documents``."""
        leaf_ids = {node.node_id for node in leaves(nodes)}
        chunks = [node_to_chunk(node) for node in nodes if node.node_id not in leaf_ids]
        if documents and (chunks or self._opened is not None):
            self._open().refresh(chunks, document_ids=documents)
        elif chunks:
            self._open().add(chunks)

    def delete(self, ids: Sequence[str] = (), *, document_id: str | None = None) -> None:
        """Delete parents by id, or those of a document; absent ones are ignored."""
        if self._opened is not None and (ids or document_id is not None):
            self._opened.delete(ids or None, document_id=document_id)

    def clear(self) -> None:
        """Delete all parents."""
        if self._opened is not None:
            self.delete(self._opened.ids())

    def get(self, ids: Sequence[str]) -> list[BaseNode]:
        """Return parents by id; absent ones are left out."""
        return [] if self._opened is None else list(map(chunk_to_node, self._opened.get(ids)))

    def close(self) -> None:
        """Close the namespace if it was opened."""
        if self._opened is not None:
            self._opened.close()
