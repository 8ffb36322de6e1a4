"""Nodes to chunks, into an index, and back without loss.

``node.metadata`` is the chunk's, so filters see it; what else a node has, as its relationships, is
kept in one field of it, ``NODE_KEY``. ``title`` in the metadata is the chunk's title, and the lists
``tags``, ``addresses`` and ``references`` are those of :class:`hebbgraph.Chunk`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

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
from pydantic_core import to_jsonable_python

from hebbgraph import Chunk, HebbianIndex, Hit
from hebbgraph.errors import InvalidChunkError, ParameterError, check_whole
from hebbgraph.records import plain
from hebbgraph.records.base import MAX_TITLE
from llama_index.retrievers.hebbgraph.opening import NodeEmbedder

__all__ = ["NODE_KEY", "hide", "in_order", "lasting_id", "listed", "node_id_of", "text_of",
           "to_chunk", "to_node", "write_nodes"]  # fmt: skip

logger = logging.getLogger(__name__)

NODE_KEY = "_llama_index"
"""Metadata field of a chunk for what else its node has."""

_KINDS: Mapping[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, Node, ImageNode, IndexNode, Document)
}
#: Fields of a node that its chunk has too, or that are derived.
_KNOWN = {"id_", "embedding", "metadata", "text", "text_resource", "class_name", "obj"}
#: Metadata that tell documents apart whose ids are random.
_PLACES = ("file_path", "url", "source", "file_name")
#: What ``str(uuid.uuid4())`` makes, as the framework does where nobody gives an id.
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def listed(nodes: Sequence[Any], name: str = "nodes") -> list[Any]:
    """Return nodes as a list; raise ParameterError for other things."""
    if isinstance(nodes, str | bytes | Mapping | BaseNode) or not isinstance(nodes, Iterable):
        raise ParameterError(f"{name} is a list of nodes, got {type(nodes).__name__}")
    items = list(nodes)
    if wrong := [item for item in items if not isinstance(item, BaseNode)]:
        raise ParameterError(f"{name} is a list of nodes, got {type(wrong[0]).__name__} in it")
    return items


def text_of(node: BaseNode) -> str:
    """Return a node's text without its metadata."""
    return node.get_content(metadata_mode=MetadataMode.NONE)


def hide(node: BaseNode, *names: str) -> None:
    """Exclude metadata from what models read; lists of fields may be shared by nodes."""
    for field in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        setattr(node, field, list(dict.fromkeys([*getattr(node, field), *names])))


def lasting_id(node: BaseNode, source: RelatedNodeInfo | None = None) -> str:
    """Return the id of a document, or if that is random, what tells it apart in every run."""
    document = source or node
    if not _RANDOM.fullmatch(document.node_id):
        return document.node_id
    places = (node.metadata.get(name) for name in _PLACES)
    named = [place for place in places if isinstance(place, str) and place]
    return named[0] if named else document.hash or ""


def chunk_id(node: BaseNode, seen: Counter[tuple[str, str]]) -> str:
    """Return a node's id, or if that is random, a digest of document, text and repetition."""
    if not _RANDOM.fullmatch(node.node_id):
        return node.node_id
    key = lasting_id(node, node.source_node), text_of(node)
    seen[key] += 1
    content = "\x1f".join((*key, str(seen[key])))
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:32]


def node_id_of(chunk: Chunk | Hit) -> str:
    """Return the id that LlamaIndex knows a chunk by."""
    record = chunk.metadata.get(NODE_KEY)
    return str(record["id"]) if isinstance(record, dict) and "id" in record else chunk.id


def to_chunk(node: BaseNode, seen: Counter[tuple[str, str]] | None = None) -> Chunk:
    """Make a chunk of a node, which is not changed; what cannot be kept is an error by name."""
    own: Any = type(node)
    kind = next((base for base in own.__mro__ if base in _KINDS.values()), TextNode)
    if lost := sorted(own.model_fields.keys() - kind.model_fields.keys()):
        raise InvalidChunkError(
            f"a {own.__name__} has the field {lost[0]!r}, which no {kind.__name__} has and "
            "which would be lost; put it into metadata"
        )
    id_ = chunk_id(node, Counter() if seen is None else seen)
    metadata = _plain(node.metadata)
    record = {"node": json.dumps(_rest_of(node, kind), ensure_ascii=False)}
    if id_ != node.node_id:
        record["id"] = node.node_id
    if NODE_KEY in metadata:
        record["metadata"] = json.dumps(metadata, ensure_ascii=False)
    title = metadata.get("title")
    fields: dict[str, Any] = {
        "id": id_,
        "text": text_of(node),
        "title": title[:MAX_TITLE].strip() if isinstance(title, str) else "",
        "metadata": {**metadata, NODE_KEY: record},
        "document_id": node.ref_doc_id or node.node_id,
    }
    for name in ("tags", "addresses", "references"):
        if isinstance(value := metadata.get(name), list):
            fields[name] = [item for item in value if isinstance(item, str) and item.strip()]
    return Chunk.of(fields)


