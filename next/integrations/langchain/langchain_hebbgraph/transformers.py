"""Document transformers: the core's splitter, and its tagger over a chat model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from hebbgraph import Chunk
from hebbgraph.limits import MAX_ID
from hebbgraph.splitter import Splitter
from hebbgraph.tagger import LLMTagger
from langchain_hebbgraph.documents import as_documents, as_list, chunks_of, title_of

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

    def create_documents(
        self, texts: Iterable[str], metadatas: Iterable[Mapping[str, Any] | None] | None = None
    ) -> list[Document]:
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

    An index finds tags by itself; a model's are better. ``TagTransformer(model).tagger`` does the
    same while an index is built: ``HebbianRetriever.from_documents(..., tagger=...)``.

    Parameters
    ----------
    model : Runnable
        A chat model, or whatever takes a prompt and returns a message or str.
    tags, domain, vocabulary
        As for :class:`hebbgraph.tagger.LLMTagger`: how many, what all texts are about, and the
        only tags there are.
    tags_key : str
        The metadata field; the index reads ``"tags"``.

    Raises
    ------
    TaggingError
        On use, if the model's answers lack tags of a document.

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
        self,
        model: Runnable[LanguageModelInput, Any],
        *,
        tags: int = 10,
        domain: str | None = None,
        vocabulary: Iterable[str] | None = None,
        tags_key: str = "tags",
    ) -> None:
        def complete(prompt: str) -> str:
            answer = model.invoke(prompt)
            return str(answer.text) if isinstance(answer, BaseMessage) else str(answer)

        self.tagger = LLMTagger(complete, tags=tags, domain=domain, vocabulary=vocabulary)
        self.tags_key = tags_key

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Return copies with tags in their metadata, after those that they already have."""
        documents = as_list(documents, Document, "documents")
        return [
            tagged
            for at in range(0, len(documents), _BATCH)
            for tagged in self._tagged(documents[at : at + _BATCH])
        ]

    def _tagged(self, documents: list[Document]) -> list[Document]:
        visible = [document for document in documents if document.page_content.strip()]
        found = iter(self.tagger(chunks_of(visible)) if visible else ())
        tagged = []
        for document in documents:
            new = next(found) if document.page_content.strip() else []
            value = document.metadata.get(self.tags_key)
            tags = list(dict.fromkeys([*(value if isinstance(value, list) else []), *new]))
            metadata = {**document.metadata, self.tags_key: tags}
            tagged.append(document.model_copy(update={"metadata": metadata}))
        return tagged
