"""The result of a question: hits with scores and paths."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from hebbgraph.records.chunk import Chunk, Record, label_of, text_hash

__all__ = ["Cue", "Hit", "PathStep", "Recall", "Stale", "Turn"]


class Cue(Record):
    """A known tag that the query names.

    ``weight`` is ``log(1 + N / df)``, so rare tags weigh more. If only an earlier turn of the
    conversation names the tag (``from_history``), the weight is multiplied by that of the turn.
    """

    tag: str
    weight: float
    from_history: bool = False


class Turn(Record):
    """An earlier turn of a conversation, and how much it counted, at most .5."""

    text: str
    weight: float


class PathStep(Record):
    """One node on the path from the query to a hit.

    ``kind`` is ``query``, ``tag``, ``chunk`` or ``episode``; ``value`` is the tag's
    phrase, the chunk's id or the episode's id (empty for the query); ``title`` is the
    chunk's title; ``weight`` is the activation that arrived over this step.
    """

    kind: Literal["query", "tag", "chunk", "episode"]
    value: str = ""
    title: str = ""
    weight: float = 0.0


class Stale(Record):
    """Since when a hit is no longer valid, if known, and the ids of the chunks that replace it.

    ``replaced_by`` is empty for a chunk that only expired.
    """

    since: datetime | None = None
    replaced_by: tuple[str, ...] = ()


class Hit(Record):
    """A retrieved chunk with its score, rank (from 1) and strongest path.

    ``stale`` is set if the chunk was superseded or has expired.

    With an external text store, ``text_hash`` identifies the indexed text, even if
    ``chunk.text`` is empty or differs. ``reranked`` is the score of a reranker, on its own scale.
    ``evidence`` is how well the chunk answers by itself, without graph and learning; None for
    strategies that do not search. It was fused from ``lexical`` and ``dense``, which are None
    for a chunk that search did not return, and for a search that did not run.
    ``unlearned`` is the score without learning, before it is multiplied by the confidence.
    """

    chunk: Chunk
    score: float
    rank: int
    path: tuple[PathStep, ...] = ()
    text_hash: str | None = Field(default=None, pattern="^[0-9a-f]{16}$", repr=False)
    reranked: float | None = None
    stale: Stale | None = None
    evidence: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    lexical: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    dense: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    unlearned: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)

    @property
    def lacks_text(self) -> bool:
        """Whether the external text store did not return the indexed text."""
        if self.text_hash is None:
            return False
        return self.text_hash != text_hash(self.chunk.title, self.chunk.text)

    @property
    def hash_of_text(self) -> str:
        """Hash of the indexed text; see :func:`text_hash`."""
        return self.text_hash or text_hash(self.chunk.title, self.chunk.text)

    @property
    def stale_mark(self) -> dict[str, JsonValue]:
        """``{"stale": {"since": ..., "replaced_by": [...]}}`` for a stale hit; else empty."""
        return {} if self.stale is None else {"stale": self.stale.model_dump(mode="json")}

    @property
    def path_text(self) -> str:
        """The path on one line: tags in quotation marks, chunks by title or id.

        A hit without a title is named by the beginning of its text.

        Examples
        --------
        >>> steps = [("query", "", ""), ("tag", "ida moss", ""), ("chunk", "c-7", "Tessel Bay")]
        >>> path = [PathStep(kind=kind, value=value, title=title) for kind, value, title in steps]
        >>> Hit(chunk=Chunk(id="c-7", text="…"), score=0.6, rank=1, path=path).path_text
        'question → «ida moss» → Tessel Bay'
        """
        labels = {"query": "question", "episode": "an earlier question"}
        own = {self.chunk.id: label_of(self.chunk)}
        return " → ".join(
            labels.get(step.kind)
            or (f"«{step.value}»" if step.kind == "tag" else step.title)
            or own.get(step.value)
            or step.value
            for step in self.path
        )


class Recall(Record):
    """One retrieval: a self-contained record that can be stored and passed back later.

    Attributes
    ----------
    id : str
    namespace, strategy, query : str
    cues : tuple of Cue
        Empty if the query names no known tag; ``notes`` then says so.
    hits : tuple of Hit, best first
    notes : tuple of str
        Remarks for the reader, e.g. ``"no known tag in the query"``.
    confidence : float, in [0, 1], optional
        How sure it is that the index answers the question at all, comparable between questions
        and indexes. Scores of hits are shares of it. None for strategies without it.
    nothing_known : bool
        Whether ``confidence`` is so low that the question is likely about something else.
    dense_share, dense_shift : float, optional
        The share of dense search in direct evidence, and how much citations had added to
        :attr:`EvidenceWeights.dense` by then. None without dense search.
    judged : tuple of str
        Ids of the candidates that a judge named as needed; see ``docs/asking.md``.
    generation : int
        State of the index that answered.
    created_at : float
        Seconds since the epoch (UTC).
    vector : tuple of float, optional
        Embedding of the query, mixed with those of earlier turns; None without an embedder.
    history : tuple of Turn
        Earlier turns that counted, oldest first.
    where : dict or "callable", optional
        The filter. Chunks that it excludes take no part in explanations either.
    terms : tuple of (str, float), optional
        Hashes of the question's words and their weights, if the question itself was not kept.
    as_of : datetime, optional
        The ``as_of`` of the recall.
    """

    id: str
    namespace: str
    strategy: str
    query: str
    cues: tuple[Cue, ...] = ()
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    nothing_known: bool = False
    dense_share: float | None = Field(default=None, ge=0.0, le=1.0, repr=False)
    dense_shift: float = Field(default=0.0, ge=-1.0, le=1.0, repr=False)
    judged: tuple[str, ...] = Field(default=(), repr=False)
    generation: int = 0
    created_at: float = 0.0
    vector: tuple[float, ...] | None = Field(default=None, repr=False)
    history: tuple[Turn, ...] = ()
    terms: tuple[tuple[str, float], ...] | None = Field(default=None, repr=False)
    where: dict[str, JsonValue] | Literal["callable"] | None = Field(default=None, repr=False)
    as_of: datetime | None = None

    def hit(self, chunk_id: str) -> Hit | None:
        """Return the hit on ``chunk_id``, or None if it was not retrieved."""
        return next((hit for hit in self.hits if hit.chunk.id == chunk_id), None)

    def trail(self, chunk_id: str) -> dict[str, JsonValue]:
        """Return how a hit was found as plain data, which adapters add with ``include_path``.

        Returns
        -------
        dict
            ``recall_id``, ``namespace``, ``rank``, ``path`` (:attr:`Hit.path_text`), the ``cues``
            of the question, the ``tags`` on the path, and ``stale`` for a stale hit. Empty if the
            chunk is no hit.

        Examples
        --------
        >>> steps = (PathStep(kind="query"), PathStep(kind="tag", value="ida moss"))
        >>> hit = Hit(chunk=Chunk(id="c-7", text="…"), score=0.6, rank=1, path=steps)
        >>> recall = Recall(id="r", namespace="n", strategy="s", query="Who?", hits=(hit,))
        >>> recall.trail("c-7")["path"], recall.trail("c-7")["tags"]
        ('question → «ida moss»', ['ida moss'])
        """
        hit = self.hit(chunk_id)
        if hit is None:
            return {}
        return {
            "recall_id": self.id,
            "namespace": self.namespace,
            "rank": hit.rank,
            "path": hit.path_text,
            "cues": [cue.tag for cue in self.cues],
            "tags": [step.value for step in hit.path if step.kind == "tag"],
            **hit.stale_mark,
        }
