"""Reads texts from a LangChain store, for an index that keeps no copy of them."""

from __future__ import annotations

from collections.abc import Sequence

from hebbgraph import Chunk, InvalidChunkError, ParameterError
from hebbgraph.protocols import TextSource
from hebbgraph.records import storable
from langchain_core.documents import Document
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore

from langchain_hebbgraph.conversion import to_chunk
from langchain_hebbgraph.wrapped import has_get_by_ids

__all__ = ["texts_of"]


def texts_of(store: VectorStore | BaseStore[str, Document]) -> TextSource:
    """Return a callable that reads an index's texts, for ``Settings(keep_text=False)``.

    Parameters
    ----------
    store : VectorStore or BaseStore
        A vector store with ``get_by_ids``, or a docstore of documents by id.

    Raises
    ------
    ParameterError
        If a vector store cannot be asked by id.

    Examples
    --------
    >>> from langchain_core.stores import InMemoryStore
    >>> store = InMemoryStore()
    >>> store.mset([("a", Document("Owls hunt at night."))])
    >>> texts_of(store)(["a", "b"])
    {'a': 'Owls hunt at night.'}
    """
    if isinstance(store, VectorStore) and not has_get_by_ids(store):
        raise ParameterError(
            f"{type(store).__name__} has no get_by_ids, so texts cannot be read from it; keep "
            "them in the index, or hand over texts_of(docstore)"
        )

    def texts(ids: Sequence[str], /) -> dict[str, str | Chunk | None]:
        if isinstance(store, VectorStore):
            documents = {document.id or "": document for document in store.get_by_ids(list(ids))}
        else:
            pairs = zip(ids, store.mget(ids), strict=True)
            documents = {id_: document for id_, document in pairs if document is not None}
        return {id_: _text(document) for id_, document in documents.items()}

    return texts


def _text(document: Document) -> str:
    """Return the text that :func:`to_chunk` made when the document was added."""
    try:
        return to_chunk(document, "text").text
    except InvalidChunkError:
        return storable(document.page_content)
