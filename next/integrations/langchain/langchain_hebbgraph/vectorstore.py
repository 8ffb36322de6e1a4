"""HebbianVectorStore: an index behind LangChain's vector store interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, Unpack

import numpy as np
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables.config import run_in_executor
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from pydantic import SkipValidation

from hebbgraph import HebbianIndex, Recall
from hebbgraph.access import Fields, Namespaces
from hebbgraph.errors import ParameterError
from hebbgraph.recall.strategies import RankStep
from langchain_hebbgraph.asking import DEFAULT_K, Ask, OpenOptions, check_names
from langchain_hebbgraph.documents import Filter, as_documents, chunks_of, to_document
from langchain_hebbgraph.request import Recalled, RequestRetriever, announce, current_fields
from langchain_hebbgraph.retriever import HebbianRetriever

__all__ = ["HebbianVectorStore"]

SearchType: TypeAlias = Literal["similarity", "similarity_score_threshold", "mmr"]

#: The query of a search by vector alone; it has no words.
_NO_WORDS = "*"
_MMR = frozenset({"fetch_k", "lambda_mult"})


class HebbianVectorStore(VectorStore):
    """Store documents in an index that learns, behind the interface of a vector store.

    Parameters
    ----------
    embedding : Embeddings, optional
        Without one, search is by words and links.
    path : str or Path
        A directory, ``":memory:"``, or the URL of a PostgreSQL database.
    index : HebbianIndex, optional
        An open one, in place of ``path`` and ``embedding``.
    **options
        ``namespace``, ``tagger``, ``settings``, ``cache_dir``, ``read_only``: as for
        :meth:`hebbgraph.HebbianIndex.open`.

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
        if index is not None and (options or embedding is not None or path != ":memory:"):
            raise ParameterError("an open index takes no path, embedding or options of opening")
        self._is_owner = index is None
        self.index = index or HebbianIndex.open(path, embedder=embedding, **options)
        self._namespaces = Namespaces(self.index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index!r})"

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedding of queries and documents, if any."""
        embedder: Any = self.index.embedder
        return embedder if isinstance(embedder, Embeddings) else None

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        self._namespaces.close()
        if self._is_owner:
            self.index.close()

    # -- writing ----------------------------------------------------------------------

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add documents, which are not modified; the same id replaces.

        A document without an id has one made of its source, title and text, so adding the same
        documents again changes nothing.

        Returns
        -------
        list of str
            The ids of those that are stored; blank documents are left out.
        """
        check_names(kwargs, ("batch_size",), "add_documents")  # ``index()`` passes it
        chunks = chunks_of(documents, ids)
        self.index.add(chunks)
        return [chunk.id for chunk in chunks]

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
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
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store and add texts; further arguments are those of the constructor."""
        return cls.from_documents(as_documents(texts, metadatas), embedding, ids=ids, **kwargs)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
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
        return [document for document, _ in self._search(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, filter: Filter = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their scores, from 0 to 1; more is better."""
        return self._search(query, k, filter, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = DEFAULT_K, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents that are most active for an embedded query."""
        self.embedding_or_error()
        found = self._search(_NO_WORDS, k, filter, vector=embedding, **kwargs)
        return [document for document, _ in found]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = DEFAULT_K,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return active documents that differ from each other; they are embedded once more."""
        diverse = Diverse(self.embedding_or_error(), fetch_k, lambda_mult)
        found = self._search(query, k, filter, steps=[diverse], **kwargs)
        return [document for document, _ in found]

    def embedding_or_error(self) -> Embeddings:
        """Return the embedding; raise ParameterError if there is none."""
        if self.embeddings is None:
            raise ParameterError(
                "this search compares vectors, and the store has no embedding; make it with "
                "HebbianVectorStore(embedding), or use similarity_search"
            )
        return self.embeddings

    def _search(
        self, query: str, k: int, filter: Filter, vector: Sequence[float] | None = None, **kw: Any
    ) -> list[tuple[Document, float]]:
        check_names(kw, ("strategy", "score_threshold", "steps"), "a search")
        ask = Ask(question=query, k=k, filters=[filter], **kw)
        if ask.is_empty:
            return []
        recall = ask.recall(self.index, vector=vector)
        announce(Recalled(recall, self._namespaces, current_fields()))
        return [(to_document(hit), hit.score) for hit in recall]

    def as_retriever(
        self,
        *,
        search_type: SearchType = "similarity",
        search_kwargs: dict[str, Any] | None = None,
        filter_by: Callable[[Fields], Filter] | None = None,
        **kwargs: Any,
    ) -> HebbianVectorStoreRetriever:
        """Return a retriever.

        Parameters
        ----------
        search_type : {"similarity", "similarity_score_threshold", "mmr"}
        search_kwargs : dict, optional
            ``k``, ``filter``, ``score_threshold``; for MMR ``fetch_k`` and ``lambda_mult``.
        filter_by : callable, optional
            As for :class:`HebbianRetriever`.
        **kwargs
            ``name``, ``tags``, ``metadata``.
        """
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

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        store, options, steps = self.vectorstore, dict(self.search_kwargs), list[RankStep]()
        if not isinstance(store, HebbianVectorStore):
            raise ParameterError(f"vectorstore is a HebbianVectorStore, got {type(store).__name__}")
        if self.search_type == "mmr":
            chosen = {name: part.pop(name) for part in (options, kwargs) for name in _MMR & {*part}}
            steps = [Diverse(store.embedding_or_error(), **chosen)]
        inner = HebbianRetriever(
            store.index, search_kwargs=options, filter_by=self.filter_by, steps=steps
        )
        return inner._get_relevant_documents(query, run_manager=run_manager, **kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        ask = partial(self._get_relevant_documents, run_manager=run_manager.get_sync(), **kwargs)
        return await run_in_executor(None, ask, query)


@dataclass(frozen=True)
class Diverse(RankStep):
    """Chooses hits that differ from each other (maximal marginal relevance)."""

    model: Embeddings
    fetch_k: int = 20
    lambda_mult: float = 0.5

    def depth(self, k: int) -> int:
        return max(self.fetch_k, k)

    def finish(self, recall: Recall, k: int) -> Recall:
        vectors = self.model.embed_documents([hit.text for hit in recall])
        question = recall.vector or self.model.embed_query(recall.question)
        query = np.array(question, np.float32)
        chosen = maximal_marginal_relevance(query, vectors, self.lambda_mult, k) if vectors else []
        return recall.model_copy(update={"hits": tuple(recall[at] for at in chosen)})
