"""A set: passages, and a stream of dated events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Event", "Feedback", "Passage", "UseSet"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage to retrieve.

    Parameters
    ----------
    id : str
        Unique in its set.
    text, title : str
    memory : str
        A set may hold several memories, such as chats; a question belongs to one.
    """

    id: str
    text: str
    title: str = ""
    memory: str = ""

    @property
    def full_text(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback after a question.

    Parameters
    ----------
    question : str
    shown : tuple of str
        Ids that the actor saw, best first.
    cited, rejected : tuple of str
        Ids of right and of wrong passages. Passages that were not shown may be cited, too.
    ratings : mapping of str to float, in [0, 1]
        By id, if the set has ratings.
    actor : str or None
    when : float
        Seconds since 1970, or the position in the stream if the set has no dates.
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
    """A question at its time.

    Parameters
    ----------
    id, question : str
    relevant : mapping of str to int
        Grades of the passages that answer it.
    when : float
    actor : str or None
    scored : bool
        Whether the answer counts; false for events that only teach.
    taught : bool
        Whether feedback follows.
    recorded : Feedback, optional
        Recorded feedback. By default, the relevant passages among those shown are cited.
    memory : str
    hostile : bool
        The actor lies; see :mod:`usebench.feedback`.
    part : str
        The part of the questions that it belongs to, by default ``shares`` or ``rest``.
    also : tuple of str
        Passages that may stand for a relevant one each.
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
    also: tuple[str, ...] = ()

    @property
    def gold(self) -> frozenset[str]:
        """Ids with a positive grade."""
        return frozenset(id_ for id_, grade in self.relevant.items() if grade > 0)

    @property
    def shows(self) -> bool:
        """Whether its feedback is on passages that the system shows."""
        return self.taught and not (self.recorded and self.recorded.shown)


@dataclass(frozen=True, slots=True)
class UseSet:
    """Passages and events, in order.

    Parameters
    ----------
    name : str
    passages : tuple of Passage
        In the order in which they are added.
    events : tuple of Event
    order : str
        How the stream was ordered.
    """

    name: str
    passages: tuple[Passage, ...]
    events: tuple[Event, ...]
    order: str = "as they came"

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that events ask, in order."""
        return tuple(dict.fromkeys(event.memory for event in self.events))
