"""The rule that credits each cited chunk to one recall."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from hebbgraph.limits import MANY_SHOWN, MAX_K
from hebbgraph.records import AnswerRecord, Credit, Feedback, Recall

__all__ = [
    "Lesson",
    "Recalled",
    "TeachableIndex",
    "TeachablePool",
    "chunk_id_of",
    "namespace_of",
    "pool_of",
    "share_credit",
    "source_names",
]

#: Occurs in no chunk id.
_SEPARATOR = "\0"


@runtime_checkable
class TeachableIndex(Protocol):
    """What a learner calls of an index: the methods of :class:`hebbgraph.HebbianIndex`."""

    @property
    def namespace(self) -> str: ...

    def reinforce(
        self,
        recall: Recall,
        cited: Iterable[str],
        *,
        rejected: Iterable[str] | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        kind: str = "cited",
        outdated: Mapping[str, str] | None = None,
    ) -> Feedback: ...

    def forget(self, feedback: str) -> int: ...

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]: ...

    def holds(self, ids: Iterable[str]) -> set[str]: ...

    def find_recall(self, recall_id: str) -> Recall | None: ...

    def earlier_recalls(self, conversation: str) -> list[Recall]: ...

    def keep_recalls(self) -> None: ...

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord: ...

    def find_answer(self, name: str) -> AnswerRecord | None: ...


@runtime_checkable
class TeachablePool(Protocol):
    """Indexes by namespace, as in :class:`hebbgraph.IndexPool`."""

    def __getitem__(self, namespace: str) -> TeachableIndex: ...

    def namespaces(self) -> list[str]: ...


def pool_of(index: object) -> Any:
    """Return the pool that an index belongs to, or None."""
    return getattr(index, "pool", None)


def namespace_of(index: object) -> str:
    """Return the namespace of an index, or ``""``."""
    return str(getattr(index, "namespace", ""))


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recall, and the index that answered it."""

    index: TeachableIndex
    recall: Recall

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the chunks found."""
        return frozenset(hit.chunk.id for hit in self.recall.hits)


def source_names(recalls: Iterable[Recalled]) -> list[dict[str, str]]:
    """Map the chunk ids of each recall to names that are unique across all recalls.

    A name is the id itself, unless another index has a different text under the same id.
    """
    texts: dict[str, list[str]] = {}
    names: list[dict[str, str]] = []
    for recalled in recalls:
        names.append({})
        for hit in recalled.recall.hits:
            id_, text = hit.chunk.id, hit.chunk.text
            known = texts.setdefault(id_, [])
            if text not in known:
                known.append(text)
            number = known.index(text)
            names[-1][id_] = f"{id_}{_SEPARATOR}{number}" if number else id_
    return names


def chunk_id_of(name: str) -> str:
    """Return the chunk id behind a name of :func:`source_names`."""
    return name.partition(_SEPARATOR)[0]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one answer teaches one recall.

    Attributes
    ----------
    recalled : Recalled
    cited : tuple of str
        The chunks it is credited with, in the order of the answer.
    shown : tuple of str
        Its chunks in the prompt, in prompt order, without those credited to another recall.
    actor : str, optional
    trusted : bool
        Whether the application vouches for the lesson.
    outdated : mapping of str to str
        If the opposite is taught: maps chunks to those that supersede them.
    """

    recalled: Recalled
    cited: tuple[str, ...]
    shown: tuple[str, ...]
    actor: str | None = None
    trusted: bool = False
    outdated: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, credit: Credit, recalled: Recalled) -> Lesson:
        """Make the lesson that a record tells of."""
        return cls(recalled, **credit.model_dump(exclude={"recall_id"}))

    @property
    def credit(self) -> Credit:
        """The record of the lesson."""
        return Credit(
            recall_id=self.recalled.recall.id,
            cited=self.cited,
            shown=self.shown,
            actor=self.actor,
            trusted=self.trusted,
            outdated=dict(self.outdated),
        )

    @property
    def is_indifferent(self) -> bool:
        """Whether it cites every one of many chunks, which prefers none of them."""
        return len(self.shown) >= MANY_SHOWN and len(self.cited) == len(self.shown)

    def by(self, actor: str | None, *, trusted: bool = False) -> Lesson:
        """Return a copy attributed to an actor."""
        return replace(self, actor=actor, trusted=trusted)

    def teach(self, *, good: bool = True, kind: str = "cited") -> Feedback:
        """Teach the lesson to its index, or its opposite: the cited chunks are wrong."""
        successors = {"outdated": self.outdated} if self.outdated and not good else {}
        return self.recalled.index.reinforce(
            self.recalled.recall,
            cited=self.cited if good else (),
            rejected=() if good else self.cited,
            shown=self.shown,
            actor=self.actor,
            trusted=self.trusted,
            kind=kind,
            **successors,
        )


