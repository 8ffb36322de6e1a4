"""HebbianRetriever: a LangChain retriever over a hebbgraph index."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, Unpack, runtime_checkable

from hebbgraph import HebbgraphError, HebbianIndex, ParameterError, Recall, Settings
from hebbgraph.arguments import check_names, one_of
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackHandler,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.vectorstores import VectorStore
from pydantic import Field, ValidationError

from langchain_hebbgraph.conversion import (
    Filter,
    chunk_filter,
    documents_of,
    documents_of_texts,
    fields_of,
    stable_id,
    to_document,
)
from langchain_hebbgraph.options import (
    AT_CALL,
    INSTEAD,
    INSTEAD_OVER_STORES,
    Fields,
    IndexOptions,
    NewOptions,
    RetrieverOptions,
    checked,
    open_index,
)
from langchain_hebbgraph.texts import texts_of

__all__ = ["HebbianRetriever"]

logger = logging.getLogger(__name__)

_PASSED_OVER = frozenset({"verbose", "run_id"})


@runtime_checkable
class RecallListener(Protocol):
    """A callback handler that is told of every recall; :class:`CitationLearner` is one."""

    def on_hebbian_recall(
        self, index: HebbianIndex, recall: Recall, *, run_id: Any, parent_run_id: Any
    ) -> None:
        """Take note of a recall; its id is ``str(run_id)``."""
        ...


def announce(
    handlers: Iterable[BaseCallbackHandler],
    index: HebbianIndex,
    recall: Recall,
    *,
    run_id: Any,
    parent_run_id: Any,
) -> None:
    """Tell those callback handlers of a recall that want to know."""
    for handler in handlers:
        if isinstance(handler, RecallListener):
            handler.on_hebbian_recall(index, recall, run_id=run_id, parent_run_id=parent_run_id)


class HebbianRetriever(BaseRetriever):
    """Retriever that learns which passages belong together.

    Setup:
        .. code-block:: bash

            pip install langchain-hebbgraph

    Key init args:
        index: HebbianIndex
            What is searched. Make both at once by :meth:`from_documents` or
            :meth:`from_texts`, or search a store that you have by
            :meth:`from_vectorstore`.
        k: int
            Number of documents to return.
        filter: dict or callable, optional
            ``{"year": {"$gte": 2020}}``, or a callable that takes a Document. It is in
            force while activation spreads, not only on the result.
        strategy: str
            ``"spreading"``, or one of the published rivals.
        score_key: str, optional
            Metadata key under which the score is returned; none by default.
        history: sequence of str or messages
            Earlier turns of the conversation, oldest first; of messages, those of the
            user count. A follow-up ("and in winter?") is understood from them, without
            a model.

        ``k``, ``filter``, ``strategy``, ``score_key`` and ``history`` can be given to
        ``invoke`` as well, and be made configurable (``configurable_fields``).

    Instantiate:
        .. code-block:: python

            from langchain_hebbgraph import HebbianRetriever

            retriever = HebbianRetriever.from_documents(
                documents, location="memory.hebb", embedding=embeddings, k=5
            )

    Usage:
        .. code-block:: python

            retriever.invoke("Where was the builder of the Petrel born?")

    Use within a chain:
        .. code-block:: python

            from langchain_hebbgraph import CitationLearner, citation_prompt, format_documents

            chain = (
                {"context": retriever | format_documents, "question": RunnablePassthrough()}
                | citation_prompt()
                | llm
                | StrOutputParser()
            )
            chain.invoke("...", config={"callbacks": [CitationLearner()]})
    """

    index: HebbianIndex = Field(exclude=True)
    k: int = 10
    filter: Any = None
    strategy: Any = "spreading"
    score_key: str | None = None
    history: Sequence[Any] = ()
    seed_source: VectorStore | BaseRetriever | None = Field(default=None, exclude=True, repr=False)
    """Searched for seeds in place of the index's own lexical and dense search."""
    seed_k: int = 50
    """How many documents a vector store is asked for; a retriever decides by itself."""
    seed_kwargs: dict[str, Any] = Field(default_factory=dict)
    """What the seed source is called with, such as its own form of a filter."""
    grow: bool = True
    """Whether documents of the seed source that the index does not hold are added to it."""

    # -- making one -------------------------------------------------------------------

    def __init__(self, **options: Unpack[Fields]) -> None:
        own = checked(options, known=type(self).model_fields)
        try:
            super().__init__(**own)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise ParameterError(f"{field}: {first['msg']}, got {first['input']!r:.80}") from error

    @classmethod
    def from_index(cls, index: HebbianIndex, **options: Unpack[RetrieverOptions]) -> Self:
        """Search an index that is open already."""
        return cls(index=index, **options)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        *,
        ids: Sequence[str] | None = None,
        location: str | Path = ":memory:",
        embedder: Any = None,
        embeddings: Any = None,
        open_options: dict[str, Any] | None = None,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """Add documents to an index, new or not, and search it.

        All arguments are checked before anything is opened or embedded.

        Parameters
        ----------
        documents : iterable of Document
        embedding : Embeddings, optional
            Any LangChain ``Embeddings``, or another object with ``embed_documents`` and
            ``embed_query``; also as ``embedder`` or ``embeddings``. Without one, search is lexical.
        ids : sequence of str, optional
            Left out, those of the documents; where there is none, one made of content
            and metadata, so that adding the same documents again changes nothing.
        location : str or Path
            A directory, ``":memory:"`` or a database URL.
        open_options : dict, optional
            More for ``HebbianIndex.open``: ``namespace``, ``settings``, ``tagger``,
            ``edges`` (metadata fields whose values join documents).
        **options
            Fields of the retriever: ``k``, ``filter``, ``strategy``, ... What a vector
            store's ``as_retriever`` takes as ``search_kwargs={"k": 3}`` fits as well.
        """
        known = (*cls.model_fields, "ids", *IndexOptions.__annotations__)
        own = checked(options, known=known)
        given = with_ids(documents, ids)
        embedder = one_of(embedder=embedder, embedding=embedding, embeddings=embeddings)
        retriever = cls(index=open_index(location, embedder, open_options), **own)
        retriever.add_documents(given)
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
        **options: Unpack[NewOptions],
    ) -> Self:
        """Add texts; see :meth:`from_documents`."""
        return cls.from_documents(documents_of_texts(texts, metadatas), ids=ids, **options)

    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: VectorStore | BaseRetriever,
        *,
        documents: Iterable[Document] | None = None,
        index: HebbianIndex | None = None,
        location: str | Path = ":memory:",
        open_options: dict[str, Any] | None = None,
        keep_text: bool = True,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """Put a graph on top of a vector store, or of any retriever, that you have.

        It is searched for seeds; nothing is embedded a second time. The graph needs the
        texts: hand over the store's documents, or let it grow by those that searches
        bring up (``grow``).

        Parameters
        ----------
        vectorstore : VectorStore or BaseRetriever
        documents : iterable of Document, optional
            Those in the store, with the ids that they have there. They are added to the
            graph, not to the store; :meth:`add_documents` adds to both.
        index : HebbianIndex, optional
            Left out, one is opened at ``location``.
        keep_text : bool
            If false, the index that is opened keeps no copy of the texts: the vector
            store gives them back (``get_by_ids``). Documents that it no longer has do
            not come back. Over a retriever, hand ``open_options={"settings":
            Settings(keep_text=False), "texts": texts_of(docstore)}`` over instead.
        **options
            Fields of the retriever, such as ``seed_k``.
        """
        known = (*cls.model_fields, "documents", "location", "open_options", "keep_text")
        fields = checked(options, known=known, instead=INSTEAD_OVER_STORES)
        if not isinstance(vectorstore, VectorStore | BaseRetriever):
            raise ParameterError(
                f"vectorstore is a VectorStore or a retriever, got {type(vectorstore).__name__}"
            )
        own = None if documents is None else documents_of(documents)
        if index is None:
            if not keep_text:
                open_options = _without_text(vectorstore, open_options or {})
            index = open_index(location, None, open_options)
        if own is not None:
            if not (index.settings.keep_text or all(document.id for document in own)):
                raise ParameterError(
                    "documents need the ids that they have in the store, where it keeps their texts"
                )
            index.add([fields_of(document) for document in own])
        return cls(index=index, seed_source=vectorstore, **fields)

    # -- writing ----------------------------------------------------------------------

    def add_documents(
        self, documents: Iterable[Document], *, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Add or replace documents, also in the vector store beneath if there is one."""
        own = with_ids(documents, ids)
        if isinstance(self.seed_source, VectorStore):
            self.seed_source.add_documents(own, ids=[document.id for document in own])
        self.index.add([fields_of(document) for document in own])
        return [document.id or "" for document in own]

    async def aadd_documents(
        self, documents: Iterable[Document], *, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Async twin of :meth:`add_documents`."""
        return await asyncio.to_thread(self.add_documents, documents, ids=ids)

    # -- searching --------------------------------------------------------------------

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Filter = None,
        strategy: str | None = None,
        score_key: str | None = None,
        history: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        options = self._options(k, filter, strategy, history, kwargs)
        if self.seed_source is not None:
            full = self.index.in_full(query, options["history"])
            options["seeds"] = self._seeds(full, run_manager)
        recall = self.index.recall(query, id=str(run_manager.run_id), **options)
        return self._finish(recall, run_manager, score_key)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Filter = None,
        strategy: str | None = None,
        score_key: str | None = None,
        history: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        options = self._options(k, filter, strategy, history, kwargs)
        if self.seed_source is not None:
            full = await self.index.ain_full(query, options["history"])
            options["seeds"] = await self._aseeds(full, run_manager)
        recall = await self.index.arecall(query, id=str(run_manager.run_id), **options)
        return self._finish(recall, run_manager, score_key)

    def _options(
        self,
        k: int | None,
        where: Filter,
        strategy: str | None,
        history: Sequence[Any] | None,
        unknown: dict[str, Any],
    ) -> dict[str, Any]:
        check_names(
            sorted(unknown.keys() - _PASSED_OVER),
            AT_CALL,
            of="a call of the retriever",
            instead=INSTEAD,
        )
        return {
            "k": self.k if k is None else k,
            "where": chunk_filter(self.filter if where is None else where),
            "strategy": strategy or self.strategy,
            "history": turns_of(self.history if history is None else history),
        }

    def _finish(
        self,
        recall: Recall,
        run_manager: CallbackManagerForRetrieverRun | AsyncCallbackManagerForRetrieverRun,
        score_key: str | None,
    ) -> list[Document]:
        announce(
            run_manager.handlers,
            self.index,
            recall,
            run_id=run_manager.run_id,
            parent_run_id=run_manager.parent_run_id,
        )
        key = score_key or self.score_key
        return [
            to_document(hit.chunk, score=hit.score, score_key=key)
            for hit in recall.hits
            if not hit.lacks_text
        ]

    # -- seeds from elsewhere ---------------------------------------------------------

    def _seeds(
        self, query: str, run_manager: CallbackManagerForRetrieverRun
    ) -> list[tuple[str, float]]:
        source = self.seed_source
        if isinstance(source, VectorStore):
            documents = source.similarity_search(query, k=self.seed_k, **self.seed_kwargs)
        else:
            assert source is not None
            config = {"callbacks": run_manager.get_child()}
            documents = source.invoke(query, config, **self.seed_kwargs)  # type: ignore[arg-type]
        chunks = {stable_id(document): document for document in documents}
        self._grow(chunks)
        return _ranked(chunks)

    async def _aseeds(
        self, query: str, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[tuple[str, float]]:
        source = self.seed_source
        if isinstance(source, VectorStore):
            documents = await source.asimilarity_search(query, k=self.seed_k, **self.seed_kwargs)
        else:
            assert source is not None
            config = {"callbacks": run_manager.get_child()}
            documents = await source.ainvoke(query, config, **self.seed_kwargs)  # type: ignore[arg-type]
        chunks = {stable_id(document): document for document in documents}
        await asyncio.to_thread(self._grow, chunks)
        return _ranked(chunks)

    def _grow(self, documents: dict[str, Document]) -> None:
        if not self.grow:
            return
        held = self.index.holds(documents)
        unknown = {
            id_: one
            for id_, one in documents.items()
            if id_ not in held and (one.id or self.index.settings.keep_text)
        }
        if unknown:
            try:
                self.index.add([fields_of(one, id_) for id_, one in unknown.items()])
            except HebbgraphError as error:
                logger.warning("%d documents were not added to the graph: %s", len(unknown), error)

    # -- as others see it -------------------------------------------------------------

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = "hebbgraph"
        return params

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the retriever; the index is one, and shared."""
        return self.model_copy()


def _without_text(store: VectorStore | BaseRetriever, options: dict[str, Any]) -> dict[str, Any]:
    """Say that texts are read from a vector store."""
    if not isinstance(store, VectorStore):
        raise ParameterError(
            f"keep_text=False reads texts from a vector store, got {type(store).__name__}; "
            "hand texts_of(docstore) over in open_options"
        )
    settings = options.get("settings") or Settings()
    bare = settings.model_copy(update={"keep_text": False})
    return {"texts": texts_of(store), **options, "settings": bare}


def with_ids(documents: Iterable[Document], ids: Sequence[str | None] | None) -> list[Document]:
    """Return copies that have ids: those given, their own, or ones made of the content."""
    own = documents_of(documents)
    if isinstance(ids, str):
        raise ParameterError(f"ids is a list of str, got {ids!r}; put it in a list")
    if ids is not None and len(ids) != len(own):
        raise ParameterError(f"as many ids as documents are needed, got {len(ids)} for {len(own)}")
    given = ids or [None] * len(own)
    return [
        document.model_copy(update={"id": id_ or stable_id(document)})
        for document, id_ in zip(own, given, strict=True)
    ]


def turns_of(history: Sequence[Any]) -> Sequence[Any]:
    """Return texts as they are, and of messages the text of the user's."""
    if isinstance(history, str):
        return history  # refused by the index, which says what it takes
    return [
        str(turn.text) if isinstance(turn, HumanMessage) else turn
        for turn in history
        if isinstance(turn, HumanMessage) or not isinstance(turn, BaseMessage)
    ]


def _ranked(documents: Iterable[str]) -> list[tuple[str, float]]:
    """Score by rank: what stores call a score is a distance in one and not in the next."""
    ids = list(documents)
    return [(id_, 1.0 - rank / len(ids)) for rank, id_ in enumerate(ids)]
