"""Who cites what: feedback as good as it can be, careless, or hostile.

A teacher asks questions and yields ``(what was shown, what it cites, who says so)``; what
becomes of it is the learner's business (:mod:`~hebbgraph_bench.learning.learners`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from hebbgraph.records import Recall

from hebbgraph_bench.learning.splits import Question

__all__ = ["Event", "Gold", "Hostile", "Shown", "Teacher", "WrongCitations"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a learner returned: ids, best first, and the recall if an index made it."""

    text: str
    ids: tuple[str, ...]
    recall: Recall | None = None


class Event(NamedTuple):
    """One feedback."""

    shown: Shown
    cited: list[str]
    actor: str | None = None
    rejected: Sequence[str] = ()


Ask = Callable[[str], Shown]


class Teacher(Protocol):
    """Yields feedback on a pass over questions; asks each when its turn has come."""

    def events(self, questions: Sequence[Question], ask: Ask, /) -> Iterator[Event]:
        """Ask and judge."""
        ...


class Gold:
    """Cites the relevant chunks among those shown; says nothing if there are none."""

    def events(self, questions: Sequence[Question], ask: Ask, /) -> Iterator[Event]:
        """Ask and judge."""
        for question in questions:
            shown = ask(question.text)
            if cited := _gold(shown, question):
                yield Event(shown, cited)


class WrongCitations:
    """As :class:`Gold`, but in a share of the feedbacks one cited chunk is a wrong one.

    There, one cited chunk is replaced by a random other one that was shown.

    Parameters
    ----------
    share : float, in [0, 1]
    seed : int
    """

    def __init__(self, share: float, *, seed: int = 0) -> None:
        self.share = share
        self._rng = random.Random(seed)

    def events(self, questions: Sequence[Question], ask: Ask, /) -> Iterator[Event]:
        """Ask and judge."""
        n = len(questions)
        wrong = set(self._rng.sample(range(n), round(self.share * n)))
        for number, question in enumerate(questions):
            shown = ask(question.text)
            cited = _gold(shown, question)
            others = [id_ for id_ in shown.ids if id_ not in question.relevant]
            if cited and number in wrong and others:
                cited[self._rng.randrange(len(cited))] = self._rng.choice(others)
            if cited:
                yield Event(shown, cited)


class Hostile:
    """Named actors, of whom some lie; every actor gives as many feedbacks as any other.

    The honest ones share the questions and cite as :class:`Gold` does. A hostile one asks
    questions of its own choice among the same, and

    - ``promote``: cites one fixed chunk whenever it is shown. That chunk is relevant to
      none of ``protected``, and of such chunks the one that is shown most often, so that
      it can be cited often.
    - ``lowest``: cites the lowest-ranked chunk that is not relevant.

    Parameters
    ----------
    share : float, in (0, 1)
        Of the actors; at least one is hostile.
    goal : {"promote", "lowest"}
    protected : sequence of Question
        All that will be asked, so that the promoted chunk answers none of them.
    actors : int
        Hostile and honest together.
    seed : int
    """

    def __init__(
        self,
        share: float,
        goal: Literal["promote", "lowest"],
        protected: Sequence[Question],
        *,
        actors: int = 20,
        seed: int = 0,
    ) -> None:
        self.share = share
        self.goal = goal
        self.actors = actors
        self._relevant = {chunk_id for question in protected for chunk_id in question.relevant}
        self._rng = random.Random(seed)

    def events(self, questions: Sequence[Question], ask: Ask, /) -> Iterator[Event]:
        """Ask and judge; honest and hostile feedbacks come mixed."""
        hostile = max(1, round(self.share * self.actors))
        honest = self.actors - hostile
        each = -(-len(questions) // honest)
        target, showing = self._target(questions, ask) if self.goal == "promote" else ("", [])
        turns: list[tuple[str, Question | None]] = [
            (f"reader-{number % honest}", question) for number, question in enumerate(questions)
        ]
        turns += [(f"intruder-{one}", None) for one in range(hostile) for _ in range(each)]
        self._rng.shuffle(turns)
        for actor, question in turns:
            if question is not None:
                shown = ask(question.text)
                cited = _gold(shown, question)
            elif self.goal == "promote":
                shown = ask(self._rng.choice(showing or questions).text)
                cited = [target] if target in shown.ids else []
            else:
                asked = self._rng.choice(questions)
                shown = ask(asked.text)
                cited = [id_ for id_ in shown.ids if id_ not in asked.relevant][-1:]
            if cited:
                yield Event(shown, cited, actor)

    def _target(self, questions: Sequence[Question], ask: Ask) -> tuple[str, list[Question]]:
        """Choose what to promote, and find the questions that show it."""
        shown = [(question, ask(question.text).ids) for question in questions]
        times = Counter(id_ for _, ids in shown for id_ in ids if id_ not in self._relevant)
        if not times:
            return "", []
        target = min(times, key=lambda id_: (-times[id_], id_))
        return target, [question for question, ids in shown if target in ids]


def _gold(shown: Shown, question: Question) -> list[str]:
    return [id_ for id_ in shown.ids if id_ in question.relevant]