def share_credit(
    cited: Iterable[str],
    shown: Iterable[str],
    recalls: Sequence[Recalled],
    *,
    earlier: Sequence[Recalled] = (),
    taught: Collection[str] = (),
    beside: Mapping[str, Recalled] | None = None,
) -> list[Lesson]:
    """Credit each cited chunk to exactly one recall.

    The recall that ranks the chunk best gets the credit; among equal ranks, the latest. Earlier
    turns are credited, by the same rule, only with chunks that the present turn did not find.

    Parameters
    ----------
    cited, shown : iterable of str
        Chunk ids, in the order of the answer and of the prompt.
    recalls, earlier : sequence of Recalled
        The recalls for this answer and those of earlier turns, each oldest first.
    taught : collection of str
        Chunks that the same request has already taught. They are not taught again, and not
        counted as passed over.
    beside : mapping, optional
        Chunks that no recall found, such as neighbours of hits, and the recall to credit.

    Returns
    -------
    list of Lesson
        One for each recall with credit: first those of ``recalls``, in order.

    Notes
    -----
    The best rank tells which question a chunk answers. Among equal ranks, only the latest recall
    certainly reached the model: agents search again because they were not satisfied, corrective
    chains discard the first results, and a full chat memory drops the oldest messages.

    A chunk credited to another recall is left out of ``shown``: the answer used it, so it was not
    passed over.

    Examples
    --------
    >>> from hebbgraph import Chunk
    >>> from hebbgraph.records import Hit
    >>> def recalled(name, *ids):
    ...     hits = [Hit(chunk=Chunk(id=id, text=id), score=1 / rank, rank=rank)
    ...             for rank, id in enumerate(ids, start=1)]
    ...     return Recalled(None, Recall(id=name, namespace="", strategy="", query="", hits=hits))
    >>> recalls = [
    ...     recalled("first", "petrel", "moss"), recalled("second", "petrel", "bay", "moss")
    ... ]
    >>> for lesson in share_credit(["petrel", "moss"], ["petrel", "moss", "bay"], recalls):
    ...     print(lesson.recalled.recall.id, lesson.cited, lesson.shown)
    first ('moss',) ('moss',)
    second ('petrel',) ('petrel', 'bay')
    """
    everything = [*recalls, *reversed(earlier)]  # the order in which names are given
    ranks = [
        {
            **{names[hit.chunk.id]: hit.rank for hit in recalled.recall.hits},
            **{name: MAX_K + 1 for name, owner in (beside or {}).items() if owner is recalled},
        }
        for recalled, names in zip(everything, source_names(everything), strict=True)
    ]
    # A present turn comes before earlier ones; then the rank decides, then the latest.
    order = [(0, -at) if at < len(recalls) else (1, at) for at in range(len(everything))]
    credited: dict[int, list[str]] = {}
    used = set(taught)
    for name in dict.fromkeys(cited):
        holders = [at for at, ranked in enumerate(ranks) if name in ranked]
        if holders and name not in taught:
            best = min((order[at][0], ranks[at][name], order[at][1], at) for at in holders)
            credited.setdefault(best[-1], []).append(name)
            used.add(name)
    in_prompt = list(dict.fromkeys(shown))
    return [
        Lesson(
            recalled=everything[at],
            cited=tuple(map(chunk_id_of, own)),
            shown=tuple(
                chunk_id_of(name)
                for name in in_prompt
                if ranks[at].get(name, MAX_K + 1) <= MAX_K and (name in own or name not in used)
            ),
        )
        for at, own in sorted(credited.items())
    ]
