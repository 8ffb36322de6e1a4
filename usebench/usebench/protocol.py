"""The methods of a retriever: four required, some optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from usebench.records import Passage

__all__ = ["Forgetful", "Retriever", "Sized"]


class Retriever(Protocol):
    """A retriever that may learn.

    Optional are ``forget`` (:class:`Forgetful`), ``nbytes`` (:class:`Sized`), ``close()``, and the
    numbers ``model_calls`` (texts sent to a model so far) and ``model_seconds`` (model time saved
    by a cache). ``learns = False`` saves the second run of a retriever that ignores feedback.
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


@runtime_checkable
class Sized(Protocol):
    """A retriever that knows its size; for others, the size of the pickle counts."""

    def nbytes(self) -> int:
        """Return the size in bytes, without models."""
        ...
