"""The base of the arms: it keeps all lessons, and forgets by learning the others again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Arm", "Lesson"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question and what was cited for it."""

    question: str
    cited: tuple[str, ...]
    actor: str | None


class Arm(ABC):
    """Learns lesson by lesson; subclasses define how.

    ``forget`` calls ``unlearn``, which returns to the state before any lesson, and then learns the
    remaining lessons again in order. So forgetting is exact.
    """

    def __init__(self) -> None:
        self.lessons: list[Lesson] = []

    def feedback(
        self, *, question: str, cited: Sequence[str], actor: str | None = None, **details: Any
    ) -> None:
        """Learn from citations."""
        if cited:
            lesson = Lesson(question, tuple(cited), actor)
            self.lessons.append(lesson)
            self.learn(lesson)

    def forget(self, actor: str | None = None) -> None:
        """Forget the lessons of an actor, or all."""
        self.relearn(
            [lesson for lesson in self.lessons if actor is not None and lesson.actor != actor]
        )

    def relearn(self, lessons: Sequence[Lesson]) -> None:
        """Learn these lessons, and nothing else."""
        self.unlearn()
        self.lessons = []
        for lesson in lessons:
            self.lessons.append(lesson)
            self.learn(lesson)

    @abstractmethod
    def learn(self, lesson: Lesson, /) -> None:
        """Learn a lesson."""

    @abstractmethod
    def unlearn(self) -> None:
        """Return to the state before the first lesson."""
