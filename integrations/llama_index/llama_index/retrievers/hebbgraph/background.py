"""One thread that writes what was learned, for callers that must not wait."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ["Worker"]

logger = logging.getLogger(__name__)

_EXIT_SECONDS = 5.0


class Worker:
    """Runs jobs in the order in which they came. Its errors are logged.

    Submitting is safe anywhere, also while an object is being collected: ``SimpleQueue`` is
    reentrant.
    """

    def __init__(self, *, max_pending: int = 10_000) -> None:
        self._max_pending = max_pending
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()

    def submit(self, job: Callable[[], None]) -> bool:
        """Queue a job; False if too many wait already."""
        if self._jobs.qsize() >= self._max_pending:
            logger.warning("%d answers wait to be learned from; one is dropped", self._max_pending)
            return False
        self._jobs.put(job)
        self._start()
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all jobs submitted before are done; False if the time was too short."""
        if self._thread is None or threading.current_thread() is self._thread:
            return True
        done = threading.Event()
        self._jobs.put(done.set)
        self._start()
        return done.wait(timeout)

    def _start(self) -> None:
        with self._starting:
            # A fork leaves the thread behind: it is then no longer alive.
            if self._thread is None or not self._thread.is_alive():
                first = self._thread is None
                self._thread = threading.Thread(
                    target=_run, args=(self._jobs,), name="hebbgraph-learner", daemon=True
                )
                self._thread.start()
                if first:
                    _flush_at_exit(weakref.ref(self))


def _flush_at_exit(worker: weakref.ref[Worker]) -> None:
    def flush() -> None:
        if (alive := worker()) is not None:
            alive.flush(_EXIT_SECONDS)

    atexit.register(flush)


def _run(jobs: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        job = jobs.get()
        try:
            job()
        except Exception:
            logger.exception("an answer could not be learned from")
        del job
