"""Nodes to chunks, and back without loss.

A chunk's metadata is the node's, so that filters see it. What else belongs to the node
(relationships, excluded keys, templates) lies under one key of it, ``NODE_KEY``.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any

from hebbgraph_documents.links import is_place
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

from hebbgraph import Chunk
from hebbgraph.ingest import clean_chunk
from hebbgraph.limits import MAX_ADDRESSES, MAX_REFERENCES, MAX_TITLE
from hebbgraph.plain_values import plain
from hebbgraph.records import readable_links
from hebbgraph.search_text import search_text

__all__ = [
    "ADDRESSES_KEY",
    "NODE_KEY",
    "REFERENCES_KEY",
    "TAGS_KEY",
    "TITLE_KEY",
    "TRAIL_KEY",
    "chunk_to_node",
    "listed",
    "node_fields",
    "node_to_chunk",
]

logger = logging.getLogger(__name__)

#: Kinds of metadata of which it was said that they become text.
_told: set[type] = set()

NODE_KEY = "_llama_index"
"""Where a chunk's metadata keeps what else belongs to the node."""

TAGS_KEY = "hebbgraph_tags"
"""Where a node's metadata keeps its tags: one a line, as many stores take no lists, or a list."""

ADDRESSES_KEY, REFERENCES_KEY = "hebbgraph_addresses", "hebbgraph_references"
"""Where a node's metadata keeps its addresses, and what it links to, in the same way."""

TRAIL_KEY = "hebbgraph"
"""Where a retrieved node's metadata keeps how it was found, if that was asked for."""

TITLE_KEY = "title"
"""Where a node's metadata keeps the title of its chunk."""

_CLASSES: Mapping[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, Node, ImageNode, IndexNode, Document)
}
#: What means something to the index itself.
_OWN_KEYS = (TITLE_KEY, TAGS_KEY, ADDRESSES_KEY, REFERENCES_KEY, NODE_KEY)
_ELSEWHERE = {"id_", "embedding", "metadata", "text", "class_name"}


def node_to_chunk(node: BaseNode) -> Chunk:
    r"""Read a chunk from a node.

    Parameters
    ----------
    node : BaseNode
        See :func:`node_fields`.

    Returns
    -------
    Chunk
        Characters that no database can be trusted with, as extracted PDF text holds them, are
        replaced.

    Examples
    --------
    >>> node_to_chunk(TextNode(id_="a", text="Built\x00by Moss.")).text
    'Built by Moss.'
    """
    return clean_chunk(node_fields(node))


def node_fields(node: BaseNode) -> dict[str, Any]:
    """Read the fields of a chunk from a node, unchecked.

    Parameters
    ----------
    node : BaseNode
        ``metadata["title"]`` becomes the chunk's title and ``metadata["hebbgraph_tags"]``
        its tags; ``hebbgraph_addresses`` and ``hebbgraph_references`` its addresses and
        links. Metadata that JSON has no word for is kept as text. What ``MetadataMode.EMBED``
        shows, so all but ``excluded_embed_metadata_keys``, is searched with the text: the words
        of it (:mod:`hebbgraph.search_text`).

    Returns
    -------
    dict
        With the node's id. A node without a source document is its own document, so that
        what an ingestion pipeline stores unsplit can be deleted by ``ref_doc_id``. If its
        ``file_path`` or its document's id is a path or a URL, that is an address too.
    """
    metadata = plain(node.metadata, other=_as_text)
    title = metadata.get(TITLE_KEY)
    metadata.pop(TRAIL_KEY, None)  # of an earlier recall
    metadata[NODE_KEY] = _extras(node)
    return {
        "id": node.node_id,
        "text": node.get_content(metadata_mode=MetadataMode.NONE),
        "title": title[:MAX_TITLE] if isinstance(title, str) else "",
        "metadata": metadata,
        "document_id": node.ref_doc_id or node.node_id,
        "context": _context(node, metadata),
        "tags": listed(metadata.get(TAGS_KEY)),
        "addresses": _addresses(node, metadata),
        "references": readable_links(listed(metadata.get(REFERENCES_KEY)), MAX_REFERENCES),
    }


