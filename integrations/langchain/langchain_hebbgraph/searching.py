"""One search of an index, checked against a wrapped store if there is one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hebbgraph import Chunk, HebbgraphError, HebbianIndex, Hit, Recall
from hebbgraph.adapters.diversity import diverse_hits
from hebbgraph.adapters.stored_hits import recall_stored
from hebbgraph.calling import in_thread
from hebbgraph.filters import joined
from hebbgraph.protocols import VectorSource
from langchain_core.documents import Document

from langchain_hebbgraph.conversion import TRAIL, to_document
from langchain_hebbgraph.wrapped import Seeds, WrappedStore
from langchain_hebbgraph.writing import differs, updated_fields

__all__ = ["Results", "Search", "SearchType", "add_to_graph"]

logger = logging.getLogger(__name__)

SearchType: TypeAlias = Literal["similarity", "mmr", "similarity_score_threshold"]


@dataclass
class Results:
    """A recall, the hits to return, and the documents that read differently in the store now."""

    recall: Recall
    hits: list[Hit]
    current: dict[str, Document] = field(default_factory=dict)

    def documents(self, *, score_key: str | None, include_path: bool) -> list[Document]:
        """Return the documents of the hits."""
        documents = []
        for hit in self.hits:
            document = to_document(hit.chunk, score=hit.score, score_key=score_key)
            if (current := self.current.get(hit.chunk.id)) is not None:
                document.page_content = current.page_content
                document.metadata.update(current.metadata)
                if score_key is not None:
                    document.metadata[score_key] = hit.score
            if include_path:
                document.metadata[TRAIL] = self.recall.trail(hit.chunk.id)
            elif hit.stale is not None:
                document.metadata[TRAIL] = hit.stale_mark
            documents.append(document)
        return documents


@dataclass(kw_only=True)
class Search:
    """A question and all that decides which documents come back."""

    index: HebbianIndex
    query: str
    k: int
    where: Mapping[str, Any] | Callable[[Chunk], bool] | None
    options: dict[str, Any]  # more arguments of the recall
    search_type: SearchType
    score_threshold: float | None
    lambda_mult: float
    fetch_k: int
    grow: bool
    seeds: Seeds | None = None
    vectors: VectorSource | None = None

    def run(self, wrapped: WrappedStore | None = None) -> Results:
        """Ask the index; skip what the store has deleted, and show what it has changed."""
        if wrapped is None or self.seeds is None:
            recall = self._recall()
            hits = list(recall.hits)
            changed: dict[str, Document] = {}
        else:
            recall, hits, changed = self._recall_stored(self.seeds, wrapped)
        if self.grow and changed:
            chunks = {hit.chunk.id: hit.chunk for hit in hits}
            add_to_graph(
                self.index,
                [updated_fields(chunks[id_], document) for id_, document in changed.items()],
            )
        hits = [
            hit
            for hit in hits
            if (not hit.lacks_text or hit.chunk.id in changed)
            and (self.score_threshold is None or hit.score >= self.score_threshold)
        ]
        if self.search_type == "mmr":
            hits = diverse_hits(hits, self.k, diversity=1.0 - self.lambda_mult)
        return Results(recall, hits[: self.k], changed)

    arun = in_thread(run)

    def _recall(self, excluded: Sequence[str] = ()) -> Recall:
        options = self.options
        if self.seeds is not None:
            options = {**options, "seeds": self.seeds.scores}
            if self.seeds.vector is not None:
                options |= {"vector": self.seeds.vector, "vectors": self.vectors}
        k = max(self.k, self.fetch_k) if self.search_type == "mmr" else self.k
        where = joined(self.where, {"$id": {"$nin": list(excluded)}} if excluded else None)
        return self.index.recall(self.query, k=k, where=where, **options)

    def _recall_stored(
        self, seeds: Seeds, wrapped: WrappedStore
    ) -> tuple[Recall, list[Hit], dict[str, Document]]:
        """Recall what the store still has; return also the documents that it has changed."""
        witness = next((id_ for id_, document in seeds.documents.items() if document.id), None)
        has_ids = witness is not None or not seeds.documents
        recall, hits, current = recall_stored(
            self._recall,
            seeds.documents,
            lambda ids: wrapped.try_read(ids) if has_ids else None,
            witness=witness,
        )
        changed = {
            hit.chunk.id: current[hit.chunk.id]
            for hit in hits
            if hit.chunk.id in current and differs(hit.chunk, current[hit.chunk.id])
        }
        return recall, hits, changed


def add_to_graph(index: HebbianIndex, chunks: Sequence[dict[str, Any]]) -> None:
    """Add what a store's search found; an error is logged, as the question can be answered."""
    try:
        index.add(chunks, on_error="skip")
    except HebbgraphError as error:
        logger.warning("%d documents were not added to the graph: %s", len(chunks), error)
