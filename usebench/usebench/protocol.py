"""What a retriever must do to be measured: four methods, and a few things that it may offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from usebench.records import Passage

__all__ = ["Forgetful", "Retriever", "Sized"]


class Retriever(Protocol):
    """A retriever that may learn.

    It may also offer ``forget`` (:class:`Forgetful`), ``nbytes`` (:class:`Sized`), ``close()``,
    and the numbers ``model_calls`` and ``model_seconds``: how many texts it has sent to a model so
    far, and how long that took where a cache hid the time. ``learns = False`` saves a second run
    of a retriever that passes feedback over.
    """

    def reset(self) -> None:
        """Become empty: no passages, nothing learned. Called before the first ``add``."""
        ...

    def add(self, passages: Sequence[Passage], /) -> None:
        """Take passages in."""
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
        """Learn from what somebody said after ``search``; see :class:`~usebench.Feedback`."""
        ...


@runtime_checkable
class Forgetful(Protocol):
    """A retriever that can take lessons back."""

    def forget(self, actor: str | None = None) -> None:
        """Forget all that an actor taught; everything, if none is named."""
        ...


@runtime_checkable
class Sized(Protocol):
    """A retriever that knows its size; of others the pickle is weighed."""

    def nbytes(self) -> int:
        """Return the bytes of what is kept, models aside."""
        ...
