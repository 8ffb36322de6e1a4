"""HebbianRetriever: LangChain's retriever over an index, alone or above a vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from pydantic import Field, PrivateAttr, SkipValidation, ValidationError

from hebbgraph import AddReport, DeleteReport, Embedder, HebbianIndex, Strategy
from hebbgraph.access import Fields, Namespaces, OpenOptions, is_empty
from hebbgraph.errors import ParameterError, check_whole
from hebbgraph.protocols import Closing
from hebbgraph.recall.strategies import RankStep
from hebbgraph.records.base import MAX_K
from langchain_hebbgraph.calling import AT_CALL, DEFAULT_K, Question, check_index, check_names
from langchain_hebbgraph.documents import (
    Filter,
    Ids,
    Metadatas,
    as_documents,
    chunks_of,
    to_document,
)
from langchain_hebbgraph.over_store import MARGIN, StoreBeneath, renewed
from langchain_hebbgraph.request import RequestRetriever, current_fields

__all__ = ["HebbianRetriever"]

_OPENING = frozenset(OpenOptions.__annotations__)


class Options(OpenOptions, total=False):
    """The fields of a :class:`HebbianRetriever`, and what opens its index."""

    k: int
    filter: Filter
    filter_by: Callable[[Fields], Filter] | None
    namespace_by: Callable[[Fields], str] | None
    score_threshold: float | None
    strategy: str | Strategy
    steps: Sequence[RankStep]
    score_key: str | None
    vectorstore: VectorStore | None
    seed_kwargs: Mapping[str, Any]
    search_kwargs: Mapping[str, Any]
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class HebbianRetriever(Closing, RequestRetriever):
    """Retrieve the documents that are most active for a question, and learn from answers.

    Parameters
    ----------
    index : HebbianIndex, optional
        An open index, which the caller closes.
    path : str or Path, optional
        Opens one: a directory, ``":memory:"``, or the URL of a PostgreSQL database.
    embedding : Embeddings, optional
        For an index that is opened here. Without one, search is by words and links.
    k : int
        How many documents to return, 4 by default.
    filter : dict or callable, optional
        ``{"year": {"$gte": 1871}}``: documents that it excludes take no part in the search. A
        callable from a Document to bool only removes results.
    filter_by, namespace_by : callable, optional
        Make a filter or a namespace from the fields of a request, for access control:
        ``lambda request: {"owner": request["user_id"]}``. ``{}`` passes everything.
    score_threshold, strategy, steps
        As for :meth:`hebbgraph.HebbianIndex.recall`, where the first is ``min_score``.
    score_key : str, optional
        The metadata field in which scores are returned; none by default.
    vectorstore : VectorStore, optional
        Your store, searched for seeds in place of the index's own vectors. Texts are copied;
        :meth:`refresh` follows edits, deletions and additions there. If the store can read
        documents by id, deleted ones are never returned, and edited ones as they are now.
    seed_kwargs : mapping
        Passed to the store's search: the number of seeds (``k``, 50 by default), its filter.
    search_kwargs : mapping
        ``k``, ``filter``, … as for a vector store's ``as_retriever``.
    **options
        ``namespace``, ``tagger``, ``settings``, ``cache_dir``, ``read_only``: as for
        :meth:`hebbgraph.HebbianIndex.open`.

    Notes
    -----
    ``invoke`` takes ``k``, ``filter``, ``score_threshold``, ``strategy``, ``score_key`` and
    ``search_kwargs``; ``configurable`` takes ``hebbgraph_k``, ``hebbgraph_filter`` and
    ``hebbgraph_score_threshold``. All filters apply together.

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
    vectorstore: SkipValidation[VectorStore | None] = Field(None, exclude=True, repr=False)
    seed_kwargs: SkipValidation[Any] = Field(default_factory=dict)
    #: Shared by the copies that ``configurable_fields`` makes.
    namespaces: SkipValidation[Namespaces | None] = Field(None, exclude=True, repr=False)
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
        check_index(index, embedding)
        nested = fields.pop("search_kwargs", None) or {}
        check_names(nested, AT_CALL, "search_kwargs")
        fields = {**nested, **fields}
        check_whole(fields.get("k", DEFAULT_K), "k", MAX_K)
        opening = {name: fields.pop(name) for name in _OPENING & fields.keys()}
        if index is None and path is None:
            raise ParameterError("a retriever takes index= or path=, or write from_documents(...)")
        if index is not None and (path is not None or embedding is not None or opening):
            raise ParameterError("an open index takes no path, embedding or options of opening")
        if fields.get("vectorstore") is not None and embedding is not None:
            raise ParameterError("over a vector store nothing is embedded; leave embedding= out")
        is_owner = index is None
        if index is None:
            index = HebbianIndex.open(path or "", embedder=embedding, **opening)
        try:
            super().__init__(index=index, **fields)
            self._finish(is_owner)
        except BaseException as error:
            if is_owner:
                index.close()
            if not isinstance(error, ValidationError):
                raise
            first = error.errors(include_url=False)[0]
            name = ".".join(map(str, first["loc"]))
            raise ParameterError(f"{name}: {first['msg']}, got {first['input']!r:.80}") from error

    def _finish(self, is_owner: bool) -> None:
        """Fill a new index with the texts of the store beneath it, if that can list them."""
        self._is_owner = is_owner
        self.namespaces = self.namespaces or Namespaces(self.index)
        if (beneath := self.beneath) is None:
            return
        if self.namespace_by is not None:
            raise ParameterError("one store would mix tenants; make a retriever for each of them")
        if not self.index.read_only and is_empty(self.index) and beneath.listed():
            beneath.refresh(self.index, None)

    @property
    def beneath(self) -> StoreBeneath | None:
        """The vector store that is searched for seeds."""
        if self.vectorstore is None:
            return None
        return StoreBeneath(self.vectorstore, self.seed_kwargs)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embedder | None = None,
        *,
        ids: Ids = None,
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
            if (beneath := retriever.beneath) is None:
                retriever.index.add(chunks_of(documents, ids))
            else:
                given = documents if ids is None else map(to_document, chunks_of(documents, ids))
                retriever.index.add(beneath.chunks(given))
        except BaseException:
            retriever.close()
            raise
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Metadatas = None,
        embedding: Embedder | None = None,
        *,
        ids: Ids = None,
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
        fields = options.pop("_fields", None)
        options.pop("verbose", None)  # LangChain's own
        fields = current_fields() if fields is None else fields
        question = Question(self, query, fields, options, run_manager)
        if question.is_empty:
            return []
        if (beneath := self.beneath) is None:
            recall = question.recall()
        else:
            vector = beneath.embedded(query)  # with it, lessons carry over to other words
            seeds = beneath.seeds(self.index, beneath.search(query, vector))
            margin = MARGIN if beneath.is_readable else 0
            recall = question.recall(seeds, vector=vector, margin=margin)
            if beneath.is_readable:
                current = beneath.read(hit.id for hit in recall)
                recall = renewed(recall, current, question.k, is_filtered=bool(question.filters))
        question.announce(recall)
        documents = [to_document(hit) for hit in recall]
        if question.score_key is not None:
            for document, hit in zip(documents, recall, strict=True):
                document.metadata[question.score_key] = hit.score
        return documents

    # -- writing ----------------------------------------------------------------------

    def add_documents(self, documents: Iterable[Document], *, ids: Ids = None) -> list[str]:
        """Add documents, also to the store beneath; return the ids, without those of blank ones."""
        chunks = chunks_of(documents, ids)
        if (beneath := self.beneath) is not None and chunks:
            chunks = beneath.add(chunks)
        self.index.add(chunks)
        return [chunk.id for chunk in chunks]

    def delete(
        self, ids: Sequence[str] | None = None, *, document_id: str | None = None
    ) -> DeleteReport:
        """Delete by id or source, also in the vector store beneath; without either, an error."""
        if self.vectorstore is not None:
            where = None if document_id is None else {"$document_id": document_id}
            named = set(self.index.ids(where))
            if doomed := sorted(named if ids is None else named.intersection(ids)):
                self.vectorstore.delete(doomed)
        return self.index.delete(ids, document_id=document_id)

    def refresh(self, documents: Iterable[Document] | None = None) -> AddReport:
        """Replace what the index has of these documents' sources.

        Above a vector store, follow all its documents; pass them if it cannot list them.
        """
        if (beneath := self.beneath) is not None:
            return beneath.refresh(self.index, documents)
        if documents is None:
            raise ParameterError("refresh needs documents, unless vectorstore= is set")
        return self.index.refresh(chunks_of(documents))

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        if self.namespaces is not None:
            self.namespaces.close()
        if self._is_owner:
            self.index.close()
