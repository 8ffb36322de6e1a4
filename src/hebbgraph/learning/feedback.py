"""From a recall and the citations of an answer to a checked Feedback record."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

import numpy as np
from pydantic import ValidationError

from hebbgraph.arrays import FloatArray
from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.learning.cues import hash_term
from hebbgraph.learning.judgements import Judgements, check_ratings, chunk_ids
from hebbgraph.limits import MAX_FEEDBACK_LINE, MAX_ID
from hebbgraph.records import Cue, Feedback, Hit, Recall, ShownChunk, lesson_digest
from hebbgraph.settings import LearningSettings
from hebbgraph.text import phrase_key

__all__ = ["feedback_digest", "feedback_of", "hashed_terms", "read_feedback"]

#: Hits whose evidence is kept, of a recall that has more.
_MOST_EVIDENCE = 100
#: Kinds that docs, adapters and the server name; what is spelled nearly so is a slip.
_KINDS, _NEARLY = ("cited", "opened", "copied", "asked again", "read on", "resolved"), 0.88


def feedback_digest(feedback: Feedback) -> bytes:
    """Return 16 bytes that are equal for equal recall and actor.

    The log keeps one feedback of each: what an actor says of a recall may be corrected, and is
    counted once. What an actor does is no correction: then kind and chunks differ, too.
    """
    if feedback.kind == "cited":
        return lesson_digest(feedback.recall_id, feedback.actor, (), (), ())
    done = feedback.cited, feedback.rejected, [feedback.kind]
    return lesson_digest(feedback.recall_id, feedback.actor, *done)


def feedback_of(
    recall: Recall,
    said: Judgements,
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
    """Check a citation and gather everything that learning will read.

    Parameters
    ----------
    recall : Recall
    said : Judgements
        What was cited, rejected and rated.
    shown : iterable of str, optional
        Chunk ids; all hits if left out.
    actor : str, optional
    trusted : bool
        Whether the application vouches for it.
    kind : str
        What people did, if they did not say it.
    namespace : str
        That of the index.
    settings : LearningSettings
    terms : callable
        Returns the words of a recall's question and their weights.
    hashes : callable
        Returns the hashes of the texts of chunks, of those that exist: what was not recalled may
        be cited and rejected too, since people know better passages than they were shown.
    vector : callable
        Returns the vector of a recall's question, and the name of what made it.

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
    kind = _kind_of(kind)
    _check_giver(actor, trusted, kind)
    cited_ids, rejected_ids = said.cited, said.rejected
    hits = {hit.chunk.id: hit for hit in recall.hits}
    shown_ids = dict.fromkeys(hits) if shown is None else dict.fromkeys(chunk_ids("shown", shown))
    for id_ in shown_ids:
        if id_ not in hits:
            raise FeedbackError(
                f"shown chunk {id_!r} is not among the {len(hits)} hits of recall {recall.id!r}; "
                "name the hits that the model received, or leave shown out if it received all"
            )
    unseen = [id_ for id_ in (*cited_ids, *rejected_ids) if id_ not in shown_ids]
    named = _named(unseen, hits, hashes)
    compared, embedder = vector(recall)
    half = None if compared is None else _half(compared)
    if compared is not None and half is None:
        raise FeedbackError(f"the vector of recall {recall.id!r} is not finite")
    order = sorted(shown_ids, key=lambda id_: hits[id_].rank)
    every = [*order, *(chunk.chunk_id for chunk in named)]
    known_to_be_cited, known_to_be_rejected = set(cited_ids), set(rejected_ids)
    return Feedback(
        # The same in every process, so that whoever takes it back need not have given it.
        id=lesson_digest(
            recall.id, actor, *said.signed(), order if kind == "cited" else [*order, f"={kind}"]
        ).hex(),
        namespace=namespace,
        recall_id=recall.id,
        actor=actor,
        trusted=trusted,
        kind=kind,
        created_at=time.time(),
        evidence=_evidence(recall),
        dense_share=recall.dense_share,
        shown=tuple(
            # Of a hit, which was checked before.
            ShownChunk.model_construct(
                chunk_id=id_,
                rank=hits[id_].rank,
                text_hash=hits[id_].hash_of_text,
                score=_rounded(hits[id_].score),
                lexical=hits[id_].lexical,
                dense=hits[id_].dense,
                unlearned=hits[id_].unlearned,
            )
            for id_ in order
        ),
        named=named,
        cited=tuple(id_ for id_ in every if id_ in known_to_be_cited),
        rejected=tuple(id_ for id_ in every if id_ in known_to_be_rejected),
        ratings=said.ratings,
        reasons=said.reasons,
        outdated=said.outdated,
        cues=_cues(recall),
        terms=hashed_terms(recall, terms),
        vector=half,
        embedder=None if half is None else embedder,
        query=recall.query if settings.store_queries else None,
    )


