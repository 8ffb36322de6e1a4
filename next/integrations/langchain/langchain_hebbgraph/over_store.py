"""A vector store that people have, beneath an index: it finds seeds, and it knows what is true."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from hebbgraph import AddReport, Chunk, HebbianIndex, Hit
from hebbgraph.errors import InvalidChunkError, ParameterError
from langchain_hebbgraph.documents import chunks_of, to_chunk

__all__ = ["MARGIN", "StoreBeneath", "verified"]

logger = logging.getLogger(__name__)

#: Hits beyond k, in place of those whose original is gone.
MARGIN = 10
_PAGE = 500
#: Documents that searches found and the index lacks; more are not noted.
_MOST_MISSING = 10_000


@dataclass(frozen=True)
class StoreBeneath:
    """A vector store beneath an index of copies of its texts.

    Parameters
    ----------
    store : VectorStore
    k : int
        How many seeds to ask it for.
    kwargs : mapping
        Passed to its search, such as its own form of a filter.
    """

    store: VectorStore
    k: int = 50
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    missing: dict[str, Document] = field(default_factory=dict, repr=False)

    # -- searching --------------------------------------------------------------------

    def search(self, query: str) -> list[tuple[Document, float]]:
        """Return what the store finds, best first; higher scores are better."""
        if self._scores:
            found = self.store.similarity_search_with_score(query, k=self.k, **self.kwargs)
        else:
            documents = self.store.similarity_search(query, k=self.k, **self.kwargs)
            found = [(document, math.nan) for document in documents]
        return _rising(found)

    async def asearch(self, query: str) -> list[tuple[Document, float]]:
        """Async twin of :meth:`search`."""
        if self._scores:
            found = await self.store.asimilarity_search_with_score(query, k=self.k, **self.kwargs)
        else:
            documents = await self.store.asimilarity_search(query, k=self.k, **self.kwargs)
            found = [(document, math.nan) for document in documents]
        return _rising(found)

    @property
    def _scores(self) -> bool:
        kind = type(self.store)
        return kind.similarity_search_with_score is not VectorStore.similarity_search_with_score

    def seeds(
        self, index: HebbianIndex, found: Iterable[tuple[Document, float]]
    ) -> list[tuple[str, float]]:
        """Return seeds for a recall, and note documents that the index lacks."""
        documents = {_id_of(document): (document, score) for document, score in found}
        known = set(index.ids({"$id": {"$in": list(documents)}})) if documents else set()
        new = [id_ for id_ in documents if id_ not in known and id_ not in self.missing]
        for id_ in new[: _MOST_MISSING - len(self.missing)]:
            self.missing[id_] = documents[id_][0]
        if new:
            logger.warning(
                "%d documents of the vector store are not in the index, and cannot be returned "
                "before refresh(); the first is %r",
                len(new),
                new[0],
            )
        return [(id_, score) for id_, (_, score) in documents.items()]

    # -- reading ----------------------------------------------------------------------

    @property
    def is_readable(self) -> bool:
        """Whether documents can be read by their ids in one call."""
        return type(self.store).get_by_ids is not VectorStore.get_by_ids

    def read(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return the documents of these ids that the store holds now."""
        wanted = list(ids)
        pages = (wanted[at : at + _PAGE] for at in range(0, len(wanted), _PAGE))
        return _by_id(document for page in pages for document in self.store.get_by_ids(page))

    async def aread(self, ids: Iterable[str]) -> dict[str, Document]:
        """Async twin of :meth:`read`, in one call."""
        return _by_id(await self.store.aget_by_ids(list(ids)))

    def listed(self) -> list[str] | None:
        """Return the ids of all documents; None if this kind of store cannot list them."""
        store: Any = self.store
        if isinstance(store, InMemoryVectorStore):
            return list(store.store)
        if isinstance(numbered := getattr(store, "index_to_docstore_id", None), dict):  # FAISS
            return list(numbered.values())
        get = getattr(type(store), "get", None)
        if callable(get) and "include" in signature(get).parameters:  # Chroma
            return list(store.get(include=[])["ids"])
        return None

    def current(
        self, documents: Iterable[Document] | None, index: HebbianIndex
    ) -> dict[str, Chunk]:
        """Return chunks of what the store holds now; of given documents, if it cannot tell.

        Raises
        ------
        ParameterError
            If it cannot be read, or has none of what it held before.
        """
        if documents is not None:
            given = {_id_of(document): document for document in documents}
            found = self.read(given) if self.is_readable else given
            if lacking := [id_ for id_ in given if id_ not in found]:
                raise ParameterError(
                    f"{self._kind} has no document {lacking[0]!r}; pass documents with the ids "
                    "that its add_documents returned"
                )
        elif (listed := self.listed()) is not None:
            found = self.read(listed)
        elif self.is_readable:
            known = [*index.ids(), *self.missing]
            found = self.read(known)
            if known and not found:
                raise ParameterError(
                    f"{self._kind} has none of {len(known)} documents any more; if that is right, "
                    "delete them: index.delete(index.ids())"
                )
        else:
            raise ParameterError(
                f"{self._kind} can neither list its documents nor be asked by id; hand over those "
                "that it holds now: refresh(documents)"
            )
        chunks = chunks_of(found.values(), list(found))
        self.missing.clear()
        return {chunk.id: chunk for chunk in chunks}

    @property
    def _kind(self) -> str:
        return type(self.store).__name__

    def refresh(self, index: HebbianIndex, documents: Iterable[Document] | None) -> AddReport:
        """Update the index to what the store holds now."""
        chunks = self.current(documents, index)
        report = index.add(chunks.values())
        gone = [id_ for id_ in index.ids() if id_ not in chunks]
        deleted = index.delete(gone).deleted if gone else 0
        return report.model_copy(update={"deleted": deleted})