def _rest_of(node: BaseNode, kind: type[BaseNode]) -> dict[str, Any]:
    """Return the fields that a chunk lacks, without defaults."""
    bare = node.model_copy(update={"obj": None}) if isinstance(node, IndexNode) else node
    fields = bare.model_dump(mode="json", exclude=_KNOWN, exclude_defaults=True)
    fields = {name: value for name, value in fields.items() if name not in _KNOWN}
    if resource := getattr(node, "text_resource", None):
        resource = resource.model_copy(update={"text": None})
        fields["text_resource"] = resource.model_dump(mode="json", exclude_none=True)
    return {"class_name": kind.class_name(), **fields}


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata as LlamaIndex's stores write them, so that a fusion knows the node again."""
    made = dict[str, Any]()
    for key, value in metadata.items():
        try:
            made[key] = to_jsonable_python(value, fallback=plain)
            json.dumps(made[key], allow_nan=False)
        except ValueError as error:
            reason = str(error).partition(";")[0]
            raise InvalidChunkError(
                f"metadata[{key!r}] is {value!r:.80}: {reason}; leave it out, or use None"
            ) from error
    return made


def to_node(chunk: Chunk | Hit) -> BaseNode:
    """Make a node of a chunk or hit: a copy of the one stored; of other chunks, a TextNode."""
    metadata: dict[str, Any] = deepcopy(chunk.metadata)
    record = metadata.pop(NODE_KEY, None)
    if not isinstance(record, dict) or not isinstance(record.get("node"), str):
        if chunk.title:
            metadata.setdefault("title", chunk.title)
        node = TextNode(id_=chunk.id, text=chunk.text, metadata=metadata)
        if chunk.document_id:
            source = RelatedNodeInfo(node_id=chunk.document_id)
            node.relationships[NodeRelationship.SOURCE] = source
        return node
    fields = json.loads(record["node"])
    kind = _KINDS.get(fields.pop("class_name", ""), TextNode)
    if "metadata" in record:
        metadata = json.loads(record["metadata"])
    if issubclass(kind, Node):
        fields["text_resource"] = {**fields.get("text_resource", {}), "text": chunk.text}
    else:
        fields["text"] = chunk.text
    return kind.model_validate({**fields, "id_": node_id_of(chunk), "metadata": metadata})


def write_nodes(
    index: HebbianIndex,
    nodes: Sequence[BaseNode],
    *,
    replace: bool = False,
    show_progress: bool = False,
    batch_size: int | None = None,
) -> int:
    """Write nodes with their embeddings, and return how many have text.

    ``replace`` deletes what else their documents have.
    """
    if batch_size is not None:
        check_whole(batch_size, "insert_batch_size")
    chunks, seen = list[Chunk](), Counter[tuple[str, str]]()
    vectors = defaultdict[str, list[list[float]]](list)
    for at, node in enumerate(listed(nodes)):
        if not text_of(node).strip():
            continue
        try:
            chunks.append(to_chunk(node, seen))
        except InvalidChunkError as error:
            raise InvalidChunkError(f"nodes[{at}]: {error}") from error
        if node.embedding:
            text = "\n".join(filter(None, (chunks[-1].title, chunks[-1].text)))
            vectors[text].append(node.embedding)
    if n_blank := len(nodes) - len(chunks):
        logger.warning("%d of %d nodes have no text and were left out", n_blank, len(nodes))
    last = {chunk.id: chunk for chunk in chunks}
    if n_replaced := sum(chunk != last[chunk.id] for chunk in chunks):
        logger.warning("nodes that a later one with the same id replaces: %d", n_replaced)
    embedder = index.embedder
    if vectors and embedder is None:
        logger.warning("embeddings of nodes are left out: the index has no embed_model")
    with embedder.knowing(vectors) if isinstance(embedder, NodeEmbedder) else nullcontext():
        size = batch_size or max(1, len(chunks))
        for start in range(0, 0 if replace else len(chunks), size):
            index.add(chunks[start : start + size], show_progress=show_progress)
        if replace:
            index.refresh(chunks)
    return len(chunks)


def in_order(index: HebbianIndex, where: Any = None) -> list[Chunk]:
    """Return chunks that pass a filter in the order in which they came."""
    passing = index.ids(where)
    with index._database.read() as session:
        rows = dict(session.rows("SELECT id, row FROM $chunk WHERE id = ANY(?)", passing))
    return index.get(sorted(rows, key=lambda id_: rows[id_]))
