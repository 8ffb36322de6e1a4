"""What a request says besides its question: turns, k, filters, and the namespace it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.instrumentation.dispatcher import active_instrument_tags
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

__all__ = ["NAMESPACE", "RecallBundle", "requested_namespace", "user_turns"]

#: The instrument tag that names a request's namespace.
NAMESPACE = "hebbgraph_namespace"


@dataclass
class RecallBundle(QueryBundle):
    """A question with its own settings, for retrievers and query engines.

    Parameters
    ----------
    history : list of str
        The user's earlier questions, oldest first.
    similarity_top_k : int, optional
        Replaces the retriever's.
    filters : MetadataFilters, optional
        Narrow the retriever's filters.
    namespace : str, optional
        The namespace to search, for a retriever over a pool.
    as_of : datetime, date or str, optional
        Search only what was valid at that moment. Replaces the retriever's.

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


def requested_namespace() -> str | None:
    """Return the namespace that the instrument tags of the current request name."""
    namespace = active_instrument_tags.get().get(NAMESPACE)
    return None if namespace is None else str(namespace)


def user_turns(messages: Sequence[ChatMessage]) -> list[str]:
    """Return the texts of the user's messages."""
    return [message.content or "" for message in messages if message.role == MessageRole.USER]
