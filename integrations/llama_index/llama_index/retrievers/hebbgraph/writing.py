"""Nodes into an index: adding, replacing documents, and mirroring another index."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from llama_index.core.schema import BaseNode, Document, MediaResource

from hebbgraph import AddReport, Chunk, HebbianIndex
from hebbgraph.embedders import passage_text
from hebbgraph.intake import Intake, OnError
from hebbgraph.records import storable
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.nodes import node_fields
from llama_index.retrievers.hebbgraph.parsing import leaves
from llama_index.retrievers.hebbgraph.wrapped import Wrapped

__all__ = ["Cut", "Replaced", "add_nodes", "mirror", "replace_documents"]

logger = logging.getLogger(__name__)

#: Documents to nodes.
Cut = Callable[[Sequence[BaseNode]], Sequence[BaseNode]]


@dataclass
class Replaced:
    """What putting documents into an index changed.

    Attributes
    ----------
    report : AddReport
    changed : set of str
        Ids of the documents that are new or differ from what the index held.
    nodes : list of BaseNode
        All nodes of the documents, parents of others included.
    """

    report: AddReport = field(default_factory=AddReport)
    changed: set[str] = field(default_factory=set)
    nodes: list[BaseNode] = field(default_factory=list)


def add_nodes(
    index: HebbianIndex,
    nodes: Iterable[BaseNode],
    *,
    on_error: OnError = "raise",
    strict: bool = False,
    show_progress: bool = False,
) -> AddReport:
    """Add nodes; of several with one id, the last counts. Embeddings they carry are used."""
    intake = Intake(on_error=on_error, strict=strict)
    chunks = _chunks(intake, list(nodes))
    with LlamaIndexEmbedder.given(_vectors(chunks)):
        report = index.add([chunk for chunk, _ in chunks.values()], show_progress=show_progress)
    return _told(intake, report)


def replace_documents(
    index: HebbianIndex,
    documents: Sequence[BaseNode],
    cut: Cut,
    *,
    delete_missing: bool = False,
    on_error: OnError = "raise",
    strict: bool = False,
    show_progress: bool = False,
    wrapped: Wrapped | None = None,
) -> Replaced:
    """Put documents into an index, each in the place of its former self.

    Nodes that a document still has are not written again. A document that lost or changed nodes
    is replaced in one transaction; the others are added in batches.

    Parameters
    ----------
    index : HebbianIndex
        What holds them.
    documents : sequence of BaseNode
        A Document is cut; any other node is taken as it is.
    cut : callable
        From documents to nodes.
    delete_missing : bool
        Whether documents that are not among these leave the index.
    on_error, strict, show_progress
        As for ``HebbianIndex.add``.
    wrapped : Wrapped, optional
        A vector index that gets and loses the same nodes, before the index does.
    """
    intake = Intake(on_error=on_error, strict=strict)
    whole = [one for one in documents if isinstance(one, Document)]
    nodes: list[BaseNode] = [one for one in documents if not isinstance(one, Document)]
    nodes += cut(list(_clean(intake, whole))) if whole else ()
    chunks = _chunks(intake, leaves(nodes))
    wanted = {chunk.document_id for chunk, _ in chunks.values()} | {one.id_ for one in whole}
    held = {one.id: one for one in index.get(index.ids(_of_documents(one.id_ for one in whole)))}
    gone = [one for id_, one in held.items() if id_ not in chunks]
    held |= {one.id: one for one in index.get(id_ for id_ in chunks if id_ not in held)}
    losing = {one.document_id for one in gone if one.document_id is not None}
    differing = {chunk.document_id for id_, (chunk, _) in chunks.items() if held.get(id_) != chunk}
    others: list[str] = []
    if delete_missing:
        others = index.ids({"$not": _of_documents(wanted)} if wanted else None)
    if wrapped is not None:
        changed_ids = [id_ for id_, (chunk, _) in chunks.items() if held.get(id_) != chunk]
        wrapped.put(
            [chunks[id_][1] for id_ in changed_ids],
            [*(id_ for id_ in changed_ids if id_ in held), *(chunk.id for chunk in gone), *others],
        )
    reports = []
    with LlamaIndexEmbedder.given(_vectors(chunks)):
        rest = [chunk for chunk, _ in chunks.values() if chunk.document_id not in losing]
        if rest:
            reports.append(index.add(rest, show_progress=show_progress))
        for document_id in sorted(losing):
            own = [chunk for chunk, _ in chunks.values() if chunk.document_id == document_id]
            reports.append(index.put_document(document_id, None, own))
    if others:
        reports.append(AddReport(deleted=index.delete(others)))
    changed = {str(one) for one in (*losing, *differing)}
    return Replaced(_told(intake, _sum(reports)), changed, nodes)


def mirror(index: HebbianIndex, nodes: Sequence[BaseNode]) -> AddReport:
    """Make an index hold these nodes, and no others."""
    report = add_nodes(index, nodes)
    ids = {node.node_id for node in nodes}
    gone = [id_ for id_ in index.ids() if id_ not in ids]
    deleted = index.delete(gone) if gone else 0
    return report.model_copy(update={"deleted": report.deleted + deleted})


def _chunks(intake: Intake, nodes: Sequence[BaseNode]) -> dict[str, tuple[Chunk, BaseNode]]:
    taken = intake.take(map(node_fields, nodes))
    return {chunk.id: (chunk, nodes[position]) for position, chunk in taken}


def _clean(intake: Intake, documents: Sequence[Document]) -> Iterator[Document]:
    """Replace what cannot be kept before documents are cut, so that it is counted, or refused."""
    odd = (
        {
            "id": document.id_,
            "text": "" if storable(document.text) == document.text else document.text,
        }
        for document in documents
    )
    for position, chunk in intake.take(odd):
        document = documents[position]
        if chunk.text:
            resource = MediaResource(text=chunk.text)
            document = document.model_copy(update={"text_resource": resource})
        yield document


def _told(intake: Intake, report: AddReport) -> AddReport:
    """Say in log and report what was cleaned and skipped."""
    intake.tell()
    return report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})


def _vectors(chunks: dict[str, tuple[Chunk, BaseNode]]) -> dict[str, Sequence[float]]:
    return {
        passage_text(chunk): node.embedding for chunk, node in chunks.values() if node.embedding
    }


def _of_documents(ids: Iterable[str | None]) -> dict[str, dict[str, list[str]]]:
    return {"$document_id": {"$in": [id_ for id_ in ids if id_ is not None]}}


def _sum(reports: Sequence[AddReport]) -> AddReport:
    """Add up what several calls committed."""
    total = AddReport()
    for one in reports:
        tagging = one.tagging
        if tagging is not None and total.tagging is not None:
            tagging = total.tagging + tagging
        total = total.model_copy(
            update={
                name: getattr(total, name) + getattr(one, name)
                for name in ("added", "replaced", "unchanged", "deleted", "batches", "seconds")
            }
            | {
                "generation": max(total.generation, one.generation),
                "tagging": tagging or total.tagging,
            }
        )
    return total
