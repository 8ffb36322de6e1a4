"""The report on whether learning helped."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hebbgraph.records.chunk import Record

__all__ = ["LessonPoint", "LessonReport", "MeanChange", "MovedQuestion", "Verdict"]


Verdict: TypeAlias = Literal[
    "helped", "harmed", "mixed", "unclear", "too_few", "no_questions", "no_lessons"
]


class MeanChange(Record):
    """The mean change of a figure over questions.

    Attributes
    ----------
    mean, low, high : float
        The mean change, and the ends of its 95 % interval (paired bootstrap).
    better, worse : int
        Questions whose figure rose, and fell.

    Examples
    --------
    >>> print(MeanChange(mean=0.082, low=0.04, high=0.121, better=31, worse=6))
    +.082 [+.040, +.121], 31 better, 6 worse
    """

    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0
    better: int = 0
    worse: int = 0

    def __str__(self) -> str:
        mean, low, high = (
            f"{value:+.3f}".replace("+0.", "+.").replace("-0.", "-.")
            for value in (self.mean, self.low, self.high)
        )
        return f"{mean} [{low}, {high}], {self.better} better, {self.worse} worse"


class LessonPoint(Record):
    """The figures of a report's questions after some lessons.

    Attributes
    ----------
    lessons : int
        Number of lessons, from the start of the log; 0 is the untaught index.
    recall : float, in [0, 1]
        The mean share of cited chunks among the best k.
    mrr : float, in [0, 1]
        The mean reciprocal rank of the first cited chunk; 0 beyond the tenth.
    recall_change, mrr_change : MeanChange
        Compared with the untaught index.
    asked_next : int
        Questions that came next in the log, asked with these lessons, before their own.
    next_recall, next_mrr : MeanChange
        How these lessons changed the figures of the next questions.
    """

    lessons: int
    recall: float
    mrr: float
    recall_change: MeanChange = MeanChange()
    mrr_change: MeanChange = MeanChange()
    asked_next: int = 0
    next_recall: MeanChange = MeanChange()
    next_mrr: MeanChange = MeanChange()


class MovedQuestion(Record):
    """A question, and the rank of its first cited chunk without lessons and with all.

    None means that the chunk is not among the hits that were checked.
    """

    question: str
    before: int | None
    after: int | None


class LessonReport(Record):
    """Whether learning helped here; see ``index.inspect.lesson_report``.

    Attributes
    ----------
    verdict : {"helped", "harmed", "mixed", "unclear", "too_few", "no_questions", "no_lessons"}
        ``helped`` if the interval of one figure lies above 0 and none lies below,
        ``harmed`` if it is the other way round, ``mixed`` if both occur, ``unclear`` if
        neither does. With fewer than ten questions ``too_few``; without any, one of the last two.
    advice : str
        What is missing for a verdict, and what to do; empty if nothing is.
    lessons : int
        All lessons of the log.
    kept : int
        Questions whose text is kept and that have cited chunks which still exist.
    taught : int
        Lessons before the first held-out question.
    asked : int
        Held-out questions that were asked.
    repeated : int
        Held-out questions that were asked before in the same words.
    k : int
    points : tuple of LessonPoint
        From no lesson to all that were taught.
    new_recall, new_mrr : MeanChange, optional
        After all lessons, for questions that were not asked before.
    moved : tuple of MovedQuestion
        The 20 questions whose reciprocal rank changed most.
    """

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
        for point in self.points[1:-1]:
            if point.asked_next:
                lines.append(
                    f"On the way, the next {point.asked_next} questions after {point.lessons} "
                    f"lessons: R@{self.k} {point.next_recall}; MRR {point.next_mrr}"
                )
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
