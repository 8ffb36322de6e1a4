"""What LlamaIndex stores of a HebbianGraphIndex: its location, and its nodes to look up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

import fsspec
from llama_index.core.data_structs.data_structs import IndexStruct
from llama_index.core.data_structs.registry import INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS
from llama_index.core.data_structs.struct_type import IndexStructType
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.docstore.types import DEFAULT_PERSIST_PATH
from llama_index.core.storage.docstore.utils import doc_to_json
from llama_index.core.storage.kvstore.types import BaseKVStore

from hebbgraph import ParameterError
from hebbgraph.calling import in_thread
from hebbgraph.store.places import is_url, masked, parse_url
from llama_index.retrievers.hebbgraph.store import MEMORY, HebbianVectorStore

__all__ = ["HebbianDocstore", "HebbianStruct"]

_TYPE = cast(IndexStructType, "llama_index.retrievers.hebbgraph")  # the module to import


@dataclass
class HebbianStruct(IndexStruct):
    """The location of an index, as ``storage_context.persist`` writes it, without a password."""

    location: str = MEMORY
    namespace: str = "default"

    @classmethod
    def of(cls, location: str | Path, namespace: str) -> HebbianStruct:
        """Describe an open index."""
        if is_url(location):
            location = masked(parse_url(str(location)))
        elif location != MEMORY:
            location = Path(location).resolve()
        return cls(location=str(location), namespace=namespace)

    @classmethod
    def get_type(cls) -> IndexStructType:
        """Return the name under which LlamaIndex registers this class."""
        return _TYPE

    def find(self) -> str:
        """Return the location of a persisted index.

        Raises
        ------
        ParameterError
            If it is gone, or its URL had a password, which is not persisted.
        """
        if self.location == MEMORY:
            raise ParameterError("the index that was persisted was in memory, and is gone")
        if is_url(self.location):
            if "***" in self.location:
                raise ParameterError(
                    f"the password of {self.location} is not persisted; write "
                    "load_index_from_storage(storage_context, location=...)"
                )
        elif not Path(self.location).is_dir():
            raise ParameterError(
                f"the index was at {self.location} and is not there; if it was moved, write "
                "load_index_from_storage(storage_context, location=...)"
            )
        return self.location


INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS[_TYPE] = HebbianStruct


class HebbianDocstore(KVDocumentStore):
    """Reads the nodes of a store and their parents; insert and delete through the index."""

    def __init__(self, store: HebbianVectorStore) -> None:
        super().__init__(_StoreReader(store))
        self._store = store

    def persist(
        self,
        persist_path: str = DEFAULT_PERSIST_PATH,
        fs: fsspec.AbstractFileSystem | None = None,
    ) -> None:
        """Write an empty store, since the index keeps its nodes itself; refuse one in memory."""
        if self._store.is_in_memory:
            raise ParameterError(
                "this index is in memory and cannot be persisted; make it with location=..., a "
                "directory, and it is stored there as it is written"
            )
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
