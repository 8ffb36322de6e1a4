"""The base of all verbs: the parts of an open index, and whether it is still open."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from hebbgraph.calling import Closing
from hebbgraph.errors import ClosedIndexError, HebbgraphError, ParameterError
from hebbgraph.settings import Settings

if TYPE_CHECKING:
    from hebbgraph.namespace import Namespace
    from hebbgraph.recall.recaller import StepSource

__all__ = ["Session"]


class Session(Closing):
    """An open index, and how to close it."""

    def __init__(self, parts: Namespace, steps: StepSource | None = None) -> None:
        # Imported late, because they import Tantivy, which would slow down ``import hebbgraph``.
        from hebbgraph.ingest.writer import Writer
        from hebbgraph.recall import Recaller
        from hebbgraph.teacher import Teacher

        self._parts = parts
        self._writer = Writer(parts)
        self._recaller = Recaller(parts, steps)
        self._teacher = Teacher(parts)
        self._closed = False
        self._process = os.getpid()

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._parts.settings

    @property
    def parts(self) -> Namespace:
        """The parts of the index, for extensions and tests.

        Unlike the methods here, they may change between versions.
        """
        self._check_open()
        return self._parts

    @property
    def namespace(self) -> str:
        """The namespace that this object reads and writes."""
        return self._parts.name

    @property
    def embeds(self) -> bool:
        """Whether it has an embedder."""
        return self._parts.embedder is not None

    @property
    def repairs(self) -> tuple[str, ...]:
        """Derived parts that were damaged and rebuilt since it was opened."""
        return tuple(self._parts.derived.repairs)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "an open index can be neither pickled nor copied; hand its location on, and open it "
            "again in the other process"
        )

    def __repr__(self) -> str:
        return f"HebbianIndex({self._parts.database.place!r}, namespace={self.namespace!r})"

    def close(self) -> None:
        """Save derived parts and close all files; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._process != os.getpid():
            return  # all resources belong to the process before the fork
        self._parts.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedIndexError(f"{self!r} is closed; open it again")
        if self._process != os.getpid():
            raise ClosedIndexError(
                f"{self!r} was opened before this process was forked; open another one here"
            )

    def _check_exists(self) -> None:
        """Raise unless the index is open and its namespace exists."""
        self._check_open()
        self._parts.check_exists()

    def _erase(self, work: Callable[[], None]) -> None:
        """Erase deleted data from disk; a failure says how to do it later."""
        try:
            work()
        except HebbgraphError as error:
            error.add_note("it is deleted; compact() erases what is left of it on disk")
            raise
