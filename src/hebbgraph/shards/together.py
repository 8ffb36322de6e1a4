"""Several shards asked at the same time, where an answer has to travel."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from hebbgraph.shards.shard import Shard

__all__ = ["Together"]

_R = TypeVar("_R")

#: Threads for each shard elsewhere: for several recalls at the same time.
_THREADS = 4
_MOST_THREADS = 64


class Together:
    """Asks shards elsewhere in threads, and directories one after the other in this one.

    Parameters
    ----------
    shards : sequence of Shard
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        served = sum(shard.is_served for shard in shards)
        self._threads = min(_THREADS * served, _MOST_THREADS)
        self._making = threading.Lock()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def ask(self, shards: Sequence[Shard], ask: Callable[[Shard], _R]) -> list[_R]:
        """Return what a call returns for each shard, in their order; its first error, if any.

        The call takes no lock that this thread may hold.
        """
        begun = self.begin(shards, ask)
        return [
            ask(shard) if answer is None else answer.result()
            for shard, answer in zip(shards, begun, strict=True)
        ]

    def begin(self, shards: Sequence[Shard], ask: Callable[[Shard], _R]) -> list[Future[_R] | None]:
        """Send the call to the shards elsewhere, and return their answers to come.

        None for a directory, and for the last that is up: this thread would only wait meanwhile.
        """
        served = [shard for shard in shards if shard.is_served]
        if not served:
            return [None] * len(shards)
        mine = next((shard for shard in reversed(served) if shard.is_up), None)
        return [
            self._running().submit(ask, shard) if shard.is_served and shard is not mine else None
            for shard in shards
        ]

    def _running(self) -> ThreadPoolExecutor:
        with self._making:
            if self._pool is None or self._pool[0] != os.getpid():
                made = ThreadPoolExecutor(self._threads, thread_name_prefix="hebbgraph-shard")
                self._pool = os.getpid(), made
            return self._pool[1]
