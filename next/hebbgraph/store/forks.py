"""No connection to a file is open while this process forks.

SQLite keeps the locks of a file for the whole process. A child inherits the notes about them, but
not the locks: it would take locks for granted that it does not hold. Once the parent closed the
index, the child would go on writing to a log that is gone.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

__all__ = ["GATE"]

#: Seconds that a fork waits for transactions of other threads.
_LONGEST = 60.0


class _Closable(Protocol):
    def close_idle(self) -> None: ...


class _Gate:
    """Lets transactions pass, but none while the process forks."""

    def __init__(self) -> None:
        self._databases: WeakSet[_Closable] = WeakSet()
        self._reset()

    def _reset(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._inside: Counter[int] = Counter()  # by thread
        self._forking = False

    def watch(self, database: _Closable) -> None:
        """Close the connections of a database before each fork."""
        self._databases.add(database)

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Keep other threads from forking; one that is inside already may enter again."""
        thread, condition = threading.get_ident(), self._condition
        with condition:
            condition.wait_for(lambda: not self._forking or self._inside[thread])
            self._inside[thread] += 1
        try:
            yield
        finally:
            with condition:
                self._inside[thread] -= 1
                if not self._inside[thread]:
                    del self._inside[thread]
                    condition.notify_all()

    def shut(self) -> None:
        """Wait until no other thread is inside, and close all connections."""
        thread = threading.get_ident()
        self._condition.acquire()
        self._forking = True
        self._condition.wait_for(lambda: not self._inside.keys() - {thread}, _LONGEST)
        for database in list(self._databases):
            database.close_idle()

    def open(self) -> None:
        """Let transactions pass again, in the parent."""
        self._forking = False
        self._condition.notify_all()
        self._condition.release()

    def renew(self) -> None:
        """Start anew, in the child."""
        self._reset()


GATE = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=GATE.shut, after_in_parent=GATE.open, after_in_child=GATE.renew)
