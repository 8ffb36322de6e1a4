"""One background thread that takes things in order, and can be waited for."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Worker"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_MAX_WAITING = 10_000
_IDLE_SECONDS = 30.0
_EXIT_SECONDS = 10.0


class Worker(Generic[_T]):
    """Calls ``work`` with what is put in, one after the other, in a daemon thread.

    The thread begins with the first thing put in and ends when it has been idle for a
    while. At exit of the process, what is waiting is done first. When too much is
    waiting, the oldest is dropped and that is logged: ``put`` never blocks.

    What is waiting keeps the owner of ``work`` alive: a learner that was made for one call
    is let go of by its chain before its answer was read. An idle thread does not.
    """

    def __init__(self, work: Callable[[_T], object]) -> None:
        self._work: Callable[[], Callable[[_T], object] | None] = (
            weakref.WeakMethod(work) if hasattr(work, "__self__") else lambda: work
        )
        self._start_anew()
        atexit.register(_finish, weakref.ref(self))

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._condition = threading.Condition()
        self._waiting: deque[tuple[Callable[[_T], object], _T]] = deque()
        self._busy = False
        self._thread: threading.Thread | None = None

    def put(self, item: _T) -> None:
        """Hand something over; returns at once."""
        if self._pid != os.getpid():  # a forked child has no thread, and not our things to do
            self._start_anew()
        if (work := self._work()) is None:  # nobody is left to do it
            return
        with self._condition:
            self._waiting.append((work, item))
            if len(self._waiting) > _MAX_WAITING:
                self._waiting.popleft()
                logger.warning("more than %d answers wait to be learned", _MAX_WAITING)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_run,
                    args=(weakref.ref(self), self._waiting),
                    name="hebbgraph-learner",
                    daemon=True,
                )
                self._thread.start()
            self._condition.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all is done; False if time ran out. Within the thread, do not wait."""
        if self._pid != os.getpid() or threading.current_thread() is self._thread:
            return True
        with self._condition:
            return self._condition.wait_for(lambda: not (self._waiting or self._busy), timeout)

    def step(self) -> bool:
        """Do the next thing; False if there was none for a while."""
        with self._condition:
            if not self._condition.wait_for(lambda: bool(self._waiting), _IDLE_SECONDS):
                self._thread = None
                return False
            (work, item), self._busy = self._waiting.popleft(), True
        try:
            work(item)
        except Exception:
            logger.exception("an answer could not be learned")
        finally:
            del work, item  # before anybody is told that it is done
            with self._condition:
                self._busy = False
                self._condition.notify_all()
        return True


def _run(
    reference: weakref.ref[Worker[_T]], waiting: deque[tuple[Callable[[_T], object], _T]]
) -> None:
    # Holds on to what waits, and through it to its owner: neither is garbage before it is done.
    while (worker := reference()) is not None and worker.step():
        del worker


def _finish(reference: weakref.ref[Worker[_T]]) -> None:
    if (worker := reference()) is not None:
        worker.flush(_EXIT_SECONDS)
