"""One search of an index, checked against a wrapped store if there is one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hebbgraph import Chunk, HebbgraphError, HebbianIndex, Hit, Recall
from hebbgraph.adapters.diversity import diverse_hits
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

#: How often a recall is repeated without the documents that the store has deleted.
_MAX_REPEATS = 4


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
        recall = self._recall(self.where)
        current: dict[str, Document] = {}
        deleted: set[str] = set()
        if wrapped is not None and self.seeds is not None:
            for _ in range(_MAX_REPEATS):
                current, missing = _compare(recall, self.seeds, wrapped)
                if not missing:
                    break
                deleted |= missing
                recall = self._recall(joined(self.where, {"$id": {"$nin": sorted(deleted)}}))
            if deleted:
                logger.info(
                    "%d documents of %r are gone from the store; refresh() forgets them",
                    len(deleted),
                    self.index,
                )
        if self.grow and current:
            chunks = {hit.chunk.id: hit.chunk for hit in recall.hits}
            add_to_graph(
                self.index,
                [updated_fields(chunks[id_], document) for id_, document in current.items()],
            )
        hits = [
            hit
            for hit in recall.hits
            if hit.chunk.id not in deleted
            and (not hit.lacks_text or hit.chunk.id in current)
            and (self.score_threshold is None or hit.score >= self.score_threshold)
        ]
        if self.search_type == "mmr":
            hits = diverse_hits(hits, self.k, diversity=1.0 - self.lambda_mult)
        return Results(recall, hits[: self.k], current)

    arun = in_thread(run)

    def _recall(self, where: Any) -> Recall:
        options = self.options
        if self.seeds is not None:
            options = {**options, "seeds": self.seeds.scores}
            if self.seeds.vector is not None:
                options |= {"vector": self.seeds.vector, "vectors": self.vectors}
        k = max(self.k, self.fetch_k) if self.search_type == "mmr" else self.k
        return self.index.recall(self.query, k=k, where=where, **options)


def add_to_graph(index: HebbianIndex, chunks: Sequence[dict[str, Any]]) -> None:
    """Add what a store's search found; an error is logged, as the question can be answered."""
    try:
        index.add(chunks, on_error="skip")
    except HebbgraphError as error:
        logger.warning("%d documents were not added to the graph: %s", len(chunks), error)


def _compare(
    recall: Recall, seeds: Seeds, wrapped: WrappedStore
) -> tuple[dict[str, Document], set[str]]:
    """Return the hits that read differently in the store now, and the ids of deleted ones."""
    hits = {hit.chunk.id: hit for hit in recall.hits}
    current = {id_: seeds.documents[id_] for id_ in hits if id_ in seeds.documents}
    missing: set[str] = set()
    witness = next((id_ for id_, document in seeds.documents.items() if document.id), None)
    has_ids = witness is not None or not seeds.documents
    if has_ids and (unseen := [id_ for id_ in hits if id_ not in current]):
        read = wrapped.try_read(unseen if witness is None else [*unseen, witness])
        # A store that cannot return what its own search has just found cannot be asked.
        if read is not None and (witness is None or witness in read):
            missing = {id_ for id_ in unseen if id_ not in read}
            current |= {id_: read[id_] for id_ in unseen if id_ in read}
    changed = {
        id_: document for id_, document in current.items() if differs(hits[id_].chunk, document)
    }
    return changed, missing
