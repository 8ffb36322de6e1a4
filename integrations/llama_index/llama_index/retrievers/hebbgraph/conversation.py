"""A question with what belongs to it: the turns before, its own k and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

__all__ = ["RecallBundle", "asked_in_full", "turns_of"]


@dataclass
class RecallBundle(QueryBundle):
    """A question with what belongs to it, for retrievers and query engines.

    Parameters
    ----------
    history : list of str
        What was asked before, oldest first.
    similarity_top_k : int, optional
        In place of the retriever's.
    filters : MetadataFilters, optional
        In force beside the retriever's, so that a question can narrow a search but not widen it.
    namespace : str, optional
        Of a retriever over a pool, the one to search.
    as_of : datetime, date or str, optional
        Only what held at that moment; in place of the retriever's.

    Examples
    --------
    >>> RecallBundle("And in winter?", history=["What does mooring cost?"]).history
    ['What does mooring cost?']
    """

    history: list[str] = field(default_factory=list)
    similarity_top_k: int | None = None
    filters: MetadataFilters | None = None
    namespace: str | None = None
    as_of: datetime | date | str | None = None


def turns_of(messages: Sequence[ChatMessage]) -> list[str]:
    """Return what the user said."""
    return [one.content or "" for one in messages if one.role == MessageRole.USER]


def asked_in_full(bundle: QueryBundle, text: str) -> QueryBundle:
    """Ask another retriever for the whole text, unless the question was embedded already."""
    if text == bundle.query_str or bundle.embedding is not None:
        return bundle
    return replace(bundle, query_str=text)
