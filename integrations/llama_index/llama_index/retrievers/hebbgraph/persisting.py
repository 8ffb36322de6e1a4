"""What a storage context keeps of a HebbianGraphIndex: where it lies."""

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

__all__ = ["MEMORY", "HebbianStorageContext", "HebbianStruct", "place_of_struct"]

MEMORY = ":memory:"
_TYPE = cast(IndexStructType, "llama_index.retrievers.hebbgraph")  # what has to be imported


@dataclass
class HebbianStruct(IndexStruct):
    """Where an index lies, as ``storage_context.persist`` writes it; never a password."""

    location: str = MEMORY
    namespace: str = "default"

    @classmethod
    def of(cls, location: str | Path, namespace: str) -> HebbianStruct:
        """Describe an index that is open."""
        if is_url(location):
            return cls(location=masked(parse_url(str(location))), namespace=namespace)
        if location == MEMORY:
            return cls(namespace=namespace)
        return cls(location=str(Path(location).resolve()), namespace=namespace)

    @classmethod
    def get_type(cls) -> IndexStructType:
        """Return the name under which LlamaIndex finds this class."""
        return _TYPE


class HebbianStorageContext(StorageContext):
    """Refuses to persist an index that would be lost: one in memory."""

    def persist(self, *args: Any, **kwargs: Any) -> None:
        """Write down where the index lies."""
        for struct in self.index_store.index_structs():
            if isinstance(struct, HebbianStruct) and struct.location == MEMORY:
                raise ParameterError(
                    "this index is in memory, so nothing of it can be persisted; make it with "
                    "location=..., a directory, and it is always kept there"
                )
        super().persist(*args, **kwargs)


def place_of_struct(struct: HebbianStruct) -> str:
    """Return where a persisted index lies.

    Raises
    ------
    ParameterError
        If it is not there any longer, or its URL had a password, which is not kept.
    """
    if struct.location == MEMORY:
        raise ParameterError("the index that was persisted was in memory, and is gone")
    if is_url(struct.location):
        if "***" in struct.location:
            raise ParameterError(
                f"the password of {struct.location} is not kept; write "
                "load_index_from_storage(storage_context, location=...)"
            )
    elif not Path(struct.location).is_dir():
        raise ParameterError(
            f"the index was at {struct.location}, and is not there; if it was moved, write "
            "load_index_from_storage(storage_context, location=...)"
        )
    return struct.location


INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS[_TYPE] = HebbianStruct
