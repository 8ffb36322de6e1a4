"""Feedback as rows of the database, and what remains of it without a chunk or some phrases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Generic, NamedTuple, NotRequired, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

from hebbgraph.records import Cue, Feedback, PathStep, ShownChunk

__all__ = [
    "FeedbackRow",
    "LessonBody",
    "StoredChunk",
    "StoredLesson",
    "anonymized",
    "feedback_body",
    "lesson_of",
    "names_chunk",
    "parse_feedback",
    "parse_lesson",
    "phrases_of",
    "without_chunk",
]


class StoredChunk(TypedDict):
    """What learning reads of a :class:`hebbgraph.records.ShownChunk`, in half the time."""

    chunk_id: str
    rank: Annotated[int, Field(ge=1)]
    text_hash: Annotated[str, Field(min_length=16, max_length=16)]
    score: NotRequired[float | None]
    unlearned: NotRequired[float | None]


_C = TypeVar("_C")


class _Body(BaseModel, Generic[_C]):
    """The column ``body``, in JSON; older versions left out some fields."""

    model_config = ConfigDict(cache_strings="keys")

    trusted: bool | None = None
    kind: str = "cited"
    evidence: tuple[float, ...] = ()
    dense_share: float | None = None
    dense_shift: float = 0.0
    shown: tuple[_C, ...]
    named: tuple[_C, ...] = ()
    cited: tuple[str, ...]
    rejected: tuple[str, ...]
    ratings: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    outdated: dict[str, str] = Field(default_factory=dict)
    cues: tuple[Cue, ...]
    terms: tuple[tuple[str, float], ...]
    paths: tuple[tuple[PathStep, ...], ...]
    embedder: str | None


LessonBody: TypeAlias = _Body[StoredChunk]


class FeedbackRow(NamedTuple):
    """A row of the table."""

    seq: int
    namespace: str
    id: str
    digest: bytes
    recall_id: str
    actor: str | None
    origin: str
    created_at: float
    query: str | None
    body: str
    vector: bytes | None


class StoredLesson(NamedTuple):
    """What learning reads of a feedback: a log may hold very many."""

    id: str
    recall_id: str
    actor: str | None
    trusted: bool
    vector: NDArray[np.float16] | None
    body: LessonBody


def feedback_body(feedback: Feedback) -> str:
    """Return the column ``body`` of a feedback."""
    return feedback.model_dump_json(include=set(_Body.model_fields))


def parse_lesson(row: FeedbackRow) -> StoredLesson:
    """Read a lesson; LookupError, TypeError or ValueError if it is damaged."""
    # Parsing takes most of the time of folding a long log, so pydantic reads the JSON itself.
    body = LessonBody.model_validate_json(row.body)
    if (trusted := body.trusted) is None:  # older versions trusted feedback without an actor
        trusted = row.actor is None
    vector = None if row.vector is None else np.frombuffer(row.vector, np.float16)
    return StoredLesson(row.id, row.recall_id, row.actor, trusted, vector, body)


def lesson_of(feedback: Feedback) -> StoredLesson:
    """Return what learning reads of a feedback."""
    body = LessonBody.model_validate_json(feedback_body(feedback))
    vector = None if feedback.vector is None else np.array(feedback.vector, np.float16)
    source = feedback.id, feedback.recall_id, feedback.actor, feedback.trusted
    return StoredLesson(*source, vector, body)


def parse_feedback(row: FeedbackRow) -> Feedback:
    """Read a feedback; LookupError, TypeError or ValueError if it is damaged."""
    body, vector = vars(_Body[ShownChunk].model_validate_json(row.body)), row.vector
    if body["trusted"] is None:
        body["trusted"] = row.actor is None
    return Feedback.restored(
        {
            "id": row.id,
            "namespace": row.namespace,
            "recall_id": row.recall_id,
            "actor": row.actor,
            "origin": row.origin,
            "created_at": row.created_at,
            "vector": None if vector is None else tuple(np.frombuffer(vector, np.float16).tolist()),
            "query": row.query,
            **body,
        }
    )


def names_chunk(feedback: Feedback, chunk_id: str) -> bool:
    """Return whether a chunk was shown or lies on a path."""
    return any(shown.chunk_id == chunk_id for shown in feedback.known_chunks) or any(
        step.kind == "chunk" and step.value == chunk_id for path in feedback.paths for step in path
    )


def without_chunk(feedback: Feedback, chunk_id: str) -> Feedback | None:
    """Return a feedback as if a chunk had never been shown; None if nothing else was judged."""
    kept = feedback.model_copy(
        update={
            "shown": tuple(shown for shown in feedback.shown if shown.chunk_id != chunk_id),
            "named": tuple(named for named in feedback.named if named.chunk_id != chunk_id),
            "cited": tuple(id_ for id_ in feedback.cited if id_ != chunk_id),
            "rejected": tuple(id_ for id_ in feedback.rejected if id_ != chunk_id),
            "ratings": {id_: value for id_, value in feedback.ratings.items() if id_ != chunk_id},
            "reasons": {id_: text for id_, text in feedback.reasons.items() if id_ != chunk_id},
            "outdated": {
                old: new for old, new in feedback.outdated.items() if chunk_id not in (old, new)
            },
            "paths": tuple(
                path
                for path in feedback.paths
                if all(step.value != chunk_id for step in path if step.kind == "chunk")
            ),
        }
    )
    return kept if kept.cited or kept.rejected else None


def phrases_of(feedback: Feedback) -> Iterator[str]:
    """Yield the phrases that a feedback names, as cues and on paths."""
    yield from (cue.tag for cue in feedback.cues)
    yield from (step.value for path in feedback.paths for step in path if step.kind == "tag")


def anonymized(feedback: Feedback, phrases: set[str], salt: bytes) -> Feedback:
    """Return a feedback with random names for phrases, and without its question, which has them."""

    def name(phrase: str) -> str:
        if phrase not in phrases:
            return phrase
        return f"~{hashlib.blake2b(phrase.encode(), key=salt, digest_size=8).hexdigest()}"

    return feedback.model_copy(
        update={
            "cues": tuple(cue.model_copy(update={"tag": name(cue.tag)}) for cue in feedback.cues),
            "paths": tuple(
                tuple(
                    step.model_copy(update={"value": name(step.value)})
                    if step.kind == "tag"
                    else step
                    for step in path
                )
                for path in feedback.paths
            ),
            "query": None,
        }
    )
