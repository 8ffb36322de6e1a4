"""A feedback as a row of the database, both ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from hebbgraph.records import Cue, Feedback, PathStep, ShownChunk

__all__ = ["FeedbackRow", "feedback_body", "parse_feedback"]


class _Body(BaseModel):
    """What one column holds of a feedback, as JSON; earlier versions left out some of it."""

    trusted: bool | None = None
    evidence: tuple[float, ...] = ()
    dense_share: float | None = None
    dense_shift: float = 0.0
    shown: tuple[ShownChunk, ...]
    named: tuple[ShownChunk, ...] = ()
    cited: tuple[str, ...]
    rejected: tuple[str, ...]
    ratings: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    cues: tuple[Cue, ...]
    terms: tuple[tuple[str, float], ...]
    paths: tuple[tuple[PathStep, ...], ...]
    embedder: str | None


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
    return feedback.model_dump_json(include=set(_Body.model_fields))


def parse_feedback(row: FeedbackRow, namespace: str) -> Feedback:
    """Read a feedback; LookupError, TypeError or ValueError if it is damaged."""
    # Records straight from JSON: most of the time that the fold of a long log takes.
    body, vector = vars(_Body.model_validate_json(row.body)), row.vector
    if body["trusted"] is None:  # in earlier versions, whoever nobody named was the application
        body["trusted"] = row.actor is None
    return Feedback.model_construct(
        id=row.id,
        namespace=namespace,
        recall_id=row.recall_id,
        actor=row.actor,
        origin=row.origin,
        created_at=row.created_at,
        vector=(
            None
            if vector is None
            else tuple(np.frombuffer(vector, np.float16).astype(np.float64).tolist())
        ),
        query=row.query,
        **body,
    )
