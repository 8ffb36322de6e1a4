"""The store beneath a graph: searched for seeds, read by id, and written with the index."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isfunction, signature
from typing import Any

from hebbgraph import AddReport, Chunk, HebbianIndex, InvalidChunkError, ParameterError
from hebbgraph.adapters.seed_vectors import (
    EmbeddedTexts,
    NumberedVectors,
    SeedVectors,
    included_vectors,
)
from hebbgraph.calling import Steps, twins
from hebbgraph.ingest import Intake, OnError, check_emptying
from hebbgraph.protocols import VectorSource
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_hebbgraph.conversion import fields_of, stable_id, to_chunk

__all__ = [
    "Seeds",
    "WrappedStore",
    "differs",
    "has_get_by_ids",
    "sync",
    "updated_fields",
    "vectors_of",
    "write",
]

logger = logging.getLogger(__name__)

_PAGE = 500
_BY_VECTOR, _WITH_SCORE = "similarity_search_by_vector", "similarity_search_with_score"
#: Kinds of stores for which the warning that they cannot be read by id was logged.
_WARNED: set[str] = set()


@dataclass(frozen=True)
class Seeds:
    """The results of a store's search: documents by id, best first, and options of the recall."""

    documents: Mapping[str, Document]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class WrappedStore:
    """A vector store, or any retriever, beneath a graph.

    Parameters
    ----------
    source : VectorStore or BaseRetriever
    k : int
        How many seeds to ask a vector store for.
    kwargs : mapping
        Passed to its search.
    vectors : VectorSource, optional
        Returns the vectors of the store's documents by id.
    """

    source: VectorStore | BaseRetriever
    k: int
    kwargs: Mapping[str, Any]
    vectors: VectorSource | None = None

    # -- searching ---------------------------------------------------------------------

    def search(self, query: str, run_manager: Any) -> Steps[Seeds]:
        """Search for seeds."""
        source, kwargs = self.source, {"k": self.k, **self.kwargs}
        if isinstance(source, BaseRetriever):
            config = {"callbacks": run_manager.get_child()}
            return _ranked((yield twins(source, "invoke", query, config, **self.kwargs)))
        if self.vectors is not None and (model := source.embeddings) is not None:
            vector = yield twins(model, "embed_query", query)
            by_vector = _implements(source, _BY_VECTOR)
            asked = (_BY_VECTOR, vector) if by_vector else ("similarity_search", query)
            found = yield twins(source, *asked, **kwargs)
            return _ranked(found, vector=vector, vectors=self.vectors)
        if _implements(source, _WITH_SCORE):
            return _scored((yield twins(source, _WITH_SCORE, query, **kwargs)))
        return _ranked((yield twins(source, "similarity_search", query, **kwargs)))

    # -- reading and writing -----------------------------------------------------------

    @property
    def is_readable(self) -> bool:
        """Whether documents can be read by id."""
        return isinstance(self.source, VectorStore) and has_get_by_ids(self.source)

    def read(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return the documents of these ids that the store has now."""
        wanted, source = list(ids), self.source
        assert isinstance(source, VectorStore)
        pages = (wanted[at : at + _PAGE] for at in range(0, len(wanted), _PAGE))
        documents = (document for page in pages for document in source.get_by_ids(page))
        return {document.id: document for document in documents if document.id}

    def try_read(self, ids: Iterable[str]) -> dict[str, Document] | None:
        """Read documents; None if the store cannot, which is logged once."""
        if not self.is_readable:
            return None
        try:
            return self.read(ids)
        except Exception as error:
            kind = type(self.source).__name__
            if kind not in _WARNED:
                _WARNED.add(kind)
                logger.warning(
                    "%s cannot be asked for documents by id (%s: %s): what is deleted or edited "
                    "there comes back as it was until it is refreshed",
                    kind,
                    type(error).__name__,
                    error,
                )
            return None

    def check_ids(self, documents: Sequence[Document]) -> None:
        """Raise ParameterError for documents without an id that the store has under another.

        At most the first 500 of these are looked up.
        """
        made = list(dict.fromkeys(stable_id(one) for one in documents if not one.id))[:_PAGE]
        present = self.try_read(made) if made else None
        if present is not None and len(present) < len(made):
            raise ParameterError(
                "documents need the ids that they have in the store, and some have none; pass "
                "them with the ids that add_documents returned, or leave documents out: the "
                "graph then grows by what searches find"
            )

    def add(self, documents: Sequence[Document]) -> None:
        """Add documents to a vector store; does nothing over a retriever."""
        if isinstance(self.source, VectorStore) and documents:
            self.source.add_documents(list(documents), ids=[document.id for document in documents])

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents from a vector store; ignores ids that it lacks."""
        if isinstance(self.source, VectorStore):
            present = self.try_read(ids)
            if deleted := list(ids if present is None else present):
                self.source.delete(deleted)


def has_get_by_ids(store: VectorStore) -> bool:
    """Return whether a store can be asked for documents by id."""
    return type(store).get_by_ids is not VectorStore.get_by_ids


def _implements(store: VectorStore, method: str) -> bool:
    """Return whether a store has this search, and no subclass has overridden only the plain one."""
    classes = type(store).__mro__
    at_method, at_plain = (
        next(at for at, kind in enumerate(classes) if name in vars(kind))
        for name in (method, "similarity_search")
    )
    return at_method <= at_plain


def _ranked(documents: Iterable[Document], **options: Any) -> Seeds:
    return _scored(((document, math.nan) for document in documents), **options)


def _scored(pairs: Iterable[tuple[Document, float]], **options: Any) -> Seeds:
    """Use scores as they are, or ranks; scores that grow from the best on are distances."""
    found: dict[str, tuple[Document, float]] = {}
    for document, score in pairs:
        found.setdefault(stable_id(document), (document, float(score)))
    scores = [score for _, score in found.values()]
    if not scores or not all(map(math.isfinite, scores)) or scores[0] == scores[-1]:
        # Similarities fall about evenly with the logarithm of the rank.
        scores = [-math.log(rank) for rank in range(1, len(found) + 1)]
    elif scores[0] < scores[-1]:
        scores = [-score for score in scores]
    documents = {id_: document for id_, (document, _) in found.items()}
    return Seeds(documents, {"seeds": list(zip(found, scores, strict=True)), **options})


def vectors_of(store: Any, seed_vectors: SeedVectors, index: HebbianIndex) -> VectorSource | None:
    """Return a callable that reads a store's vectors by id; None if nothing can.

    Parameters
    ----------
    store : VectorStore or BaseRetriever
    seed_vectors : callable, "embed" or None
        See :class:`~langchain_hebbgraph.options.SearchOptions`.
    index : HebbianIndex
        Has the texts to embed.
    """
    if not isinstance(store, VectorStore) or store.embeddings is None:
        if seed_vectors is not None:
            raise ParameterError(
                f"seed_vectors needs a vector store with embeddings, got {type(store).__name__}; "
                "the question is embedded too"
            )
        return None
    if callable(seed_vectors):
        return seed_vectors
    if seed_vectors == "embed":
        return EmbeddedTexts(
            lambda ids: {chunk.id: chunk.text for chunk in index.get(ids)},
            store.embeddings.embed_documents,
        )
    if isinstance(store, InMemoryVectorStore):
        rows = store.store
        return lambda ids: {id_: rows[id_]["vector"] for id_ in ids if id_ in rows}
    if hasattr(store, "index_to_docstore_id"):
        faiss: Any = store
        return NumberedVectors(
            lambda: faiss.index_to_docstore_id, lambda number: faiss.index.reconstruct(number)
        )
    get = getattr(type(store), "get", None)
    if isfunction(get) and "include" in signature(get).parameters:  # Chroma
        return included_vectors(partial(get, store))
    return None


# -- writing -----------------------------------------------------------------------------


def write(
    index: HebbianIndex,
    documents: Sequence[Document],
    *,
    refresh: bool = False,
    delete_missing: bool = False,
    wrapped: WrappedStore | None = None,
    on_error: OnError = "raise",
    strict: bool = False,
) -> AddReport:
    """Add documents; of several with one id, the last. Those without text and title are skipped.

    Parameters
    ----------
    index : HebbianIndex
    documents : sequence of Document
        With ids.
    refresh : bool
        Whether to delete all else that the index has of their sources.
    delete_missing : bool
        Whether to delete all other documents, too.
    wrapped : WrappedStore, optional
        Changed in the same way.
    on_error, strict
        As for ``HebbianIndex.add``.
    """
    fields = [fields_of(document) for document in documents]
    intake = Intake(on_error=on_error, strict=strict, skip_empty=True)
    accepted = {chunk.id: (position, chunk) for position, chunk in intake.take(fields)}
    chunks = [chunk for _, chunk in accepted.values()]
    if wrapped is not None:
        wrapped.add([documents[position] for position, _ in accepted.values()])
    intake.tell()
    if not refresh:
        report = index.add(chunks)
    else:
        sources = {item["document_id"] for item in fields if item["document_id"]}
        skipped = {fields[failed.position]["id"] for failed in intake.failed}
        emptied = sorted(skipped - accepted.keys())
        gone = set(emptied)
        if wrapped is not None:
            where = None if delete_missing else {"$document_id": {"$in": sorted(sources)}}
            gone.update(id_ for id_ in index.ids(where) if id_ not in accepted)
        report = index.refresh(chunks, document_ids=sources, delete_missing=delete_missing)
        report += AddReport(deleted=index.delete(emptied))
        if wrapped is not None:
            wrapped.delete(sorted(gone))
    return report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})


