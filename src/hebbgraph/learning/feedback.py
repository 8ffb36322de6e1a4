"""From a recall and the citations of an answer to a Feedback, checked."""

from __future__ import annotations

import hashlib
import math
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from pydantic import ValidationError

from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.learning.episodes import hash_term
from hebbgraph.limits import MAX_FEEDBACK_LINE, MAX_ID
from hebbgraph.records import Chunk, Cue, Feedback, PathStep, Recall, ShownChunk
from hebbgraph.settings import LearningSettings
from hebbgraph.tagging import phrase_key

__all__ = ["feedback_digest", "feedback_of", "read_feedback", "text_hash"]


def text_hash(title: str, text: str) -> str:
    """Return 16 hex digits that differ when the text does: what was cited is this text.

    >>> text_hash("Owl", "Owls hunt at night.")
    '0810f9ff18fd5a7a'
    """
    return hashlib.blake2b(f"{title}\x1f{text}".encode(), digest_size=8).hexdigest()


def _hash_of(chunk: Chunk) -> str:
    return text_hash(chunk.title, chunk.text)


def feedback_digest(feedback: Feedback) -> bytes:
    """Return 16 bytes that are the same for the same recall, citation and actor."""
    parts = [
        feedback.recall_id,
        "" if feedback.actor is None else f"={feedback.actor}",
        *sorted(feedback.cited),
        "/",
        *sorted(feedback.rejected),
        "/",
        *sorted(shown.chunk_id for shown in feedback.shown),
    ]
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).digest()


def feedback_of(
    recall: Recall,
    cited: Iterable[str],
    rejected: Iterable[str] | None,
    shown: Iterable[str] | None,
    actor: str | None,
    *,
    namespace: str,
    settings: LearningSettings,
    terms: Callable[[str], Sequence[tuple[str, float]]],
    embedder: str | None,
) -> Feedback:
    """Check a citation and gather all that learning will read of it.

    Parameters
    ----------
    recall : Recall
    cited, rejected, shown : iterables of str
        Chunk ids. ``shown`` left out means all hits; ids among ``cited`` count as shown.
    actor : str, optional
    namespace : str
        That of the index.
    settings : LearningSettings
    terms : callable
        From a query to its words and their weights.
    embedder : str, optional
        The model of the recall's vector.

    Raises
    ------
    FeedbackError, ParameterError
    """
    if recall.namespace != namespace:
        raise FeedbackError(
            f"recall {recall.id!r} belongs to namespace {recall.namespace!r}, "
            f"this index sees {namespace!r}"
        )
    if settings.require_actor and actor is None:
        raise FeedbackError("feedback must name its actor here: pass actor=...")
    if actor is not None and not (
        isinstance(actor, str) and actor.strip() and actor.isprintable() and len(actor) <= MAX_ID
    ):
        raise ParameterError(
            f"an actor is a printable str of at most {MAX_ID} characters, got {actor!r}"
        )
    cited_ids = _ids("cited", cited)
    rejected_ids = _ids("rejected", rejected or ())
    if not cited_ids and not rejected_ids:
        raise FeedbackError("nothing was cited and nothing rejected, so there is nothing to learn")
    if both := sorted(set(cited_ids) & set(rejected_ids)):
        raise FeedbackError(f"chunk {both[0]!r} is both cited and rejected")
    hits = {hit.chunk.id: hit for hit in recall.hits}
    shown_ids = list(hits) if shown is None else _ids("shown", shown)
    for name, ids in (("shown", shown_ids), ("cited", cited_ids), ("rejected", rejected_ids)):
        for id_ in ids:
            if id_ not in hits:
                raise FeedbackError(
                    f"{name} chunk {id_!r} is not among the {len(hits)} hits of recall "
                    f"{recall.id!r}; only what a recall found can teach it"
                )
            if name != "shown" and id_ not in shown_ids:
                raise FeedbackError(
                    f"{name} chunk {id_!r} is not among the chunks that were shown; "
                    "add it to shown, or leave shown out if all hits were"
                )
    order = sorted(shown_ids, key=lambda id_: hits[id_].rank)
    known_to_be_cited = set(cited_ids)
    return Feedback(
        id=uuid.uuid4().hex,
        namespace=namespace,
        recall_id=recall.id,
        actor=actor,
        created_at=time.time(),
        shown=tuple(
            # Of a hit, which was checked before.
            ShownChunk.model_construct(
                chunk_id=id_, rank=hits[id_].rank, text_hash=_hash_of(hits[id_].chunk)
            )
            for id_ in order
        ),
        cited=tuple(id_ for id_ in order if id_ in known_to_be_cited),
        rejected=tuple(id_ for id_ in order if id_ in set(rejected_ids)),
        cues=_cues(recall),
        terms=tuple((hash_term(term), weight) for term, weight in terms(recall.query)),
        paths=tuple(
            path
            for id_ in order
            if id_ in known_to_be_cited and len(path := _path(hits[id_].path)) > 1
        ),
        vector=None if recall.vector is None else _half(recall.vector),
        embedder=None if recall.vector is None else embedder,
        query=recall.query if settings.store_queries else None,
    )