def verified(
    hits: Iterable[Hit], originals: Mapping[str, Document], *, is_filtered: bool
) -> list[tuple[Hit, Document | None]]:
    """Return hits whose original is there, each with the original if it has changed.

    Where a filter is in force, a hit with other metadata is dropped: it may not pass any more.
    """
    kept = list[tuple[Hit, Document | None]]()
    n_stale = 0
    for hit in hits:
        original = originals.get(hit.id)
        if original is None or (now := _chunk_or_none(original)) is None:
            n_stale += 1
            continue
        same_fields = (now.metadata, now.document_id) == (hit.metadata, hit.document_id)
        if same_fields and (now.title, now.text) == (hit.title, hit.text):
            kept.append((hit, None))
            continue
        n_stale += 1
        if same_fields or not is_filtered:
            kept.append((hit, original))
    if n_stale:
        logger.warning(
            "%d hits are gone or changed in the vector store; refresh() updates the index", n_stale
        )
    return kept


def _id_of(document: Document) -> str:
    """Return a document's id, or the one that its chunk gets without one."""
    return document.id or to_chunk(document).id


def _chunk_or_none(document: Document) -> Chunk | None:
    try:
        return to_chunk(document)
    except InvalidChunkError:
        return None


def _by_id(documents: Iterable[Document]) -> dict[str, Document]:
    return {document.id: document for document in documents if document.id}


def _rising(found: list[tuple[Document, float]]) -> list[tuple[Document, float]]:
    """Return scores of which higher is better; those that grow from the best on are distances."""
    scores = [float(score) for _, score in found]
    if not scores or not all(map(math.isfinite, scores)) or scores[0] == scores[-1]:
        # Similarities fall about evenly with the logarithm of the rank.
        scores = [-math.log(rank) for rank in range(1, len(found) + 1)]
    elif scores[0] < scores[-1]:
        scores = [-score for score in scores]
    return [(document, score) for (document, _), score in zip(found, scores, strict=True)]
