"""No connection to a file is open while this process forks.

SQLite keeps the locks of a file for the whole process. A child inherits the notes about them, but
not the locks: it would take locks for granted that it does not hold. Once the parent closed the
index, the child would go on writing to a log that is gone.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

#: Seconds that a fork waits for transactions of other threads.
_LONGEST = 60.0


class _Gate:
    """Lets transactions pass, but none while the process forks; passing takes no lock."""

    def __init__(self) -> None:
        #: Their idle connections are closed before each fork.
        self.databases: WeakSet[Any] = WeakSet()
        self.renew()

    def renew(self) -> None:
        """Start anew, in the child."""
        self._inside: dict[int, int] = {}  # how often each thread has entered
        self._open = threading.Event()
        self._open.set()
        self._forking = threading.Lock()

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Keep other threads from forking; one that is inside already may enter again."""
        thread, inside = threading.get_ident(), self._inside
        depth = inside.get(thread, 0)
        inside[thread] = depth + 1
        try:
            while not depth and not self._open.is_set():
                del inside[thread]
                self._open.wait()
                inside[thread] = 1
            yield
        finally:
            if depth:
                inside[thread] = depth
            else:
                inside.pop(thread, None)

    def shut(self) -> None:
        """Wait until no other thread is inside, and close all connections."""
        self._forking.acquire()
        self._open.clear()
        thread, deadline = threading.get_ident(), time.monotonic() + _LONGEST
        while set(self._inside) - {thread} and time.monotonic() < deadline:
            time.sleep(0.001)
        for database in list(self.databases):
            database.close_idle()

    def open(self) -> None:
        """Let transactions pass again, in the parent."""
        self._open.set()
        self._forking.release()


GATE = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=GATE.shut, after_in_parent=GATE.open, after_in_child=GATE.renew)
