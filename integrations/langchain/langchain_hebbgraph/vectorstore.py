"""HebbianVectorStore: the index behind LangChain's storage interface."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from inspect import signature
from pathlib import Path
from typing import Any, Self, TypeAlias

from hebbgraph import HebbianIndex, Hit, ParameterError
from hebbgraph.adapters.diversity import diverse_hits
from hebbgraph.arguments import check_names, one_of
from hebbgraph.calling import in_thread
from hebbgraph.embedders import given_vectors, passage_text
from hebbgraph.filters import joined
from hebbgraph.recall.strategies import Strategy, StrategyName, check_strategy
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_hebbgraph.base import announce, turns_of
from langchain_hebbgraph.conversion import (
    Filter,
    chunk_filter,
    documents_of_texts,
    to_chunk,
    to_document,
)
from langchain_hebbgraph.options import OF_RECALL, check_read, open_index
from langchain_hebbgraph.writing import with_ids, write

__all__ = ["HebbianVectorStore"]

Scored: TypeAlias = list[tuple[Document, float]]

#: What ``langchain_core.indexing`` hands on to every store.
_PASSED_OVER = frozenset({"batch_size"})

#: A question without words: only its vector speaks.
_NO_WORDS = "*"

_run: ContextVar[CallbackManagerForRetrieverRun | AsyncCallbackManagerForRetrieverRun | None] = (
    ContextVar("langchain_hebbgraph_run", default=None)
)
"""The retriever run that a search belongs to."""


class HebbianVectorStore(VectorStore):
    """Store documents in a graph that learns, behind the interface of a vector store.

    Setup:
        .. code-block:: bash

            pip install langchain-hebbgraph

    Key init args:
        embedding: Embeddings, optional
            Any LangChain ``Embeddings``; also as ``embeddings`` or ``embedder``. Without
            one, search is lexical.
        location: str or Path
            A directory, ``":memory:"`` or a database URL.
        index: HebbianIndex, optional
            One that is open already, in place of ``location``.
        strategy: str
            ``"spreading"``, or one of the published rivals.
        open_options: dict, optional
            More for ``HebbianIndex.open``: ``namespace``, ``settings``, ``tagger``.

    Instantiate:
        .. code-block:: python

            from langchain_hebbgraph import HebbianVectorStore

            store = HebbianVectorStore(embeddings, location="memory.hebb")

    Add, search, delete:
        .. code-block:: python

            ids = store.add_documents(documents)
            store.similarity_search("Who built the Petrel?", k=3, filter={"year": 1901})
            store.delete(ids[:1])

    Use as a retriever, which a ``CitationLearner`` learns from:
        .. code-block:: python

            store.as_retriever(search_type="mmr", search_kwargs={"k": 5})

    ``langchain_core.indexing.index`` keeps it in step with a loader.
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        location: str | Path = ":memory:",
        index: HebbianIndex | None = None,
        strategy: StrategyName | Strategy = "spreading",
        open_options: dict[str, Any] | None = None,
        embeddings: Embeddings | None = None,
        embedder: Embeddings | None = None,
    ) -> None:
        embedding = one_of(embedding=embedding, embeddings=embeddings, embedder=embedder)
        check_strategy(strategy)
        self.index = open_index(location, embedding, open_options) if index is None else index
        self.strategy = strategy
        self._embedding = embedding

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index!r}, strategy={self.strategy!r})"

    @property
    def embeddings(self) -> Embeddings | None:
        """What queries and documents are embedded with, if anything is."""
        return self._embedding

    # -- writing ----------------------------------------------------------------------

    def add_documents(
        self, documents: list[Document], *, ids: Sequence[str | None] | None = None, **kwargs: Any
    ) -> list[str]:
        """Add documents; those whose id is held are replaced.

        Parameters
        ----------
        documents : list of Document
            They stay as they are. Where there is no id, one is made of content and
            metadata. Those without text and title are skipped, with a warning.
        ids : list of str, optional
            They go before the documents' own.

        Returns
        -------
        list of str
            The ids, in order, also of those skipped.
        """
        check_names(kwargs.keys() - _PASSED_OVER, ("documents", "ids"), of="add_documents")
        own = with_ids(documents, ids)
        write(self.index, own)
        return [document.id or "" for document in own]

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts, and metadata of each; see :meth:`add_documents`."""
        return self.add_documents(documents_of_texts(texts, metadatas), ids=ids, **kwargs)

    def add_embeddings(
        self,
        text_embeddings: Iterable[tuple[str, Sequence[float]]],
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> list[str]:
        """Take texts over with the vectors that another store has of them: nothing is embedded.

        Parameters
        ----------
        text_embeddings : iterable of (str, sequence of float)
            Made by the model that this store embeds questions with.
        metadatas, ids
            As for :meth:`add_texts`.

        Examples
        --------
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> store = HebbianVectorStore(DeterministicFakeEmbedding(size=2))
        >>> store.add_embeddings([("Owls hunt at night.", [0.6, 0.8])], ids=["owl"])
        ['owl']
        """
        self._check_embeds()
        pairs = list(text_embeddings)
        own = with_ids(documents_of_texts([text for text, _ in pairs], metadatas), ids)
        # Under the text that would be embedded: a title stands before it.
        vectors = {
            passage_text(to_chunk(one)): vector for one, (_, vector) in zip(own, pairs, strict=True)
        }
        with given_vectors(vectors):
            return self.add_documents(own)

    # mypy takes the parameters of these twins from the base class, which is wider.
    aadd_texts = in_thread(add_texts)  # type: ignore[arg-type]

    aadd_documents = in_thread(add_documents)  # type: ignore[arg-type]

    aadd_embeddings = in_thread(add_embeddings)

    def delete(
        self, ids: list[str] | None = None, *, document_id: str | None = None, **kwargs: Any
    ) -> bool | None:
        """Delete by id, or all that came from one source; without either, everything.

        What is not there is passed over.
        """
        check_names(kwargs, ("ids", "document_id"), of="delete")
        if ids is None and document_id is None:
            ids = self.index.ids()
        self.index.delete(ids, document_id=document_id)
        return True

    adelete = in_thread(delete)  # type: ignore[arg-type]

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of their ids."""
        return [to_document(chunk) for chunk in self.index.get(ids)]

    aget_by_ids = in_thread(get_by_ids)  # type: ignore[arg-type]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store and add texts; further arguments are those of the constructor."""
        documents = documents_of_texts(texts, metadatas)
        return cls.from_documents(documents, embedding, ids=ids, **kwargs)

    @classmethod
    def from_documents(
        cls,
        documents: list[Document],
        embedding: Embeddings | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store and add documents; further arguments are those of the constructor."""
        check_names(kwargs, signature(cls).parameters, of=cls.__name__)
        given = with_ids(documents, ids)
        store = cls(embedding, **kwargs)
        store.add_documents(given)
        return store

    # -- searching --------------------------------------------------------------------

    def similarity_search(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the k most active documents.

        ``filter``, ``strategy`` and ``history`` may be given; see :class:`HebbianRetriever`.
        """
        scored = self.similarity_search_with_score(query, k, filter, **kwargs)
        return [document for document, _ in scored]

    asimilarity_search = in_thread(similarity_search)  # type: ignore[arg-type]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> Scored:
        """Return documents with their scores; more is better."""
        hits = self._hits(query, k, filter, kwargs)
        return [(to_document(hit.chunk), hit.score) for hit in hits]

    asimilarity_search_with_score = in_thread(similarity_search_with_score)  # type: ignore[arg-type]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents most active for an embedded query."""
        hits = self._hits(None, k, filter, kwargs, vector=embedding)
        return [to_document(hit.chunk) for hit in hits]

    asimilarity_search_by_vector = in_thread(similarity_search_by_vector)  # type: ignore[arg-type]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return relevance

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are both active and unlike each other.

        How alike two are is the cosine of their term counts: near-duplicates share their
        words, and nothing is embedded again.
        """
        hits = self._hits(query, max(k, fetch_k), filter, kwargs)
        return _unlike(hits, k, lambda_mult)

    amax_marginal_relevance_search = in_thread(max_marginal_relevance_search)  # type: ignore[arg-type]

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As :meth:`max_marginal_relevance_search`, for an embedded query."""
        hits = self._hits(None, max(k, fetch_k), filter, kwargs, vector=embedding)
        return _unlike(hits, k, lambda_mult)

    def _check_embeds(self) -> None:
        if not self.index.embeds:
            raise ParameterError(
                "a search by vector needs vectors, and this store has no embedding; make it with "
                "HebbianVectorStore(embedding), or search by text"
            )

    def _hits(
        self,
        query: str | None,
        k: int,
        where: Filter,
        given: dict[str, Any],
        vector: Sequence[float] | None = None,
    ) -> Sequence[Hit]:
        """Ask the index, and tell the learners: those of the retriever's run, or of the chain's."""
        check_names(given, ("k", "filter", "strategy", *OF_RECALL), of="a search")
        if vector is not None:
            self._check_embeds()
        run = _run.get()
        recall = self.index.recall(
            _NO_WORDS if query is None else query,
            k=k,
            where=reduce(joined, map(chunk_filter, where))
            if isinstance(where, tuple)
            else chunk_filter(where),
            vector=vector,
            strategy=given.get("strategy", self.strategy),
            as_of=given.get("as_of"),
            history=turns_of(given.get("history") or ()),
            id=str(uuid.uuid4() if run is None else run.run_id),
        )
        announce(self.index, recall, run)
        return recall.hits

    def as_retriever(self, **kwargs: Any) -> HebbianVectorStoreRetriever:
        """Return a retriever; see :meth:`VectorStore.as_retriever` for its arguments."""
        known = set(HebbianVectorStoreRetriever.model_fields) - {"vectorstore"}
        instead = dict.fromkeys(
            ("k", "filter", "strategy", "score_threshold"),
            'it goes into search_kwargs, such as search_kwargs={"k": 3}',
        )
        check_names(kwargs, sorted(known), of="as_retriever", instead=instead)
        check_read(kwargs.get("search_kwargs") or {}, kwargs.get("search_type", "similarity"))
        tags = kwargs.pop("tags", None) or [*self._get_retriever_tags()]
        return HebbianVectorStoreRetriever(vectorstore=self, tags=tags, **kwargs)


class HebbianVectorStoreRetriever(VectorStoreRetriever):
    """A VectorStoreRetriever whose run's id is the recall's, so that learners find it.

    A call's filter is joined with that of ``search_kwargs``.
    """

    @contextmanager
    def _searching(self, run: Any, kwargs: dict[str, Any]) -> Iterator[dict[str, Any]]:
        own = self.search_kwargs.get("filter")
        token = _run.set(run)
        try:
            yield kwargs | (
                {"filter": (own, kwargs["filter"])} if own and "filter" in kwargs else {}
            )
        finally:
            _run.reset(token)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        with self._searching(run_manager, kwargs) as given:
            return super()._get_relevant_documents(query, run_manager=run_manager, **given)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        with self._searching(run_manager, kwargs) as given:
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **given)


def relevance(score: float) -> float:
    """Scale a score to [0, 1]; 0 is what nothing speaks for."""
    return min(1.0, max(0.0, score))


def _unlike(hits: Sequence[Hit], k: int, lambda_mult: float) -> list[Document]:
    chosen = diverse_hits(hits, k, diversity=1.0 - lambda_mult)
    return [to_document(hit.chunk) for hit in chosen]
