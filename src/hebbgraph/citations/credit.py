"""Which recall is credited with a cited chunk: the one rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from hebbgraph.limits import MANY_SHOWN
from hebbgraph.records import AnswerRecord, Feedback, Recall

__all__ = ["LastingIndex", "Lesson", "Recalled", "TeachableIndex", "share_credit"]


class TeachableIndex(Protocol):
    """What learning from citations needs of an index."""

    def reinforce(
        self,
        recall: Recall,
        cited: Iterable[str],
        *,
        rejected: Iterable[str] | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
    ) -> Feedback:
        """See :meth:`hebbgraph.HebbianIndex.reinforce`."""
        ...

    def forget(self, feedback: str) -> int:
        """See :meth:`hebbgraph.HebbianIndex.forget`."""
        ...

    def find_recall(self, recall_id: str) -> Recall | None:
        """See :meth:`hebbgraph.HebbianIndex.find_recall`."""
        ...


@runtime_checkable
class LastingIndex(TeachableIndex, Protocol):
    """An index that also keeps what links answers to lessons, for other processes."""

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        """See :meth:`hebbgraph.HebbianIndex.keep_answer`."""
        ...

    def keep_recalls(self) -> None:
        """See :meth:`hebbgraph.HebbianIndex.keep_recalls`."""
        ...

    def find_answer(self, name: str) -> AnswerRecord | None:
        """See :meth:`hebbgraph.HebbianIndex.find_answer`."""
        ...

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        """See :meth:`hebbgraph.HebbianIndex.earlier_recalls`."""
        ...

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]:
        """See :meth:`hebbgraph.HebbianIndex.find_feedback`."""
        ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recall, and the index that answered it."""

    index: TeachableIndex
    recall: Recall

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the chunks found."""
        return frozenset(hit.chunk.id for hit in self.recall.hits)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one answer teaches one recall.

    Attributes
    ----------
    recalled : Recalled
    cited : tuple of str
        The chunks it is credited with, in the order of the answer.
    shown : tuple of str
        Its chunks in the prompt, in that order, without those credited to another recall.
    rejected : tuple of str
        Chunks that were wrong.
    actor : str, optional
        Whom the lesson is attributed to.
    trusted : bool
        Whether the application vouches for it.
    """

    recalled: Recalled
    cited: tuple[str, ...]
    shown: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    actor: str | None = None
    trusted: bool = False

    @property
    def is_indifferent(self) -> bool:
        """Whether it cites all of many, so that it says nothing of any."""
        return len(self.shown) >= MANY_SHOWN and len(self.cited) == len(self.shown)

    def by(self, actor: str | None, *, trusted: bool = False) -> Lesson:
        """Return the same lesson, attributed to an actor."""
        return replace(self, actor=actor, trusted=trusted)

    def as_rejection(self) -> Lesson:
        """Return the opposite lesson: what was cited is wrong."""
        return replace(self, cited=(), rejected=self.cited)

    def teach(self) -> Feedback:
        """Teach it to the index."""
        return self.recalled.index.reinforce(
            self.recalled.recall,
            cited=self.cited,
            rejected=self.rejected,
            shown=self.shown,
            actor=self.actor,
            trusted=self.trusted,
        )


def share_credit(
    cited: Iterable[str],
    shown: Iterable[str],
    recalls: Sequence[Recalled],
    *,
    earlier: Sequence[Recalled] = (),
    taught: Collection[str] = (),
) -> list[Lesson]:
    """Credit each cited chunk to exactly one recall.

    It goes to the recall that ranks the chunk best; among equals, to the latest. Earlier turns are
    credited, by the same rule, only with what the present turn did not find.

    Parameters
    ----------
    cited, shown : iterable of str
        Chunk ids, in the order of the answer and of the prompt.
    recalls, earlier : sequence of Recalled
        Those made for this answer, and those of the conversation before it; oldest first.
    taught : collection of str
        Chunks that the same request has already taught. They are neither taught again nor
        counted as passed over.

    Returns
    -------
    list of Lesson
        In the order of ``recalls``, then ``earlier``, for recalls with credit.

    Notes
    -----
    The best rank tells which question a chunk answers. Between equal ranks, the latest recall is
    the one that certainly put the chunk before the model: agents search again because they were not
    satisfied, corrective chains discard the first results, and a full chat memory drops the oldest
    messages. It also keeps together what the last, best informed search found.

    A chunk credited to another recall is left out of ``shown``: it was used, so it was not passed
    over.

    Examples
    --------
    >>> from hebbgraph import Chunk
    >>> from hebbgraph.records import Hit
    >>> def found(name, *ids):
    ...     hits = [Hit(chunk=Chunk(id=id, text=id), score=1 / rank, rank=rank)
    ...             for rank, id in enumerate(ids, start=1)]
    ...     return Recalled(None, Recall(id=name, namespace="", strategy="", query="", hits=hits))
    >>> recalls = [found("first", "petrel", "moss"), found("second", "petrel", "bay", "moss")]
    >>> for lesson in share_credit(["petrel", "moss"], ["petrel", "moss", "bay"], recalls):
    ...     print(lesson.recalled.recall.id, lesson.cited, lesson.shown)
    first ('moss',) ('moss',)
    second ('petrel',) ('petrel', 'bay')
    """
    turns = (range(len(recalls)), range(len(recalls), len(recalls) + len(earlier)))
    everything = (*recalls, *earlier)
    ranks = [{hit.chunk.id: hit.rank for hit in one.recall.hits} for one in everything]
    credited: dict[int, list[str]] = {}
    used = set(taught)
    for id_ in dict.fromkeys(cited):
        if id_ in taught:
            continue
        for turn in turns:
            holders = [(ranks[at][id_], -at) for at in turn if id_ in ranks[at]]
            if holders:
                credited.setdefault(-min(holders)[1], []).append(id_)
                used.add(id_)
                break
    in_prompt = list(dict.fromkeys(shown))
    return [
        Lesson(
            recalled=everything[at],
            cited=tuple(own),
            shown=tuple(
                id_ for id_ in in_prompt if id_ in ranks[at] and (id_ in own or id_ not in used)
            ),
        )
        for at, own in sorted(credited.items())
    ]
