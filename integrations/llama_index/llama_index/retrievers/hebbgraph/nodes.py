"""Nodes to chunks, and back without loss.

A chunk's metadata is the node's, so that filters see it. The node's other fields (relationships,
excluded keys, templates) are stored under one metadata key, ``NODE_KEY``.
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
    "lines_of",
    "node_fields",
    "node_to_chunk",
    "place_of",
    "set_hidden",
    "source_hash",
]

logger = logging.getLogger(__name__)

#: Types of metadata values for which a warning was logged.
_warned_types: set[type] = set()

NODE_KEY = "_llama_index"
"""Metadata key of a chunk for the node's other fields."""

TAGS_KEY = "hebbgraph_tags"
"""Metadata key of a node for its tags: one per line, since many stores take no lists, or a list."""

ADDRESSES_KEY, REFERENCES_KEY = "hebbgraph_addresses", "hebbgraph_references"
"""Metadata keys of a node for its addresses and its links, in the same format."""

TRAIL_KEY = "hebbgraph"
"""Metadata key of a retrieved node for how it was found, if requested."""

TITLE_KEY = "title"
"""Metadata key of a node for its title."""

_CLASSES: Mapping[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, Node, ImageNode, IndexNode, Document)
}
#: Metadata keys that the index itself reads.
_INDEX_KEYS = (TITLE_KEY, TAGS_KEY, ADDRESSES_KEY, REFERENCES_KEY, NODE_KEY)
#: Fields of a node that a chunk has too.
_CHUNK_FIELDS = {"id_", "embedding", "metadata", "text", "class_name"}


def node_to_chunk(node: BaseNode) -> Chunk:
    r"""Make a chunk of a node; see :func:`node_fields`.

    Characters that no database stores reliably, as in text extracted from PDF, are replaced.

    Examples
    --------
    >>> node_to_chunk(TextNode(id_="a", text="Built\x00by Moss.")).text
    'Built by Moss.'
    """
    return clean_chunk(node_fields(node))


def node_fields(node: BaseNode) -> dict[str, Any]:
    """Return the fields of a chunk for a node, unchecked.

    * ``metadata["title"]`` becomes the title, ``hebbgraph_tags`` the tags,
      ``hebbgraph_addresses`` and ``hebbgraph_references`` the addresses and links.
    * Metadata values without a JSON type become text.
    * The words of the metadata that ``MetadataMode.EMBED`` shows are searched with the text
      (:mod:`hebbgraph.search_text`).
    * A node without a source document is its own document, so that a pipeline can delete
      unsplit documents by ``ref_doc_id``.
    * A ``file_path`` or document id that is a path or URL is an address too.
    """
    metadata = plain(node.metadata, other=_as_text)
    title = metadata.get(TITLE_KEY)
    metadata.pop(TRAIL_KEY, None)  # from an earlier recall
    metadata[NODE_KEY] = _other_fields(node)
    unsearched = {*node.excluded_embed_metadata_keys, *_INDEX_KEYS}
    place = readable_links(place_of(node), 1)
    addresses = readable_links(lines_of(metadata.get(ADDRESSES_KEY)), MAX_ADDRESSES - len(place))
    return {
        "id": node.node_id,
        "text": node.get_content(metadata_mode=MetadataMode.NONE),
        "title": title[:MAX_TITLE] if isinstance(title, str) else "",
        "metadata": metadata,
        "document_id": node.ref_doc_id or node.node_id,
        "context": search_text(metadata, [key for key in metadata if key not in unsearched]),
        "tags": lines_of(metadata.get(TAGS_KEY)),
        "addresses": tuple(dict.fromkeys((*addresses, *place))),
        "references": readable_links(lines_of(metadata.get(REFERENCES_KEY)), MAX_REFERENCES),
    }


