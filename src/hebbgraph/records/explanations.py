"""Why a chunk ranks where it does, and how activation spread."""

from __future__ import annotations

from typing import Literal

from hebbgraph.records.chunk import Record
from hebbgraph.records.recall import Cue, PathStep

__all__ = [
    "Causes",
    "Explanation",
    "LearnedEffect",
    "Trace",
    "TraceCut",
    "TraceEvent",
    "TraceHit",
    "TraceNode",
]


class LearnedEffect(Record):
    """The effect of one feedback on the score of one chunk.

    ``family`` says by what it was recalled (``words``, ``vectors`` or ``pairs``), ``source`` the
    recall that taught it, or for pairs the chunk that led there, and ``effect`` its share of the
    change in score.
    """

    feedback_id: str
    recall_id: str
    actor: str | None = None
    family: Literal["words", "vectors", "pairs"]
    source: str
    effect: float


class Causes(Record):
    """What a score is made of; the parts add up to it.

    Attributes
    ----------
    lexical, dense : float
        Words in common, and nearness of embeddings.
    graph : float
        Activation that arrived over what the texts say.
    learned : float
        What past lessons on this chunk changed: above 0 what cited it, below 0 what rejected it,
        or cited it for other questions alone. 0 for what no lesson names.
    other : float
        In an explanation of a hit, what its score owes to what a replay does not know: ``seeds=``,
        a reranker, a filter of your own, earlier versions, changes since the recall. 0 if nothing.
    """

    lexical: float = 0.0
    dense: float = 0.0
    graph: float = 0.0
    learned: float = 0.0
    other: float = 0.0


class Explanation(Record):
    """Why a chunk ranks where it does, for the query of a recall.

    Attributes
    ----------
    chunk_id : str
    rank : int, optional
        Rank in the recall; None if the chunk was not among its hits.
    score, direct, activation : float, in [0, 1]
        The current score, its direct evidence, and what arrived over the graph; all of them
        before a reranker.
    reranked : float, optional
        What the reranker said in the recall, in its own scale.
    excluded : bool
        Whether the filter of the recall excludes the chunk. If that was a callable, all chunks
        are taken for excluded but the hits and those on their paths.
    confidence : float, in [0, 1]
        Of the recall; ``direct`` and ``activation`` are combined, then multiplied by it.
    lexical, dense : float, in [0, 1], optional
        What direct evidence was fused from; None for a chunk that no search returned, and for
        a search that was not made.
    dense_share : float, in [0, 1]
        The share of ``dense`` for this question.
    causes : Causes
        What ``score`` is made of.
    path : tuple of PathStep
        The strongest path to the chunk.
    cues : tuple of Cue
    tags : tuple of str
        The chunk's tags.
    unlearned_score : float, in [0, 1]
        The score without any feedback.
    learned : tuple of LearnedEffect
        Effects of past feedback on the score, the strongest first.
    """

    chunk_id: str
    rank: int | None = None
    score: float = 0.0
    direct: float = 0.0
    activation: float = 0.0
    reranked: float | None = None
    excluded: bool = False
    confidence: float = 1.0
    lexical: float | None = None
    dense: float | None = None
    dense_share: float = 0.0
    causes: Causes = Causes()
    path: tuple[PathStep, ...] = ()
    cues: tuple[Cue, ...] = ()
    tags: tuple[str, ...] = ()
    unlearned_score: float = 0.0
    learned: tuple[LearnedEffect, ...] = ()


class TraceNode(Record):
    """A node that activation reached; ``value`` and ``title`` as of :class:`PathStep`."""

    kind: Literal["query", "tag", "chunk"]
    value: str = ""
    title: str = ""


class TraceEvent(Record):
    """Mass that flowed over one edge.

    Attributes
    ----------
    step : int
        0 from the question; then each step from chunks over tags to chunks; the last one may
        follow links.
    over : {"question", "tag", "link"}
        Whether it starts activation, follows the graph, or an explicit link.
    source, target : int
        Positions in :attr:`Trace.nodes`.
    mass : float
    learned : float, in [0, 1]
        The share of it that flowed because of past citations.
    """

    step: int
    over: Literal["question", "tag", "link"]
    source: int
    target: int
    mass: float
    learned: float = 0.0


class TraceCut(Record):
    """A tag or chunk that mass did not cross in a step, and why."""

    step: int
    kind: Literal["tag", "chunk"]
    value: str
    title: str = ""
    reason: str


class TraceHit(Record):
    """A chunk of the replayed ranking.

    ``rank`` and ``score`` are those of now, ``causes`` add up to the score. ``unlearned_rank`` is
    the rank without any feedback; None if nothing but feedback leads there.
    """

    chunk_id: str
    title: str = ""
    rank: int
    score: float
    causes: Causes
    unlearned_rank: int | None = None


class Trace(Record):
    """How activation spread for a question; see ``index.inspect.trace``.

    Attributes
    ----------
    recall_id, query : str
    generation : int
        State of the index that it was replayed on.
    confidence : float
        Scores are shares of it.
    nodes : tuple of TraceNode
        The question first.
    events : tuple of TraceEvent
        In order: by step, within it from the question or chunks to tags, then to chunks, the
        strongest first.
    more : int
        Events left out, the weakest.
    cuts : tuple of TraceCut
    hits : tuple of TraceHit
    """

    recall_id: str
    query: str
    generation: int
    confidence: float
    nodes: tuple[TraceNode, ...]
    events: tuple[TraceEvent, ...]
    more: int = 0
    cuts: tuple[TraceCut, ...] = ()
    hits: tuple[TraceHit, ...] = ()
