"""Feedback records: made from a recall and judgements, read from an export, and corrected."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

import numpy as np
from pydantic import ValidationError

from hebbgraph.arguments import check_actor
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.graph.corrections import corrected_phrases
from hebbgraph.learning.cues import hash_term
from hebbgraph.learning.judgements import Judgements, check_ratings, chunk_ids
from hebbgraph.limits import MAX_FEEDBACK_LINE
from hebbgraph.records import Cue, Feedback, Recall, ShownChunk, TagCorrection, lesson_digest
from hebbgraph.settings import LearningSettings
from hebbgraph.store.feedback_rows import StoredLesson
from hebbgraph.text import phrase_key

__all__ = [
    "KINDS",
    "corrected_lesson",
    "feedback_digest",
    "feedback_of",
    "hashed_terms",
    "kind_of",
    "read_feedback",
]

#: Of how many hits the evidence is kept, at most.
_MOST_EVIDENCE = 100
#: Kinds that docs, adapters and the server name; a similar spelling is a slip.
KINDS, _NEARLY = ("cited", "opened", "copied", "asked again", "read on", "resolved"), 0.88


def feedback_digest(feedback: Feedback) -> bytes:
    """Return 16 bytes that are equal for equal recall and actor.

    The log keeps one feedback of each, so a later one corrects it. Implicit feedback corrects
    nothing: its kind and chunks are part of the digest.
    """
    if feedback.kind == "cited":
        return lesson_digest(feedback.recall_id, feedback.actor, (), (), ())
    return lesson_digest(
        feedback.recall_id, feedback.actor, feedback.cited, feedback.rejected, [feedback.kind]
    )


def feedback_of(
    recall: Recall,
    judgements: Judgements,
    shown: Iterable[str] | None,
    actor: str | None,
    *,
    trusted: bool = False,
    kind: str = "cited",
    namespace: str,
    settings: LearningSettings,
    terms: Callable[[Recall], Sequence[tuple[str, float]]],
    hashes: Callable[[Sequence[str]], Mapping[str, str]],
    vector: Callable[[Recall], tuple[Sequence[float] | FloatArray | None, str | None]],
) -> Feedback:
    """Check what somebody says of a recall, and gather everything that learning will read.

    ``terms`` returns the words of the question and their weights; ``hashes`` the text hashes of
    those chunks that exist, since people may cite what they were not shown; ``vector`` the vector
    of the question, and the name of its model.

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
    kind = kind_of(kind)
    _check_giver(actor, trusted, kind)
    shown_chunks = _shown(recall, shown)
    named = _named(recall, judgements, shown_chunks, hashes)
    dense, embedder = vector(recall)
    half = None if dense is None else _half(dense)
    if dense is not None and half is None:
        raise FeedbackError(f"the vector of recall {recall.id!r} is not finite")
    order = [chunk.chunk_id for chunk in shown_chunks]
    ids = [*order, *(chunk.chunk_id for chunk in named)]
    cited, rejected = set(judgements.cited), set(judgements.rejected)
    return Feedback(
        # The same in every process, so that any of them can take it back.
        id=lesson_digest(
            recall.id, actor, *judgements.signed(), [*order, *(f"={kind}",) * (kind != "cited")]
        ).hex(),
        namespace=namespace,
        recall_id=recall.id,
        actor=actor,
        trusted=trusted,
        kind=kind,
        created_at=time.time(),
        evidence=_evidence(recall),
        dense_share=recall.dense_share,
        shown=shown_chunks,
        named=named,
        cited=tuple(id_ for id_ in ids if id_ in cited),
        rejected=tuple(id_ for id_ in ids if id_ in rejected),
        ratings=judgements.ratings,
        reasons=judgements.reasons,
        outdated=judgements.outdated,
        cues=_cues(recall),
        terms=hashed_terms(recall, terms),
        vector=half,
        embedder=None if half is None else embedder,
        query=recall.query if settings.store_queries else None,
    )