def sync(index: HebbianIndex, wrapped: WrappedStore) -> AddReport:
    """Update an index's documents to what the store beneath has now.

    Raises
    ------
    ParameterError
        If the store cannot be asked by id, or has none of these documents any more.
    """
    if not wrapped.is_readable:
        raise ParameterError(
            f"{type(wrapped.source).__name__} cannot be asked for documents by id; "
            "hand over those that it holds now: refresh(documents)"
        )
    ids = index.ids()
    current = wrapped.read(ids)
    check_emptying(len(current), len(ids))
    can_compare = index.settings.keep_text
    updated = [
        updated_fields(chunk, current[chunk.id])
        for chunk in index.get(current)
        if not can_compare or differs(chunk, current[chunk.id])
    ]
    intake = Intake(skip_empty=True)
    report = index.add([chunk for _, chunk in intake.take(updated)])
    intake.tell()
    emptied = {updated[failed.position]["id"] for failed in intake.failed}
    deleted = [id_ for id_ in ids if id_ not in current or id_ in emptied]
    return report.model_copy(update={"deleted": index.delete(deleted) if deleted else 0})


def differs(chunk: Chunk, document: Document) -> bool:
    """Return whether a store's document has another text than the chunk made of it."""
    try:
        return to_chunk(document, chunk.id).text != chunk.text
    except InvalidChunkError:
        return True


def updated_fields(chunk: Chunk, document: Document) -> dict[str, Any]:
    """Return a chunk's fields, updated by a store's document."""
    fields = fields_of(document, chunk.id)
    for name in ("title", "document_id", "tags", "addresses", "references"):
        fields[name] = fields[name] or getattr(chunk, name)
    fields["metadata"] = {**chunk.metadata, **fields["metadata"]}
    return fields
