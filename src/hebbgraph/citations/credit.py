"""Which recall is credited with a cited chunk. There is one rule, here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hebbgraph.records import Feedback, Recall

__all__ = ["Lesson", "Recalled", "TeachableIndex", "share_credit"]


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
    ) -> Feedback:
        """See :meth:`hebbgraph.HebbianIndex.reinforce`."""
        ...

    def forget(self, feedback: str) -> int:
        """See :meth:`hebbgraph.HebbianIndex.forget`."""
        ...

    def find_recall(self, recall_id: str) -> Recall | None:
        """See :meth:`hebbgraph.HebbianIndex.find_recall`."""
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
    """What one recall is to be taught by one answer.

    Attributes
    ----------
    recalled : Recalled
    cited : tuple of str
        The chunks it is credited with, in the order in which the answer cites them.
    shown : tuple of str
        Those of its chunks that stood in the prompt, in the order of the prompt, without
        the ones that another recall is credited with.
    rejected : tuple of str
        Those that were found to be wrong.
    actor : str, optional
        Whom the lesson is attributed to.
    """

    recalled: Recalled
    cited: tuple[str, ...]
    shown: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    actor: str | None = None

    def by(self, actor: str | None) -> Lesson:
        """Return the same lesson, attributed to somebody."""
        return replace(self, actor=actor)

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

    That is the recall which ranks the chunk best, and of several that rank it equally the
    latest. Recalls of earlier turns are credited only with what the present turn did not
    find itself, by the same rule.

    Parameters
    ----------
    cited, shown : iterable of str
        Chunk ids, in the order of the answer and of the prompt.
    recalls, earlier : sequence of Recalled
        Those made for this answer, and those of the conversation before it; oldest first.
    taught : collection of str
        Chunks that the same request has taught already. They are not taught again, and do
        not count as shown in vain.

    Returns
    -------
    list of Lesson
        In the order of ``recalls``, then of ``earlier``. A recall without credit gets none.

    Notes
    -----
    The rank tells which question a chunk answers: the one for which it came first. Between
    equals, rank says nothing, and the question is which of the recalls put the chunk before
    the model. The latest one did for certain: agents search again because what they had
    would not do, corrective chains throw the first results away, and a chat memory that
    runs full drops the oldest messages. It also keeps chunks together that the last, best
    informed search found together.

    A chunk that another recall is credited with is left out of ``shown``. It was used, so
    it must not count as shown in vain.

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