def _ids(name: str, ids: Iterable[str]) -> list[str]:
    if isinstance(ids, str):
        raise ParameterError(f"{name} takes a sequence of chunk ids, got one str; put it in a list")
    found = list(dict.fromkeys(ids))
    if not all(isinstance(id_, str) for id_ in found):
        raise ParameterError(f"{name} takes chunk ids that are str")
    return found


def _cues(recall: Recall) -> tuple[Cue, ...]:
    weights: dict[str, float] = {}
    for cue in recall.cues:
        if (key := phrase_key(cue.tag)) and math.isfinite(cue.weight) and cue.weight >= 0:
            weights.setdefault(key, cue.weight)
    return tuple(Cue(tag=key, weight=weight) for key, weight in weights.items())


def _path(steps: Sequence[PathStep]) -> tuple[PathStep, ...]:
    """Keep what learning reads: phrase keys and chunk ids; titles are content."""
    return tuple(
        PathStep.model_construct(
            kind=step.kind,
            value=(phrase_key(step.value) or step.value) if step.kind == "tag" else step.value,
        )
        for step in steps
        if step.kind in ("tag", "chunk")
    )


def _half(vector: Sequence[float]) -> tuple[float, ...]:
    """Round to what the log keeps, so that a record is the same before and after."""
    return tuple(np.asarray(vector, np.float16).astype(np.float64).tolist())


def read_feedback(line: str | bytes, *, number: int) -> Feedback:
    """Read one line of an export, trusting nothing.

    Raises
    ------
    FeedbackError
        With the number of the line.
    """
    if len(line) > MAX_FEEDBACK_LINE:
        raise FeedbackError(f"line {number}: {len(line)} characters, at most {MAX_FEEDBACK_LINE}")
    try:
        feedback = Feedback.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "record"
        raise FeedbackError(f"line {number}: {field}: {first['msg']}") from error
    for name in ("id", "recall_id", "actor", "origin"):
        if not (getattr(feedback, name) or "").isprintable():
            raise FeedbackError(f"line {number}: {name} takes printable characters only")
    shown = {chunk.chunk_id for chunk in feedback.shown}
    if len(shown) < len(feedback.shown):
        raise FeedbackError(f"line {number}: a chunk is shown twice")
    if not feedback.cited and not feedback.rejected:
        raise FeedbackError(f"line {number}: nothing is cited and nothing rejected")
    for id_ in (*feedback.cited, *feedback.rejected):
        if id_ not in shown:
            raise FeedbackError(f"line {number}: chunk {id_!r} was not shown")
    if set(feedback.cited) & set(feedback.rejected):
        raise FeedbackError(f"line {number}: a chunk is both cited and rejected")
    weights = [cue.weight for cue in feedback.cues] + [weight for _, weight in feedback.terms]
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise FeedbackError(f"line {number}: a weight is negative or not finite")
    if feedback.vector is not None:
        if not all(map(math.isfinite, feedback.vector)):
            raise FeedbackError(f"line {number}: the vector is not finite")
        return feedback.model_copy(update={"vector": _half(feedback.vector)})
    return feedback
