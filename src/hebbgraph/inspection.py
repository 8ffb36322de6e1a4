"""Records that show what an index holds and does, for people who look inside.

Like :mod:`hebbgraph.records`, they are frozen, and load from their own JSON.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from hebbgraph.records import Causes

__all__ = [
    "CorrectionKind",
    "EdgeChange",
    "ForgetPreview",
    "Forgetting",
    "LessonPoint",
    "LessonReport",
    "MeanChange",
    "MovedQuestion",
    "Neighborhood",
    "TagChunk",
    "TagCorrection",
    "TagCount",
    "TagEdge",
    "TagNode",
    "Trace",
    "TraceCut",
    "TraceEvent",
    "TraceHit",
    "TraceNode",
    "Verdict",
]

_FROZEN = ConfigDict(frozen=True, extra="forbid")

CorrectionKind: TypeAlias = Literal["merge", "rename", "mute", "split"]
Verdict: TypeAlias = Literal[
    "helped", "harmed", "mixed", "unclear", "too_few", "no_questions", "no_lessons"
]


class TagCorrection(BaseModel):
    """One correction to tags; see :meth:`hebbgraph.HebbianIndex.correct_tags`.

    Attributes
    ----------
    id : str
        For :meth:`~hebbgraph.HebbianIndex.undo_tag_correction`.
    kind : {"merge", "rename", "mute", "split"}
    tags : tuple of str
        The tags it is about, in normal form.
    into : str, optional
        The tag that stands in their place; None for ``mute``.
    chunks : tuple of str
        For ``split``: the chunks that get ``into`` instead.
    actor : str, optional
    created_at : float
        Seconds since the epoch (UTC).
    """

    model_config = _FROZEN

    id: str
    kind: CorrectionKind
    tags: tuple[str, ...] = Field(min_length=1)
    into: str | None = None
    chunks: tuple[str, ...] = ()
    actor: str | None = None
    created_at: float = 0.0


class TraceNode(BaseModel):
    """A node that activation reached; ``value`` and ``title`` as of :class:`PathStep`."""

    model_config = _FROZEN

    kind: Literal["query", "tag", "chunk"]
    value: str = ""
    title: str = ""


class TraceEvent(BaseModel):
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

    model_config = _FROZEN

    step: int
    over: Literal["question", "tag", "link"]
    source: int
    target: int
    mass: float
    learned: float = 0.0


class TraceCut(BaseModel):
    """A tag or chunk that mass did not cross in a step, and why."""

    model_config = _FROZEN

    step: int
    kind: Literal["tag", "chunk"]
    value: str
    title: str = ""
    reason: str


class TraceHit(BaseModel):
    """A chunk of the replayed ranking.

    ``rank`` and ``score`` are those of now, ``causes`` add up to the score. ``unlearned_rank`` is
    the rank without any feedback; None if nothing but feedback leads there.
    """

    model_config = _FROZEN

    chunk_id: str
    title: str = ""
    rank: int
    score: float
    causes: Causes
    unlearned_rank: int | None = None


class Trace(BaseModel):
    """How activation spread for a question; see :meth:`hebbgraph.HebbianIndex.trace`.

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

    model_config = _FROZEN

    recall_id: str
    query: str
    generation: int
    confidence: float
    nodes: tuple[TraceNode, ...]
    events: tuple[TraceEvent, ...]
    more: int = 0
    cuts: tuple[TraceCut, ...] = ()
    hits: tuple[TraceHit, ...] = ()


class TagCount(BaseModel):
    """A tag, the number of chunks that hold it, and of those whose title it is."""

    model_config = _FROZEN

    tag: str
    chunks: int
    titles: int = 0


class TagNode(BaseModel):
    """A tag in a neighbourhood.

    ``weight`` is the number of chunks that it shares with the tag asked for, ``chunks`` the
    number of all that hold it. ``colony`` is that of most shared chunks, if colonies were found.
    """

    model_config = _FROZEN

    tag: str
    weight: int
    chunks: int
    colony: int | None = None


class TagEdge(BaseModel):
    """Two tags, by position in :attr:`Neighborhood.nodes`, and how many chunks hold both."""

    model_config = _FROZEN

    source: int
    target: int
    weight: int


class TagChunk(BaseModel):
    """A chunk that holds a tag, perhaps as its title."""

    model_config = _FROZEN

    chunk_id: str
    title: str = ""
    is_title: bool = False


class Neighborhood(BaseModel):
    """The tags around one; see :meth:`hebbgraph.HebbianIndex.neighborhood`.

    Attributes
    ----------
    tag : str
    nodes : tuple of TagNode
        The tag itself, then its neighbours, the strongest first.
    edges : tuple of TagEdge
        Between nodes, over chunks that hold the tag; the strongest, at most four for each node.
    more : int
        Neighbours left out.
    hubs : tuple of TagNode
        Neighbours so frequent that recalls cut them: not among the nodes. The strongest 20.
    n_hubs : int
    chunks : tuple of TagChunk
        Chunks that hold the tag, those entitled by it first.
    more_chunks : int
    sampled : bool
        Whether the tag has so many chunks that weights were estimated from a part of them.
    """

    model_config = _FROZEN

    tag: str
    nodes: tuple[TagNode, ...]
    edges: tuple[TagEdge, ...] = ()
    more: int = 0
    hubs: tuple[TagNode, ...] = ()
    n_hubs: int = 0
    chunks: tuple[TagChunk, ...] = ()
    more_chunks: int = 0
    sampled: bool = False


class EdgeChange(BaseModel):
    """A learned edge, and its weight before and after. 0 is no edge."""

    model_config = _FROZEN

    family: Literal["question"]
    source: str
    target: str
    before: float
    after: float


