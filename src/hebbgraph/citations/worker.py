"""Jobs of many learners, run in the background by a few threads that all of them share."""

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
#: So long whoever closes an index waits for what is being learned: a callback may have stalled.
CLOSING_SECONDS = 60.0


class Worker:
    """Runs jobs one after the other, in a daemon thread that it borrows while it has any.

    When the process exits, waiting jobs get ten seconds to finish. After that, and while Python
    takes its modules apart, nothing is queued and no thread is started. Errors of jobs are logged.

    :meth:`put` never blocks and may be called during garbage collection, as when a stream is
    abandoned: ``SimpleQueue`` and the lock are reentrant. If too many jobs wait, the oldest is
    dropped, and that is logged.

    A waiting job keeps alive what it refers to. An idle thread keeps nothing alive.
    """

    def __init__(self) -> None:
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._scheduled = False  # it waits for a thread, or a thread runs one of its jobs

    def put(self, job: Job) -> bool:
        """Queue a job; return False if the process is exiting and nothing will run it."""
        if _threads.over:
            return False
        self._jobs.put(job)
        if self._jobs.qsize() > MAX_WAITING:
            self._drop_oldest()
        _threads.schedule(self)
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all jobs queued before are done; False after ``timeout`` seconds.

        A job that calls it does not wait, since it might wait for itself.
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
        if isinstance(oldest, _Mark):  # somebody waits for it
            self._jobs.put(oldest)
            return
        logger.warning("more than %d jobs wait for %r; the oldest is dropped", MAX_WAITING, self)


def finish_learning(timeout: float | None = None) -> bool:
    """Wait until all learners of this process have learned from what they heard so far.

    Whoever closes an index calls it first. False after ``timeout`` seconds.
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
    """The threads of all workers: as many as have work, up to a bound."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.over = False
        self.exiting = False
        self.ids: set[int] = set()
        self._lock = threading.RLock()
        self._ready: SimpleQueue[Worker] = SimpleQueue()
        self._working = 0  # workers that wait for a thread, or have one
        self._count = 0

    def schedule(self, worker: Worker) -> None:
        with self._lock:
            if worker._scheduled:
                return
            worker._scheduled = True
            self._working += 1
            self._ready.put(worker)
            if self._count < min(self._working, MAX_THREADS) and not self.exiting:
                self._count += 1  # first: making a thread may collect a stream that puts a job
                self._start()

    def _start(self) -> None:
        try:
            threading.Thread(target=self._run, name="hebbgraph-learner", daemon=True).start()
        except RuntimeError as error:
            self._count -= 1
            logger.warning("no thread could be started, so that answers wait: %s", error)

    def _run(self) -> None:
        self.ids.add(threading.get_ident())
        while True:
            try:
                worker = self._ready.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    self._count -= 1  # before it looks: a collected stream may schedule meanwhile
                    if self._ready.empty():
                        self.ids.discard(threading.get_ident())
                        return
                    self._count += 1
                continue
            self._run_next(worker)
            with self._lock:
                worker._scheduled = False
                self._working -= 1
                if not worker._jobs.empty():  # after the others: nobody keeps a thread to itself
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
        except BaseException:  # the thread serves others too
            logger.exception("%r failed", job)

    def finish(self) -> None:
        """Let what waits be done, for a while; whatever comes later is refused."""
        self.exiting = True
        deadline = time.monotonic() + _EXIT_SECONDS
        for worker in list(_workers):
            if self._count:
                worker.flush(max(0.0, deadline - time.monotonic()))
        self.over = True
        if late := sum(worker._scheduled for worker in list(_workers)):
            logger.warning(
                "the process exits while %d learners are at work; what they did not learn is lost",
                late,
            )


def _forget() -> None:
    """Start anew in a forked child, which has neither the threads nor the jobs."""
    _threads.reset()
    for worker in list(_workers):
        worker._reset()


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_threads = _Threads()
atexit.register(_threads.finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
