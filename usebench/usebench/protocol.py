"""The methods of a retriever: four required, some optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from usebench.records import Passage

__all__ = ["Forgetful", "Retriever", "close"]


class Retriever(Protocol):
    """A retriever that may learn.

    Optional are ``forget`` (:class:`Forgetful`) and ``close()``. ``learns = False`` saves the
    second run of a retriever that ignores feedback.
    """

    def reset(self) -> None:
        """Remove all passages and lessons. Called before the first ``add``."""
        ...

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add passages."""
        ...

    def search(self, question: str, k: int, /) -> Sequence[str]:
        """Return at most ``k`` ids of passages, best first."""
        ...

    def feedback(
        self,
        *,
        question: str,
        shown: Sequence[str],
        cited: Sequence[str],
        rejected: Sequence[str],
        ratings: Mapping[str, float],
        actor: str | None,
        when: float,
    ) -> None:
        """Learn from feedback on a search; see :class:`~usebench.Feedback`."""
        ...


@runtime_checkable
class Forgetful(Protocol):
    """A retriever that can undo lessons."""

    def forget(self, actor: str | None = None) -> None:
        """Forget the lessons of an actor, or all."""
        ...


def close(system: object) -> None:
    """Close a retriever, if it can be closed."""
    if callable(end := getattr(system, "close", None)):
        end()