class ForgetPreview(BaseModel):
    """What ``forget`` would do; see :meth:`hebbgraph.HebbianIndex.forget`.

    Attributes
    ----------
    feedback : tuple of str
        Ids of the feedback that would be removed or changed, the oldest first.
    actors : dict of str to int
        How much of it each actor gave; the application itself is ``""``.
    removed, changed : int
        Learned edges that would go, and that would get another weight.
    changes : tuple of EdgeChange
        The 100 largest changes.
    """

    model_config = _FROZEN

    feedback: tuple[str, ...] = ()
    actors: dict[str, int] = Field(default_factory=dict)
    removed: int = 0
    changed: int = 0
    changes: tuple[EdgeChange, ...] = ()


class Forgetting(BaseModel):
    """What ``forget`` removed and ``undo_forget`` can put back.

    Attributes
    ----------
    id : str
    created_at, until : float
        When it was forgotten, and until when it can be undone: seconds since the epoch.
    feedback : tuple of str
        Ids of the feedback that was removed or changed, the oldest first.
    actors : dict of str to int
        How much of it each actor gave; the application itself is ``""``.
    """

    model_config = _FROZEN

    id: str
    created_at: float
    until: float
    feedback: tuple[str, ...]
    actors: dict[str, int]


class MeanChange(BaseModel):
    """How a figure changed, on average over questions.

    Attributes
    ----------
    mean, low, high : float
        The mean change, and the ends of its 95 % interval (paired bootstrap).
    better, worse : int
        Questions of which the figure rose, and fell.

    Examples
    --------
    >>> print(MeanChange(mean=0.082, low=0.04, high=0.121, better=31, worse=6))
    +.082 [+.040, +.121], 31 better, 6 worse
    """

    model_config = _FROZEN

    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0
    better: int = 0
    worse: int = 0

    def __str__(self) -> str:
        mean, low, high = (
            f"{one:+.3f}".replace("+0.", "+.").replace("-0.", "-.")
            for one in (self.mean, self.low, self.high)
        )
        return f"{mean} [{low}, {high}], {self.better} better, {self.worse} worse"


class LessonPoint(BaseModel):
    """What the questions of a report found after some lessons.

    Attributes
    ----------
    lessons : int
        The first of the log. 0 is the index that was never taught.
    recall : float, in [0, 1]
        The mean share of cited chunks among the best k.
    mrr : float, in [0, 1]
        The mean of one over the rank of the first cited chunk; 0 beyond the tenth.
    recall_change, mrr_change : MeanChange
        Against the index that was never taught.
    """

    model_config = _FROZEN

    lessons: int
    recall: float
    mrr: float
    recall_change: MeanChange = MeanChange()
    mrr_change: MeanChange = MeanChange()


class MovedQuestion(BaseModel):
    """A question, and the rank of its first cited chunk before any lesson and after them.

    None is a rank beyond those that were looked at.
    """

    model_config = _FROZEN

    question: str
    before: int | None
    after: int | None


class LessonReport(BaseModel):
    """Whether learning helped here; see :meth:`hebbgraph.HebbianIndex.lesson_report`.

    Attributes
    ----------
    verdict : {"helped", "harmed", "mixed", "unclear", "too_few", "no_questions", "no_lessons"}
        ``helped`` if the interval of one figure lies above 0 and that of none below it,
        ``harmed`` the other way round, ``mixed`` if there is one of either, ``unclear`` if
        neither. Below ten questions it is ``too_few``; without any, one of the last two.
    advice : str
        What is missing for a verdict, and what to do; empty if nothing is.
    lessons : int
        All that the log holds.
    kept : int
        Questions whose text is kept, and of whose cited chunks some still exist.
    taught : int
        Lessons that were learned before the first of the later questions.
    asked : int
        Later questions that were asked.
    repeated : int
        Those of them that were asked before, in the same words.
    k : int
    points : tuple of LessonPoint
        From no lesson to all that were taught.
    new_recall, new_mrr : MeanChange, optional
        After all lessons, of the questions that were not asked before.
    moved : tuple of MovedQuestion
        The 20 whose first cited chunk changed its rank most, by one over the rank.
    """

    model_config = _FROZEN

    verdict: Verdict
    advice: str = ""
    lessons: int = 0
    kept: int = 0
    taught: int = 0
    asked: int = 0
    repeated: int = 0
    k: int = 5
    points: tuple[LessonPoint, ...] = ()
    new_recall: MeanChange | None = None
    new_mrr: MeanChange | None = None
    moved: tuple[MovedQuestion, ...] = ()

    def __str__(self) -> str:
        lines = [_VERDICTS[self.verdict]]
        if self.points:
            last = self.points[-1]
            lines += [
                f"{self.asked} later questions, asked before any lesson and after {self.taught}:",
                f"R@{self.k} {self.points[0].recall:.3f} → {last.recall:.3f}: {last.recall_change}",
                f"MRR {self.points[0].mrr:.3f} → {last.mrr:.3f}: {last.mrr_change}",
            ]
        if self.repeated and self.new_recall is not None and self.new_mrr is not None:
            lines += [
                f"Without the {self.repeated} that were asked before in the same words:",
                f"R@{self.k} {self.new_recall}",
                f"MRR {self.new_mrr}",
            ]
        return "\n".join([*lines, self.advice] if self.advice else lines)


_VERDICTS = {
    "helped": "Learning helped here.",
    "harmed": "Learning harmed here.",
    "mixed": "Learning helped one figure here and harmed the other.",
    "unclear": "Whether learning helped here cannot be told: the intervals hold 0.",
    "too_few": "Whether learning helped here cannot be told: too few questions.",
    "no_questions": "Whether learning helped here cannot be told: no questions are kept.",
    "no_lessons": "Nothing was learned here yet.",
}
