"""Writes nodes and documents to an index: adds them, or replaces whole documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.schema import BaseNode, Document, MediaResource

from hebbgraph import AddReport, HebbianIndex
from hebbgraph.adapters.seed_vectors import check_sizes
from hebbgraph.embedders import given_vectors, passage_text
from hebbgraph.ingest import Intake, OnError, check_emptying
from hebbgraph.limits import MAX_TEXT
from hebbgraph.records import storable
from llama_index.retrievers.hebbgraph.nodes import node_fields, source_hash
from llama_index.retrievers.hebbgraph.options import check_nodes
from llama_index.retrievers.hebbgraph.parsing import leaves
from llama_index.retrievers.hebbgraph.wrapped import WrappedIndex

__all__ = ["Parse", "Written", "write_nodes"]

Parse = Callable[[Sequence[BaseNode]], Sequence[BaseNode]]
"""From documents to their nodes."""


@dataclass
class Written:
    """What a write changed."""

    report: AddReport
    changed: set[str]  # after a refresh, ids of the documents that are new or were changed
    nodes: list[BaseNode]  # all nodes, parents included
    documents: list[str]  # ids of their documents


def write_nodes(
    index: HebbianIndex,
    nodes: Sequence[BaseNode],
    *,
    parse: Parse | None = None,
    refresh: bool = False,
    delete_missing: bool = False,
    skip_unchanged: bool = False,
    on_error: OnError = "raise",
    strict: bool = False,
    show_progress: bool = False,
    wrapped: WrappedIndex | None = None,
) -> Written:
    """Write nodes and their embeddings to an index.

    Those without text and title are skipped with a warning, parents are left out.

    Parameters
    ----------
    index : HebbianIndex
        What is written to.
    nodes : sequence of BaseNode
        With ``parse``, documents among them are split.
    parse : callable, optional
        From documents to nodes.
    refresh : bool
        Whether other nodes of their documents are deleted.
    delete_missing : bool
        Whether all other documents are deleted too.
    skip_unchanged : bool
        Whether documents with the hash that the index has for them are left alone.
    on_error, strict, show_progress
        As for ``HebbianIndex.add``.
    wrapped : WrappedIndex, optional
        A vector index to change in the same way, before the index.
    """
    nodes = check_nodes(nodes, "nodes" if parse is None else "documents")
    intake = Intake(on_error=on_error, strict=strict, skip_empty=True)
    ids: set[str] = set()
    if parse is not None:
        documents = [node for node in nodes if isinstance(node, Document)]
        nodes = [node for node in nodes if not isinstance(node, Document)]
        ids = {document.id_ for document in documents}
        documents = list(_clean(intake, documents))
        if skip_unchanged:
            unchanged = _unchanged(index, documents)
            ids -= unchanged
            documents = [document for document in documents if document.id_ not in unchanged]
        nodes += parse(documents) if documents else ()
    searched = leaves(nodes)
    accepted = {
        chunk.id: (chunk, searched[position])
        for position, chunk in intake.take(map(node_fields, searched))
    }
    chunks = [chunk for chunk, _ in accepted.values()]
    ids |= {node.ref_doc_id or node.node_id for node in searched}
    index.make_namespace()
    changed: set[str] = set()
    if refresh or wrapped is not None:
        stored = {chunk.id: chunk for chunk in index.get(accepted)}
        differing = [chunk for chunk in chunks if stored.get(chunk.id) != chunk]
        deleted: list[str] = []
        if refresh:
            where = None if delete_missing else {"$document_id": {"$in": sorted(ids)}}
            deleted = [id_ for id_ in index.ids(where) if id_ not in accepted]
        changed = {str(chunk.document_id) for chunk in (*differing, *index.get(deleted))}
        if delete_missing:
            check_emptying(len(accepted), len(deleted))
        if wrapped is not None:
            replaced = [chunk.id for chunk in differing if chunk.id in stored]
            wrapped.put([accepted[chunk.id][1] for chunk in differing], [*replaced, *deleted])
    options: dict[str, Any] = {"show_progress": show_progress}
    if refresh:
        options |= {"document_ids": sorted(ids), "delete_missing": delete_missing}
    vectors = {
        passage_text(chunk): node.embedding for chunk, node in accepted.values() if node.embedding
    }
    if index.embeds:
        check_sizes(index, vectors.values())
    with given_vectors(vectors):
        report = (index.refresh if refresh else index.add)(chunks, **options)
    intake.tell()
    report = report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})
    return Written(report, changed, nodes, sorted(ids))


def _clean(intake: Intake, documents: Sequence[Document]) -> Iterator[Document]:
    """Clean documents before they are parsed, so that each is counted or refused as a whole.

    One that was given twice is left out, since it would be in the index twice.
    """
    distinct = {(document.id_, document.text): document for document in documents}
    for position, ((id_, text), document) in enumerate(distinct.items()):
        clean = storable(text)
        if id_ and text == clean and text.strip():
            yield document
            continue
        # Intake refuses texts above its limit, and parsing will split this one.
        fields = {"id": id_, "text": text if len(text) <= MAX_TEXT else clean}
        for _, chunk in intake.take([fields], first=position):
            resource = MediaResource(text=chunk.text)
            yield document.model_copy(update={"text_resource": resource})


def _unchanged(index: HebbianIndex, documents: Sequence[Document]) -> set[str]:
    """Return the ids of documents with the hashes that the nodes in the index give for them."""
    hashes: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        hashes[document.id_].add(document.hash)
    stored: dict[str, set[str | None]] = defaultdict(set)
    for chunk in index.get(index.ids({"$document_id": {"$in": list(hashes)}})):
        stored[str(chunk.document_id)].add(source_hash(chunk))
    return {id_ for id_ in hashes if hashes[id_] == stored[id_]}