def kind_of(kind: str) -> str:
    """Return a kind in small letters, with single spaces; refuse a misspelt common one."""
    name = re.sub(r"[\s_-]+", " ", kind.lower()).strip() if isinstance(kind, str) else ""
    if not (name and kind.isprintable() and len(kind) <= 64):
        raise ParameterError(
            'kind names what people did, such as "opened", in at most 64 printable characters; got '
            f"{kind!r:.80}"
        )
    if name not in KINDS and (similar := get_close_matches(name, KINDS, n=1, cutoff=_NEARLY)):
        raise ParameterError(f"kind={kind!r} would count apart; did you mean {similar[0]!r}?")
    return name


def _check_giver(actor: str | None, trusted: bool, kind: str) -> None:
    """Raise ParameterError unless these say who gave a feedback of this kind."""
    if not isinstance(trusted, bool):
        raise ParameterError(f"trusted is True or False, got {trusted!r:.80}")
    if trusted and kind != "cited":
        raise ParameterError(f"trusted vouches for what was said; kind={kind!r} was done")
    if actor is not None:
        check_actor(actor)


def hashed_terms(
    recall: Recall, terms: Callable[[Recall], Sequence[tuple[str, float]]]
) -> tuple[tuple[str, float], ...]:
    """Return the hashed words of a recall's question, and their weights.

    A recall that was kept without its question has them; ``terms`` reads them from others.
    """
    if recall.terms is None:
        return tuple((hash_term(term), weight) for term, weight in terms(recall))
    if not all(math.isfinite(weight) and weight >= 0 for _, weight in recall.terms):
        raise FeedbackError(
            f"a weight in the terms of recall {recall.id!r} is negative or infinite"
        )
    return recall.terms


def _evidence(recall: Recall) -> tuple[float, ...]:
    """Return the direct evidence of all hits, shown or not; () if unknown."""
    evidence = tuple(hit.evidence for hit in recall.hits[:_MOST_EVIDENCE])
    known = tuple(value for value in evidence if value is not None)
    return known if len(known) == len(evidence) else ()


def _cues(recall: Recall) -> tuple[Cue, ...]:
    weights: dict[str, float] = {}
    for cue in recall.cues:
        if (key := phrase_key(cue.tag)) and math.isfinite(cue.weight) and cue.weight >= 0:
            weights.setdefault(key, cue.weight)
    return tuple(Cue(tag=key, weight=weight) for key, weight in weights.items())


def _shown(recall: Recall, ids: Iterable[str] | None) -> tuple[ShownChunk, ...]:
    """Return the hits that the model received, the best first; all by default."""
    hits = {hit.chunk.id: hit for hit in recall.hits}
    shown = hits if ids is None else dict.fromkeys(chunk_ids("shown", ids))
    for id_ in shown:
        if id_ not in hits:
            raise FeedbackError(
                f"shown chunk {id_!r} is not among the {len(hits)} hits of recall {recall.id!r}; "
                "name the hits that the model received, or leave shown out if it received all"
            )
    return tuple(
        ShownChunk.model_construct(  # a hit was checked before
            chunk_id=hit.chunk.id,
            rank=hit.rank,
            text_hash=hit.hash_of_text,
            score=round(min(max(hit.score, 0.0), 1.0), 6),
            lexical=hit.lexical,
            dense=hit.dense,
            unlearned=hit.unlearned,
        )
        for hit in sorted((hits[id_] for id_ in shown), key=lambda hit: hit.rank)
    )


def _named(
    recall: Recall,
    judgements: Judgements,
    shown: Sequence[ShownChunk],
    hashes: Callable[[Sequence[str]], Mapping[str, str]],
) -> tuple[ShownChunk, ...]:
    """Return chunks that are cited or rejected without having been shown."""
    seen = {chunk.chunk_id for chunk in shown}
    ids = [id_ for id_ in (*judgements.cited, *judgements.rejected) if id_ not in seen]
    known = hashes(ids) if ids else {}
    for id_ in ids:
        if id_ not in known:
            raise FeedbackError(
                f"the index holds no chunk {id_!r}, and the recall did not show it; cite ids of "
                "chunks that exist"
            )
    ranks = {hit.chunk.id: hit.rank for hit in recall.hits}
    return tuple(
        ShownChunk(chunk_id=id_, rank=ranks.get(id_, len(recall.hits) + 1), text_hash=known[id_])
        for id_ in ids
    )


