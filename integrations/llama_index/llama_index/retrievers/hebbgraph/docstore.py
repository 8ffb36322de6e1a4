"""The nodes of an index as a document store, for postprocessors that look nodes up."""

from __future__ import annotations

from typing import Any, NoReturn

import fsspec
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.docstore.types import DEFAULT_PERSIST_PATH
from llama_index.core.storage.docstore.utils import doc_to_json
from llama_index.core.storage.kvstore.types import BaseKVStore

from hebbgraph import ParameterError
from hebbgraph.calling import in_thread
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node
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
        index = self._store.index
        if collection.endswith("ref_doc_info"):
            if not (ids := index.ids({"$document_id": key})):
                return None
            return {"node_ids": ids, "metadata": chunk_to_node(index.get(ids[:1])[0]).metadata}
        for node in self._store.get_nodes([key]):
            is_metadata = collection.endswith("metadata")
            return {"ref_doc_id": node.ref_doc_id} if is_metadata else doc_to_json(node)
        return None

    def get_all(self, collection: str = "data") -> dict[str, dict[str, Any]]:
        index = self._store.index
        keys = index.ids()
        if collection.endswith("ref_doc_info"):
            keys = sorted({chunk.document_id or chunk.id for chunk in index.get(keys)})
        return {key: value for key in keys if (value := self.get(key, collection)) is not None}

    def put(self, key: str, val: dict[str, Any], collection: str = "data") -> NoReturn:
        raise ParameterError("this docstore is read-only; insert and delete through the index")

    def delete(self, key: str, collection: str = "data") -> NoReturn:
        self.put(key, {}, collection)

    aget = in_thread(get)  # type: ignore[arg-type]  # self
    aget_all = in_thread(get_all)  # type: ignore[arg-type]  # self
    aput = in_thread(put)  # type: ignore[arg-type]  # self
    adelete = in_thread(delete)  # type: ignore[arg-type]  # self
