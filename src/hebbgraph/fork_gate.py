"""The gate that forks wait at: whatever a child must not inherit is used inside.

:mod:`hebbgraph.store.forks` shuts it before each fork.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from typing import Any

__all__ = ["clear_gate", "no_fork", "open_gate", "shut_gate"]

_thread = threading.local()
#: One lock per thread, held while the thread is inside: threads do not wait for each other.
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
#: Held while this process forks.
_forking = threading.RLock()
#: Locks of other threads that are held during a fork.
_acquired: list[Any] = []


def no_fork() -> contextlib.AbstractContextManager[object]:
    """Return the lock of this thread; a fork waits while the thread holds it.

    A fork does not wait without limit: see :func:`shut_gate`.
    """
    lock = getattr(_thread, "lock", None)
    if lock is None:
        lock = threading.RLock()
        with _forking:
            _locks.add(lock)
        _thread.lock = lock
    return lock


def shut_gate(wait_seconds: float) -> None:
    """Wait until all threads are outside, and keep them out; those that stay in too long remain."""
    deadline = time.monotonic() + wait_seconds
    _forking.acquire()
    _acquired.extend(
        lock for lock in list(_locks) if lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    )


def open_gate() -> None:
    """Let the threads of the parent in again."""
    while _acquired:
        _acquired.pop().release()
    _forking.release()


def clear_gate() -> None:
    """Forget the threads of the parent; the child has none of them."""
    global _forking
    _acquired.clear()
    _locks.clear()
    _thread.__dict__.clear()
    _forking = threading.RLock()
