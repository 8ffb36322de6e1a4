"""A store that the application has: searched for seeds, and asked how its documents read now."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hebbgraph.calling import Steps
from hebbgraph.protocols import VectorSource
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from langchain_hebbgraph.conversion import stable_id

__all__ = ["Found", "Wrapped"]

logger = logging.getLogger(__name__)

_PAGE = 500
_BY_VECTOR, _WITH_SCORE = "similarity_search_by_vector", "similarity_search_with_score"
#: Kinds of stores of which it was said that they cannot be asked by id.
_TOLD: set[str] = set()


@dataclass(frozen=True)
class Found:
    """What a store's search brought up: documents and scores by id, best first.

    ``vector`` is the question's, if the store's vectors can be compared with it.
    """

    documents: Mapping[str, Document] = field(default_factory=dict)
    scores: Sequence[tuple[str, float]] = ()
    vector: Sequence[float] | None = None


@dataclass(frozen=True)
class Wrapped:
    """A vector store, or any retriever, beneath a graph.

    Parameters
    ----------
    source : VectorStore or BaseRetriever
    k : int
        How many documents a vector store is asked for.
    kwargs : mapping
        What its search is called with.
    vectors : VectorSource, optional
        Gives the vectors of the store's documents by id.
    """

    source: VectorStore | BaseRetriever
    k: int
    kwargs: Mapping[str, Any]
    vectors: VectorSource | None = None

    # -- seeds ------------------------------------------------------------------------

    def search(self, query: str, run_manager: Any) -> Steps[Found]:
        """Search for seeds."""
        source, asked = self.source, {"k": self.k, **self.kwargs}
        if isinstance(source, BaseRetriever):
            config: Any = {"callbacks": run_manager.get_child()}
            given = (query, config)
            return _ranked(
                (
                    yield (
                        partial(source.invoke, *given, **self.kwargs),
                        partial(source.ainvoke, *given, **self.kwargs),
                    )
                )
            )
        if self.vectors is not None and (model := source.embeddings) is not None:
            vector = yield partial(model.embed_query, query), partial(model.aembed_query, query)
            name, about = ("similarity_search", query)
            if _is_own(source, _BY_VECTOR):
                name, about = _BY_VECTOR, vector
            found = yield _twins(source, name, about, asked)
            return replace(_ranked(found), vector=vector)
        if _is_own(source, _WITH_SCORE):
            return _scored((yield _twins(source, _WITH_SCORE, query, asked)))
        return _ranked((yield _twins(source, "similarity_search", query, asked)))

    # -- what it holds ----------------------------------------------------------------

    @property
    def tells(self) -> bool:
        """Whether it can be asked for documents by id."""
        return (
            isinstance(self.source, VectorStore)
            and type(self.source).get_by_ids is not VectorStore.get_by_ids
        )

    def current(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return those of these documents that it holds, as they are now."""
        wanted, source = list(ids), self.source
        assert isinstance(source, VectorStore)
        pages = (wanted[at : at + _PAGE] for at in range(0, len(wanted), _PAGE))
        return {one.id: one for page in pages for one in source.get_by_ids(page) if one.id}

    def told(self, ids: Iterable[str]) -> dict[str, Document] | None:
        """Return the same, or None if it cannot be asked: a search goes on without it."""
        if not self.tells:
            return None
        try:
            return self.current(ids)
        except Exception as error:
            kind = type(self.source).__name__
            if kind not in _TOLD:
                _TOLD.add(kind)
                logger.warning(
                    "%s cannot be asked for documents by id (%s: %s): what is deleted or edited "
                    "there comes back as it was until it is refreshed",
                    kind,
                    type(error).__name__,
                    error,
                )
            return None

    def add(self, documents: Sequence[Document]) -> None:
        """Add documents to a vector store; a retriever has none."""
        if isinstance(self.source, VectorStore) and documents:
            self.source.add_documents(list(documents), ids=[document.id for document in documents])

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents from a vector store; what it does not hold is passed over."""
        if not isinstance(self.source, VectorStore):
            return
        told = self.told(ids)
        held = list(ids if told is None else told)
        if held:
            self.source.delete(held)


def _twins(store: VectorStore, name: str, about: Any, asked: dict[str, Any]) -> Any:
    return tuple(partial(getattr(store, one), about, **asked) for one in (name, f"a{name}"))


def _is_own(store: VectorStore, search: str) -> bool:
    """Return whether this search is the store's own, and no older than its plain search."""
    kinds = type(store).__mro__
    this, plain = (
        next(at for at, one in enumerate(kinds) if name in vars(one))
        for name in (search, "similarity_search")
    )
    return this <= plain


def _ranked(documents: Iterable[Document]) -> Found:
    by_id: dict[str, Document] = {}
    for document in documents:
        by_id.setdefault(stable_id(document), document)
    # Similarities fall about evenly with the logarithm of the rank.
    return Found(by_id, [(id_, -math.log(rank)) for rank, id_ in enumerate(by_id, 1)])


def _scored(pairs: Sequence[tuple[Document, float]]) -> Found:
    """Take scores as they come; what grows from the best on is a distance."""
    by_rank = _ranked(document for document, _ in pairs)
    scores: dict[str, float] = {}
    for document, score in pairs:
        scores.setdefault(stable_id(document), float(score))
    values = list(scores.values())
    if not values or not all(map(math.isfinite, values)) or values[0] == values[-1]:
        return by_rank
    sign = -1.0 if values[0] < values[-1] else 1.0
    return Found(by_rank.documents, [(id_, sign * score) for id_, score in scores.items()])
