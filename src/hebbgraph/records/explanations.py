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

    ``family`` is how memory recognised the question (``words``, ``vectors`` or ``pairs``),
    ``source`` the recall that taught it, or for pairs the chunk that led there, and ``effect`` the
    feedback's share of the change in score.
    """

    feedback_id: str
    recall_id: str
    actor: str | None = None
    family: Literal["words", "vectors", "pairs"]
    source: str
    effect: float


class Causes(Record):
    """The parts of a score; they add up to it.

    Attributes
    ----------
    lexical, dense : float
        From common words, and from the similarity of embeddings.
    graph : float
        From activation over the graph.
    learned : float
        From past lessons on this chunk: positive if they cited it, negative if they rejected it or
        cited it only for other questions. 0 for a chunk that no lesson names.
    other : float
        In an explanation of a hit, the part that a replay cannot reproduce: ``seeds=``, a reranker,
        a callable filter, earlier versions, changes since the recall.
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
        The current score, its direct evidence, and the activation that arrived over the graph;
        all before a reranker.
    reranked : float, optional
        The reranker's score in the recall, on its own scale.
    excluded : bool
        Whether the filter of the recall excludes the chunk. If the filter was a callable, all
        chunks except the hits and those on their paths count as excluded.
    confidence : float, in [0, 1]
        Of the recall; ``direct`` and ``activation`` are combined, then multiplied by it.
    lexical, dense : float, in [0, 1], optional
        The parts of direct evidence; None for a chunk that search did not return, and for a search
        that did not run.
    dense_share : float, in [0, 1]
        The share of ``dense`` for this question.
    causes : Causes
        The parts of ``score``.
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
        0 from the question; then one for each step from chunks over tags to chunks. The last one
        may follow links.
    over : {"question", "tag", "link"}
        Whether it starts activation, follows a tag, or follows an explicit link.
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

    ``rank`` and ``score`` are the current ones, and ``causes`` add up to the score.
    ``unlearned_rank`` is the rank without any feedback; None if only feedback leads there.
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
        State of the index that was replayed.
    confidence : float
        Scores are shares of it.
    nodes : tuple of TraceNode
        The question first.
    events : tuple of TraceEvent
        Ordered by step; within a step, first those to tags, then those to chunks, the strongest
        first.
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
