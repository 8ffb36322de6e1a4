"""Runs the jobs of all learners in the background, in a few shared threads."""

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

__all__ = ["CLOSING_SECONDS", "Worker", "finish_learning"]

logger = logging.getLogger(__name__)

Job: TypeAlias = Callable[[], object]

MAX_WAITING = 10_000
MAX_THREADS = 4
IDLE_SECONDS = 30.0
_EXIT_SECONDS = 10.0
#: Closing an index waits at most this long for learning, as a callback may have stalled.
CLOSING_SECONDS = 60.0


class Worker:
    """Runs jobs in order, in a shared daemon thread that it uses only while it has any.

    When the process exits, waiting jobs get ten seconds to finish; later jobs are refused. Errors
    of jobs are logged.

    :meth:`put` never blocks and may be called during garbage collection, as when a stream is
    abandoned: ``SimpleQueue`` and the lock are reentrant. If too many jobs wait, the oldest is
    dropped, and that is logged. An idle thread keeps no worker alive.
    """

    def __init__(self) -> None:
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._scheduled = False  # waiting for a thread, or running

    def put(self, job: Job) -> bool:
        """Queue a job; return False if the process is exiting and will not run it."""
        if _threads.over:
            return False
        self._jobs.put(job)
        if self._jobs.qsize() > MAX_WAITING:
            self._drop_oldest()
        _threads.schedule(self)
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all jobs queued so far are done; False after ``timeout`` seconds.

        Within a job it does not wait, since it might wait for itself.
        """
        if not self._scheduled or threading.get_ident() in _threads.ids:
            return True
        mark = _Mark()
        self._jobs.put(mark)
        _threads.schedule(self)
        return mark.reached.wait(timeout)

    def _drop_oldest(self) -> None:
        try:
            oldest = self._jobs.get_nowait()
        except Empty:
            return
        if isinstance(oldest, _Mark):  # a flush waits for it
            self._jobs.put(oldest)
            return
        logger.warning("more than %d jobs wait for %r; the oldest is dropped", MAX_WAITING, self)


def finish_learning(timeout: float | None = None) -> bool:
    """Wait until all learners of this process have learned everything they heard so far.

    Call this before closing an index. Returns False after ``timeout`` seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    return all(
        worker.flush(None if deadline is None else max(0.0, deadline - time.monotonic()))
        for worker in list(_workers)
    )


class _Mark:
    """A job that signals that all jobs before it are done."""

    def __init__(self) -> None:
        self.reached = threading.Event()

    def __call__(self) -> None:
        self.reached.set()


class _Threads:
    """The threads of all workers: one per busy worker, up to a bound."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.over = False
        self.exiting = False
        self.ids: set[int] = set()
        self._lock = threading.RLock()
        self._ready: SimpleQueue[Worker] = SimpleQueue()
        self._working = 0  # workers with jobs
        self._count = 0

    def schedule(self, worker: Worker) -> None:
        with self._lock:
            if worker._scheduled:
                return
            worker._scheduled = True
            self._working += 1
            self._ready.put(worker)
            if self._count < min(self._working, MAX_THREADS) and not self.exiting:
                self._count += 1  # first: starting a thread may collect garbage that puts a job
                self._start()

    def _start(self) -> None:
        try:
            threading.Thread(target=self._run, name="hebbgraph-learner", daemon=True).start()
        except RuntimeError as error:
            self._count -= 1
            logger.warning("no thread could be started, so answers wait: %s", error)

    def _run(self) -> None:
        self.ids.add(threading.get_ident())
        while True:
            try:
                worker = self._ready.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    self._count -= 1  # before looking: garbage collection may schedule meanwhile
                    if self._ready.empty():
                        self.ids.discard(threading.get_ident())
                        return
                    self._count += 1
                continue
            self._run_next(worker)
            with self._lock:
                worker._scheduled = False
                self._working -= 1
                if not worker._jobs.empty():  # behind the other workers
                    self.schedule(worker)
            del worker  # an idle thread must not keep it alive

    @staticmethod
    def _run_next(worker: Worker) -> None:
        try:
            job = worker._jobs.get_nowait()
        except Empty:  # dropped, as too many waited
            return
        try:
            job()
        except BaseException:  # other workers need the thread
            logger.exception("%r failed", job)

    def finish(self) -> None:
        """Run waiting jobs for a while, then refuse more."""
        self.exiting = True
        deadline = time.monotonic() + _EXIT_SECONDS
        for worker in list(_workers):
            if self._count:
                worker.flush(max(0.0, deadline - time.monotonic()))
        self.over = True
        if late := sum(worker._scheduled for worker in list(_workers)):
            logger.warning(
                "the process exits while %d learners have work; what they did not learn is lost",
                late,
            )


def _forget() -> None:
    """Start empty in a forked child, which has none of the threads."""
    _threads.reset()
    for worker in list(_workers):
        worker._reset()


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_threads = _Threads()
atexit.register(_threads.finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
