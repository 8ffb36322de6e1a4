"""LlamaIndex's metadata filters as those of the index: all operators, nested as you like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from hebbgraph.errors import FilterError
from llama_index.retrievers.hebbgraph.nodes import NODE_KEY

__all__ = ["of_nodes", "to_where"]

_SIGNS = {"==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}


def to_where(filters: MetadataFilters | None) -> dict[str, Any]:
    """Return a filter of the index; ``{}`` lets everything pass."""
    if not isinstance(filters, MetadataFilters | None):
        raise FilterError(f"filters are MetadataFilters, got {type(filters).__name__}")
    parts = [] if filters is None else [_part(part) for part in filters.filters]
    if filters is None or not parts:
        return {}
    if filters.condition == FilterCondition.NOT:  # none of them may match
        return {"$not": {"$or": parts}}
    join = "$or" if filters.condition == FilterCondition.OR else "$and"
    return {join: parts} if len(parts) > 1 else parts[0]


def _part(part: MetadataFilter | MetadataFilters) -> dict[str, Any]:
    if isinstance(part, MetadataFilters):
        return to_where(part)
    name = part.operator.value
    is_empty = part.operator == FilterOperator.IS_EMPTY
    return {part.key: {_SIGNS.get(name, f"${name}"): True if is_empty else part.value}}


def of_nodes(
    node_ids: Sequence[str] | None = None, doc_ids: Sequence[str] | None = None
) -> Iterable[Mapping[str, Any]]:
    """Yield filters for some nodes, and for those of some documents."""
    if node_ids is not None:
        ids = {"$in": list(node_ids)}
        yield {"$or": [{"$id": ids}, {f"{NODE_KEY}.id": ids}]}
    if doc_ids is not None:
        yield {"$document_id": {"$in": list(doc_ids)}}
