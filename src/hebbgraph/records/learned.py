"""Records of what was learned, and of what forgetting would change."""

from __future__ import annotations

from typing import Literal

from pydantic import (
    Field,
)

from hebbgraph.records.chunk import Record

__all__ = ["EdgeChange", "ForgetPreview", "Forgetting", "LearnedParameter", "PruneReport"]

#: Names that are no kinds of feedback.
_MEMORY = {"words", "often by words", "vectors", "often by vectors", "pairs", "handicap"}


class LearnedParameter(Record):
    """A number that exams, or citations, have set for this index; see ``docs/learning.md``.

    Attributes
    ----------
    name : str
        A kind of memory: likeness of questions in ``words`` or ``vectors``, how ``often`` such
        questions cited a chunk, or ``pairs`` of found and cited chunks; the ``handicap`` of
        taught chunks; or a kind of feedback, such as ``opened``.
    value, default : float
        The number here, and without evidence; in units of the score, or of a citation.
    lessons, actors : int
        How many lessons were exams, or are of the kind, and how many actors gave them.

    Examples
    --------
    >>> print(LearnedParameter(name="words", value=0.52, default=0.62, lessons=214, actors=12))
    memory by words counts .52 here, by 214 exams of 12 actors (default .62)
    >>> print(LearnedParameter(name="opened", value=0.3, default=0.1, lessons=40, actors=9))
    'opened' counts .30 here, by 40 lessons of 9 actors (default .10)
    """

    name: str
    value: float
    default: float
    lessons: int
    actors: int

    def __str__(self) -> str:
        value, default = (f"{x:.2f}".removeprefix("0") for x in (self.value, self.default))
        is_kind = self.name not in _MEMORY
        clause = f"{self.name!r} counts" if is_kind else f"memory by {self.name} counts"
        clause = "taught chunks lose" if self.name == "handicap" else clause
        clause = clause.replace("by often by", "by how often, by")
        exams = f"{self.lessons} {'lesson' if is_kind else 'exam'}{'s' * (self.lessons != 1)}"
        actors = f"{self.actors} actor{'s' * (self.actors != 1)}"
        return f"{clause} {value} here, by {exams} of {actors} (default {default})"


class PruneReport(Record):
    """What ``prune`` would remove, or has removed.

    Attributes
    ----------
    min_weight : float
        The threshold.
    edges : dict of str to int
        Number of learned edges, by family.
    weak : dict of str to int
        Number of edges below the threshold.
    masked : dict of str to int
        Number of edges to chunks that were deleted or whose text has changed.
    feedback : int
        Number of feedbacks without effect: all their edges are weak or masked.
    erased : int
        How many of these were erased.
    """

    min_weight: float
    edges: dict[str, int] = Field(default_factory=dict)
    weak: dict[str, int] = Field(default_factory=dict)
    masked: dict[str, int] = Field(default_factory=dict)
    feedback: int = 0
    erased: int = 0


class EdgeChange(Record):
    """A learned edge, and its weight before and after; 0 is no edge."""

    family: Literal["question"]
    source: str
    target: str
    before: float
    after: float


class ForgetPreview(Record):
    """What ``forget`` would do; see :meth:`hebbgraph.HebbianIndex.forget`.

    Attributes
    ----------
    feedback : tuple of str
        Ids of the feedback that would be removed or changed, the oldest first.
    actors : dict of str to int
        How many of them each actor gave; ``""`` stands for no actor.
    removed, changed : int
        Numbers of learned edges that would go, and that would get another weight.
    changes : tuple of EdgeChange
        The 100 largest changes.
    """

    feedback: tuple[str, ...] = ()
    actors: dict[str, int] = Field(default_factory=dict)
    removed: int = 0
    changed: int = 0
    changes: tuple[EdgeChange, ...] = ()


class Forgetting(Record):
    """What ``forget`` removed and ``undo_forget`` can put back.

    Attributes
    ----------
    id : str
    created_at, until : float
        When it was forgotten, and until when it can be undone: seconds since the epoch.
    feedback : tuple of str
        Ids of the feedback that was removed or changed, the oldest first.
    actors : dict of str to int
        How many of them each actor gave; ``""`` stands for no actor.
    """

    id: str
    created_at: float
    until: float
    feedback: tuple[str, ...]
    actors: dict[str, int]