def _kind_of(kind: str) -> str:
    """Return what people did as it is kept: in small letters, its words apart by a space.

    Raises
    ------
    ParameterError
        If it is no name, or nearly that of a kind that everybody has: it would count apart.
    """
    name = re.sub(r"[\s_-]+", " ", kind.lower()).strip() if isinstance(kind, str) else ""
    if not (name and kind.isprintable() and len(kind) <= 64):
        raise ParameterError(
            'kind names what people did, such as "opened", in at most 64 printable characters; got '
            f"{kind!r:.80}"
        )
    if name not in _KINDS and (meant := get_close_matches(name, _KINDS, n=1, cutoff=_NEARLY)):
        raise ParameterError(f"kind={kind!r} would count apart; did you mean {meant[0]!r}?")
    return name


def _check_giver(actor: str | None, trusted: bool, kind: str) -> None:
    """Raise ParameterError unless these say who gave a feedback of this kind."""
    if not isinstance(trusted, bool):
        raise ParameterError(f"trusted is True or False, got {trusted!r:.80}")
    if trusted and kind != "cited":
        raise ParameterError(f"trusted vouches for what was said; kind={kind!r} was done")
    if actor is not None and not (
        isinstance(actor, str) and actor.strip() and actor.isprintable() and len(actor) <= MAX_ID
    ):
        raise ParameterError(
            f"an actor is a printable str of at most {MAX_ID} characters, got {actor!r}"
        )


def hashed_terms(
    recall: Recall, terms: Callable[[Recall], Sequence[tuple[str, float]]]
) -> tuple[tuple[str, float], ...]:
    """Return the hashed words of a recall's question, by itself if it was kept without them."""
    if recall.terms is None:
        return tuple((hash_term(term), weight) for term, weight in terms(recall))
    if not all(math.isfinite(weight) and weight >= 0 for _, weight in recall.terms):
        raise FeedbackError(
            f"a weight in the terms of recall {recall.id!r} is negative or infinite"
        )
    return recall.terms


def _rounded(score: float) -> float:
    """Return a score in the log's precision."""
    return round(min(max(score, 0.0), 1.0), 6)


def _evidence(recall: Recall) -> tuple[float, ...]:
    """Return the direct evidence of all hits, whether they were shown or not; () if unknown."""
    evidence = tuple(hit.evidence for hit in recall.hits[:_MOST_EVIDENCE])
    known = tuple(one for one in evidence if one is not None)
    return known if len(known) == len(evidence) else ()


def _cues(recall: Recall) -> tuple[Cue, ...]:
    weights: dict[str, float] = {}
    for cue in recall.cues:
        if (key := phrase_key(cue.tag)) and math.isfinite(cue.weight) and cue.weight >= 0:
            weights.setdefault(key, cue.weight)
    return tuple(Cue(tag=key, weight=weight) for key, weight in weights.items())


def _named(
    ids: Sequence[str],
    hits: Mapping[str, Hit],
    hashes: Callable[[Sequence[str]], Mapping[str, str]],
) -> tuple[ShownChunk, ...]:
    """Return chunks that are cited or rejected without having been shown."""
    if not ids:
        return ()
    known = hashes(ids)
    for id_ in ids:
        if id_ not in known:
            raise FeedbackError(
                f"the index holds no chunk {id_!r}, and the recall did not show it; cite ids of "
                "chunks that exist"
            )
    return tuple(
        ShownChunk(
            chunk_id=id_,
            rank=hits[id_].rank if id_ in hits else len(hits) + 1,
            text_hash=known[id_],
        )
        for id_ in dict.fromkeys(ids)
    )


def _half(vector: Sequence[float] | FloatArray) -> tuple[float, ...] | None:
    """Round to the log's precision, so that a record does not change when it is stored.

    None if the result is not finite: such a vector cannot be compared.
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
        # Of an earlier version, in which whoever nobody named was the application itself.
        feedback = feedback.model_copy(update={"trusted": feedback.actor is None})
    if feedback.vector is None:
        return feedback
    if (vector := _half(feedback.vector)) is None:
        raise FeedbackError(f"line {number}: the vector is not finite in half precision")
    return feedback.model_copy(update={"vector": vector})
