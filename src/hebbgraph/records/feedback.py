"""What an answer teaches, and what links it to its recalls."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pydantic import (
    Field,
)

from hebbgraph.records.chunk import Record
from hebbgraph.records.recall import Cue, PathStep, Recall

__all__ = [
    "AnswerRecord",
    "Credit",
    "Feedback",
    "LessonRecord",
    "ShownChunk",
    "judgement_text",
    "lesson_digest",
]


def lesson_digest(
    recall_id: str,
    actor: str | None,
    cited: Iterable[str],
    rejected: Iterable[str],
    shown: Iterable[str],
) -> bytes:
    """Return 16 bytes that are equal for equal recall, citation and actor."""
    parts = [
        recall_id,
        "" if actor is None else f"={actor}",
        *sorted(cited),
        "/",
        *sorted(rejected),
        "/",
        *sorted(shown),
    ]
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).digest()


def judgement_text(id_: str, rating: float | None, reason: str | None, instead: str | None) -> str:
    """Return all that is said of a chunk, for :func:`lesson_digest`."""
    words = id_ if rating is None and reason is None else f"{id_}\x1e{rating}\x1e{reason}"
    return words if instead is None else f"{words}\x1e{instead}"


class ShownChunk(Record):
    """A chunk that was in the prompt: its rank in the recall, and the hash of its text.

    ``score``, ``lexical``, ``dense`` and ``unlearned`` are those of its hit.
    """

    chunk_id: str = Field(max_length=512)
    rank: int = Field(ge=1)
    text_hash: str = Field(pattern="^[0-9a-f]{16}$")
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    lexical: float | None = Field(default=None, ge=0.0, le=1.0)
    dense: float | None = Field(default=None, ge=0.0, le=1.0)
    unlearned: float | None = Field(default=None, ge=0.0, le=1.0)


class Feedback(Record):
    """Which of the shown chunks an answer cited, and everything learning needs.

    Attributes
    ----------
    id, namespace, recall_id : str
    actor : str, optional
        Who gave the feedback. All feedback without an actor counts as one actor's.
    trusted : bool
        Whether the application vouches for it: it then counts in full.
    kind : str
        ``"cited"`` for explicit feedback; otherwise what people did, such as ``"opened"``.
    origin : str
        Where it was imported from; empty if it was given here.
    created_at : float
        Seconds since the epoch (UTC).
    evidence : tuple of float, in [0, 1]
        Direct evidence of the recall's hits, best hit first; empty if it is not known.
    dense_share, dense_shift : float, optional
        See :class:`Recall`.
    shown : tuple of ShownChunk
    named : tuple of ShownChunk
        Chunks that were cited or rejected without being shown; their rank says nothing.
    cited, rejected : tuple of str
        Ids of chunks, shown or named.
    ratings : dict of str to float, in [-1, 1]
        How good chunks were, by id, where somebody rated them. Others count in full.
    reasons : dict of str to str
        Why, by id.
    outdated : dict of str to str
        For rejected chunks that no longer hold, the cited one that holds now.
    cues : tuple of Cue
        Phrase keys of the query, and their weights.
    terms : tuple of (str, float)
        Hashes of the query's words, and their weights.
    paths : tuple of tuple of PathStep
        Paths to the cited chunks, in logs of earlier versions.
    vector : tuple of float, optional
        Embedding of the query in half precision, made by ``embedder``.
    query : str, optional
        The question itself; stored only with the setting ``store_queries``.
    """

    id: str = Field(min_length=1, max_length=64)
    namespace: str
    recall_id: str = Field(max_length=512)
    actor: str | None = Field(default=None, min_length=1, max_length=512)
    trusted: bool = False
    kind: str = Field(default="cited", min_length=1, max_length=64)
    origin: str = Field(default="", max_length=512)
    created_at: float = 0.0
    evidence: tuple[float, ...] = Field(default=(), repr=False)
    dense_share: float | None = Field(default=None, ge=0.0, le=1.0)
    dense_shift: float = Field(default=0.0, ge=-1.0, le=1.0)
    shown: tuple[ShownChunk, ...] = Field(default=(), repr=False)
    named: tuple[ShownChunk, ...] = Field(default=(), repr=False)
    cited: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    ratings: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    outdated: dict[str, str] = Field(default_factory=dict)
    cues: tuple[Cue, ...] = Field(default=(), repr=False)
    terms: tuple[tuple[str, float], ...] = Field(default=(), repr=False)
    paths: tuple[tuple[PathStep, ...], ...] = Field(default=(), repr=False)
    vector: tuple[float, ...] | None = Field(default=None, repr=False)
    embedder: str | None = None
    query: str | None = None

    @property
    def known_chunks(self) -> tuple[ShownChunk, ...]:
        """All chunks that it speaks of: those shown, then those named."""
        return (*self.shown, *self.named)


class LessonRecord(Record):
    """One lesson of an index, for people to read.

    Attributes
    ----------
    feedback_id, recall_id : str
    created_at : float
        Seconds since the epoch (UTC).
    actor : str, optional
    origin : str
        Where it was imported from; empty if it was given here.
    question : str, optional
        If questions are kept (``LearningSettings(store_queries=True)``).
    cited, rejected : tuple of str
        Chunk ids.
    ratings : dict of str to float
    reasons : dict of str to str
    outdated : dict of str to str
        What holds now in place of rejected chunks; a proposal unless the lesson is trusted.
    trusted : bool
        Whether the application vouches for it.
    kind : str
    shown : tuple of str
        Chunk ids, in the order of the recall.
    edges : int
        Learned edges that it shaped.
    active : int
        How many of them recalls follow: the others are too weak, since nobody believes the actor
        or much came after, or lead to chunks that are gone or have changed. With 0, the lesson has
        no effect any more.
    weight : float, in [0, 1]
        How far its actor, and its kind, are believed now, which scales all that it says.
    """

    feedback_id: str
    recall_id: str
    created_at: float
    actor: str | None = None
    origin: str = ""
    question: str | None = None
    cited: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    ratings: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    outdated: dict[str, str] = Field(default_factory=dict)
    trusted: bool = False
    kind: str = "cited"
    shown: tuple[str, ...] = ()
    edges: int = 0
    active: int = 0
    weight: float = 1.0


class Credit(Record):
    """What one answer teaches one recall.

    ``outdated`` says what holds now in place of chunks, if the opposite is taught.
    """

    recall_id: str
    cited: tuple[str, ...]
    shown: tuple[str, ...]
    actor: str | None = None
    trusted: bool = False
    outdated: dict[str, str] = Field(default_factory=dict)

    def teaches(self, *, good: bool = True) -> str:
        """Return the id of the feedback that this leads to, or of its opposite."""
        new, reason = self.outdated, dict.fromkeys(self.outdated, "outdated")
        wrong = [judgement_text(id_, None, reason.get(id_), new.get(id_)) for id_ in self.cited]
        cited, rejected = (self.cited, ()) if good else (tuple(new.values()), wrong)
        return lesson_digest(self.recall_id, self.actor, cited, rejected, self.shown).hex()


class AnswerRecord(Record):
    """An answer that a learner has read, and what links it to its lessons.

    Attributes
    ----------
    outcome : str
        ``"learned"``, or in a word why it taught nothing.
    names : tuple of str
        Ids of runs and of recalls, by which a later verdict may name it.
    conversation : str, optional
        Later turns of it may cite what these recalls found.
    recalls : tuple of Recall
        Those of the answer, and those that get credit; without texts, without vectors of other
        models, and without the question unless it may be kept.
    credits : tuple of Credit
    embedder : str, optional
        The model of the recalls' vectors.
    created_at : float
        Seconds since the epoch (UTC).
    number : int, optional
        Its place in the index, once it is kept.
    """

    outcome: str
    names: tuple[str, ...] = ()
    conversation: str | None = None
    recalls: tuple[Recall, ...] = ()
    credits: tuple[Credit, ...] = ()
    embedder: str | None = None
    created_at: float = 0.0
    number: int | None = None
