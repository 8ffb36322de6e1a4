"""A feedback as a row of the database, both ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import TypeAdapter

from hebbgraph.held_json import read_json
from hebbgraph.records import Cue, Feedback, PathStep, ShownChunk

__all__ = ["FeedbackRow", "feedback_body", "parse_feedback"]

_CHUNKS = TypeAdapter(tuple[ShownChunk, ...])
_BODY = (
    "trusted", "evidence", "dense_share", "dense_shift", "shown", "named", "cited", "rejected",
    "ratings", "reasons", "cues", "terms", "paths", "embedder",
)  # fmt: skip


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


def feedback_body(feedback: Feedback) -> str:
    """Return what one column holds of a feedback."""
    return feedback.model_dump_json(include=set(_BODY))


def parse_feedback(row: FeedbackRow, namespace: str) -> Feedback:
    """Read a feedback; LookupError, TypeError or ValueError if it is damaged."""
    body = read_json(row.body, dict, "a feedback")
    vector = row.vector
    # It was validated when it was added.
    return Feedback.model_construct(
        id=row.id,
        namespace=namespace,
        recall_id=row.recall_id,
        actor=row.actor,
        # In earlier versions, whoever nobody named was the application itself.
        trusted=body.get("trusted", row.actor is None),
        evidence=tuple(body.get("evidence", ())),
        dense_share=body.get("dense_share"),
        dense_shift=body.get("dense_shift", 0.0),
        origin=row.origin,
        created_at=row.created_at,
        shown=_CHUNKS.validate_python(body["shown"]),  # quicker than to construct them
        named=_CHUNKS.validate_python(body.get("named", ())),
        cited=tuple(body["cited"]),
        rejected=tuple(body["rejected"]),
        ratings=body.get("ratings", {}),
        reasons=body.get("reasons", {}),
        cues=tuple(Cue.model_construct(**cue) for cue in body["cues"]),
        terms=tuple((term, weight) for term, weight in body["terms"]),
        paths=tuple(
            tuple(PathStep.model_construct(**step) for step in path) for path in body["paths"]
        ),
        vector=(
            None
            if vector is None
            else tuple(np.frombuffer(vector, np.float16).astype(np.float64).tolist())
        ),
        embedder=body["embedder"],
        query=row.query,
    )
