"""LlamaIndex's metadata filters, as hebbgraph reads them.

All fourteen operators and any nesting; LlamaIndex's own stores reject nested filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from hebbgraph import FilterError, ParameterError

__all__ = ["to_where"]

_NAMES: Mapping[FilterOperator, str] = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.ANY: "$any",
    FilterOperator.ALL: "$all",
    FilterOperator.TEXT_MATCH: "$text_match",
    FilterOperator.TEXT_MATCH_INSENSITIVE: "$text_match_insensitive",
    FilterOperator.CONTAINS: "$contains",
    FilterOperator.IS_EMPTY: "$is_empty",
}
_OF_LISTS = {FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL}


def to_where(
    filters: MetadataFilters | None,
    *,
    node_ids: Sequence[str] | None = None,
    doc_ids: Sequence[str] | None = None,
    strict: bool = False,
) -> dict[str, Any] | None:
    """Translate filters, and restrictions to nodes or documents, into one ``where``.

    Parameters
    ----------
    filters : MetadataFilters, optional
        With ``NOT``, none of the filters may match, as in LlamaIndex.
    node_ids, doc_ids : sequence of str, optional
        All of the restrictions given must hold. An empty list is none, as LlamaIndex's
        stores have it.
    strict : bool
        For access rules: an empty list lets nothing pass, and an ``OR`` of no filters is refused.

    Returns
    -------
    dict or None
        None if everything passes.

    Examples
    --------
    >>> year = MetadataFilter(key="year", value=1999, operator=FilterOperator.GT)
    >>> to_where(MetadataFilters(filters=[year]), doc_ids=["a"])
    {'$and': [{'year': {'$gt': 1999}}, {'$document_id': {'$in': ['a']}}]}
    """
    if not (filters is None or isinstance(filters, MetadataFilters)):
        hint = ""
        if isinstance(filters, Mapping):
            hint = "; write MetadataFilters.from_dict(...), or give its filters their operators"
        elif isinstance(filters, MetadataFilter):
            hint = "; write MetadataFilters(filters=[...])"
        raise FilterError(f"filters is a MetadataFilters, got {type(filters).__name__}{hint}")
    for name, ids in (("node_ids", node_ids), ("doc_ids", doc_ids)):
        if isinstance(ids, str):
            raise ParameterError(f"{name} is a list of str, got {ids!r}; put it in a list")
    parts: list[dict[str, Any]] = []
    if filters is not None and (own := _combined(filters, strict)) is not None:
        parts.append(own)
    if node_ids or (strict and node_ids is not None):
        parts.append({"$id": {"$in": list(node_ids)}})
    if doc_ids or (strict and doc_ids is not None):
        parts.append({"$document_id": {"$in": list(doc_ids)}})
    return _joined("$and", parts)


def _joined(name: str, parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    if len(parts) > 1:
        return {name: parts}
    return parts[0] if parts else None


def _combined(filters: MetadataFilters, strict: bool) -> dict[str, Any] | None:
    given = [
        _combined(one, strict) if isinstance(one, MetadataFilters) else _one(one)
        for one in filters.filters
    ]
    if strict and filters.condition == FilterCondition.OR and not given:
        raise FilterError(
            "an access rule of no alternatives would let everything pass; where nothing may be "
            "seen, filter by IN and an empty list, and else write MetadataFilters(filters=[])"
        )
    parts = [part for part in given if part is not None]
    if filters.condition == FilterCondition.OR:
        return _joined("$or", parts)
    if filters.condition == FilterCondition.NOT:
        inner = _joined("$or", parts)
        return None if inner is None else {"$not": inner}
    return _joined("$and", parts)


def _one(one: MetadataFilter) -> dict[str, Any]:
    operand: Any = one.value
    if one.operator == FilterOperator.IS_EMPTY:
        operand = True
    elif one.operator in _OF_LISTS and not isinstance(operand, list):
        operand = [operand]
    return {one.key: {_NAMES[one.operator]: operand}}
