"""Which recall is credited with a cited chunk: the one rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from hebbgraph.limits import MANY_SHOWN, MAX_K
from hebbgraph.records import AnswerRecord, Feedback, Recall

__all__ = [
    "Lesson",
    "Recalled",
    "TeachableIndex",
    "TeachablePool",
    "chunk_of",
    "names_of",
    "namespace_of",
    "pool_of",
    "share_credit",
]

#: Stands in no id.
_APART = "\0"


@runtime_checkable
class TeachableIndex(Protocol):
    """What learning from citations needs of an index; see :class:`hebbgraph.HebbianIndex`."""

    @property
    def namespace(self) -> str:
        """The namespace that it reads and writes."""
        ...

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
    ) -> Feedback:
        """Learn from one answer."""
        ...

    def forget(self, feedback: str) -> int:
        """Take a lesson back."""
        ...

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]:
        """Return what the log has of these."""
        ...

    def holds(self, ids: Iterable[str]) -> set[str]:
        """Return which of these chunks are held."""
        ...

    def find_recall(self, recall_id: str) -> Recall | None:
        """Return a recall that is kept."""
        ...

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        """Return what a conversation has recalled."""
        ...

    def keep_recalls(self) -> None:
        """Keep recalls from now on, for late feedback."""
        ...

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        """Keep what links an answer to its lessons, for other processes."""
        ...

    def find_answer(self, name: str) -> AnswerRecord | None:
        """Return an answer that is kept."""
        ...


@runtime_checkable
class TeachablePool(Protocol):
    """Indexes by the names of their namespaces; an :class:`hebbgraph.IndexPool` is one."""

    def __getitem__(self, namespace: str) -> TeachableIndex:
        """Return the index of a namespace."""
        ...

    def namespaces(self) -> list[str]:
        """Return the names of those that exist."""
        ...


def pool_of(index: object) -> Any:
    """Return the pool that an index belongs to, or None: its namespace is a tenant's."""
    return getattr(index, "pool", None)


def namespace_of(index: object) -> str:
    """Return the namespace of an index, or ``""`` of one that has none."""
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


def names_of(recalls: Iterable[Recalled]) -> list[dict[str, str]]:
    """Name the chunks of each recall, by id: where two indexes have one id for two texts, apart."""
    texts: dict[str, list[str]] = {}
    names: list[dict[str, str]] = []
    for one in recalls:
        names.append({})
        for hit in one.recall.hits:
            id_, text = hit.chunk.id, hit.chunk.text
            known = texts.setdefault(id_, [])
            if text not in known:
                known.append(text)
            number = known.index(text)
            names[-1][id_] = f"{id_}{_APART}{number}" if number else id_
    return names


def chunk_of(name: str) -> str:
    """Return the id of the chunk that has a name."""
    return name.partition(_APART)[0]


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
    kind : str
        What was done, if it was not said.
    outdated : mapping of str to str
        What holds now in place of what is wrong; told with a rejection.
    """

    recalled: Recalled
    cited: tuple[str, ...]
    shown: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    actor: str | None = None
    trusted: bool = False
    kind: str = "cited"
    outdated: Mapping[str, str] = field(default_factory=dict)

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

    def replacing(self, outdated: Mapping[str, str]) -> Lesson:
        """Return the same lesson with what holds now in place of chunks that it is about."""
        return replace(self, outdated={old: outdated[old] for old in self.cited if old in outdated})

    def teach(self) -> Feedback:
        """Teach it to the index."""
        more = {"outdated": self.outdated} if self.rejected and self.outdated else {}
        return self.recalled.index.reinforce(
            self.recalled.recall,
            cited=self.cited,
            rejected=self.rejected,
            shown=self.shown,
            actor=self.actor,
            trusted=self.trusted,
            kind=self.kind,
            **more,
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
    beside : mapping, optional
        Chunks that no recall found, such as neighbours of those found, and which is credited.

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
    names = names_of([*recalls, *reversed(earlier)])
    names[len(recalls) :] = reversed(names[len(recalls) :])
    ranks = [
        {own[hit.chunk.id]: hit.rank for hit in one.recall.hits}
        for one, own in zip(everything, names, strict=True)
    ]
    for at, one in enumerate(everything):
        ranks[at] |= {name: MAX_K + 1 for name, of in (beside or {}).items() if of is one}
    credited: dict[int, list[str]] = {}
    used = set(taught)
    for name in dict.fromkeys(cited):
        if name in taught:
            continue
        for turn in turns:
            holders = [(ranks[at][name], -at) for at in turn if name in ranks[at]]
            if holders:
                credited.setdefault(-min(holders)[1], []).append(name)
                used.add(name)
                break
    in_prompt = list(dict.fromkeys(shown))
    return [
        Lesson(
            recalled=everything[at],
            cited=tuple(map(chunk_of, own)),
            shown=tuple(
                chunk_of(name)
                for name in in_prompt
                if ranks[at].get(name, MAX_K + 1) <= MAX_K and (name in own or name not in used)
            ),
        )
        for at, own in sorted(credited.items())
    ]
