"""An index read as a document store, for postprocessors that look up neighbours and parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import fsspec
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.docstore.types import DEFAULT_PERSIST_PATH
from llama_index.core.storage.docstore.utils import doc_to_json
from llama_index.core.storage.kvstore.types import BaseKVStore

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.calling import in_thread
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node

__all__ = ["HebbianDocstore"]


class HebbianDocstore(KVDocumentStore):
    """The nodes of an index, and the parents kept beside it; written through the index alone.

    Parameters
    ----------
    index : HebbianIndex
    others : callable
        From ids to nodes that are kept elsewhere.
    """

    def __init__(
        self, index: HebbianIndex, others: Callable[[Sequence[str]], list[BaseNode]]
    ) -> None:
        super().__init__(_Held(index, others))

    def persist(
        self,
        persist_path: str = DEFAULT_PERSIST_PATH,
        fs: fsspec.AbstractFileSystem | None = None,
    ) -> None:
        """Write an empty store: the index itself lies where it is."""
        SimpleDocumentStore().persist(persist_path, fs)


class _Held(BaseKVStore):
    def __init__(
        self, index: HebbianIndex, others: Callable[[Sequence[str]], list[BaseNode]]
    ) -> None:
        self._index = index
        self._others = others

    def get(self, key: str, collection: str = "data") -> dict[str, Any] | None:
        if collection.endswith("ref_doc_info"):
            return self._document(self._index.ids({"$document_id": key}))
        nodes = [*map(chunk_to_node, self._index.get([key]))] or self._others([key])
        if not nodes:
            return None
        is_node = collection.endswith("data") and not collection.endswith("metadata")
        return doc_to_json(nodes[0]) if is_node else {"ref_doc_id": nodes[0].ref_doc_id}

    def get_all(self, collection: str = "data") -> dict[str, dict[str, Any]]:
        keys = self._index.ids()
        if collection.endswith("ref_doc_info"):
            keys = sorted({one.document_id or one.id for one in self._index.get(keys)})
        return {key: value for key in keys if (value := self.get(key, collection)) is not None}

    def _document(self, ids: list[str]) -> dict[str, Any] | None:
        if not ids:
            return None
        return {"node_ids": ids, "metadata": chunk_to_node(self._index.get(ids[:1])[0]).metadata}

    def put(self, key: str, val: dict[str, Any], collection: str = "data") -> NoReturn:
        raise ParameterError("this docstore is read; insert and delete through the index")

    def delete(self, key: str, collection: str = "data") -> NoReturn:
        self.put(key, {}, collection)

    aget = in_thread(get)  # type: ignore[arg-type]  # self
    aget_all = in_thread(get_all)  # type: ignore[arg-type]  # self
    aput = in_thread(put)  # type: ignore[arg-type]  # self
    adelete = in_thread(delete)  # type: ignore[arg-type]  # self
