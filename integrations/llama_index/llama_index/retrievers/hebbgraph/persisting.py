"""What a storage context stores of a HebbianGraphIndex: its location and namespace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llama_index.core.data_structs.data_structs import IndexStruct
from llama_index.core.data_structs.registry import INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS
from llama_index.core.data_structs.struct_type import IndexStructType
from llama_index.core.storage.storage_context import StorageContext

from hebbgraph import ParameterError
from hebbgraph.store.places import is_url, masked, parse_url

__all__ = ["MEMORY", "HebbianStorageContext", "HebbianStruct"]

MEMORY = ":memory:"
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


class HebbianStorageContext(StorageContext):
    """Refuses to persist an index in memory, which would be lost."""

    def persist(self, *args: Any, **kwargs: Any) -> None:
        """Write down the location of the index."""
        for struct in self.index_store.index_structs():
            if isinstance(struct, HebbianStruct) and struct.location == MEMORY:
                raise ParameterError(
                    "this index is in memory and cannot be persisted; make it with location=..., a "
                    "directory, and it is stored there as it is written"
                )
        super().persist(*args, **kwargs)


INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS[_TYPE] = HebbianStruct
