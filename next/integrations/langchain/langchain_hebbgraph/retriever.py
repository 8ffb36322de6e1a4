"""HebbianRetriever: LangChain's retriever over an index, alone or above a vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.runnables.config import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import Field, PrivateAttr, SkipValidation, ValidationError

from hebbgraph import AddReport, DeleteReport, Embedder, HebbianIndex, Strategy
from hebbgraph.access import Fields, Namespaces
from hebbgraph.errors import ParameterError
from hebbgraph.recall.strategies import RankStep
from langchain_hebbgraph.asking import DEFAULT_K, OpenOptions, check_names, is_empty
from langchain_hebbgraph.calling import AT_CALL, Call
from langchain_hebbgraph.documents import Filter, as_documents, chunks_of, to_document
from langchain_hebbgraph.over_store import StoreBeneath
from langchain_hebbgraph.request import RequestRetriever

__all__ = ["HebbianRetriever"]

_OPENING = frozenset(OpenOptions.__annotations__)


class RetrieverOptions(TypedDict, total=False):
    """The fields of a :class:`HebbianRetriever`, beside its index."""

    k: int
    filter: Filter
    filter_by: Callable[[Fields], Filter] | None
    namespace_by: Callable[[Fields], str] | None
    score_threshold: float | None
    strategy: str | Strategy
    steps: Sequence[RankStep]
    score_key: str | None
    path_key: str | None
    vectorstore: VectorStore | None
    seed_k: int
    seed_kwargs: Mapping[str, Any]
    search_kwargs: Mapping[str, Any]
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class Options(RetrieverOptions, OpenOptions, total=False):
    """The fields of a retriever, and what opens its index."""


class HebbianRetriever(RequestRetriever):
    """Retrieve the documents that are most active for a question, and learn from answers.

    Parameters
    ----------
    index : HebbianIndex, optional
        An open index, which stays the caller's to close.
    path : str or Path, optional
        Opens one: a directory, ``":memory:"``, or the URL of a PostgreSQL database.
    embedding : Embeddings, optional
        For an index that is opened here. Without one, search is by words and links.
    k : int
        How many documents to return, 4 by default.
    filter : dict or callable, optional
        ``{"year": {"$gte": 1871}}``: documents that it excludes have no part in the search. A
        callable from a Document to bool cuts results.
    filter_by : callable, optional
        Makes a filter of what a request says, as a rule of access:
        ``lambda request: {"owner": request["user_id"]}``. ``{}`` lets everything pass.
    namespace_by : callable, optional
        Chooses the namespace by what a request says; without it, requests have no say in it.
    score_threshold : float, in [0, 1], optional
    strategy, steps
        As for :meth:`hebbgraph.HebbianIndex.recall`.
    score_key, path_key : str, optional
        Metadata fields in which score and path of a document are returned; none by default.
    vectorstore : VectorStore, optional
        Your store, searched for seeds in place of the index's own vectors. Texts are copied;
        :meth:`refresh` follows what was edited, deleted or added there. Where documents can be
        read by their ids, what is gone never comes back, and what has changed comes back new.
    seed_k : int
        How many seeds to ask that store for.
    seed_kwargs : mapping
        Passed to its search, such as its own form of a filter.
    search_kwargs : mapping
        ``k``, ``filter``, … as for a vector store's ``as_retriever``.
    **options
        ``namespace``, ``tagger``, ``settings``, ``cache_dir``, ``read_only``: as for
        :meth:`hebbgraph.HebbianIndex.open`.

    Raises
    ------
    ParameterError
        For an unknown argument, or one out of range.

    Notes
    -----
    ``invoke`` takes ``k``, ``filter``, ``score_threshold``, ``strategy``, ``score_key``,
    ``path_key`` and ``search_kwargs``; ``configurable`` takes ``hebbgraph_k``,
    ``hebbgraph_filter`` and ``hebbgraph_score_threshold``. All filters apply together.

    Examples
    --------
    >>> documents = [Document("The Petrel was built by Ida Moss."), Document("Owls hunt voles.")]
    >>> with HebbianRetriever.from_documents(documents, k=1) as retriever:
    ...     retriever.invoke("Who built the Petrel?")[0].page_content
    'The Petrel was built by Ida Moss.'
    """

    index: SkipValidation[HebbianIndex] = Field(exclude=True, repr=False)
    k: int = DEFAULT_K
    filter: SkipValidation[Any] = None
    filter_by: SkipValidation[Any] = None
    namespace_by: SkipValidation[Any] = None
    score_threshold: float | None = None
    strategy: SkipValidation[Any] = "spreading"
    steps: SkipValidation[Any] = ()
    score_key: str | None = None
    path_key: str | None = None
    vectorstore: SkipValidation[VectorStore | None] = Field(None, exclude=True, repr=False)
    seed_k: int = 50
    seed_kwargs: SkipValidation[Any] = Field(default_factory=dict)
    #: Shared by the copies that ``configurable_fields`` makes.
    namespaces: SkipValidation[Namespaces | None] = Field(None, exclude=True, repr=False)
    beneath: SkipValidation[StoreBeneath | None] = Field(None, exclude=True, repr=False)
    _is_owner: bool = PrivateAttr(default=False)

    def __init__(
        self,
        index: HebbianIndex | None = None,
        *,
        path: str | Path | None = None,
        embedding: Embedder | None = None,
        **options: Unpack[Options],
    ) -> None:
        fields: dict[str, Any] = {**options}
        check_names(fields, {*type(self).model_fields, *_OPENING, "search_kwargs"}, "a retriever")
        nested = fields.pop("search_kwargs", None) or {}
        check_names(nested, AT_CALL, "search_kwargs")
        fields = {**nested, **fields}
        opening = {name: fields.pop(name) for name in _OPENING & fields.keys()}
        if index is None and path is None:
            raise ParameterError(
                "a retriever takes index= or path=; from_documents and from_texts make one of "
                "documents"
            )
        if index is not None and (path is not None or embedding is not None or opening):
            raise ParameterError("an open index takes no path, embedding or options of opening")
        if fields.get("vectorstore") is not None and embedding is not None:
            raise ParameterError("over a vector store nothing is embedded; leave embedding= out")
        is_owner = index is None
        if index is None:
            index = HebbianIndex.open(path or "", embedder=embedding, **opening)
        try:
            self._initialize(index, fields)
            self._is_owner = is_owner
            if is_owner:
                self._copy_texts()
        except BaseException:
            if is_owner:
                index.close()
            raise

    def _initialize(self, index: HebbianIndex, fields: dict[str, Any]) -> None:
        try:
            super().__init__(index=index, **fields)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = ".".join(map(str, first["loc"]))
            raise ParameterError(f"{name}: {first['msg']}, got {first['input']!r:.80}") from error
        if self.vectorstore is not None and self.namespace_by is not None:
            raise ParameterError(
                "one vector store beneath many namespaces would mix tenants; make a retriever for "
                "each namespace"
            )
        self.namespaces = self.namespaces or Namespaces(index)
        if self.beneath is None and self.vectorstore is not None:
            self.beneath = StoreBeneath(self.vectorstore, self.seed_k, self.seed_kwargs)

    def _copy_texts(self) -> None:
        """Fill a new index with the texts of the store beneath it, if that can list them."""
        if self.beneath is None or self.index.read_only or not is_empty(self.index):
            return
        if self.beneath.listed():
            self.beneath.refresh(self.index, None)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embedder | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        path: str | Path = ":memory:",
        **options: Unpack[Options],
    ) -> Self:
        """Open an index, add documents, and return a retriever that is to be closed.

        A document without an id has one made of its source, title and text, so adding the same
        documents again changes nothing. Over a ``vectorstore``, these are documents that it holds,
        under its ids.
        """
        retriever = cls(path=path, embedding=embedding, **options)
        try:
            if retriever.beneath is None:
                retriever.index.add(chunks_of(documents, ids))
            else:
                given = _with_ids(documents, ids)
                retriever.index.add(retriever.beneath.current(given, retriever.index).values())
        except BaseException:
            retriever.close()
            raise
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None] | None = None,
        embedding: Embedder | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        path: str | Path = ":memory:",
        **options: Unpack[Options],
    ) -> Self:
        """Make a retriever of texts; see :meth:`from_documents`."""
        documents = as_documents(texts, metadatas)
        return cls.from_documents(documents, embedding, ids=ids, path=path, **options)

    # -- asking -----------------------------------------------------------------------

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        call = Call(self, query, run_manager, options)
        if call.ask.is_empty:
            return []
        found = self.beneath.search(query) if self.beneath else None
        recall = call.recall(found)
        originals = call.stored.read(hit.id for hit in recall) if call.stored else None
        return call.finish(recall, originals)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        call = Call(self, query, run_manager, options)
        if call.ask.is_empty:
            return []
        found = await self.beneath.asearch(query) if self.beneath else None
        recall = await run_in_executor(None, call.recall, found)
        originals = await call.stored.aread(hit.id for hit in recall) if call.stored else None
        return call.finish(recall, originals)

    # -- writing ----------------------------------------------------------------------

    def add_documents(
        self, documents: Iterable[Document], *, ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """Add documents, also to the vector store beneath; the same id replaces.

        Returns
        -------
        list of str
            The ids of those that are stored; blank documents are left out.
        """
        documents = list(documents)
        chunks = chunks_of(documents, ids)
        if self.vectorstore is not None and self.beneath is not None:
            named = [to_document(chunk) for chunk in chunks]
            stored = self.vectorstore.add_documents(named, ids=[chunk.id for chunk in chunks])
            kept = _with_ids(named, stored or None)
            chunks = list(self.beneath.current(kept, self.index).values())
        self.index.add(chunks)
        return [chunk.id for chunk in chunks]

    def delete(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        document_id: str | Sequence[str] | None = None,
    ) -> DeleteReport:
        """Delete by id or source, also in the vector store beneath; without either, an error."""
        if self.vectorstore is not None:
            doomed = [ids] if isinstance(ids, str) else list(ids or ())
            if document_id is not None:
                sources = [document_id] if isinstance(document_id, str) else list(document_id)
                inside = set(self.index.ids({"$document_id": {"$in": sources}}))
                doomed = [id_ for id_ in doomed if id_ in inside] if doomed else sorted(inside)
            if doomed:
                self.vectorstore.delete(doomed)
        return self.index.delete(ids, document_id=document_id)

    def refresh(self, documents: Iterable[Document] | None = None) -> AddReport:
        """Update the index to what documents are now.

        Parameters
        ----------
        documents : iterable of Document, optional
            All that their sources have now. Over a vector store: all that it holds, needed only if
            it cannot list them.

        Raises
        ------
        ParameterError
            If documents are needed, or one names no source.
        """
        if self.beneath is not None:
            return self.beneath.refresh(self.index, documents)
        if documents is None:
            raise ParameterError("refresh takes documents; only over a vector store it needs none")
        return self.index.refresh(chunks_of(documents))

    async def aadd_documents(
        self, documents: Iterable[Document], *, ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """Async twin of :meth:`add_documents`."""
        return await run_in_executor(None, partial(self.add_documents, documents, ids=ids))

    async def arefresh(self, documents: Iterable[Document] | None = None) -> AddReport:
        """Async twin of :meth:`refresh`."""
        return await run_in_executor(None, self.refresh, documents)

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        if self.namespaces is not None:
            self.namespaces.close()
        if self._is_owner:
            self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _with_ids(documents: Iterable[Document], ids: Sequence[str | None] | None) -> list[Document]:
    """Return documents as a vector store knows them: under its ids."""
    documents = list(documents)
    if ids is None:
        return documents
    pairs = zip(documents, ids, strict=True)
    return [document.model_copy(update={"id": id_ or document.id}) for document, id_ in pairs]
