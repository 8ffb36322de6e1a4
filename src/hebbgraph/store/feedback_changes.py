"""A feedback without a chunk, or without what it says in words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from hebbgraph.records import Feedback

__all__ = ["anonymized", "names_chunk", "phrases_of", "without_chunk"]


def names_chunk(feedback: Feedback, chunk_id: str) -> bool:
    """Return whether a chunk was shown, or lies on a path."""
    return any(shown.chunk_id == chunk_id for shown in feedback.known_chunks) or any(
        step.kind == "chunk" and step.value == chunk_id for path in feedback.paths for step in path
    )


def without_chunk(feedback: Feedback, chunk_id: str) -> Feedback | None:
    """Return a feedback as if a chunk had never been shown; None if it then says nothing."""
    kept = feedback.model_copy(
        update={
            "shown": tuple(shown for shown in feedback.shown if shown.chunk_id != chunk_id),
            "named": tuple(named for named in feedback.named if named.chunk_id != chunk_id),
            "cited": tuple(id_ for id_ in feedback.cited if id_ != chunk_id),
            "rejected": tuple(id_ for id_ in feedback.rejected if id_ != chunk_id),
            "ratings": {id_: one for id_, one in feedback.ratings.items() if id_ != chunk_id},
            "reasons": {id_: one for id_, one in feedback.reasons.items() if id_ != chunk_id},
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
    """Return a feedback with random names for phrases, and without its question.

    The question, if it is kept, contains them too.
    """

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