def _as_text(value: Any) -> str:
    """Return what JSON has no word for as text; say once of each kind that it becomes text."""
    kind = type(value)
    if kind not in _told:
        _told.add(kind)
        logger.warning(
            "metadata of the kind %s are kept, filtered and returned as text; make them a str, "
            "number, bool, date, list or dict if that is not meant",
            kind.__qualname__,
        )
    return str(value)


def _context(node: BaseNode, metadata: Mapping[str, Any]) -> str:
    """Return the words of the metadata that are embedded with a node."""
    excluded = {*node.excluded_embed_metadata_keys, *_OWN_KEYS}
    return search_text(metadata, [name for name in metadata if name not in excluded])


def listed(value: Any) -> list[str]:
    """Return what a metadata field lists: a list, or a text with one a line."""
    parts = value.split("\n") if isinstance(value, str) else value
    return [
        one
        for one in (parts if isinstance(parts, list) else ())
        if isinstance(one, str) and one.strip()
    ]


def place_of(node: BaseNode) -> str | None:
    """Return the path or URL of a node's document, if it has one."""
    for place in (node.metadata.get("file_path"), node.ref_doc_id or node.node_id):
        if is_place(place):
            return place
    return None


def _addresses(node: BaseNode, metadata: Mapping[str, Any]) -> tuple[str, ...]:
    place = readable_links(place_of(node), 1)
    own = readable_links(listed(metadata.get(ADDRESSES_KEY)), MAX_ADDRESSES - len(place))
    return tuple(dict.fromkeys((*own, *place)))


def chunk_to_node(chunk: Chunk) -> BaseNode:
    """Make a node of a chunk; a new object each time.

    Chunks that did not come from LlamaIndex become ``TextNode`` objects with the chunk's
    title among their metadata and its document as their source.
    """
    metadata: dict[str, Any] = copy.deepcopy(dict(chunk.metadata))
    extras = metadata.pop(NODE_KEY, None)
    if not isinstance(extras, dict):
        return _foreign(chunk, metadata)
    fields = dict(extras)
    kind = _CLASSES.get(fields.pop("class_name", ""), TextNode)
    relationships = {
        NodeRelationship[name]: [RelatedNodeInfo(**one) for one in related]
        if isinstance(related, list)
        else RelatedNodeInfo(**related)
        for name, related in fields.pop("relationships", {}).items()
    }
    if issubclass(kind, Node):
        fields["text_resource"] = {**fields.get("text_resource", {}), "text": chunk.text}
    else:
        fields["text"] = chunk.text
    return kind(  # type: ignore[call-arg]  # the base class names metadata by its alias
        id_=chunk.id, metadata=metadata, relationships=relationships, **fields
    )


def _foreign(chunk: Chunk, metadata: dict[str, Any]) -> TextNode:
    if chunk.title:
        metadata.setdefault(TITLE_KEY, chunk.title)
    relationships = {}
    if chunk.document_id is not None:
        relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=chunk.document_id)
    return TextNode(id_=chunk.id, text=chunk.text, metadata=metadata, relationships=relationships)


def _extras(node: BaseNode) -> dict[str, Any]:
    """All fields but those that a chunk has, as JSON, without the defaults."""
    if isinstance(node, IndexNode):  # its object is no data; retrievers have object maps
        node = node.model_copy(update={"obj": None})
    held = node.model_dump(mode="json", exclude=_ELSEWHERE, exclude_defaults=True)
    extras = {name: value for name, value in held.items() if value not in (None, [], {})}
    extras.pop("class_name", None)
    if "text_resource" in extras:
        resource = {
            name: value
            for name, value in extras.pop("text_resource").items()
            if name != "text" and value is not None
        }
        if resource:
            extras["text_resource"] = resource
    if node.relationships:
        extras["relationships"] = {
            relation.name: [_related(one) for one in related]
            if isinstance(related, list)
            else _related(related)
            for relation, related in node.relationships.items()
        }
    extras["class_name"] = node.class_name()
    return extras


def _related(related: RelatedNodeInfo) -> dict[str, Any]:
    held = related.model_dump(mode="json", exclude_defaults=True)
    held.pop("class_name", None)
    held["metadata"] = plain(related.metadata, other=_as_text)
    return {name: value for name, value in held.items() if value not in (None, {})}
