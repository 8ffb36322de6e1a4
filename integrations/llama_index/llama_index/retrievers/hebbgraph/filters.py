"""LlamaIndex's metadata filters as hebbgraph filters.

All fourteen operators, nested to any depth; LlamaIndex's own stores reject nested filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from hebbgraph import FilterError, ParameterError

__all__ = ["to_where"]

_LIST_OPERATORS = {FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL}


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
        An empty list restricts nothing, as in LlamaIndex's stores.
    strict : bool
        For access rules: an empty list lets nothing pass, and an ``OR`` of no filters is refused.

    Returns
    -------
    dict or None
        The conjunction of all arguments; None if everything passes.

    Examples
    --------
    >>> year = MetadataFilter(key="year", value=1999, operator=FilterOperator.GT)
    >>> to_where(MetadataFilters(filters=[year]), doc_ids=["a"])
    {'$and': [{'year': {'$gt': 1999}}, {'$document_id': {'$in': ['a']}}]}
    """
    if not (filters is None or isinstance(filters, MetadataFilters)):
        hint = ""
        if isinstance(filters, Mapping):
            hint = "; write MetadataFilters(filters=[MetadataFilter(key=..., value=...)])"
        elif isinstance(filters, MetadataFilter):
            hint = "; write MetadataFilters(filters=[...])"
        raise FilterError(f"filters is a MetadataFilters, got {type(filters).__name__}{hint}")
    parts = [None if filters is None else _group(filters, strict)]
    for name, field, ids in (("node_ids", "$id", node_ids), ("doc_ids", "$document_id", doc_ids)):
        if isinstance(ids, str):
            raise ParameterError(f"{name} is a list of str, got {ids!r}; put it in a list")
        if ids or (strict and ids is not None):
            parts.append({field: {"$in": list(ids)}})
    return _combined("$and", parts)


def _group(group: MetadataFilters, strict: bool) -> dict[str, Any] | None:
    parts = [
        _group(part, strict) if isinstance(part, MetadataFilters) else _comparison(part)
        for part in group.filters
    ]
    if strict and group.condition == FilterCondition.OR and not parts:
        raise FilterError(
            "an access rule without alternatives would let everything pass; to let nothing pass, "
            "filter by IN and an empty list; to let everything pass, MetadataFilters(filters=[])"
        )
    if group.condition == FilterCondition.NOT:
        inner = _combined("$or", parts)
        return None if inner is None else {"$not": inner}
    return _combined("$or" if group.condition == FilterCondition.OR else "$and", parts)


def _combined(operator: str, parts: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    conditions = [part for part in parts if part is not None]
    if len(conditions) > 1:
        return {operator: conditions}
    return conditions[0] if conditions else None


def _comparison(condition: MetadataFilter) -> dict[str, Any]:
    operand: Any = condition.value
    if condition.operator == FilterOperator.IS_EMPTY:
        operand = True
    elif condition.operator in _LIST_OPERATORS and not isinstance(operand, list):
        operand = [operand]
    return {condition.key: {f"${condition.operator.name.lower()}": operand}}
