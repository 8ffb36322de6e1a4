"""The nodes of an index as a document store, and the parents of a hierarchy beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import fsspec
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.docstore.types import DEFAULT_PERSIST_PATH
from llama_index.core.storage.docstore.utils import doc_to_json
from llama_index.core.storage.kvstore.types import BaseKVStore

from hebbgraph import HebbianIndex, ParameterError, Settings
from hebbgraph.calling import in_thread
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node, node_to_chunk
from llama_index.retrievers.hebbgraph.parsing import leaves

__all__ = ["HebbianDocstore", "Parents"]

_PARENTS_NAMESPACE = "{} (parents of a hierarchy)"


class Parents:
    """Stores the parents of an index's nodes in a separate namespace, opened when needed.

    In one graph with their children, they would make a tag of every phrase.

    Parameters
    ----------
    index : HebbianIndex
        The index of the leaves.
    location : str or Path
        Where it was opened.
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
        """Store those of these nodes that are parents of others.

        Parameters
        ----------
        nodes : sequence of BaseNode
            A whole hierarchy.
        documents : sequence of str
            Documents whose earlier parents are deleted.
        """
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


class HebbianDocstore(KVDocumentStore):
    """Reads the nodes of an index and their parents, for postprocessors that look nodes up.

    Insert and delete through the index.
    """

    def __init__(self, index: HebbianIndex, parents: Parents) -> None:
        super().__init__(_IndexKVStore(index, parents))

    def persist(
        self,
        persist_path: str = DEFAULT_PERSIST_PATH,
        fs: fsspec.AbstractFileSystem | None = None,
    ) -> None:
        """Write an empty store: the index keeps its nodes itself."""
        SimpleDocumentStore().persist(persist_path, fs)


class _IndexKVStore(BaseKVStore):
    def __init__(self, index: HebbianIndex, parents: Parents) -> None:
        self._index = index
        self._parents = parents

    def get(self, key: str, collection: str = "data") -> dict[str, Any] | None:
        if collection.endswith("ref_doc_info"):
            if not (ids := self._index.ids({"$document_id": key})):
                return None
            metadata = chunk_to_node(self._index.get(ids[:1])[0]).metadata
            return {"node_ids": ids, "metadata": metadata}
        nodes = [*map(chunk_to_node, self._index.get([key]))] or self._parents.get([key])
        if not nodes:
            return None
        if collection.endswith("metadata"):
            return {"ref_doc_id": nodes[0].ref_doc_id}
        return doc_to_json(nodes[0])

    def get_all(self, collection: str = "data") -> dict[str, dict[str, Any]]:
        keys = self._index.ids()
        if collection.endswith("ref_doc_info"):
            keys = sorted({chunk.document_id or chunk.id for chunk in self._index.get(keys)})
        return {key: value for key in keys if (value := self.get(key, collection)) is not None}

    def put(self, key: str, val: dict[str, Any], collection: str = "data") -> NoReturn:
        raise ParameterError("this docstore is read-only; insert and delete through the index")

    def delete(self, key: str, collection: str = "data") -> NoReturn:
        self.put(key, {}, collection)

    aget = in_thread(get)  # type: ignore[arg-type]  # self
    aget_all = in_thread(get_all)  # type: ignore[arg-type]  # self
    aput = in_thread(put)  # type: ignore[arg-type]  # self
    adelete = in_thread(delete)  # type: ignore[arg-type]  # self