def _half(vector: Sequence[float] | FloatArray) -> tuple[float, ...] | None:
    """Round to the log's precision, so that storing a record does not change it.

    None if the result is not finite.
    """
    with np.errstate(over="ignore"):
        half = np.asarray(vector, np.float16)
    return tuple(half.astype(np.float64).tolist()) if np.isfinite(half).all() else None


def read_feedback(line: str | bytes, *, number: int) -> Feedback:
    """Read and check one line of an export.

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
    for name in ("id", "recall_id", "actor", "origin", "kind"):
        if not (getattr(feedback, name) or "").isprintable():
            raise FeedbackError(f"line {number}: {name} takes printable characters only")
    shown = {chunk.chunk_id for chunk in feedback.known_chunks}
    if len(shown) < len(feedback.known_chunks):
        raise FeedbackError(f"line {number}: a chunk is shown twice")
    if not feedback.cited and not feedback.rejected:
        raise FeedbackError(f"line {number}: nothing is cited and nothing rejected")
    for id_ in (*feedback.cited, *feedback.rejected):
        if id_ not in shown:
            raise FeedbackError(f"line {number}: chunk {id_!r} was neither shown nor named")
    if set(feedback.cited) & set(feedback.rejected):
        raise FeedbackError(f"line {number}: a chunk is both cited and rejected")
    check_ratings(feedback.ratings, f"line {number}: ")
    if not {*feedback.ratings, *feedback.reasons}.issubset((*feedback.cited, *feedback.rejected)):
        raise FeedbackError(f"line {number}: what is rated is neither cited nor rejected")
    old, new = set(feedback.outdated), set(feedback.outdated.values())
    if not (old <= {*feedback.rejected} and new <= {*feedback.cited}):
        raise FeedbackError(
            f"line {number}: what is outdated is rejected, and what holds in its place is cited"
        )
    weights = [cue.weight for cue in feedback.cues] + [weight for _, weight in feedback.terms]
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise FeedbackError(f"line {number}: a weight is negative or not finite")
    if not math.isfinite(feedback.created_at):
        raise FeedbackError(f"line {number}: created_at is not finite")
    if not all(0.0 <= evidence <= 1.0 for evidence in feedback.evidence):
        raise FeedbackError(f"line {number}: evidence lies in [0, 1]")
    if not all(math.isfinite(step.weight) for path in feedback.paths for step in path):
        raise FeedbackError(f"line {number}: the weight of a path is not finite")
    if "trusted" not in feedback.model_fields_set:
        # In earlier versions, feedback without an actor came from the application.
        feedback = feedback.model_copy(update={"trusted": feedback.actor is None})
    if feedback.vector is None:
        return feedback
    if (vector := _half(feedback.vector)) is None:
        raise FeedbackError(f"line {number}: the vector is not finite in half precision")
    return feedback.model_copy(update={"vector": vector})


def corrected_lesson(lesson: StoredLesson, corrections: Sequence[TagCorrection]) -> StoredLesson:
    """Return a lesson as if the tags had been corrected when it was given.

    A cue that was merged teaches about the tag in its place, a muted one nothing. Splits change
    nothing: which part a question meant is not known.

    Examples
    --------
    >>> from hebbgraph.store.feedback_rows import lesson_of
    >>> cues = (Cue(tag="nyc", weight=2.0), Cue(tag="ferry", weight=1.0))
    >>> merged = TagCorrection(id="1", kind="merge", tags=("nyc",), into="new york")
    >>> lesson = lesson_of(Feedback(id="f", namespace="n", recall_id="r", cues=cues))
    >>> [cue.tag for cue in corrected_lesson(lesson, [merged]).body.cues]
    ['new york', 'ferry']
    """
    corrected = corrected_phrases({cue.tag for cue in lesson.body.cues}, corrections)
    cues: dict[str, Cue] = {}
    for cue in lesson.body.cues:
        tag = corrected[cue.tag]
        if tag is not None and (tag not in cues or cues[tag].weight < cue.weight):
            cues[tag] = cue.model_copy(update={"tag": tag})
    body = lesson.body.model_copy(update={"cues": tuple(cues.values())})
    return lesson._replace(body=body)
