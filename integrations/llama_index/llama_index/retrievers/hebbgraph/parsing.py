"""HebbianNodeParser: documents to nodes with titles, tags and lasting ids."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

from hebbgraph_documents import ChunkSettings, split_document, text_document
from llama_index.core.constants import DEFAULT_CHUNK_SIZE
from llama_index.core.node_parser import NodeParser, SentenceSplitter
from llama_index.core.node_parser.node_utils import build_nodes_from_splits
from llama_index.core.node_parser.text.sentence import SENTENCE_CHUNK_OVERLAP
from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    TextNode,
    TransformComponent,
)
from llama_index.core.settings import Settings
from llama_index.core.utils import get_tqdm_iterable
from pydantic import Field, SerializeAsAny

from hebbgraph import Chunk
from hebbgraph.calling import in_thread
from llama_index.retrievers.hebbgraph.nodes import (
    ADDRESSES_KEY,
    REFERENCES_KEY,
    TAGS_KEY,
    TITLE_KEY,
    place_of,
    set_hidden,
)
from llama_index.retrievers.hebbgraph.tags import AS_NAME, tags_of

__all__ = ["HebbianNodeParser", "Parsing", "leaves", "set_lasting_ids"]

logger = logging.getLogger(__name__)


class HebbianNodeParser(NodeParser):
    r"""Splits documents into nodes for a hebbgraph index.

    By default it splits at headings first, then at paragraphs and sentences. The document's title
    becomes ``metadata["title"]``, a node's heading one of its tags, and its links
    ``metadata["hebbgraph_references"]``, resolved against the document's ``file_path`` or id. The
    file name tells reStructuredText, notebooks and source code from Markdown.

    A node's id is a hash of its document's id and its text, so a node keeps its id, and what was
    learned about it, while the rest of the document is edited. Give documents lasting ids
    (``SimpleDirectoryReader(filename_as_id=True)``).

    Parameters
    ----------
    parser : NodeParser, optional
        Splits instead; tags and lasting ids are added to its nodes.
    tagger : callable, optional
        Chunk to tags, in addition to those that hebbgraph finds. For pipelines with several
        workers it must be picklable.
    chunk_tokens : (int, int), optional
        Least and most tokens of a node, without ``parser``. By default the most is LlamaIndex's
        ``Settings.chunk_size``, so that k nodes fill a prompt as they do with LlamaIndex's own
        splitter, and the least is half of it, but no less than the 200 of ``hebbgraph index``.

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

    parser: SerializeAsAny[NodeParser] | None = Field(default=None, description="Splits instead.")
    tagger: Annotated[Callable[[Chunk], Iterable[str]] | None, AS_NAME] = Field(
        default=None, description="Chunk to further tags."
    )
    chunk_tokens: tuple[int, int] = Field(
        default_factory=lambda: _default_tokens(),
        description="Least and most tokens of a node, without parser.",
    )

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbianNodeParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        progress = get_tqdm_iterable(nodes, show_progress, "Parsing nodes")
        return self._finished([part for document in progress for part in self._split(document)])

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        # Older versions search each text from the start of the document.
        spans = [
            (getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None))
            for node in nodes
        ]
        nodes = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node, (start, end) in zip(nodes, spans, strict=True):
            if start is not None and isinstance(node, TextNode):
                node.start_char_idx, node.end_char_idx = start, end
        return nodes

    # Not ``_parse_nodes`` of the other parser: some parsers do their work in these.
    def get_nodes_from_documents(
        self, documents: Sequence[Document], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Split documents into nodes."""
        if self.parser is None:
            return super().get_nodes_from_documents(documents, show_progress, **kwargs)
        nodes = self.parser.get_nodes_from_documents(documents, show_progress, **kwargs)
        return self._finished(nodes)

    # In a thread even if the other parser has an async twin, since inherited ones may not split.
    aget_nodes_from_documents = in_thread(get_nodes_from_documents)  # type: ignore[arg-type]

    def _split(self, document: BaseNode) -> list[BaseNode]:
        text = document.get_content(metadata_mode=MetadataMode.NONE)
        place = place_of(document)
        name = place or document.metadata.get("file_name") or document.node_id
        chunks = split_document(
            text_document(text, path=name),
            document_id=place or "document",
            settings=ChunkSettings(chunk_tokens=self.chunk_tokens),
        )
        nodes: list[BaseNode] = []
        nodes.extend(build_nodes_from_splits([chunk.text for chunk in chunks], document))
        given_title = document.metadata.get(TITLE_KEY)
        for node, chunk, span in zip(nodes, chunks, _spans(text, chunks), strict=True):
            if span is not None and isinstance(node, TextNode):
                node.start_char_idx, node.end_char_idx = span
            title = given_title if isinstance(given_title, str) and given_title else chunk.title
            if title:
                node.metadata[TITLE_KEY] = title
            hidden = {TAGS_KEY: chunk.tags, REFERENCES_KEY: chunk.references}
            if place:  # otherwise the chunk's addresses come from a placeholder
                hidden[ADDRESSES_KEY] = chunk.addresses
            for key, values in hidden.items():
                if values:
                    set_hidden(node, key, list(values))
        return nodes

    def _finished(self, nodes: list[BaseNode]) -> list[BaseNode]:
        set_lasting_ids(nodes)
        if self.tagger is not None:
            for node in nodes:
                set_hidden(node, TAGS_KEY, tags_of(node, self.tagger))
        return nodes


class Parsing:
    """Splits documents by a sequence of transformations, and gives the nodes lasting ids.

    Parameters
    ----------
    transformations : sequence of TransformComponent
        By default LlamaIndex's ``Settings.node_parser``, if it or its ``chunk_size`` was set, or
        else a :class:`HebbianNodeParser`.
    """

    def __init__(self, transformations: Sequence[TransformComponent] = ()) -> None:
        self.transformations = list(transformations) or [HebbianNodeParser(parser=_set_parser())]

    def __call__(self, documents: Sequence[BaseNode]) -> list[BaseNode]:
        """Return the nodes of documents, parents included."""
        transformed = documents
        for transformation in self.transformations:
            transformed = transformation(transformed)
        nodes = list(transformed)  # a transformation may be a generator
        set_lasting_ids([node for node in nodes if node.ref_doc_id is not None])
        return nodes


def _default_tokens() -> tuple[int, int]:
    # Settings.chunk_size would construct a parser.
    most = getattr(Settings._node_parser, "chunk_size", DEFAULT_CHUNK_SIZE)
    least, _ = ChunkSettings().chunk_tokens
    return min(max(most // 2, least), most), most


def _set_parser() -> NodeParser | None:
    """Return the parser of LlamaIndex's Settings, unless it is the default one."""
    parser = Settings._node_parser
    default = (DEFAULT_CHUNK_SIZE, SENTENCE_CHUNK_OVERLAP)
    if not isinstance(parser, NodeParser) or isinstance(parser, HebbianNodeParser):
        return None
    if type(parser) is SentenceSplitter and (parser.chunk_size, parser.chunk_overlap) == default:
        return None
    logger.info("documents are split by Settings.node_parser, a %s", type(parser).__name__)
    return parser


def leaves(nodes: Iterable[BaseNode]) -> list[BaseNode]:
    """Leave out parents of other nodes: with them, every phrase would be in two chunks, a tag."""
    nodes = list(nodes)
    ids = {node.node_id for node in nodes}
    return [node for node in nodes if ids.isdisjoint(c.node_id for c in node.child_nodes or ())]


def set_lasting_ids(nodes: Sequence[BaseNode]) -> None:
    """Replace the ids of nodes, in their relationships too, by hashes of document and text.

    A number is hashed too where a document repeats a text.
    """
    repetitions: Counter[tuple[str, str]] = Counter()
    new_ids: dict[str, str] = {}
    for node in nodes:
        source = node.ref_doc_id or ""
        # Of a hierarchy, parents come first and have new ids already.
        key = new_ids.get(source, source), node.get_content(metadata_mode=MetadataMode.NONE)
        content = "\x1f".join((*key, str(repetitions[key])))
        repetitions[key] += 1
        new_ids[node.node_id] = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:32]
    for node in nodes:
        node.id_ = new_ids[node.node_id]
        for relation in node.relationships.values():
            for related in relation if isinstance(relation, list) else [relation]:
                related.node_id = new_ids.get(related.node_id, related.node_id)


def _spans(text: str, chunks: Sequence[Chunk]) -> Iterator[tuple[int, int] | None]:
    """Yield where each chunk starts and ends in its document.

    Found line by line, since a chunk is no literal part of it: the headings above it come first,
    and headings within it are rewritten.
    """
    position = 0
    for chunk in chunks:
        first, _, rest = chunk.text.partition("\n\n")
        headings = chunk.metadata.get("headings")
        names = [str(heading) for heading in headings] if isinstance(headings, list) else []
        is_heading = first in {" > ".join(names[start:]) for start in range(len(names))}
        lines = [line for line in (rest if is_heading else chunk.text).split("\n") if line]
        places = (text.find(line, position) for line in lines)
        start = next((place for place in places if place >= 0), -1)
        if start < 0:
            yield None
            continue
        position = start
        for line in lines:
            if (place := text.find(line, position)) >= 0:
                position = place + len(line)
        yield start, position
