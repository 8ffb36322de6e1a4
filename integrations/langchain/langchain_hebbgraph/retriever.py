"""HebbianRetriever: a LangChain retriever over a hebbgraph index.

Constructors and writing; :mod:`.base` answers questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

from hebbgraph import AddReport, HebbianIndex, IndexPool, ParameterError, Settings
from hebbgraph.adapters.tenants import warn_if_new
from hebbgraph.arguments import one_of
from hebbgraph.calling import in_thread
from hebbgraph.ingest import OnError
from hebbgraph.protocols import Embedder
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ValidationError

from langchain_hebbgraph.base import RecallingRetriever
from langchain_hebbgraph.conversion import check_documents, documents_of_texts, with_ids
from langchain_hebbgraph.options import (
    HINTS_OVER_STORES,
    Fields,
    NewOptions,
    OpeningOptions,
    RetrieverOptions,
    checked,
    open_index,
)
from langchain_hebbgraph.texts import texts_of
from langchain_hebbgraph.wrapped import sync, vectors_of, write

__all__ = ["HebbianRetriever"]

#: Arguments that open an index.
_OPENING = ("location", "embedder", "embedding", "embeddings", "open_options")
#: The namespace of a retriever over a pool whose requests must name one.
_NO_NAMESPACE = ""


class HebbianRetriever(RecallingRetriever):
    """Retriever that learns which passages belong together.

    Setup:
        .. code-block:: bash

            pip install langchain-hebbgraph

    Key init args:
        index: HebbianIndex
            An open index; or ``location``, with ``embedding`` and ``open_options``, to open
            one that is closed with the retriever. :meth:`from_documents` and
            :meth:`from_texts` add documents, :meth:`from_vectorstore` searches your own
            store, and :meth:`from_pool` many namespaces.
        k: int
            Number of documents to return.
        filter: dict or callable, optional
            ``{"year": {"$gte": 2020}}``, or a callable that takes a Document. It applies
            while activation spreads, not only to the result.
        score_key: str, optional
            Metadata key under which the score is returned; none by default.
        history: sequence of str or messages
            Earlier turns of the conversation, oldest first, or its messages; only the user's
            count. They complete a follow-up ("and in winter?") without a model.

        as_of: datetime, date or str, optional
            Only what was valid at that moment. Left out, a document that was superseded or has
            expired says so in ``metadata["hebbgraph"]["stale"]``.
        include_path: bool
            Write into ``metadata["hebbgraph"]`` how each document was found: recall id,
            rank, path, cues and tags (``Recall.trail``).

        options: SearchOptions, optional
            Rare options, such as a strategy; see
            :class:`~langchain_hebbgraph.options.SearchOptions`.

        ``invoke`` also takes all of them but ``index`` and ``options``, and ``search_type``,
        ``score_threshold``, ``lambda_mult``, ``fetch_k``, ``strategy`` and ``namespace``; a
        request's ``configurable`` sets all of these but ``history``, ``strategy`` and
        ``namespace``.

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

    # -- constructors -----------------------------------------------------------------

    def __init__(self, index: HebbianIndex | None = None, /, **options: Unpack[Fields]) -> None:
        fields = checked(options, known=(*type(self).model_fields, *_OPENING))
        if index is not None and fields.setdefault("index", index) is not index:
            raise ParameterError("the index is given twice; give it once")
        opening = [name for name in _OPENING if name in fields]
        is_opening = "location" in opening
        if is_opening and "index" in fields:
            raise ParameterError("location and index are one argument; give it once")
        if is_opening:
            fields["index"] = _opened(fields)
            warn_if_new(fields["index"])
        elif opening:
            raise ParameterError(f"{opening[0]} goes with location, or with from_documents")
        try:
            super().__init__(**fields)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            if first["type"] == "missing":
                raise ParameterError(
                    f"{type(self).__name__} takes {field}=, or location= to open one; "
                    "from_documents and from_texts make one of documents"
                ) from error
            raise ParameterError(f"{field}: {first['msg']}, got {first['input']!r:.80}") from error
        self._owns_index = is_opening
        source = self.options.seed_source
        if self.options.seed_vectors is not None:
            vectors_of(source, self.options.seed_vectors, self.index)  # fails early
        if self.options.namespaces is not None and source is not None:
            raise ParameterError(
                "one store beneath all namespaces would mix tenants; make a retriever for each: "
                "from_vectorstore(store, index=pool[namespace])"
            )

    @classmethod
    def from_pool(
        cls, pool: IndexPool, *, namespace: str | None = None, **options: Unpack[RetrieverOptions]
    ) -> Self:
        """Search the namespace of a pool that each request names.

        A request names it as ``{"configurable": {"hebbgraph_namespace": "anna"}}``, in the field
        ``hebbgraph_namespace`` of a LangGraph runtime's context, or as
        ``invoke(query, namespace="anna")``.

        Parameters
        ----------
        pool : IndexPool
        namespace : str, optional
            For requests that name none. Left out, they are an error.
        **options
            Fields of the retriever.
        """
        if not isinstance(pool, IndexPool):
            raise ParameterError(f"pool is an IndexPool, got {type(pool).__name__}")
        fields = checked(options, known=tuple(cls.model_fields))
        fields["options"] = replace(fields["options"], namespaces=pool, namespace=namespace)
        return cls(index=pool[namespace or _NO_NAMESPACE], **fields)

    @classmethod
    def from_index(cls, index: HebbianIndex, **options: Unpack[RetrieverOptions]) -> Self:
        """Search an open index."""
        return cls(index=index, **options)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embedder | None = None,
        *,
        ids: Sequence[str] | None = None,
        **options: Unpack[OpeningOptions],
    ) -> Self:
        """Add documents to an index, new or not, and search it.

        A document replaces the one with its id, and no other; :meth:`refresh` replaces all
        documents of a source. Arguments are checked before anything is opened or embedded.

        Parameters
        ----------
        documents : iterable of Document
        embedding : Embeddings, optional
            Any object with ``embed_documents`` and ``embed_query``; also as ``embedder`` or
            ``embeddings``. Without one, search is lexical.
        ids : sequence of str, optional
            Left out, the documents' own. A document without one gets an id made of content and
            metadata, so adding the same documents again changes nothing.
        location : str or Path
            A directory, ``":memory:"`` or a database URL.
        open_options : dict, optional
            More arguments of ``HebbianIndex.open``: ``namespace``, ``settings``, ``tagger``,
            ``edges`` (metadata fields whose values join documents).
        **options
            Fields of the retriever: ``k``, ``filter``, ``search_type``, ..., also as
            ``search_kwargs={"k": 3}``, as for a vector store's ``as_retriever``.
        """
        fields = checked(options, known=(*cls.model_fields, "ids", *_OPENING))
        documents = with_ids(documents, ids)
        index = _opened(fields, embedding=embedding)
        retriever = cls(index=index, **fields)
        retriever._owns_index = True
        with retriever._closed_on_error():
            write(retriever.index, documents)
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
        """Put a graph on top of your vector store, or of any retriever.

        The store is searched for seeds, and nothing is embedded twice. The graph needs the texts:
        pass the store's documents, or let it grow by those that searches find (``grow``).

        Parameters
        ----------
        vectorstore : VectorStore or BaseRetriever
        documents : iterable of Document, optional
            The documents in the store, with their ids there. They are added to the graph, not
            to the store; :meth:`add_documents` adds to both.
        index : HebbianIndex, optional
            Left out, one is opened at ``location``.
        keep_text : bool
            If false, the index keeps no copy of the texts, and reads them from the vector store
            (``get_by_ids``). Documents that the store no longer has do not come back. Over a
            retriever, pass ``open_options={"settings": Settings(keep_text=False), "texts":
            texts_of(docstore)}`` instead.
        **options
            Fields of the retriever; ``options=SearchOptions(seed_vectors=...)`` for a store whose
            vectors cannot be read otherwise.
        """
        known = (*cls.model_fields, "documents", "location", "open_options", "keep_text")
        fields = checked(options, known=known, hints=HINTS_OVER_STORES)
        if not isinstance(vectorstore, VectorStore | BaseRetriever):
            raise ParameterError(
                f"vectorstore is a VectorStore or a retriever, got {type(vectorstore).__name__}"
            )
        documents = None if documents is None else check_documents(documents)
        owns_index = index is None
        if index is None:
            if not keep_text:
                open_options = _without_text(vectorstore, open_options or {})
            index = open_index(location, None, open_options, fields["options"].namespace)
        fields["options"] = replace(fields["options"], seed_source=vectorstore)
        retriever = cls(index=index, **fields)
        retriever._owns_index = owns_index
        with retriever._closed_on_error():
            if documents is not None:
                if not (index.settings.keep_text or all(document.id for document in documents)):
                    raise ParameterError(
                        "documents need the ids that they have in the store, where it keeps "
                        "their texts"
                    )
                if retriever._wrapped is not None:
                    retriever._wrapped.check_ids(documents)
                write(index, with_ids(documents, None))
            elif retriever.options.grow:
                index.make_namespace()
        return retriever

    # -- writing ----------------------------------------------------------------------

    def add(
        self,
        documents: Iterable[Document],
        *,
        ids: Sequence[str] | None = None,
        on_error: OnError = "raise",
        strict: bool = False,
    ) -> AddReport:
        """Add documents, also to a wrapped vector store; the same id replaces.

        Parameters
        ----------
        documents : iterable of Document
        ids : sequence of str, optional
            In place of the documents' own.
        on_error : {"raise", "skip"}
            ``"skip"`` leaves out invalid documents; ``AddReport.failed`` lists them.
        strict : bool
            Refuse characters that cannot be stored, instead of replacing them.
        """
        return write(
            self.index,
            with_ids(documents, ids),
            wrapped=self._wrapped,
            on_error=on_error,
            strict=strict,
        )

    def add_documents(
        self, documents: Iterable[Document], *, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Add documents as :meth:`add` does; return their ids."""
        documents = with_ids(documents, ids)
        self.add(documents)
        return [document.id or "" for document in documents]

    def delete(self, ids: Sequence[str] | None = None, *, document_id: str | None = None) -> int:
        """Delete by id, or all of one source, also in a wrapped vector store; return how many."""
        deleted = [ids] if isinstance(ids, str) else list(ids or ())
        if document_id is not None:
            deleted += self.index.ids({"$document_id": document_id})
        if deleted and self._wrapped is not None:
            self._wrapped.delete(deleted)
        return self.index.delete(ids, document_id=document_id)

    def refresh(
        self, documents: Iterable[Document] | None = None, *, delete_missing: bool = False
    ) -> AddReport:
        """Update the graph to the present documents.

        Parameters
        ----------
        documents : iterable of Document, optional
            All documents that their sources have now; they replace what the index has of these
            sources. Left out, over a vector store, its changes and deletions are read from it.
        delete_missing : bool
            Whether to delete all other documents.
        """
        if documents is None:
            if self._wrapped is None:
                raise ParameterError(
                    "refresh takes documents; only over a vector store it needs none"
                )
            return sync(self.index, self._wrapped)
        return write(
            self.index,
            with_ids(documents, None),
            refresh=True,
            delete_missing=delete_missing,
            wrapped=self._wrapped,
        )

    # -- async twins --------------------------------------------------------------------

    aadd = in_thread(add)
    aadd_documents = in_thread(add_documents)
    adelete = in_thread(delete)
    arefresh = in_thread(refresh)


def _without_text(store: VectorStore | BaseRetriever, options: dict[str, Any]) -> dict[str, Any]:
    """Return options that make an index read texts from a vector store."""
    if not isinstance(store, VectorStore):
        raise ParameterError(
            f"keep_text=False reads texts from a vector store, got {type(store).__name__}; "
            "pass texts_of(docstore) in open_options"
        )
    settings = options.get("settings") or Settings()
    settings = settings.model_copy(update={"keep_text": False})
    return {"texts": texts_of(store), **options, "settings": settings}


def _opened(fields: dict[str, Any], **passed: Any) -> HebbianIndex:
    """Open the index that some of these arguments describe, and take those out."""
    passed |= {name: fields.pop(name) for name in _OPENING if name in fields}
    models = {name: passed.get(name) for name in ("embedder", "embedding", "embeddings")}
    return open_index(
        passed.get("location", ":memory:"),
        one_of(**models),
        passed.get("open_options"),
        fields["options"].namespace,
    )
