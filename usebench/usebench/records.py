"""What a set is made of: passages, and a stream of dated events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Event", "Feedback", "Passage", "UseSet"]


@dataclass(frozen=True, slots=True)
class Passage:
    """What is retrieved.

    Parameters
    ----------
    id : str
        Unique in its set.
    text, title : str
    memory : str
        A set may hold several memories, such as one chat each; a question is asked in its own.
    """

    id: str
    text: str
    title: str = ""
    memory: str = ""

    @property
    def full_text(self) -> str:
        """Title and text, as systems read them."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody said after a question.

    Parameters
    ----------
    question : str
    shown : tuple of str
        Ids that the person saw, best first.
    cited, rejected : tuple of str
        Ids that served, and ids that were called wrong. A passage may be cited that was not shown.
    ratings : mapping of str to float, in [0, 1]
        By id, where the set has them.
    actor : str or None
        Who said it.
    when : float
        Seconds since 1970, or a position in the stream where a set has no dates.
    """

    question: str
    shown: tuple[str, ...]
    cited: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    ratings: Mapping[str, float] = field(default_factory=dict)
    actor: str | None = None
    when: float = 0.0


@dataclass(frozen=True, slots=True)
class Event:
    """A question at its time, and what is done with it.

    Parameters
    ----------
    id, question : str
    relevant : mapping of str to int
        Grades of the passages that answer it.
    when : float
    actor : str or None
    scored : bool
        Whether the answer counts. Not so where the set only offers it to learn from.
    taught : bool
        Whether feedback follows.
    recorded : Feedback, optional
        What people really said. Left out, the relevant passages among those shown are cited.
    memory : str
    hostile : bool
        The actor lies; see :mod:`usebench.feedback`.
    part : str
        Which part of the questions it is told under, where the set says so; left empty, it is
        ``shares`` or ``rest``.
    """

    id: str
    question: str
    relevant: Mapping[str, int]
    when: float
    actor: str | None = None
    scored: bool = True
    taught: bool = True
    recorded: Feedback | None = None
    memory: str = ""
    hostile: bool = False
    part: str = ""

    @property
    def gold(self) -> frozenset[str]:
        """Ids with a positive grade."""
        return frozenset(id_ for id_, grade in self.relevant.items() if grade > 0)

    @property
    def shows(self) -> bool:
        """Whether its feedback is about what the system itself shows."""
        return self.taught and not (self.recorded and self.recorded.shown)


@dataclass(frozen=True, slots=True)
class UseSet:
    """Passages and the events over them, in the order in which they happen.

    Parameters
    ----------
    name : str
    passages : tuple of Passage
        In the order in which they are added.
    events : tuple of Event
    order : str
        How the stream was ordered, for the record.
    """

    name: str
    passages: tuple[Passage, ...]
    events: tuple[Event, ...]
    order: str = "as they came"

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that events ask, in order."""
        return tuple(dict.fromkeys(event.memory for event in self.events))
