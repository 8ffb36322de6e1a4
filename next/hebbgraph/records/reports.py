"""Lessons, and what calls report."""

from __future__ import annotations

from pydantic import Field

from hebbgraph.records.base import Record

__all__ = ["AddReport", "DeleteReport", "Evaluation", "Lesson", "Neighbor", "Tag"]


class Lesson(Record):
    """What somebody said of a recall.

    Attributes
    ----------
    id, recall : str
        Its own id, and that of the recall.
    question : str
        Empty unless ``Settings.keep_questions``.
    cited, rejected : dict of str to str
        Ids of chunks, and digests of their texts.
    shown : int
        How many chunks the reader saw.
    weight : float, in [0, 1]
        The height of a rating; 1 for a citation.
    actor : str, optional
    trusted : bool
    reason : str, optional
    created : float
        Seconds since 1970 (UTC).
    note : str
        Why it moves nothing; empty if it is in force.
    """

    id: str
    recall: str
    question: str = ""
    cited: dict[str, str] = Field(default_factory=dict)
    rejected: dict[str, str] = Field(default_factory=dict)
    shown: int = 0
    weight: float = 1.0
    actor: str | None = None
    trusted: bool = False
    reason: str | None = None
    created: float = 0.0
    note: str = ""


class Evaluation(Record):
    """How past questions would rank now, with and without what others taught.

    Attributes
    ----------
    questions : int
        How many lessons were asked again, each without what it taught itself.
    untaught, taught : float, in [0, 1]
        nDCG@10 of what they cited, without lessons and with them.
    error : float
        The standard error of the difference.
    """

    questions: int
    untaught: float
    taught: float
    error: float

    def __str__(self) -> str:
        """Say it in a sentence.

        >>> print(Evaluation(questions=40, untaught=0.61, taught=0.68, error=0.02))
        40 past questions: nDCG@10 .610 without lessons, .680 with what others taught (+.070 ± .039)
        """
        change = self.taught - self.untaught
        shown = f"{self.untaught:.3f}|{self.taught:.3f}|{change:+.3f}|{1.96 * self.error:.3f}"
        plain, taught, more, error = shown.replace("0.", ".").split("|")
        return (
            f"{self.questions} past questions: nDCG@10 {plain} without lessons, {taught} with what "
            f"others taught ({more} ± {error})"
        )


class AddReport(Record):
    """What ``add`` and ``refresh`` did, in chunks; ``deleted`` are those that documents lost."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0


class DeleteReport(Record):
    """How many chunks ``delete`` removed, and whether no trace of them is left on the disk.

    ``erased`` is False while a reader holds an older state of a file open: the texts are gone for
    everybody who asks, and the next change overwrites their bytes once that reader ends. It is
    False on PostgreSQL, where VACUUM overwrites them.
    """

    deleted: int = 0
    erased: bool = True


class Tag(Record):
    """A tag, and the number of chunks that hold it."""

    tag: str
    chunks: int
    titles: int = 0


class Neighbor(Record):
    """A co-occurrence edge: ``weight`` chunks hold both tags; ``learned`` is what lessons added."""

    tag: str
    weight: int
    learned: float = 0.0
