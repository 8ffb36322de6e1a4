"""A background thread that runs jobs in order, and can be waited for."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

__all__ = ["Worker"]

logger = logging.getLogger(__name__)

Job: TypeAlias = Callable[[], object]

MAX_WAITING = 10_000
IDLE_SECONDS = 30.0
_EXIT_SECONDS = 10.0


class Worker:
    """Runs jobs one after the other, in a daemon thread of its own.

    The thread starts with the first job and ends after a while without one. When the process exits,
    waiting jobs get ten seconds to finish. Errors of jobs are logged.

    :meth:`put` never blocks and may be called during garbage collection, as when a stream is
    abandoned: ``SimpleQueue`` is reentrant. If too many jobs wait, the oldest is dropped, and that
    is logged.

    A waiting job keeps alive what it refers to. The idle thread keeps nothing alive, not even the
    worker.
    """

    def __init__(self) -> None:
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None

    def put(self, job: Job) -> None:
        """Queue a job."""
        if self._pid != os.getpid():  # a forked child has neither the thread nor its jobs
            self._reset()
        self._jobs.put(job)
        if self._jobs.qsize() > MAX_WAITING:
            self._drop_oldest()
        self._ensure_thread()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all jobs queued before are done; False after ``timeout`` seconds.

        A job that calls it does not wait, since it would wait for itself.
        """
        thread = self._thread
        if self._pid != os.getpid() or thread is None or thread is threading.current_thread():
            return True
        mark = _Mark()
        self._jobs.put(mark)
        self._ensure_thread()
        return mark.reached.wait(timeout)

    def _drop_oldest(self) -> None:
        try:
            oldest = self._jobs.get_nowait()
        except Empty:
            return
        if isinstance(oldest, _Mark):  # somebody waits for it
            self._jobs.put(oldest)
            return
        logger.warning("more than %d jobs wait for %r; the oldest is dropped", MAX_WAITING, self)

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            thread = threading.Thread(
                target=_run,
                args=(self._jobs, weakref.ref(self)),
                name="hebbgraph-learner",
                daemon=True,
            )
            # Making it may have collected garbage that put a job, and so started one.
            if self._thread is None:
                self._thread = thread
                thread.start()

    def _retire(self, jobs: SimpleQueue[Job]) -> bool:
        """Let the thread end, unless a job arrived in the meantime."""
        with self._lock:
            if jobs.empty():
                self._thread = None
                return True
            return False


class _Mark:
    """A job that signals that all jobs before it are done."""

    def __init__(self) -> None:
        self.reached = threading.Event()

    def __call__(self) -> None:
        self.reached.set()


def _run(jobs: SimpleQueue[Job], owner: weakref.ref[Worker]) -> None:
    while True:
        try:
            job = jobs.get(timeout=IDLE_SECONDS)
        except Empty:
            worker = owner()
            if worker is None or worker._retire(jobs):
                return
            del worker
            continue
        try:
            job()
        except Exception:
            logger.exception("%r failed", job)
        del job  # it may refer to the worker, which must not live on because of an idle thread


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    deadline = time.monotonic() + _EXIT_SECONDS
    for worker in list(_workers):
        worker.flush(max(0.0, deadline - time.monotonic()))
