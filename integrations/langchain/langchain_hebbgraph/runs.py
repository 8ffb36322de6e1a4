"""What a learner notes down while a chain runs: one Trace for each root run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from hebbgraph import HebbianIndex, Recall
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import Generation

__all__ = ["Call", "Retrieval", "Trace"]

#: A run with more retrievals or model calls than this forgets the first of them.
MAX_NOTED = 512


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A recall of one of our indexes, and the run that it belongs to."""

    index: HebbianIndex
    recall: Recall
    run_id: UUID


@dataclass(slots=True)
class Call:
    """One call of a language model: what it was given and, once it ended, what it said."""

    run_id: UUID
    prompts: Sequence[Sequence[BaseMessage] | str]
    answers: Sequence[Sequence[Generation]] = ()
    ended: bool = False


@dataclass(slots=True)
class Trace:
    """Everything below one root run. References only: nothing is read while it runs."""

    root: UUID
    metadata: Mapping[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    retrievals: dict[UUID, Retrieval] = field(default_factory=dict)
    earlier: Sequence[Retrieval] = ()  # of the same conversation, the latest first
    foreign: dict[UUID, Sequence[Document]] = field(default_factory=dict)
    calls: dict[UUID, Call] = field(default_factory=dict)
    runs: list[UUID] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)
    output: Any = None
    ended: float | None = None
    failed: bool = False
    open_calls: int = 0
    is_session: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing more is to come: of an abandoned stream, the model ends last."""
        return self.ended is not None and self.open_calls <= 0

    def finish(self, output: Any = None) -> None:
        """Note that the root ended."""
        self.ended, self.output = time.monotonic(), output

    def note(self, retrieval: Retrieval) -> None:
        """Add a retrieval."""
        self.retrievals[retrieval.run_id] = retrieval
        _bound(self.retrievals)

    def note_documents(self, run_id: UUID, documents: Sequence[Document]) -> None:
        """Add what any retriever returned; other people's sources get keys as well."""
        self.foreign[run_id] = documents
        _bound(self.foreign)

    def begin(self, run_id: UUID, prompts: Sequence[Sequence[BaseMessage] | str]) -> None:
        """Add a model call."""
        self.calls[run_id] = Call(run_id, prompts)
        self.open_calls += 1
        _bound(self.calls)

    def end(self, run_id: UUID, answers: Sequence[Sequence[Generation]] | None) -> None:
        """Note what a model said; None if it failed."""
        call = self.calls.get(run_id)
        if call is None or call.ended:
            return
        call.ended = True
        self.open_calls -= 1
        if answers is None:
            del self.calls[run_id]
        else:
            call.answers = answers


def _bound(noted: dict[UUID, Any]) -> None:
    while len(noted) > MAX_NOTED:
        del noted[next(iter(noted))]
