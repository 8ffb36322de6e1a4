"""Runs jobs in the background: one bounded queue for the process, in which tenants take turns.

What waits is done before the process ends: at exit, and after SIGTERM.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import math
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

logger = logging.getLogger(__name__)

Job: TypeAlias = Callable[[], object]
Lane: TypeAlias = tuple[int, str]
"""A learner and a namespace, the jobs of which run in order; lanes take turns."""

#: Jobs that wait; each holds a prompt and its recalls.
MAX_WAITING = 2_000
#: What waits has this long to be done when the process ends.
_EXIT_SECONDS = 10.0


class Worker:
    """Runs jobs in one daemon thread.

    The lock is reentrant: garbage collection may put a job, as of a stream that is abandoned.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all jobs; in a forked child, the parent does them."""
        self._changed = threading.Condition(threading.RLock())
        self._lanes: dict[Lane, deque[Job]] = {}
        self._later: list[tuple[float, Lane, Job]] = []
        self._running: Lane | None = None
        self._thread: threading.Thread | None = None
        self.over = False

    def put(self, lane: Lane, job: Job, *, delay: float = 0.0) -> bool:
        """Queue a job and return at once; False if the queue is full, or the process ends."""
        with self._changed:
            if self._thread is None:
                self._start()
            n_waiting = sum(map(len, self._lanes.values())) + len(self._later)
            if self.over or n_waiting >= MAX_WAITING:
                return False
            if delay:
                self._later.append((time.monotonic() + delay, lane, job))
            else:
                self._lanes.setdefault(lane, deque()).append(job)
            self._changed.notify_all()
        return True

    def _start(self) -> None:
        """Start the thread; Python starts none while it exits."""
        self._thread = threading.Thread(target=self._run, name="hebbgraph-learner", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self.over = True

    def flush(self, owner: int, timeout: float | None = None, *, delayed: bool = False) -> bool:
        """Wait until a learner has no job but ``delayed`` ones; a job does not wait for others."""

        def is_done() -> bool:
            return not any(lane and lane[0] == owner for lane in (*self._lanes, self._running))

        with self._changed:
            self._queue_due(time.monotonic(), owner if delayed else 0)
            self._changed.notify_all()
            is_job = threading.current_thread() is self._thread
            return is_job or self._changed.wait_for(is_done, timeout)

    def finish(self, timeout: float) -> bool:
        """Wait until all is done, and take no more jobs."""
        with self._changed:
            self.over = True
            self._queue_due(math.inf)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not (self._lanes or self._running), timeout)

    def _queue_due(self, now: float, owner: int = 0) -> None:
        """Queue the delayed jobs that are due, or of this learner."""
        later, self._later = self._later, []
        for due, lane, job in later:
            if due <= now or lane[0] == owner:
                self._lanes.setdefault(lane, deque()).append(job)
            else:
                self._later.append((due, lane, job))

    def _run(self) -> None:
        """Run jobs, one after the other."""
        while True:
            job = self._next()
            try:
                job()
            except BaseException:  # the others need the thread
                logger.exception("a job of a learner failed")
            del job  # what it holds may be large
            with self._changed:
                self._running = None
                self._changed.notify_all()

    def _next(self) -> Job:
        """Take the first job of the lane that has waited longest."""
        with self._changed:
            self._queue_due(time.monotonic())
            while not self._lanes:
                first = min((due for due, *_ in self._later), default=None)
                self._changed.wait(None if first is None else max(0.0, first - time.monotonic()))
                self._queue_due(time.monotonic())
            lane = self._running = next(iter(self._lanes))
            jobs = self._lanes.pop(lane)
            job = jobs.popleft()
            if jobs:  # behind the other lanes, but before what a garbage collection just put
                self._lanes.setdefault(lane, deque()).extendleft(reversed(jobs))
            return job


WORKER = Worker()


def keep_on_sigterm() -> None:
    """Let SIGTERM wait for the jobs; only the main thread can install that, on POSIX."""
    former = signal.getsignal(signal.SIGTERM)
    is_installed = isinstance(former, partial) and former.func is _finish_first
    is_main = threading.current_thread() is threading.main_thread()
    if os.name == "posix" and is_main and former not in (signal.SIG_IGN, None) and not is_installed:
        signal.signal(signal.SIGTERM, partial(_finish_first, former))


def _finish_first(former: Any, number: int, frame: object) -> None:
    """Give a signal back to its former handler, and send it again once all is done."""

    def finish() -> None:
        _finish()
        time.sleep(0.1)  # Python loses a signal that comes just before the main thread waits again
        os.kill(os.getpid(), number)

    signal.signal(number, former)
    _thread.start_new_thread(finish, ())  # takes no lock that the interrupted code may hold


def _finish() -> None:
    if not WORKER.finish(_EXIT_SECONDS):
        logger.warning("the process ends, and some answers are not learned")


atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKER.reset)
