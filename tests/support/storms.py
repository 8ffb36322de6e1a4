"""Processes that add, replace and delete until they are killed, and what must then be there."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from children import CONTEXT
from ships import ByNumber, random_chunks

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.store.sqlite import SQLiteSession

__all__ = ["Batch", "Storm", "apply", "batch"]

_IDS = 30


class Batch(NamedTuple):
    """One call that writes."""

    verb: str
    chunks: list[Chunk]
    ids: list[str]

    def on(self, index: HebbianIndex) -> None:
        """Make the call."""
        if self.verb == "add":
            index.add(self.chunks)
        elif self.verb == "refresh":
            index.refresh(self.chunks)
        elif self.verb == "rebuild":
            index.rebuild()
        else:
            index.delete(self.ids)


def batch(seed: int) -> Batch:
    """Return the call of a number."""
    rng = random.Random(seed)
    verb = rng.choices(["add", "delete", "refresh", "rebuild"], [6, 3, 1, 0.5])[0]
    ids = [str(n) for n in rng.sample(range(_IDS), rng.randrange(1, 9))]
    return Batch(verb, random_chunks(rng, ids) if verb in ("add", "refresh") else [], ids)


def apply(live: dict[str, Chunk], call: Batch) -> dict[str, Chunk]:
    """Return what an index holds after a call."""
    after = dict(live)
    if call.verb == "delete":
        for id_ in call.ids:
            after.pop(id_, None)
    elif call.verb == "refresh":
        documents = {chunk.document_id for chunk in call.chunks}
        after = {id_: c for id_, c in after.items() if c.document_id not in documents}
    after.update((chunk.id, chunk) for chunk in call.chunks)
    return after


def _write(path: str, seed: int, sent: Connection, die_at: int | None) -> None:
    """Make one call after another, saying when each starts and is done."""
    if die_at is not None:
        _die_at_statement(die_at)
    with HebbianIndex.open(path, embedder=ByNumber()) as index:
        while True:
            sent.send(("start", seed))
            batch(seed).on(index)
            sent.send(("done", seed))
            if seed % 4 == 0:
                index.recall("Who built the Petrel 7?")
            seed += 1


def _die_at_statement(number: int) -> None:
    """Kill this process before its n-th statement."""
    left = [number]

    def counting(name: str) -> Any:
        method = getattr(SQLiteSession, name)

        def call(self: SQLiteSession, *arguments: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(self, *arguments)

        return call

    for name in ("rows", "run", "many"):
        setattr(SQLiteSession, name, counting(name))


@dataclass
class Storm:
    """One index, and processes that write to it until they are killed, one after another."""

    path: Path
    seed: int
    live: dict[str, Chunk] = field(default_factory=dict)
    next_call: int = 0
    acknowledged: int = 0
    in_flight: int = 0
    by_statement: float = 0.6

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self.next_call = 1_000_000 * self.seed

    def kill_one(self) -> None:
        """Let a process write, and kill it."""
        received, sent = CONTEXT.Pipe(duplex=False)
        by_statement = self._random.random() < self.by_statement
        die_at = self._random.randrange(300) if by_statement else None
        arguments = str(self.path), self.next_call, sent, die_at
        child = CONTEXT.Process(target=_write, args=arguments, daemon=True)
        child.start()
        sent.close()
        if not by_statement:
            received.poll(20)
            time.sleep(self._random.uniform(0.0, 0.15))
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
        child.join(60)
        assert child.exitcode == -signal.SIGKILL, f"ended by itself: {child.exitcode}"
        self._settle(_all(received))

    def _settle(self, events: list[tuple[str, int]]) -> None:
        """Compare what is there with what was acknowledged and what was in flight."""
        started = [seed for what, seed in events if what == "start"]
        done = [seed for what, seed in events if what == "done"]
        self.acknowledged += len(done)
        for seed in done:
            self.live = apply(self.live, batch(seed))
        states = [self.live]
        if len(started) > len(done):
            self.in_flight += 1
            states.append(apply(self.live, batch(started[-1])))
        self.next_call += len(started) + 1
        if not self.path.exists():
            assert self.live == {}
            return
        with HebbianIndex.open(self.path, embedder=ByNumber()) as index:
            held = {chunk.id: chunk for chunk in index.get(index.ids())}
        assert held in states
        self.live = held


def _all(received: Connection) -> list[tuple[str, int]]:
    events = []
    try:
        while received.poll(0):
            events.append(received.recv())
    except EOFError:
        pass
    finally:
        received.close()
    return events
