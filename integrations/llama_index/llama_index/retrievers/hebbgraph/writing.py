"""Nodes and documents into an index: adding them, or putting whole documents in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from llama_index.core.schema import BaseNode, Document, MediaResource

from hebbgraph import AddReport, Chunk, HebbianIndex
from hebbgraph.embedders import given_vectors, passage_text
from hebbgraph.ingest import Intake, OnError
from hebbgraph.limits import MAX_TEXT
from hebbgraph.records import storable
from llama_index.retrievers.hebbgraph.nodes import node_fields
from llama_index.retrievers.hebbgraph.parsing import leaves
from llama_index.retrievers.hebbgraph.wrapped import Wrapped

__all__ = ["Cut", "Written", "add_nodes", "write_documents", "write_nodes"]

#: Documents to nodes.
Cut = Callable[[Sequence[BaseNode]], Sequence[BaseNode]]


@dataclass
class Written:
    """What writing documents into an index changed.

    Attributes
    ----------
    report : AddReport
    changed : set of str
        After a refresh, ids of the documents that are new or differ from what the index held.
    nodes : list of BaseNode
        All nodes of the documents, parents of others included.
    """

    report: AddReport
    changed: set[str] = field(default_factory=set)
    nodes: list[BaseNode] = field(default_factory=list)


def add_nodes(
    index: HebbianIndex, nodes: Iterable[BaseNode], *, show_progress: bool = False
) -> AddReport:
    """Add nodes; the same id replaces. Of several with one id, the last counts."""
    return write_nodes(index, list(nodes), show_progress=show_progress).report


def write_documents(
    index: HebbianIndex,
    documents: Sequence[BaseNode],
    cut: Cut,
    *,
    refresh: bool = False,
    delete_missing: bool = False,
    on_error: OnError = "raise",
    strict: bool = False,
    show_progress: bool = False,
    wrapped: Wrapped | None = None,
) -> Written:
    """Write documents into an index; those without text are skipped, with a warning.

    Parameters
    ----------
    index : HebbianIndex
        What is written to.
    documents : sequence of BaseNode
        A Document is cut; any other node is taken as it is.
    cut : callable
        From documents to nodes.
    refresh : bool
        Whether these are all nodes that their documents have now, so that the others go.
    delete_missing : bool
        Whether documents that are not among these go too.
    on_error, strict, show_progress
        As for ``HebbianIndex.add``.
    wrapped : Wrapped, optional
        A vector index that gets and loses the same nodes, before the index does.
    """
    intake = Intake(on_error=on_error, strict=strict, skip_empty=True)
    whole = [document for document in documents if isinstance(document, Document)]
    nodes = [node for node in documents if not isinstance(node, Document)]
    nodes += cut(list(_clean(intake, whole))) if whole else ()
    return write_nodes(
        index,
        nodes,
        document_ids=[document.id_ for document in whole],
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
    wrapped: Wrapped | None = None,
    intake: Intake | None = None,
) -> Written:
    """Write nodes into an index; embeddings that they carry are used.

    Those without text and title are skipped, with a warning.

    Parameters
    ----------
    nodes : sequence of BaseNode
        Parents of others among them are not searched, and left out.
    document_ids : iterable of str
        Documents that a refresh replaces even if no node is of them.
    index, refresh, delete_missing, show_progress, wrapped
        As for :func:`write_documents`.
    intake : Intake, optional
        What has already been cleaned.
    """
    intake = intake or Intake(skip_empty=True)
    searched = leaves(nodes)
    chunks = _chunks(intake, searched)
    own = [chunk for chunk, _ in chunks.values()]
    named = {*document_ids, *(node.ref_doc_id or node.node_id for node in searched)}
    index.make_namespace()
    changed: set[str] = set()
    if refresh or wrapped is not None:
        held = {chunk.id: chunk for chunk in index.get(chunks)}
        gone: list[str] = []
        if refresh:
            where = None if delete_missing else {"$document_id": {"$in": sorted(named)}}
            gone = [id_ for id_ in index.ids(where) if id_ not in chunks]
        differing = [chunk for chunk in own if held.get(chunk.id) != chunk]
        changed = {str(chunk.document_id) for chunk in (*differing, *index.get(gone))}
        if wrapped is not None:
            replaced = [chunk.id for chunk in differing if chunk.id in held]
            wrapped.put([chunks[chunk.id][1] for chunk in differing], [*replaced, *gone])
    with given_vectors(_vectors(chunks)):
        if refresh:
            report = index.refresh(
                own,
                document_ids=sorted(named),
                delete_missing=delete_missing,
                show_progress=show_progress,
            )
        else:
            report = index.add(own, show_progress=show_progress)
    intake.tell()
    report = report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})
    return Written(report, changed, list(nodes))


def _chunks(intake: Intake, nodes: Sequence[BaseNode]) -> dict[str, tuple[Chunk, BaseNode]]:
    taken = intake.take(map(node_fields, nodes))
    return {chunk.id: (chunk, nodes[position]) for position, chunk in taken}


def _clean(intake: Intake, documents: Sequence[Document]) -> Iterator[Document]:
    """Replace what cannot be kept before documents are cut, so that it is counted, or refused."""
    for position, document in enumerate(documents):
        text, clean = document.text, storable(document.text)
        if document.id_ and text == clean and text.strip():
            yield document
            continue
        fields = {"id": document.id_, "text": text if len(text) <= MAX_TEXT else clean}
        for _, chunk in intake.take([fields], first=position):  # what is long is cut later
            resource = MediaResource(text=chunk.text)
            yield document.model_copy(update={"text_resource": resource})


def _vectors(chunks: dict[str, tuple[Chunk, BaseNode]]) -> dict[str, Sequence[float]]:
    return {
        passage_text(chunk): node.embedding for chunk, node in chunks.values() if node.embedding
    }