def chunk_to_node(chunk: Chunk) -> BaseNode:
    """Make a new node of a chunk.

    A chunk that did not come from LlamaIndex becomes a ``TextNode`` with the chunk's title in its
    metadata and the chunk's document as its source.
    """
    metadata: dict[str, Any] = copy.deepcopy(dict(chunk.metadata))
    fields = metadata.pop(NODE_KEY, None)
    if not isinstance(fields, dict):
        fields = {}
        if chunk.title:
            metadata.setdefault(TITLE_KEY, chunk.title)
        if chunk.document_id is not None:
            fields["relationships"] = {"SOURCE": {"node_id": chunk.document_id}}
    kind = _CLASSES.get(fields.pop("class_name", ""), TextNode)
    fields["relationships"] = {
        NodeRelationship[name]: [RelatedNodeInfo(**node) for node in related]
        if isinstance(related, list)
        else RelatedNodeInfo(**related)
        for name, related in fields.get("relationships", {}).items()
    }
    if issubclass(kind, Node):
        fields["text_resource"] = {**fields.get("text_resource", {}), "text": chunk.text}
    else:
        fields["text"] = chunk.text
    return kind(id_=chunk.id, metadata=metadata, **fields)  # type: ignore[call-arg]  # alias


def source_hash(chunk: Chunk) -> str | None:
    """Return the hash of the document that a chunk was split from, if it came from LlamaIndex."""
    fields: Any = chunk.metadata.get(NODE_KEY) or {}
    source: dict[str, str] = fields.get("relationships", {}).get("SOURCE", {})
    return source.get("hash")


def lines_of(value: Any) -> list[str]:
    """Return the entries of a metadata value: of a list, or of a text with one per line."""
    entries = value.split("\n") if isinstance(value, str) else value
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, str) and entry.strip()]


def set_hidden(node: BaseNode, key: str, value: Any) -> None:
    """Set metadata of a node and exclude it from what models read."""
    if isinstance(value, list):  # many stores take no lists
        value = "\n".join(value)
    node.metadata = {**node.metadata, key: value}
    for name in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        excluded = getattr(node, name)
        if key not in excluded:  # a new list, since nodes of one document share theirs
            setattr(node, name, [*excluded, key])


def place_of(node: BaseNode) -> str | None:
    """Return the path or URL of a node's document, if it has one."""
    places = (node.metadata.get("file_path"), node.ref_doc_id or node.node_id)
    return next((place for place in places if is_place(place)), None)


def _as_text(value: Any) -> str:
    """Return a value without a JSON type as text; warn once per type."""
    kind = type(value)
    if kind not in _warned_types:
        _warned_types.add(kind)
        logger.warning(
            "metadata of type %s are stored, filtered and returned as text; to avoid that, make "
            "them a str, number, bool, date, list or dict",
            kind.__qualname__,
        )
    return str(value)


def _other_fields(node: BaseNode) -> dict[str, Any]:
    """Return the fields that a chunk lacks, as JSON, without defaults."""
    if isinstance(node, IndexNode):  # retrievers look objects up in their object map
        node = node.model_copy(update={"obj": None})
    fields = node.model_dump(mode="json", exclude=_CHUNK_FIELDS, exclude_defaults=True)
    if "text_resource" in fields:
        resource = fields["text_resource"].items()
        fields["text_resource"] = {
            name: value for name, value in resource if name != "text" and value is not None
        }
    fields["relationships"] = {
        relation.name: [_related_fields(node) for node in related]
        if isinstance(related, list)
        else _related_fields(related)
        for relation, related in node.relationships.items()
    }
    present = {name: value for name, value in fields.items() if value not in (None, [], {})}
    return {**present, "class_name": node.class_name()}


def _related_fields(related: RelatedNodeInfo) -> dict[str, Any]:
    fields = related.model_dump(mode="json", exclude_defaults=True)
    fields.pop("class_name", None)
    fields["metadata"] = plain(related.metadata, other=_as_text)
    return {name: value for name, value in fields.items() if value not in (None, {})}
