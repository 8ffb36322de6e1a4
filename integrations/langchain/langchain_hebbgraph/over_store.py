"""A vector store that people have, beneath an index: it finds seeds, and it knows what is true."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from hebbgraph import AddReport, Chunk, HebbianIndex, Hit, Recall
from hebbgraph.errors import InvalidChunkError, ParameterError
from hebbgraph.records import text_digest
from langchain_hebbgraph.documents import chunks_of, to_chunk, to_document

__all__ = ["MARGIN", "Found", "StoreBeneath", "renewed"]

logger = logging.getLogger(__name__)

#: Hits beyond k, in place of those whose original is gone.
MARGIN = 10
_PAGE = 500
_BY_VECTOR = "similarity_search_with_score_by_vector"

Found = list[tuple[Document, float]]


@dataclass(frozen=True)
class StoreBeneath:
    """A vector store, beneath an index of copies of its texts.

    It is asked for 50 seeds; ``kwargs`` go to its search.
    """

    store: VectorStore
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def embedded(self, query: str) -> list[float] | None:
        """Return the question's embedding where the store can search by it, and tell scores."""
        model = self.store.embeddings
        return model.embed_query(query) if model and hasattr(self.store, _BY_VECTOR) else None

    def search(self, query: str, vector: list[float] | None = None) -> Found:
        """Return what the store finds, best first."""
        options, kind = {"k": 50, **self.kwargs}, type(self.store)
        if vector is not None:
            found: Found = getattr(self.store, _BY_VECTOR)(vector, **options)
            return found
        if kind.similarity_search_with_score is not VectorStore.similarity_search_with_score:
            return self.store.similarity_search_with_score(query, **options)
        return [(document, math.nan) for document in self.store.similarity_search(query, **options)]

    def seeds(self, index: HebbianIndex, found: Found) -> list[tuple[str, float]]:
        """Return seeds for a recall, of which higher scores are better."""
        ids = [_id_of(document) for document, _ in found]
        scores = [float(score) for _, score in found]
        new = sorted(set(ids).difference(index.ids({"$id": {"$in": ids}}))) if ids else []
        if new:
            text = "the index lacks %d of the vector store's documents until refresh(), such as %r"
            logger.warning(text, len(new), new[0])
        if not scores or not all(map(math.isfinite, scores)) or scores[0] == scores[-1]:
            # Similarities fall about evenly with the logarithm of the rank.
            scores = [-math.log(rank) for rank in range(1, len(found) + 1)]
        elif scores[0] < scores[-1]:  # distances, which grow from the best on
            scores = [-score for score in scores]
        return list(zip(ids, scores, strict=True))

    @property
    def is_readable(self) -> bool:
        """Whether documents can be read by their ids in one call."""
        return type(self.store).get_by_ids is not VectorStore.get_by_ids

    def read(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return the documents of these ids that the store holds now."""
        wanted = list(ids)
        pages = (wanted[at : at + _PAGE] for at in range(0, len(wanted), _PAGE))
        return {_id_of(d): d for page in pages for d in self.store.get_by_ids(page)}

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

    def chunks(self, documents: Iterable[Document]) -> list[Chunk]:
        """Return chunks of these documents as the store holds them now."""
        found = {_id_of(document): document for document in documents}
        if self.is_readable:
            held = self.read(found)
            if lacking := [id_ for id_ in found if id_ not in held]:
                name = type(self.store).__name__
                raise ParameterError(f"{name} has no document {lacking[0]!r}; pass its own ids")
            found = held
        return chunks_of(found.values(), list(found))

    def add(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Add chunks as documents; ids made of their texts become UUIDs, as some stores need."""
        named = [to_document(chunk) for chunk in chunks]
        for document in named:
            if to_chunk(document.model_copy(update={"id": None})).id == document.id:
                document.id = str(UUID(document.id))
        self.store.add_documents(named, ids=[document.id for document in named])
        return self.chunks(named)

    def refresh(self, index: HebbianIndex, documents: Iterable[Document] | None) -> AddReport:
        """Update an index to what the store holds now."""
        if documents is not None:
            chunks = self.chunks(documents)
        else:
            listed = self.listed()
            held = self.read(listed or (index.ids() if self.is_readable else []))
            if listed is None and not held:
                raise ParameterError(
                    f"{type(self.store).__name__} cannot list its documents, and holds none that "
                    "the index knows; pass its current documents: refresh(documents)"
                )
            chunks = chunks_of(held.values(), list(held))
        report = index.add(chunks)
        gone = index.delete(sorted(set(index.ids()) - {chunk.id for chunk in chunks}))
        resting = report.resting + gone.resting
        return report.model_copy(update={"deleted": gone.deleted, "resting": resting})


def renewed(recall: Recall, held: Mapping[str, Document], k: int, *, is_filtered: bool) -> Recall:
    """Return a recall's hits as the store holds them: what is gone is left out.

    Where a filter is in force, so are hits whose metadata changed: they may not pass any more.
    """
    hits = list[Hit]()
    n_stale = 0
    for hit in recall:
        now = _now(hit, held.get(hit.id))
        n_stale += now is not hit
        if now is not None and not (is_filtered and now.metadata != hit.metadata):
            hits.append(now.model_copy(update={"rank": len(hits) + 1}))
    if n_stale:
        text = "hits that are gone or changed in the vector store: %d; refresh() updates the index"
        logger.warning(text, n_stale)
    return recall.model_copy(update={"hits": tuple(hits[:k])})


def _now(hit: Hit, document: Document | None) -> Hit | None:
    """Return a hit as it is now: the same one if nothing has changed, None if it is gone."""
    if document is None:
        return None
    try:
        chunk = to_chunk(document, hit.id)
    except InvalidChunkError:
        return None
    names = ("title", "text", "metadata", "document_id")
    changed = {n: getattr(chunk, n) for n in names if getattr(chunk, n) != getattr(hit, n)}
    if changed:  # what is taught now is about the text that was shown
        changed["digest"] = text_digest(chunk.title, chunk.text)
    return hit.model_copy(update=changed) if changed else hit


def _id_of(document: Document) -> str:
    """Return a document's id: its own, Qdrant's, or the one that its chunk gets without one."""
    named = document.id or document.metadata.get("_id")
    return named if isinstance(named, str) else to_chunk(document).id
