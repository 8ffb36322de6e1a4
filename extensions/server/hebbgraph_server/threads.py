"""Threads for the index's blocking calls."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias, TypeVar

from hebbgraph.calling import CALLER

__all__ = ["Pool", "Threads"]

_T = TypeVar("_T")

#: Recalls, commits and scans of a whole index have separate threads, so none queues behind another.
Pool: TypeAlias = Literal["read", "write", "long"]


class Threads:
    """Pools of threads.

    Parameters
    ----------
    readers, writers : int
        Size of the pools ``read`` and ``write``; ``long`` has two.
    """

    def __init__(self, readers: int, writers: int) -> None:
        sizes: dict[Pool, int] = {"read": readers, "write": writers, "long": 2}
        self._pools = {
            name: ThreadPoolExecutor(size, thread_name_prefix=f"hebbgraph-{name}")
            for name, size in sizes.items()
        }

    async def run(self, pool: Pool, work: Callable[[], _T]) -> _T:
        """Run a blocking call in a thread of a pool, and return its result."""
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        context.run(CALLER.set, loop)  # an embedder's async methods run on this loop
        return await loop.run_in_executor(self._pools[pool], context.run, work)

    def close(self) -> None:
        """Wait for running calls, and end all threads."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)
