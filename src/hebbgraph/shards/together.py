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
        sent = self.begin(shards, ask)
        here = {shard.number: ask(shard) for shard in shards if shard.number not in sent}
        return [
            here[shard.number] if shard.number in here else sent[shard.number].result()
            for shard in shards
        ]

    def begin(self, shards: Sequence[Shard], ask: Callable[[Shard], _R]) -> dict[int, Future[_R]]:
        """Send the call to shards elsewhere, and return their answers to come, by number.

        Whoever calls this asks all others first, and waits then: directories, and the last shard
        elsewhere that is up, since its thread would only wait meanwhile.
        """
        served = [shard for shard in shards if shard.is_served]
        mine = next((shard for shard in reversed(served) if shard.is_up), None)
        return {
            shard.number: self._running().submit(ask, shard)
            for shard in served
            if shard is not mine
        }

    def _running(self) -> ThreadPoolExecutor:
        with self._making:
            if self._pool is None or self._pool[0] != os.getpid():
                made = ThreadPoolExecutor(self._threads, thread_name_prefix="hebbgraph-shard")
                self._pool = os.getpid(), made
            return self._pool[1]
