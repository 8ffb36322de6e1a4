"""Locked files, and what a caller's own code may keep others waiting for.

A lock goes with the open file, so a killed process leaves none, whatever its id. An interruption
leaves none either: ``with`` closes the file in C, where no signal handler runs.
"""

from __future__ import annotations

import errno
import io
import math
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

from hebbgraph.errors import IndexLockedError

__all__ = ["OPEN_FILES_MOVE", "LendableLock", "LockedFile", "lock_file"]

_PAUSE_SECONDS = 0.02
#: Whether a file that is open can be renamed and removed; not on Windows.
OPEN_FILES_MOVE = os.name == "posix"


class LockedFile(io.FileIO):
    """A file that this process has locked. Closing it gives the lock up."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "ab")
        _open.add(self)


_open: weakref.WeakSet[LockedFile] = weakref.WeakSet()


def lock_file(path: Path, *, wait_seconds: float = 0.0) -> LockedFile | None:
    """Lock a file, which is created if necessary; None if others keep it locked for so long.

    Two threads of one process exclude each other, too.

    Raises
    ------
    OSError
        If it cannot be opened, or its file system has no locks.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        file = _opened(path)
        try:
            is_ours = lock_descriptor(file.fileno(), blocking=False)
            if is_ours and _is_at(file, path):
                return file
            file.close()  # somebody has it, or has removed it meanwhile
        except BaseException:
            file.close()
            raise
        if not is_ours:
            if time.monotonic() >= deadline:
                return None
            time.sleep(_PAUSE_SECONDS)


def _opened(path: Path) -> LockedFile:
    try:
        return LockedFile(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return LockedFile(path)


def _is_at(file: LockedFile, path: Path) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return False


def _after_fork() -> None:
    # Closing a copy leaves the parent's lock as it is; keeping it would prolong that.
    for file in list(_open):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class LendableLock:
    """A lock whose holder may lend it to a caller's own code, such as a filter.

    That code may wait for another thread, which in turn waits for this lock: neither would ever
    go on. So others wait for a loan only so long. Whatever else the holder does, they wait for.
    The thread that has the lock may take it again.

    Parameters
    ----------
    wait_seconds : float
        How long others wait for one loan.

    Examples
    --------
    >>> lock = LendableLock(30.0)
    >>> with lock.held(), lock.lent():
    ...     with lock.held():
    ...         print("again")
    again
    """

    def __init__(self, wait_seconds: float) -> None:
        self._wait_seconds = wait_seconds
        self._lock = threading.RLock()
        self._owner: int | None = None
        #: Whoever runs a caller's code now; a new object for each.
        self._loan: object | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the lock.

        Raises
        ------
        IndexLockedError
            If another thread has lent it for too long.
        """
        if self._owner == threading.get_ident():
            with self._lock:
                yield
            return
        is_inside = False
        try:
            self._acquire()
            # An interruption can come after any call. Only the block gives the lock up for sure.
            with self._lock:
                is_inside = True
                self._lock.release()  # what the call above took
                self._owner = threading.get_ident()
                try:
                    yield
                finally:
                    self._owner = None
        except BaseException:
            if not is_inside:
                with suppress(RuntimeError):  # it was not taken
                    self._lock.release()
            raise

    def _acquire(self) -> None:
        loan, deadline = None, math.inf
        while not self._lock.acquire(timeout=_PAUSE_SECONDS):
            if self._loan is None or self._loan is not loan:
                loan = self._loan
                deadline = math.inf if loan is None else time.monotonic() + self._wait_seconds
            elif time.monotonic() >= deadline:
                raise IndexLockedError(
                    "a recall of another thread has run its filter, step or strategy for more than "
                    f"{self._wait_seconds:g} s; such a callable must not wait for another call of "
                    "the index, and if it needs that long, raise write_wait_seconds"
                )

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Run a caller's own code. The thread has the lock."""
        before, self._loan = self._loan, object()
        try:
            yield
        finally:
            self._loan = before
