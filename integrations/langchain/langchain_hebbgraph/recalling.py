"""From a question to documents: what a HebbianRetriever does when it is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hebbgraph import Chunk, HebbgraphError, HebbianIndex, Hit, Recall
from hebbgraph.adapters.diversity import diverse_hits
from hebbgraph.calling import in_thread
from hebbgraph.protocols import VectorSource
from langchain_core.documents import Document

from langchain_hebbgraph.conversion import TRAIL, to_document
from langchain_hebbgraph.wrapped import Found, Wrapped
from langchain_hebbgraph.writing import as_now, changed

__all__ = ["Answer", "Asked", "SearchType", "aanswer", "answer", "follow"]

logger = logging.getLogger(__name__)

SearchType: TypeAlias = Literal["similarity", "mmr", "similarity_score_threshold"]

#: How often a recall is repeated without the documents that the store has deleted.
_REPEATS = 4


@dataclass(kw_only=True)
class Asked:
    """One question, as it is put to an index."""

    index: HebbianIndex
    query: str
    k: int
    where: Mapping[str, Any] | Callable[[Chunk], bool] | None
    options: dict[str, Any]  # what the recall takes beside
    search_type: SearchType
    score_threshold: float | None
    lambda_mult: float
    fetch_k: int
    score_key: str | None
    include_path: bool
    follow: bool
    found: Found | None = None
    vectors: VectorSource | None = None


@dataclass
class Answer:
    """What came back: the recall, those of its hits that are returned, and how they read now."""

    recall: Recall
    hits: list[Hit]
    current: dict[str, Document] = field(default_factory=dict)

    def documents(self, asked: Asked) -> list[Document]:
        """Return the documents of the hits, with what was asked for in their metadata."""
        return [self._document(hit, asked) for hit in self.hits]

    def _document(self, hit: Hit, asked: Asked) -> Document:
        document = to_document(hit.chunk, score=hit.score, score_key=asked.score_key)
        if (now := self.current.get(hit.chunk.id)) is not None:
            document.page_content = now.page_content
            document.metadata.update(now.metadata)
            if asked.score_key is not None:
                document.metadata[asked.score_key] = hit.score
        if asked.include_path:
            document.metadata[TRAIL] = self.recall.trail(hit.chunk.id)
        elif hit.stale is not None:
            document.metadata[TRAIL] = hit.stale_mark
        return document


def answer(asked: Asked, wrapped: Wrapped | None = None) -> Answer:
    """Ask the index; over a store, leave out what it has deleted, and show what it has changed."""
    where = asked.where
    recall = _recall(asked, where)
    current: dict[str, Document] = {}
    gone: set[str] = set()
    if wrapped is not None and asked.found is not None:
        for _ in range(_REPEATS):
            current, missing = _verified(recall, asked.found, wrapped)
            if not missing:
                break
            gone |= missing
            recall = _recall(asked, _without(where, gone))
        if gone:
            logger.info(
                "%d documents of %r are gone from the store; refresh() forgets them",
                len(gone),
                asked.index,
            )
    if asked.follow and current:
        held = {hit.chunk.id: hit.chunk for hit in recall.hits}
        follow(asked.index, [as_now(held[id_], one) for id_, one in current.items()])
    hits = [
        hit
        for hit in recall.hits
        if hit.chunk.id not in gone and (not hit.lacks_text or hit.chunk.id in current)
    ]
    if asked.score_threshold is not None:
        hits = [hit for hit in hits if hit.score >= asked.score_threshold]
    if asked.search_type == "mmr":
        hits = diverse_hits(hits, asked.k, diversity=1.0 - asked.lambda_mult)
    return Answer(recall, hits[: asked.k], current)


aanswer = in_thread(answer)


def follow(index: HebbianIndex, fields: Sequence[dict[str, Any]]) -> None:
    """Add what a store brought up; a failure is logged, since the question was another one."""
    try:
        index.add(fields, on_error="skip")
    except HebbgraphError as error:
        logger.warning("%d documents were not added to the graph: %s", len(fields), error)


def _recall(asked: Asked, where: Any) -> Recall:
    k = max(asked.k, asked.fetch_k) if asked.search_type == "mmr" else asked.k
    found = asked.found
    return asked.index.recall(
        asked.query,
        k=k,
        where=where,
        seeds=None if found is None else found.scores,
        vector=None if found is None else found.vector,
        vectors=asked.vectors if found is not None and found.vector is not None else None,
        **asked.options,
    )


def _verified(
    recall: Recall, found: Found, wrapped: Wrapped
) -> tuple[dict[str, Document], set[str]]:
    """Return the documents that read otherwise now, and the ids of those that are gone."""
    held = {hit.chunk.id: hit for hit in recall.hits}
    now = {id_: found.documents[id_] for id_ in held if id_ in found.documents}
    missing: set[str] = set()
    witness = next((id_ for id_, one in found.documents.items() if one.id), None)
    can_tell = witness is not None or not found.documents
    if can_tell and (unseen := [id_ for id_ in held if id_ not in now]):
        told = wrapped.told(unseen if witness is None else [*unseen, witness])
        # A store that does not know what its own search has just found cannot be asked.
        if told is not None and (witness is None or witness in told):
            missing = {id_ for id_ in unseen if id_ not in told}
            now |= {id_: told[id_] for id_ in unseen if id_ in told}
    differing = {id_: one for id_, one in now.items() if changed(held[id_].chunk, one)}
    return differing, missing


def _without(where: Any, gone: set[str]) -> Any:
    """Narrow a filter to what is not gone."""
    if callable(where):
        return lambda chunk: chunk.id not in gone and where(chunk)
    rest = {"$id": {"$nin": sorted(gone)}}
    return rest if where is None else {"$and": [where, rest]}
