"""HebbianVectorStore: an index behind LangChain's vector store interface."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from inspect import signature
from pathlib import Path
from typing import Any, Self, TypeAlias

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.adapters.questions import Question
from hebbgraph.adapters.seed_vectors import check_sizes
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
    with_ids,
)
from langchain_hebbgraph.options import (
    FETCH_K,
    RECALL_OPTIONS,
    check_search,
    diversity_of,
    open_index,
)
from langchain_hebbgraph.request import RequestRetriever, configured
from langchain_hebbgraph.wrapped import write

__all__ = ["HebbianVectorStore"]

Scored: TypeAlias = list[tuple[Document, float]]

#: Arguments that ``langchain_core.indexing`` passes to every store.
_IGNORED = frozenset({"batch_size"})

#: The query of a search by vector alone.
_NO_WORDS = "*"


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
            An open one, in place of ``location``.
        strategy: str
            ``"spreading"``, or one of the published rivals.
        open_options: dict, optional
            More arguments of ``HebbianIndex.open``: ``namespace``, ``settings``, ``tagger``.

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
        """The embedding of queries and documents, if any."""
        return self._embedding

    # -- writing ----------------------------------------------------------------------

    def add_documents(
        self, documents: list[Document], *, ids: Sequence[str | None] | None = None, **kwargs: Any
    ) -> list[str]:
        """Add documents; the same id replaces.

        Parameters
        ----------
        documents : list of Document
            They are not modified. A document without an id gets one made of content and
            metadata; one without text and title is skipped, with a warning.
        ids : list of str, optional
            In place of the documents' own.

        Returns
        -------
        list of str
            The ids, in order, including skipped ones.
        """
        check_names(kwargs.keys() - _IGNORED, ("documents", "ids"), of="add_documents")
        documents = with_ids(documents, ids)
        write(self.index, documents)
        return [document.id or "" for document in documents]

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts with their metadata; see :meth:`add_documents`."""
        return self.add_documents(documents_of_texts(texts, metadatas), ids=ids, **kwargs)

    def add_embeddings(
        self,
        text_embeddings: Iterable[tuple[str, Sequence[float]]],
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> list[str]:
        """Add texts with their vectors, such as those of another store: nothing is embedded.

        Parameters
        ----------
        text_embeddings : iterable of (str, sequence of float)
            The vectors are of the model that embeds questions; those of another size are
            refused.
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
        check_sizes(self.index, (vector for _, vector in pairs))
        documents = with_ids(documents_of_texts([text for text, _ in pairs], metadatas), ids)
        # By the text that would be embedded, which begins with the title.
        vectors = {
            passage_text(to_chunk(document)): vector
            for document, (_, vector) in zip(documents, pairs, strict=True)
        }
        with given_vectors(vectors):
            return self.add_documents(documents)

    def delete(
        self, ids: list[str] | None = None, *, document_id: str | None = None, **kwargs: Any
    ) -> bool | None:
        """Delete by id, or all of one source; without either, everything. Ignores unknown ids."""
        check_names(kwargs, ("ids", "document_id"), of="delete")
        if ids is None and document_id is None:
            ids = self.index.ids()
        self.index.delete(ids, document_id=document_id)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that exist, in the order of their ids."""
        return [to_document(chunk) for chunk in self.index.get(ids)]

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
        documents = with_ids(documents, ids)
        store = cls(embedding, **kwargs)
        store.add_documents(documents)
        return store

    # -- searching --------------------------------------------------------------------

    def similarity_search(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the k most active documents.

        ``filter``, ``strategy`` and ``history`` may be given; see :class:`HebbianRetriever`.
        """
        return [document for document, _ in self._search(query, k, filter, kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> Scored:
        """Return documents with their scores; more is better."""
        return self._search(query, k, filter, kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents most active for an embedded query."""
        return [document for document, _ in self._search(_NO_WORDS, k, filter, kwargs, embedding)]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(1.0, max(0.0, score))  # 0: nothing speaks for a document

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = FETCH_K,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return active documents that differ from each other.

        Their similarity is the cosine of their term counts: near-duplicates share their words,
        and nothing is embedded again.
        """
        mmr = (fetch_k, lambda_mult)
        return [document for document, _ in self._search(query, k, filter, kwargs, mmr=mmr)]

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = FETCH_K,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As :meth:`max_marginal_relevance_search`, for an embedded query."""
        found = self._search(_NO_WORDS, k, filter, kwargs, embedding, (fetch_k, lambda_mult))
        return [document for document, _ in found]

    def _check_embeds(self) -> None:
        if not self.index.embeds:
            raise ParameterError(
                "a search by vector needs vectors, and this store has no embedding; make it with "
                "HebbianVectorStore(embedding), or search by text"
            )

    def _search(
        self,
        query: str,
        k: int,
        filters: Filter | tuple[Filter, ...],
        options: dict[str, Any],
        vector: Sequence[float] | None = None,
        mmr: tuple[int, float] | None = None,
    ) -> Scored:
        """Ask the index, and report the recall to the run of the retriever, or of the chain."""
        run = options.pop("run", None)  # of the retriever that searches
        filters = filters if isinstance(filters, tuple) else (filters,)
        check_names(options, ("k", "filter", *RECALL_OPTIONS), of="a search")
        options = {
            "strategy": self.strategy,
            **options,
            "history": turns_of(options.get("history") or ()),
            "id": str(uuid.uuid4() if run is None else run.run_id),
        }
        if vector is not None:
            self._check_embeds()
            options["vector"] = vector
        if mmr is not None:
            check_search({"fetch_k": mmr[0], "lambda_mult": mmr[1]}, "mmr")
        question = Question(
            index=self.index,
            text=query,
            k=k,
            where=reduce(joined, map(chunk_filter, filters)),
            diversity=None if mmr is None else diversity_of(mmr[1]),
            n_candidates=0 if mmr is None else mmr[0],
            options=options,
        )
        found = question.ask()
        announce(self.index, found.recall, run)
        return [(to_document(hit.chunk), hit.score) for hit in found.hits]

    def as_retriever(self, **kwargs: Any) -> HebbianVectorStoreRetriever:
        """Return a retriever; arguments are those of :meth:`VectorStore.as_retriever`."""
        known = set(HebbianVectorStoreRetriever.model_fields) - {"vectorstore"}
        instead = dict.fromkeys(
            ("k", "filter", "strategy", "score_threshold"),
            'it goes into search_kwargs, such as search_kwargs={"k": 3}',
        )
        check_names(kwargs, sorted(known), of="as_retriever", instead=instead)
        search_type = {"search_type": kwargs.get("search_type", "similarity")}
        check_search((kwargs.get("search_kwargs") or {}) | search_type)
        tags = kwargs.pop("tags", None) or [*self._get_retriever_tags()]
        return HebbianVectorStoreRetriever(vectorstore=self, tags=tags, **kwargs)

    # -- async twins --------------------------------------------------------------------

    # mypy takes their parameters from the base class, which is wider.
    aadd_texts = in_thread(add_texts)  # type: ignore[arg-type]
    aadd_documents = in_thread(add_documents)  # type: ignore[arg-type]
    aadd_embeddings = in_thread(add_embeddings)
    adelete = in_thread(delete)  # type: ignore[arg-type]
    aget_by_ids = in_thread(get_by_ids)  # type: ignore[arg-type]
    asimilarity_search = in_thread(similarity_search)  # type: ignore[arg-type]
    asimilarity_search_with_score = in_thread(similarity_search_with_score)  # type: ignore[arg-type]
    asimilarity_search_by_vector = in_thread(similarity_search_by_vector)  # type: ignore[arg-type]
    amax_marginal_relevance_search = in_thread(max_marginal_relevance_search)  # type: ignore[arg-type]


class HebbianVectorStoreRetriever(RequestRetriever, VectorStoreRetriever):
    """A VectorStoreRetriever whose recalls have the id of its run, so that learners find them.

    ``k`` and ``filter`` may be in a request's ``configurable``. Its filter and a call's are joined
    with that of ``search_kwargs``.
    """

    def _options(self, run: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        in_config = configured(("k", "filter"))
        parts = (self.search_kwargs, in_config, kwargs)
        filters = tuple(part["filter"] for part in parts if part.get("filter"))
        return in_config | kwargs | {"filter": filters or None, "run": run}

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        options = self._options(run_manager, kwargs)
        return super()._get_relevant_documents(query, run_manager=run_manager, **options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        options = self._options(run_manager, kwargs)
        return await super()._aget_relevant_documents(query, run_manager=run_manager, **options)
