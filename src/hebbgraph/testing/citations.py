"""The contract of learning from citations: a suite that every adapter must pass.

An adapter turns events of its framework into calls of ``index.reinforce``. The suite runs scripts
and compares these calls. An adapter writes a :class:`Driver`, which runs one scripted turn in its
framework, and subclasses the suite:

.. code-block:: python

    from hebbgraph.testing.citations import CitationContract, Driver, ScriptedIndex, ScriptedTurn

    class MyDriver(Driver):
        def ask(self, turn: ScriptedTurn) -> str | None:
            ...  # run turn.searches with the adapter's retriever and formatter, pass the prompt
            ...  # to a model that answers turn.reply(prompt), and return the recall's id

    class TestCitationContract(CitationContract):
        def make_driver(self, index: ScriptedIndex) -> MyDriver:
            return MyDriver(index)

The scripts are in :mod:`hebbgraph.testing.citation_scripts`. This module imports pytest;
nothing else in the package does.
"""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Feedback, Hit, Recall
from hebbgraph.testing.citation_scripts import (
    CASES,
    CHUNKS,
    Case,
    ScriptedSearch,
    ScriptedTurn,
    Taught,
)

__all__ = [
    "CASES",
    "CHUNKS",
    "Case",
    "CitationContract",
    "Driver",
    "ScriptedIndex",
    "ScriptedSearch",
    "ScriptedTurn",
    "Taught",
]


class ScriptedIndex(HebbianIndex):
    """An index that returns the hits of a script, and records what it is taught.

    Lessons are really learned, so a lesson that the index refuses fails the test.

    Attributes
    ----------
    last_recall_id : str or None
        The id of the latest recall.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._script: dict[str, tuple[str, ...]] = {}
        self._taught: dict[str, Taught] = {}
        self.last_recall_id: str | None = None

    def follow(self, searches: Iterable[ScriptedSearch]) -> None:
        """Return the hits of these searches from now on."""
        self._script = {search.query: search.finds for search in searches}

    @property
    def taught(self) -> list[Taught]:
        """The lessons that were not taken back, in order."""
        return list(self._taught.values())

    def recall(self, query: str, **options: Any) -> Recall:
        """Return the chunks of the script."""
        hits = [
            Hit(chunk=CHUNKS[id_], score=1.0 / rank, rank=rank)
            for rank, id_ in enumerate(self._script[query.strip()], start=1)
        ]
        self.last_recall_id = options.get("id") or str(uuid.uuid4())
        recall = Recall(
            id=self.last_recall_id,
            namespace=self.namespace,
            strategy="spreading",
            query=query,
            hits=tuple(hits),
        )
        return self.parts.recalls.issue(recall)

    async def arecall(self, query: str, **options: Any) -> Recall:
        """Async twin of :meth:`recall`."""
        return await asyncio.to_thread(self.recall, query, **options)

    def reinforce(
        self,
        recall: Recall | str,
        cited: Iterable[str] = (),
        *,
        rejected: Iterable[str] | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        **others: Any,
    ) -> Feedback:
        """Learn, and record the lesson."""
        assert isinstance(recall, Recall)
        lesson = Taught(
            recall.query.strip(), tuple(cited), tuple(shown or ()), tuple(rejected or ()), actor
        )
        feedback = super().reinforce(
            recall,
            cited=lesson.cited,
            rejected=lesson.rejected,
            shown=lesson.shown,
            actor=lesson.actor,
            **others,
        )
        # The log would keep equal feedback once; the contract is not to give it twice.
        assert feedback.id not in self._taught, f"taught twice: {lesson}"
        self._taught[feedback.id] = lesson
        return feedback

    def forget(self, feedback: Any = None, **selection: Any) -> Any:
        """Forget, and drop the recorded lesson."""
        self._taught.pop(feedback, None)
        return super().forget(feedback, **selection)


class Driver(ABC):
    """Runs turns in a framework, with the adapter's retriever, formatter and learner."""

    def __init__(self, index: ScriptedIndex) -> None:
        self.index = index

    @abstractmethod
    def ask(self, turn: ScriptedTurn) -> str | None:
        """Run one turn; return the name of its answer for :meth:`judge`.

        The error of a model that fails must be raised.
        """

    @abstractmethod
    def judge(self, answer: str, good: bool) -> None:
        """Give the user's verdict on an answer."""

    def counts(self) -> dict[str, int] | None:
        """Return the learner's counts of answers so far; None if it has none."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Wait until everything is learned, and stop listening."""


class CitationContract:
    """The suite. Subclass it in a test module, and override :meth:`make_driver`."""

    def make_driver(self, index: ScriptedIndex) -> Driver:
        """Return the driver of the adapter under test."""
        raise NotImplementedError

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_what_is_taught(self, case: Case) -> None:
        """Run a script, and compare what the index was taught."""
        with ScriptedIndex.open(":memory:") as index:
            index.add(CHUNKS.values())
            driver = self.make_driver(index)
            try:
                for turn in case.turns:
                    _run(driver, turn)
            finally:
                driver.close()
            assert _sorted(index.taught) == _sorted(case.teaches)
            counts = driver.counts()
            if counts is not None and case.outcome is not None:
                assert counts == {case.outcome: 1}, "each answer is counted once"


def _run(driver: Driver, turn: ScriptedTurn) -> None:
    driver.index.follow(turn.searches)
    if turn.answer is None:
        with pytest.raises(RuntimeError, match="overloaded"):
            driver.ask(turn)
        return
    answer = driver.ask(turn)
    if turn.verdict is not None:
        assert answer is not None, "ask() has to return the id of an answer that is judged"
        driver.judge(answer, turn.verdict)


def _sorted(lessons: Iterable[Taught]) -> list[Taught]:
    """Order lessons; ``shown`` is sorted, too, as searches may share a prompt in any order."""
    return sorted(
        (replace(lesson, shown=tuple(sorted(lesson.shown))) for lesson in lessons),
        key=repr,
    )
