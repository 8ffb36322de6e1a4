"""The parents of a hierarchy of nodes: kept for merging, not searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core.schema import BaseNode

from hebbgraph import HebbianIndex, Settings
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node, node_to_chunk
from llama_index.retrievers.hebbgraph.parsing import leaves

__all__ = ["Parents"]

_NAMESPACE = "{} (parents of a hierarchy)"


class Parents:
    """Keeps the parents of an index's nodes in a namespace of their own, opened when needed.

    In one graph with their children, they would make a tag of every phrase.

    Parameters
    ----------
    index : HebbianIndex
        That of the leaves.
    location : str or Path
        Where it was opened.
    """

    def __init__(self, index: HebbianIndex, location: str | Path) -> None:
        self._index = index
        self._location = location
        self._held: HebbianIndex | None = None
        if _NAMESPACE.format(index.namespace) in index.namespaces():
            self._open()

    def _open(self) -> HebbianIndex:
        if self._held is None:
            self._held = HebbianIndex.open(
                self._location,
                namespace=_NAMESPACE.format(self._index.namespace),
                settings=Settings(text_tags=False),
            )
        return self._held

    def put(self, nodes: Sequence[BaseNode], *, documents: Sequence[str] = ()) -> None:
        """Keep those of these nodes that are parents of others.

        Parameters
        ----------
        nodes : sequence of BaseNode
            A whole hierarchy.
        documents : sequence of str
            Ids of documents whose former parents go.
        """
        below = {node.node_id for node in leaves(nodes)}
        chunks = [node_to_chunk(node) for node in nodes if node.node_id not in below]
        if chunks or (documents and self._held is not None):
            if documents:
                self._open().refresh(chunks, document_ids=documents)
            else:
                self._open().add(chunks)

    def delete(self, document_id: str) -> None:
        """Forget the parents of a document."""
        if self._held is not None:
            self._held.delete(document_id=document_id)

    def delete_nodes(self, ids: Sequence[str]) -> None:
        """Forget parents by id; those that are not kept are passed over."""
        if self._held is not None and ids:
            self._held.delete(ids)

    def clear(self) -> None:
        """Forget all parents."""
        if self._held is not None:
            self.delete_nodes(self._held.ids())

    def get(self, ids: Sequence[str]) -> list[BaseNode]:
        """Return parents by id; those that are not kept are left out."""
        return [] if self._held is None else [chunk_to_node(one) for one in self._held.get(ids)]

    def close(self) -> None:
        """Close the namespace, if it was needed."""
        if self._held is not None:
            self._held.close()
