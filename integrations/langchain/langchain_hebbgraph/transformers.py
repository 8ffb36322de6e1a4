"""Document transformers: the core's splitter, and its tagger over a chat model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from hebbgraph import Chunk
from hebbgraph.records.base import MAX_ID
from hebbgraph.splitter import Splitter
from hebbgraph.tagger import LLMTagger
from langchain_hebbgraph.documents import (
    Metadatas,
    as_documents,
    as_list,
    title_of,
    to_chunk,
)

__all__ = ["HebbianTextSplitter", "TagTransformer"]

#: Texts that one prompt quotes.
_BATCH = 8


class HebbianTextSplitter(BaseDocumentTransformer):
    r"""Split Markdown and plain text at headings, into documents with stable ids.

    An edit of one section leaves the ids of others as they are. ``source`` in the metadata is the
    document's path or URL: pieces are found at its anchors, and relative links start from it.

    Parameters
    ----------
    chunk_tokens : (int, int)
        Least and most tokens of a piece; see :class:`hebbgraph.splitter.Splitter`.

    Examples
    --------
    >>> splitter = HebbianTextSplitter(chunk_tokens=(1, 16))
    >>> text = "# Brain\n\nIt learns.\n\n## Sleep\n\nIt rests."
    >>> for piece in splitter.create_documents([text]):
    ...     piece.metadata["title"], piece.page_content[-9:]
    ('Brain', 't learns.')
    ('Brain: Sleep', 'It rests.')
    """

    def __init__(self, *, chunk_tokens: tuple[int, int] = (200, 1200)) -> None:
        self.splitter = Splitter(chunk_tokens=chunk_tokens)

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Split documents; see :meth:`split_documents`."""
        return self.split_documents(documents)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the pieces of all documents, each with its document's metadata."""
        documents = as_list(documents, Document, "documents")
        return [piece for document in documents for piece in self._split(document)]

    def create_documents(self, texts: Iterable[str], metadatas: Metadatas = None) -> list[Document]:
        """Split texts; each piece has its text's metadata."""
        return self.split_documents(as_documents(texts, metadatas))

    def split_text(self, text: str) -> list[str]:
        """Return the pieces of a text."""
        return [chunk.text for chunk in self.splitter.split(text)]

    def _split(self, document: Document) -> list[Document]:
        source, metadata = document.metadata.get("source"), document.metadata
        address = source if isinstance(source, str) and source.strip() else None
        is_id = address is not None and len(address) <= MAX_ID and address.isprintable()
        chunks = self.splitter.split(
            document.page_content,
            title=title_of(metadata),
            document_id=address if is_id else document.id,
            metadata=metadata,
            address=address,
        )
        return [self._piece(chunk) for chunk in chunks]

    @staticmethod
    def _piece(chunk: Chunk) -> Document:
        given: dict[str, Any] = chunk.metadata
        named = {"title": chunk.title, "source": chunk.document_id}
        metadata = {**given, **{name: value for name, value in named.items() if value}}
        for name in ("addresses", "references"):
            if found := getattr(chunk, name):
                before = given.get(name)
                metadata[name] = [*(before if isinstance(before, list) else []), *found]
        return Document(id=chunk.id, page_content=chunk.text, metadata=metadata)


class TagTransformer(BaseDocumentTransformer):
    """Write tags that a chat model finds into the metadata of documents (copies of them).

    ``TagTransformer(model).tagger`` does the same while an index is built:
    ``HebbianRetriever.from_documents(..., tagger=...)``.

    Parameters
    ----------
    model : Runnable
        A chat model, or whatever takes a prompt and returns a message or str.
    tags_key : str
        The metadata field; the index reads ``"tags"``.
    **options
        ``tags``, ``domain``, ``vocabulary``: as for :class:`hebbgraph.tagger.LLMTagger`.

    Examples
    --------
    >>> from langchain_core.language_models import FakeListChatModel
    >>> answer = '{"texts": [{"number": 1, "tags": ["Ida Moss"]}]}'
    >>> model = FakeListChatModel(responses=[answer])
    >>> documents = [Document("Ida Moss built the Petrel.")]
    >>> TagTransformer(model).transform_documents(documents)[0].metadata
    {'tags': ['Ida Moss']}
    """

    def __init__(
        self, model: Runnable[LanguageModelInput, Any], *, tags_key: str = "tags", **options: Any
    ) -> None:
        def complete(prompt: str) -> str:
            answer = model.invoke(prompt)
            return str(answer.text) if isinstance(answer, BaseMessage) else str(answer)

        self.tagger = LLMTagger(complete, **options)
        self.tags_key = tags_key

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Return copies with tags in their metadata, after those that they already have."""
        documents = as_list(documents, Document, "documents")
        found: dict[int, list[str]] = {}
        visible = [at for at, document in enumerate(documents) if document.page_content.strip()]
        for start in range(0, len(visible), _BATCH):
            batch = visible[start : start + _BATCH]
            tags = self.tagger([to_chunk(documents[at]) for at in batch])
            found.update(zip(batch, tags, strict=True))
        return [self._tagged(document, found.get(at, [])) for at, document in enumerate(documents)]

    def _tagged(self, document: Document, tags: list[str]) -> Document:
        before = document.metadata.get(self.tags_key)
        kept = before if isinstance(before, list) else []
        metadata = {**document.metadata, self.tags_key: list(dict.fromkeys([*kept, *tags]))}
        return document.model_copy(update={"metadata": metadata})
