"""Writes nodes and documents to an index: adds them, or replaces whole documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from llama_index.core.schema import BaseNode, Document, MediaResource

from hebbgraph import AddReport, HebbianIndex
from hebbgraph.embedders import given_vectors, passage_text
from hebbgraph.ingest import Intake, OnError
from hebbgraph.limits import MAX_TEXT
from hebbgraph.records import storable
from llama_index.retrievers.hebbgraph.nodes import node_fields, source_hash
from llama_index.retrievers.hebbgraph.parsing import leaves
from llama_index.retrievers.hebbgraph.wrapped import WrappedIndex

__all__ = ["Written", "write_documents", "write_nodes"]


@dataclass
class Written:
    """What a write changed."""

    report: AddReport
    changed: set[str]  # after a refresh, ids of the documents that are new or were changed
    nodes: list[BaseNode]  # all nodes of the documents that were split, parents included
    documents: list[str]  # ids of the documents that were split


def write_documents(
    index: HebbianIndex,
    documents: Sequence[BaseNode],
    parse: Callable[[Sequence[BaseNode]], Sequence[BaseNode]],
    *,
    refresh: bool = False,
    delete_missing: bool = False,
    skip_unchanged: bool = False,
    on_error: OnError = "raise",
    strict: bool = False,
    show_progress: bool = False,
    wrapped: WrappedIndex | None = None,
) -> Written:
    """Write documents to an index; those without text are skipped with a warning.

    Parameters
    ----------
    index : HebbianIndex
        What is written to.
    documents : sequence of BaseNode
        Documents are parsed; other nodes are written as they are.
    parse : callable
        From documents to nodes.
    refresh : bool
        Whether other nodes of these documents are deleted.
    delete_missing : bool
        Whether all other documents are deleted too.
    skip_unchanged : bool
        Whether documents with the hash that the index has for them are left alone.
    on_error, strict, show_progress
        As for ``HebbianIndex.add``.
    wrapped : WrappedIndex, optional
        A vector index to change in the same way, before the index.
    """
    intake = Intake(on_error=on_error, strict=strict, skip_empty=True)
    unparsed = [document for document in documents if isinstance(document, Document)]
    # A document that was given twice would be in the index twice.
    unparsed = list({(document.id_, document.text): document for document in unparsed}.values())
    nodes = [node for node in documents if not isinstance(node, Document)]
    document_ids = {document.id_ for document in unparsed}
    unparsed = list(_clean(intake, unparsed))
    if skip_unchanged:
        unchanged = _unchanged(index, unparsed)
        document_ids -= unchanged
        unparsed = [document for document in unparsed if document.id_ not in unchanged]
    nodes += parse(unparsed) if unparsed else ()
    return write_nodes(
        index,
        nodes,
        document_ids=document_ids,
        refresh=refresh,
        delete_missing=delete_missing,
        show_progress=show_progress,
        wrapped=wrapped,
        intake=intake,
    )


def write_nodes(
    index: HebbianIndex,
    nodes: Sequence[BaseNode],
    *,
    document_ids: Iterable[str] = (),
    refresh: bool = False,
    delete_missing: bool = False,
    show_progress: bool = False,
    wrapped: WrappedIndex | None = None,
    intake: Intake | None = None,
) -> Written:
    """Write nodes and their embeddings to an index; see :func:`write_documents`.

    Nodes without text and title are skipped, parents are left out. ``document_ids`` are refreshed
    even if they have no node here; ``intake`` reports what it cleaned before.
    """
    intake = intake or Intake(skip_empty=True)
    searched = leaves(nodes)
    accepted = {
        chunk.id: (chunk, searched[position])
        for position, chunk in intake.take(map(node_fields, searched))
    }
    chunks = [chunk for chunk, _ in accepted.values()]
    documents = sorted({*document_ids, *(node.ref_doc_id or node.node_id for node in searched)})
    index.make_namespace()
    changed: set[str] = set()
    if refresh or wrapped is not None:
        stored = {chunk.id: chunk for chunk in index.get(accepted)}
        differing = [chunk for chunk in chunks if stored.get(chunk.id) != chunk]
        deleted: list[str] = []
        if refresh:
            where = None if delete_missing else {"$document_id": {"$in": documents}}
            deleted = [id_ for id_ in index.ids(where) if id_ not in accepted]
        changed = {str(chunk.document_id) for chunk in (*differing, *index.get(deleted))}
        if wrapped is not None:
            replaced = [chunk.id for chunk in differing if chunk.id in stored]
            wrapped.put([accepted[chunk.id][1] for chunk in differing], [*replaced, *deleted])
    vectors = {
        passage_text(chunk): node.embedding for chunk, node in accepted.values() if node.embedding
    }
    with given_vectors(vectors):
        if refresh:
            report = index.refresh(
                chunks,
                document_ids=documents,
                delete_missing=delete_missing,
                show_progress=show_progress,
            )
        else:
            report = index.add(chunks, show_progress=show_progress)
    intake.tell()
    report = report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})
    return Written(report, changed, list(nodes), documents)


def _unchanged(index: HebbianIndex, documents: Sequence[Document]) -> set[str]:
    """Return the ids of documents with the hashes that the nodes in the index give for them."""
    hashes: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        hashes[document.id_].add(document.hash)
    stored: dict[str, set[str | None]] = defaultdict(set)
    for chunk in index.get(index.ids({"$document_id": {"$in": list(hashes)}})):
        stored[str(chunk.document_id)].add(source_hash(chunk))
    return {id_ for id_ in hashes if hashes[id_] == stored[id_]}


def _clean(intake: Intake, documents: Sequence[Document]) -> Iterator[Document]:
    """Clean documents before they are parsed, so that each is counted or refused as a whole."""
    for position, document in enumerate(documents):
        text, clean = document.text, storable(document.text)
        if document.id_ and text == clean and text.strip():
            yield document
            continue
        # Intake refuses texts above its limit, and parsing will split this one.
        fields = {"id": document.id_, "text": text if len(text) <= MAX_TEXT else clean}
        for _, chunk in intake.take([fields], first=position):
            resource = MediaResource(text=chunk.text)
            yield document.model_copy(update={"text_resource": resource})
