"""HebbianVectorStore: an index behind LangChain's vector store interface."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias, Unpack, get_args

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import SkipValidation

from hebbgraph import HebbianIndex
from hebbgraph.access import Fields, OpenOptions
from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Closing
from langchain_hebbgraph.calling import DEFAULT_K, Question, check_index, check_names
from langchain_hebbgraph.documents import (
    Filter,
    Ids,
    Metadatas,
    as_documents,
    chunks_of,
    to_document,
)
from langchain_hebbgraph.request import RequestRetriever, current_fields
from langchain_hebbgraph.retriever import HebbianRetriever

__all__ = ["HebbianVectorStore"]

SearchType: TypeAlias = Literal["similarity", "similarity_score_threshold"]


class HebbianVectorStore(Closing, VectorStore):
    """Store documents in an index that learns, behind the interface of a vector store.

    Parameters
    ----------
    embedding : Embeddings, optional
        Without one, search is by words and links.
    path, **options
        As for :meth:`hebbgraph.HebbianIndex.open`.
    index : HebbianIndex, optional
        An open one, in place of all these.

    Examples
    --------
    >>> store = HebbianVectorStore()
    >>> ids = store.add_documents([Document("Owls hunt voles.", id="owls")])
    >>> store.similarity_search("What do owls hunt?", k=1)[0].id
    'owls'
    >>> store.close()
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        path: str | Path = ":memory:",
        index: HebbianIndex | None = None,
        **options: Unpack[OpenOptions],
    ) -> None:
        check_names(options, OpenOptions.__annotations__, "a vector store")
        check_index(index, embedding)
        if index is not None and (options or embedding is not None or path != ":memory:"):
            raise ParameterError("an open index takes no path, embedding or options of opening")
        self._is_owner = index is None
        self.index = index or HebbianIndex.open(path, embedder=embedding, **options)
        self._retriever = HebbianRetriever(self.index)

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedding of queries and documents, if any."""
        embedder: Any = self.index.embedder
        return embedder if isinstance(embedder, Embeddings) else None

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        if self._is_owner:
            self.index.close()

    # -- writing ----------------------------------------------------------------------

    def add_documents(
        self, documents: Iterable[Document], *, ids: Ids = None, **kwargs: Any
    ) -> list[str]:
        """Add documents; return the ids, without those of blank ones. The same id replaces.

        An id is made of source, title and text where there is none, so adding twice adds once.
        """
        check_names(kwargs, ("batch_size",), "add_documents")  # ``index()`` passes it
        chunks = chunks_of(documents, ids)
        self.index.add(chunks)
        return [chunk.id for chunk in chunks]

    def add_texts(
        self, texts: Iterable[str], metadatas: Metadatas = None, *, ids: Ids = None, **kwargs: Any
    ) -> list[str]:
        """Add texts with their metadata; see :meth:`add_documents`."""
        return self.add_documents(as_documents(texts, metadatas), ids=ids, **kwargs)

    def delete(
        self, ids: list[str] | None = None, *, document_id: str | None = None, **kwargs: Any
    ) -> bool:
        """Delete by id or source, ignoring unknown ones; without either, an error."""
        check_names(kwargs, ("ids", "document_id"), "delete")
        self.index.delete(ids, document_id=document_id)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that exist, in the order of their ids."""
        return [to_document(chunk) for chunk in self.index.get(ids)]

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Metadatas = None,
        *,
        ids: Ids = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store and add texts; further arguments are those of the constructor."""
        return cls.from_documents(as_documents(texts, metadatas), embedding, ids=ids, **kwargs)

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], embedding: Any = None, *, ids: Ids = None, **kwargs: Any
    ) -> Self:
        """Make a store and add documents; further arguments are those of the constructor."""
        store = cls(embedding, **kwargs)
        try:
            store.add_documents(documents, ids=ids)
        except BaseException:
            store.close()
            raise
        return store

    # -- searching --------------------------------------------------------------------

    def similarity_search(
        self, query: str, k: int = DEFAULT_K, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the k most active documents; :class:`HebbianRetriever` explains ``filter``."""
        return [d for d, _ in self.similarity_search_with_score(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: Filter = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their scores, from 0 to 1; more is better."""
        return self._search(query, {"k": k, "filter": filter, **kwargs})

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = DEFAULT_K, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents that are most active for an embedded query, without words."""
        if self.index.embedder is None:
            raise ParameterError("the store has no embedding; write HebbianVectorStore(embedding)")
        return [d for d, _ in self._search("*", {"k": k, "filter": filter, **kwargs}, embedding)]

    def max_marginal_relevance_search(self, *args: Any, **kwargs: Any) -> list[Document]:
        """Raise, as no hits are left out because they are alike."""
        raise NotImplementedError("there is no mmr here; use similarity_search and a reranker")

    max_marginal_relevance_search_by_vector = max_marginal_relevance_search

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score

    def _search(
        self, query: str, options: dict[str, Any], vector: list[float] | None = None
    ) -> list[tuple[Document, float]]:
        question = Question(self._retriever, query, current_fields(), options)
        if question.is_empty:
            return []
        recall = question.recall(vector=vector)
        question.announce(recall)
        return [(to_document(hit), hit.score) for hit in recall]

    def as_retriever(
        self,
        *,
        search_type: SearchType = "similarity",
        search_kwargs: dict[str, Any] | None = None,
        filter_by: Callable[[Fields], Filter] | None = None,
        **kwargs: Any,
    ) -> HebbianVectorStoreRetriever:
        """Return a retriever; its arguments are as for :class:`HebbianRetriever`."""
        check_names(kwargs, ("name", "tags", "metadata"), "as_retriever")
        tags = kwargs.pop("tags", None) or self._get_retriever_tags()
        return HebbianVectorStoreRetriever(
            vectorstore=self,
            search_type=search_type,
            search_kwargs=search_kwargs or {},
            filter_by=filter_by,
            tags=tags,
            **kwargs,
        )


class HebbianVectorStoreRetriever(RequestRetriever, VectorStoreRetriever):
    """A vector store's retriever; it reads requests as a :class:`HebbianRetriever` does."""

    filter_by: SkipValidation[Any] = None
    allowed_search_types: ClassVar[Collection[str]] = get_args(SearchType)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        index = self.vectorstore.index  # type: ignore[attr-defined]
        inner = HebbianRetriever(index, search_kwargs=self.search_kwargs, filter_by=self.filter_by)
        return inner._get_relevant_documents(query, run_manager=run_manager, **kwargs)
