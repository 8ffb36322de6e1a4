"""The nodes of an index as a document store, for postprocessors that look nodes up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import fsspec
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.docstore.types import DEFAULT_PERSIST_PATH
from llama_index.core.storage.docstore.utils import doc_to_json
from llama_index.core.storage.kvstore.types import BaseKVStore

from hebbgraph import ParameterError
from hebbgraph.calling import in_thread
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore

__all__ = ["HebbianDocstore"]


class HebbianDocstore(KVDocumentStore):
    """Reads the nodes of a store and their parents; insert and delete through the index."""

    def __init__(self, store: HebbianVectorStore) -> None:
        super().__init__(_StoreReader(store))

    def persist(
        self,
        persist_path: str = DEFAULT_PERSIST_PATH,
        fs: fsspec.AbstractFileSystem | None = None,
    ) -> None:
        """Write an empty store: the index keeps its nodes itself."""
        SimpleDocumentStore().persist(persist_path, fs)


class _StoreReader(BaseKVStore):
    def __init__(self, store: HebbianVectorStore) -> None:
        self._store = store

    def get(self, key: str, collection: str = "data") -> dict[str, Any] | None:
        if collection.endswith("ref_doc_info"):
            key_ids = self._store.index.ids({"$document_id": key})
        else:
            key_ids = [key]
        return _values(self._store.get_nodes(key_ids), collection).get(key)

    def get_all(self, collection: str = "data") -> dict[str, dict[str, Any]]:
        return _values(self._store.get_nodes(), collection)

    def put(self, key: str, val: dict[str, Any], collection: str = "data") -> NoReturn:
        raise ParameterError("this docstore is read-only; insert and delete through the index")

    def delete(self, key: str, collection: str = "data") -> NoReturn:
        self.put(key, {}, collection)

    aget = in_thread(get)  # type: ignore[arg-type]  # self
    aget_all = in_thread(get_all)  # type: ignore[arg-type]  # self
    aput = in_thread(put)  # type: ignore[arg-type]  # self
    adelete = in_thread(delete)  # type: ignore[arg-type]  # self


def _values(nodes: Sequence[BaseNode], collection: str) -> dict[str, dict[str, Any]]:
    """Return the entries that a collection of a document store has for nodes."""
    if collection.endswith("ref_doc_info"):
        documents: dict[str, dict[str, Any]] = {}
        for node in nodes:
            entry = {"node_ids": [], "metadata": node.metadata}
            documents.setdefault(node.ref_doc_id or node.node_id, entry)["node_ids"].append(
                node.node_id
            )
        return documents
    if collection.endswith("metadata"):
        return {node.node_id: {"ref_doc_id": node.ref_doc_id} for node in nodes}
    return {node.node_id: doc_to_json(node) for node in nodes}
