"""Runs the jobs of all learners in the background, in a few shared threads."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["CLOSING_SECONDS", "Worker", "finish_learning"]

logger = logging.getLogger(__name__)

Job: TypeAlias = Callable[[], object]

MAX_WAITING = 10_000
MAX_THREADS = 4
_EXIT_SECONDS = 10.0
#: Closing an index waits at most this long for learning, as a callback may have stalled.
CLOSING_SECONDS = 60.0


class _Pool:
    """The threads of all workers. Each ends when no worker has a job for it.

    The lock is reentrant, as garbage collection may put a job at any time.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.ready: deque[Worker] = deque()  # have jobs that no thread runs
        self.ids: set[int] = set()  # of the threads
        self.count = 0
        self.over = False

    def start_thread(self) -> None:
        """Start another thread, unless there are enough."""
        if self.count < MAX_THREADS:
            self.count += 1  # first: starting a thread may collect garbage that puts a job
            try:
                threading.Thread(target=self._run, name="hebbgraph-learner", daemon=True).start()
            except RuntimeError as error:
                self.count -= 1
                logger.warning("no thread could be started, so answers wait: %s", error)

    def _run(self) -> None:
        self.ids.add(threading.get_ident())
        while True:
            with self.changed:
                self.count -= 1  # first: garbage collection may put a job meanwhile
                if not self.ready:
                    self.ids.discard(threading.get_ident())
                    return
                self.count += 1
                worker = self.ready.popleft()
                job = worker._jobs.popleft()
            try:
                job()
            except BaseException:  # other workers need the thread
                logger.exception("a job of a learner failed")  # its repr may hold a question
            with self.changed:
                worker._done += 1
                worker._is_scheduled = bool(worker._jobs)
                if worker._is_scheduled:
                    self.ready.append(worker)  # behind the other workers
                self.changed.notify_all()
            del worker, job  # an idle thread must not keep them alive


class Worker:
    """Runs jobs in order, in threads that all workers share.

    When the process exits, waiting jobs get ten seconds to finish; later jobs are refused. Errors
    of jobs are logged.
    """

    def __init__(self) -> None:
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        self._jobs: deque[Job] = deque()
        self._is_scheduled = False
        self._put = 0
        self._done = 0

    def put(self, job: Job) -> bool:
        """Queue a job; return False if the process is exiting and will not run it.

        Never blocks, and may be called during garbage collection, as when a stream is abandoned.
        If too many jobs wait, the oldest is dropped, and that is logged.
        """
        with _pool.changed:
            if _pool.over:
                return False
            self._jobs.append(job)
            self._put += 1
            if len(self._jobs) > MAX_WAITING:
                self._jobs.popleft()
                self._done += 1
                logger.warning("more than %d jobs wait; the oldest is dropped", MAX_WAITING)
            if not self._is_scheduled:
                self._is_scheduled = True
                _pool.ready.append(self)
            if _pool.ready:
                _pool.start_thread()
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all jobs queued so far are done; False after ``timeout`` seconds.

        Within a job it does not wait, since it might wait for itself.
        """
        if threading.get_ident() in _pool.ids:
            return True
        with _pool.changed:
            last = self._put
            if _pool.ready:  # perhaps no thread could be started
                _pool.start_thread()
            return _pool.changed.wait_for(lambda: self._done >= last, timeout)


def finish_learning(timeout: float | None = None) -> bool:
    """Wait until all learners of this process have learned everything they heard so far.

    Call this before closing an index. Returns False after ``timeout`` seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    return all(
        worker.flush(None if deadline is None else max(0.0, deadline - time.monotonic()))
        for worker in list(_workers)
    )


def _finish() -> None:
    """Let waiting jobs run for a while when the process exits, then refuse more."""
    finish_learning(_EXIT_SECONDS if _pool.count else 0.0)
    _pool.over = True
    if late := sum(worker._done < worker._put for worker in list(_workers)):
        logger.warning(
            "the process exits while %d learners have work; what they did not learn is lost", late
        )


def _forget() -> None:
    """Start empty in a forked child, which has none of the threads."""
    _pool.__init__()  # type: ignore[misc]
    for worker in list(_workers):
        worker._reset()


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_pool = _Pool()
atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
