"""Runs jobs in the background: one bounded queue for the process, in which tenants take turns.

What waits is done before the process ends: at exit, and after SIGTERM. A handler for SIGTERM is
installed with the first learner that the main thread makes. It lets a thread wait for the jobs,
and then sends the signal again, to whoever handled it before.
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
from typing import Any, NamedTuple, TypeAlias

__all__ = ["MAX_WAITING", "WORKER", "Lane", "Worker", "keep_on_sigterm"]

logger = logging.getLogger(__name__)

Job: TypeAlias = Callable[[], object]

#: Jobs that wait; each holds a prompt and its recalls.
MAX_WAITING = 2_000
#: What waits has this long to be done when the process ends.
_EXIT_SECONDS = 10.0


class Lane(NamedTuple):
    """Jobs of one learner in one namespace run in order; lanes take turns."""

    owner: int
    namespace: str


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
        self._thread = 0
        self.over = False

    def put(self, lane: Lane, job: Job, *, delay: float = 0.0) -> bool:
        """Queue a job and return at once; False if the queue is full, or the process ends."""
        with self._changed:
            waiting = sum(map(len, self._lanes.values())) + len(self._later)
            if not self.over and not self._thread:
                self._start()
            if self.over or waiting >= MAX_WAITING:
                return False
            if delay:
                self._later.append((time.monotonic() + delay, lane, job))
            else:
                self._lanes.setdefault(lane, deque()).append(job)
            self._changed.notify_all()
        return True

    def _start(self) -> None:
        self._thread = -1  # until it runs
        try:
            threading.Thread(target=self._run, name="hebbgraph-learner", daemon=True).start()
        except RuntimeError:  # Python starts no threads while it exits
            self.over = True

    def flush(self, owner: int, timeout: float | None = None) -> bool:
        """Wait for the jobs of a learner, but for delayed ones; within a job, for none."""
        if threading.get_ident() == self._thread:
            return True
        done = threading.Semaphore(0)
        with self._changed:
            lanes = [lane for lane in {*self._lanes, self._running} if lane and lane.owner == owner]
            for lane in lanes:
                self._lanes.setdefault(lane, deque()).append(done.release)
            self._changed.notify_all()
        deadline = None if timeout is None else time.monotonic() + timeout
        left = (None if deadline is None else max(0.0, deadline - time.monotonic()) for _ in lanes)
        return all(done.acquire(timeout=seconds) for seconds in left)

    def finish(self, timeout: float) -> bool:
        """Wait until all is done, and take no more jobs."""
        with self._changed:
            self.over = True
            self._release(math.inf)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not (self._lanes or self._running), timeout)

    def _release(self, now: float) -> None:
        """Queue the delayed jobs that are due."""
        later, self._later = self._later, []
        for due, lane, job in later:
            if due <= now:
                self._lanes.setdefault(lane, deque()).append(job)
            else:
                self._later.append((due, lane, job))

    def _run(self) -> None:
        self._thread = threading.get_ident()
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
        with self._changed:
            while True:
                self._release(time.monotonic())
                if self._lanes:
                    lane = next(iter(self._lanes))
                    jobs = self._lanes.pop(lane)
                    self._running, job = lane, jobs.popleft()
                    if jobs:
                        self._lanes[lane] = jobs  # behind the others
                    return job
                first = min((due for due, *_ in self._later), default=None)
                self._changed.wait(None if first is None else max(0.0, first - time.monotonic()))


WORKER = Worker()


class _Sigterm:
    """Passes SIGTERM on to its former handler once all that waits is done."""

    def __init__(self, former: Any) -> None:
        self._former = former
        self._process = 0  # in which the signal came

    def __call__(self, number: int, frame: Any) -> None:
        if self._process != os.getpid():
            self._process = os.getpid()
            # Unlike threading's, this takes no lock that the interrupted code may hold.
            _thread.start_new_thread(self._finish, (number,))
        elif callable(self._former):
            self._former(number, frame)
        else:
            signal.signal(number, self._former)
            signal.raise_signal(number)

    def _finish(self, number: int) -> None:
        _finish()
        os.kill(os.getpid(), number)


def keep_on_sigterm() -> None:
    """Let SIGTERM wait for the jobs; only the main thread can install that, on POSIX."""
    former = signal.getsignal(signal.SIGTERM)
    is_main = threading.current_thread() is threading.main_thread()
    is_handled = former in (signal.SIG_IGN, None) or isinstance(former, _Sigterm)
    if os.name == "posix" and is_main and not is_handled:
        signal.signal(signal.SIGTERM, _Sigterm(former))


def _finish() -> None:
    if not WORKER.finish(_EXIT_SECONDS):
        logger.warning("the process ends, and some answers are not learned")


atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKER.reset)
