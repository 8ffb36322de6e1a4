"""HebbianNodeParser: documents to nodes that carry title, tags and lasting ids."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hebbgraph_documents import ChunkSettings, split_document, text_document
from llama_index.core.constants import DEFAULT_CHUNK_SIZE
from llama_index.core.node_parser import NodeParser, SentenceSplitter
from llama_index.core.node_parser.node_utils import build_nodes_from_splits
from llama_index.core.node_parser.text.sentence import SENTENCE_CHUNK_OVERLAP
from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.settings import Settings
from llama_index.core.utils import get_tqdm_iterable
from pydantic import Field, SerializeAsAny, field_serializer

from hebbgraph import Chunk
from llama_index.retrievers.hebbgraph.nodes import (
    ADDRESSES_KEY,
    REFERENCES_KEY,
    TAGS_KEY,
    TITLE_KEY,
    place_of,
)
from llama_index.retrievers.hebbgraph.tags import describe_callable, set_hidden, tags_of

__all__ = ["Cutting", "HebbianNodeParser", "leaves", "set_lasting_ids"]


logger = logging.getLogger(__name__)


class HebbianNodeParser(NodeParser):
    r"""Cuts documents into nodes for a hebbgraph index.

    Without ``parser``, hebbgraph's own: at headings first, then at paragraphs and
    sentences; the document's title becomes ``metadata["title"]``, a node's own heading one
    of its tags, its links ``metadata["hebbgraph_references"]``, resolved against the document's
    ``file_path`` or id. Files ending in ``.rst``, ``.ipynb`` or like source code are read as that,
    all others as Markdown. With one, that parser cuts, and this adds tags and ids.

    A node's id is made of its document's id, its text and, for repeated text, the number of
    the repetition. A node that an edit elsewhere in the document leaves alone keeps its id,
    and with it what was learned about it. So give documents ids that last
    (``SimpleDirectoryReader(filename_as_id=True)``).

    Parameters
    ----------
    parser : NodeParser, optional
        Any; ids that it gave, also in its nodes' relationships, are replaced.
    tagger : callable, optional
        Chunk to tags, beside those that hebbgraph finds by itself. For pipelines with
        several workers it must be picklable.
    chunk_tokens : (int, int), optional
        Least and most tokens of a node, without ``parser``. Left out, LlamaIndex's
        ``Settings.chunk_size`` is the most and half of it the least: with as many nodes of it, a
        prompt holds as much text as with LlamaIndex's own splitter.

    Notes
    -----
    Tags are excluded from what is embedded and from what an LLM reads.

    Examples
    --------
    >>> from llama_index.core import Document
    >>> text = "# Petrel\n\nA small ship.\n\n## Builder\n\nIda Moss built it."
    >>> parser = HebbianNodeParser(chunk_tokens=(1, 16))
    >>> for node in parser([Document(text=text, id_="petrel")]):
    ...     node.text, node.metadata
    ('A small ship.', {'title': 'Petrel'})
    ('Builder\n\nIda Moss built it.', {'title': 'Petrel', 'hebbgraph_tags': 'Builder'})
    """

    parser: SerializeAsAny[NodeParser] | None = Field(default=None, description="Cuts, if given.")
    tagger: Callable[[Chunk], Iterable[str]] | None = Field(
        default=None, description="Chunk to further tags."
    )
    chunk_tokens: tuple[int, int] = Field(
        default_factory=lambda: _usual_tokens(),
        description="Least and most tokens of a node, without parser.",
    )

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbianNodeParser"

    @field_serializer("tagger")
    def _name_tagger(self, tagger: Callable[[Chunk], Iterable[str]] | None) -> str | None:
        return describe_callable(tagger)

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        return self._finished(self._cut(nodes, show_progress))

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        # Older versions look for each text from the start of the document.
        places = [getattr(node, "start_char_idx", None) for node in nodes]
        ends = [getattr(node, "end_char_idx", None) for node in nodes]
        done = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node, start, end in zip(done, places, ends, strict=True):
            if start is not None and isinstance(node, TextNode):
                node.start_char_idx, node.end_char_idx = start, end
        return done

    # Not ``_parse_nodes`` of the other parser: some do their work in these.
    def get_nodes_from_documents(
        self, documents: Sequence[Document], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Cut documents into nodes."""
        if self.parser is None:
            return super().get_nodes_from_documents(documents, show_progress, **kwargs)
        cut = self.parser.get_nodes_from_documents(documents, show_progress, **kwargs)
        return self._finished(cut)

    async def aget_nodes_from_documents(
        self, documents: Sequence[Document], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Cut documents into nodes."""
        if self.parser is None:
            return await super().aget_nodes_from_documents(documents, show_progress, **kwargs)
        kind = type(self.parser)
        own_sync = kind.get_nodes_from_documents is not NodeParser.get_nodes_from_documents
        own_async = kind.aget_nodes_from_documents is not NodeParser.aget_nodes_from_documents
        if own_sync and not own_async:  # HierarchicalNodeParser: its async twin cuts nothing
            cut = await asyncio.to_thread(
                self.parser.get_nodes_from_documents, documents, show_progress, **kwargs
            )
        else:
            cut = await self.parser.aget_nodes_from_documents(documents, show_progress, **kwargs)
        return self._finished(cut)

    def _cut(self, documents: Sequence[BaseNode], show_progress: bool) -> list[BaseNode]:
        settings = ChunkSettings(chunk_tokens=self.chunk_tokens)
        result: list[BaseNode] = []
        for document in get_tqdm_iterable(documents, show_progress, "Parsing nodes"):
            text = document.get_content(metadata_mode=MetadataMode.NONE)
            given = document.metadata.get(TITLE_KEY)
            place = place_of(document)
            name = place or document.metadata.get("file_name") or document.node_id
            parsed = text_document(text, path=name)
            chunks = split_document(parsed, document_id=place or "document", settings=settings)
            pieces = build_nodes_from_splits([chunk.text for chunk in chunks], document)
            for piece, span in zip(pieces, _spans(text, chunks), strict=True):
                if span is not None and isinstance(piece, TextNode):
                    piece.start_char_idx, piece.end_char_idx = span
            for piece, chunk in zip(pieces, chunks, strict=True):
                title = given if isinstance(given, str) and given else chunk.title
                if title:
                    piece.metadata[TITLE_KEY] = title
                if chunk.tags:
                    set_hidden(piece, TAGS_KEY, list(chunk.tags))
                if chunk.references:
                    set_hidden(piece, REFERENCES_KEY, list(chunk.references))
                if place and chunk.addresses:  # without one the path is made up
                    set_hidden(piece, ADDRESSES_KEY, list(chunk.addresses))
            result.extend(pieces)
        return result

    def _finished(self, nodes: list[BaseNode]) -> list[BaseNode]:
        set_lasting_ids(nodes)
        if self.tagger is not None:
            for node in nodes:
                set_hidden(node, TAGS_KEY, tags_of(node, self.tagger))
        return nodes


class Cutting:
    """Cuts documents by some steps, and gives the nodes ids that last.

    Parameters
    ----------
    transformations : sequence of TransformComponent
        Left out, LlamaIndex's ``Settings.node_parser`` if somebody has chosen it or its
        ``chunk_size``, or else a :class:`HebbianNodeParser`.
    """

    def __init__(self, transformations: Sequence[TransformComponent] = ()) -> None:
        self.transformations = list(transformations) or [HebbianNodeParser(parser=_chosen())]

    def __call__(self, documents: Sequence[BaseNode]) -> list[BaseNode]:
        """Return the nodes of documents, parents of others included."""
        nodes = documents
        for step in self.transformations:
            nodes = step(nodes)
        own = list(nodes)
        set_lasting_ids([node for node in own if node.ref_doc_id is not None])
        return own


def _usual_tokens() -> tuple[int, int]:
    """Return half of LlamaIndex's chunk size and all of it, without making its parser."""
    most = getattr(Settings._node_parser, "chunk_size", DEFAULT_CHUNK_SIZE)
    return most // 2, most


def _chosen() -> NodeParser | None:
    """Return the parser of LlamaIndex's Settings, unless it is the one that they begin with."""
    parser = Settings._node_parser
    if (
        parser is None
        or isinstance(parser, HebbianNodeParser)
        or (
            type(parser) is SentenceSplitter
            and (parser.chunk_size, parser.chunk_overlap)
            == (DEFAULT_CHUNK_SIZE, SENTENCE_CHUNK_OVERLAP)
        )
    ):
        return None
    logger.info("documents are cut by Settings.node_parser, a %s", type(parser).__name__)
    return parser if isinstance(parser, NodeParser) else None


def leaves(nodes: Iterable[BaseNode]) -> list[BaseNode]:
    """Leave out nodes whose children are there too: all their words are their children's.

    In a graph of both, every phrase would occur in two chunks, and so be a tag.
    """
    own = list(nodes)
    ids = {node.node_id for node in own}
    return [node for node in own if not _children(node) & ids]


def _children(node: BaseNode) -> set[str]:
    return {child.node_id for child in node.child_nodes or ()}


def set_lasting_ids(nodes: Sequence[BaseNode]) -> None:
    """Give nodes ids made of document and text, in their relationships too."""
    seen: Counter[tuple[str, str]] = Counter()
    new_ids: dict[str, str] = {}
    for node in nodes:
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        source = node.ref_doc_id or ""
        place = new_ids.get(source, source), text  # of a hierarchy, parents come first
        content = "\x1f".join((*place, str(seen[place])))
        seen[place] += 1
        hashed = hashlib.sha256(content.encode("utf-8", "replace"))
        new_ids[node.node_id] = hashed.hexdigest()[:32]
    for node in nodes:
        node.id_ = new_ids[node.node_id]
        for related in node.relationships.values():
            for one in related if isinstance(related, list) else [related]:
                _rename(one, new_ids)


def _spans(text: str, chunks: Sequence[Chunk]) -> Iterator[tuple[int, int] | None]:
    """Find where each chunk stands in its document.

    A chunk begins with the headings above it, and headings within it are written anew, so its
    lines are looked for, not itself.
    """
    at = 0
    for chunk in chunks:
        label, _, body = chunk.text.partition("\n\n")
        headings = chunk.metadata.get("headings")
        path = [str(one) for one in headings] if isinstance(headings, list) else []
        above = {" > ".join(path[start:]) for start in range(len(path))}
        lines = [line for line in (body if label in above else chunk.text).split("\n") if line]
        places = ((line, text.find(line, at)) for line in lines)
        start = next((place for _, place in places if place >= 0), -1)
        if start < 0:
            yield None
            continue
        stop = start
        for line in lines:
            if (place := text.find(line, stop)) >= 0:
                stop = place + len(line)
        at = stop
        yield start, stop


def _rename(related: RelatedNodeInfo, new_ids: dict[str, str]) -> None:
    related.node_id = new_ids.get(related.node_id, related.node_id)
