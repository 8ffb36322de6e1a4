"""Document transformers: a tagger and a text splitter."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from hebbgraph import Chunk
from hebbgraph.limits import MAX_REFERENCES
from hebbgraph.records import readable_links
from hebbgraph.text import candidates, display
from hebbgraph_documents import (
    ChunkSettings,
    estimate_tokens,
    split_document,
    text_document,
)
from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_hebbgraph.conversion import ADDRESSES, REFERENCES, SOURCE, TAGS, TITLE, to_chunk

__all__ = ["HebbianTextSplitter", "TagTransformer"]


@dataclass(eq=False)
class TagTransformer(BaseDocumentTransformer):
    """Write tags into the metadata of documents, where they can be seen and filtered.

    An index finds tags by itself; use this for tags that a model finds, or to see those of
    hebbgraph. Returns copies of the documents.

    Parameters
    ----------
    tagger : callable, optional
        ``Chunk -> iterable of str``, such as a call of a language model. Left out, the phrases
        that hebbgraph proposes for the text alone.
    tags_key : str
        The metadata field. The index reads ``"tags"``.
    max_tags : int, optional
        The most tags to add.

    Examples
    --------
    >>> (document,) = TagTransformer(max_tags=2).transform_documents(
    ...     [Document("The Petrel was built by Ida Moss in Tessel Bay.")]
    ... )
    >>> sorted(document.metadata["tags"])
    ['ida moss', 'petrel']
    """

    tagger: Callable[[Chunk], Iterable[str]] | None = None
    _: KW_ONLY
    tags_key: str = TAGS
    max_tags: int | None = None

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Return copies with tags in their metadata, after those that they already have."""
        return [self._tagged(document) for document in documents]

    def _tagged(self, document: Document) -> Document:
        chunk = to_chunk(document)
        if self.tagger is not None:
            tags: Iterable[str] = self.tagger(chunk)
        else:
            phrases = candidates(chunk.text, chunk.title)
            names_first = sorted(phrases, key=lambda phrase: phrase.kind in ("term", "noun"))
            tags = (display(phrase.key) for phrase in names_first)
        value = document.metadata.get(self.tags_key)
        present = [tag for tag in value if isinstance(tag, str)] if isinstance(value, list) else []
        new = [tag for tag in dict.fromkeys(tags) if tag not in present]
        metadata = {**document.metadata, self.tags_key: present + new[: self.max_tags]}
        return document.model_copy(update={"metadata": metadata})


class HebbianTextSplitter(BaseDocumentTransformer):
    r"""Split documents at their headings, and give every piece a stable id.

    The ending of ``source`` selects the format: ``.rst``, ``.ipynb``, source code; otherwise
    Markdown or plain text.

    The headings above a piece are its first line and among its tags; its ``title`` is the
    document's. A piece keeps its id, and what was learned about it, when other parts of the
    document are edited.

    Parameters
    ----------
    chunk_tokens : (int, int)
        The least and most tokens of a piece.
    count_tokens : callable
        ``str -> int``. Left out, a quarter of the UTF-8 bytes.

    Examples
    --------
    >>> splitter = HebbianTextSplitter(chunk_tokens=(1, 16))
    >>> text = "# Brain\n\nIt learns.\n\n## Sleep\n\nIt rests."
    >>> pieces = splitter.create_documents([text])
    >>> [(piece.metadata["title"], piece.page_content) for piece in pieces]
    [('Brain', 'It learns.'), ('Brain', 'Sleep\n\nIt rests.')]
    """

    def __init__(
        self,
        *,
        chunk_tokens: tuple[int, int] = (200, 400),
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> None:
        self.settings = ChunkSettings(chunk_tokens=chunk_tokens, count_tokens=count_tokens)

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Split documents; see :meth:`split_documents`."""
        return self.split_documents(documents)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the pieces of all documents, each with its document's metadata."""
        return [piece for document in documents for piece in self._split(document)]

    def create_documents(
        self, texts: Iterable[str], metadatas: Iterable[dict[str, Any]] | None = None
    ) -> list[Document]:
        """Split texts; each piece has its text's metadata."""
        if metadatas is None:
            return self.split_documents(Document(text) for text in texts)
        pairs = zip(texts, metadatas, strict=True)
        return self.split_documents(Document(text, metadata=metadata) for text, metadata in pairs)

    def split_text(self, text: str) -> list[str]:
        """Return the pieces of a text."""
        return [piece.page_content for piece in self._split(Document(text))]

    def _split(self, document: Document) -> list[Document]:
        # Without the text, which may be too long for a chunk.
        whole = to_chunk(document.model_copy(update={"page_content": ""}), "whole")
        digest = hashlib.sha256(document.page_content.encode("utf-8", "replace")).hexdigest()
        origin = whole.document_id or document.id or digest[:32]
        read = text_document(document.page_content, path=origin, title=whole.title)
        pieces = split_document(read, document_id=origin, settings=self.settings)
        return [self._piece(document, piece) for piece in pieces]

    def _piece(self, document: Document, piece: Chunk) -> Document:
        value = document.metadata.get(TAGS)
        tags = [*(value if isinstance(value, list) else []), *piece.tags]
        metadata = {
            **document.metadata,
            **{name: piece.metadata[name] for name in ("headings", "position")},
        }
        if piece.title:
            metadata[TITLE] = piece.title
        if tags:
            metadata[TAGS] = list(dict.fromkeys(tags))
        for name, links in ((ADDRESSES, piece.addresses), (REFERENCES, piece.references)):
            if name == REFERENCES or SOURCE in metadata:  # without a source, addresses are made up
                all_links = [*readable_links(metadata.get(name), MAX_REFERENCES), *links]
                if all_links:
                    metadata[name] = list(dict.fromkeys(all_links))
        if piece.document_id:
            metadata.setdefault(SOURCE, piece.document_id)
        return Document(id=piece.id, page_content=piece.text, metadata=metadata)
