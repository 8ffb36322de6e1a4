"""Locked files, and a lock whose holder may run a caller's own code.

A file's lock ends when the file is closed, so a killed process leaves none. An interruption leaves
none either: ``with`` closes the file in C, where no signal handler runs.
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
from hebbgraph.fork_gate import no_fork

__all__ = ["OPEN_FILES_MOVE", "LendableLock", "LockedFile", "lock_file"]

_PAUSE_SECONDS = 0.02
#: Whether a file that is open can be renamed and removed; not on Windows.
OPEN_FILES_MOVE = os.name == "posix"


class LockedFile(io.FileIO):
    """A file that this process has locked. Closing it releases the lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "ab")
        _open.add(self)
        _files[self.fileno()] = os.fstat(self.fileno())


_open: weakref.WeakSet[LockedFile] = weakref.WeakSet()
#: The last file of each descriptor.
_files: dict[int, os.stat_result] = {}


def lock_file(path: Path, *, wait_seconds: float = 0.0) -> LockedFile | None:
    """Lock a file, creating it if necessary; return None if others keep it locked for too long.

    Threads of one process exclude each other too.

    Raises
    ------
    OSError
        If it cannot be opened, or its file system has no locks.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        file = _opened(path)
        try:
            is_locked = lock_descriptor(file.fileno(), blocking=False)
            if is_locked and _is_at(file, path):
                return file
            file.close()  # another process has it, or has removed it meanwhile
        except BaseException:
            file.close()
            raise
        if not is_locked:
            if time.monotonic() >= deadline:
                return None
            time.sleep(_PAUSE_SECONDS)


def _opened(path: Path) -> LockedFile:
    with no_fork():  # a child that inherits a file it does not know of keeps it locked
        try:
            file = LockedFile(path)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = LockedFile(path)
    return file  # inside the block, an interruption just before could leave it locked


def _is_at(file: LockedFile, path: Path) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return False


def _after_fork() -> None:
    # Closing a copy keeps the parent's lock; keeping the copy open would prolong the lock.
    for file in list(_open):
        file.close()
    # Files that were just being closed look closed here, and are open.
    for descriptor, status in _files.items():
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), status):
                os.close(descriptor)
    _files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class LendableLock:
    """A reentrant lock that its holder may lend to a caller's own code, such as a filter.

    That code may wait for another thread that waits for this lock, and neither would ever
    continue. So other threads wait for a loan only so long. They wait without limit for anything
    else that the holder does.

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
        #: A new object for each loan, while it lasts.
        self._loan: object | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock.

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
            # An interruption can follow any call, and only a ``with`` block surely releases.
            with self._lock:
                is_inside = True
                self._lock.release()  # acquired by the call above
                self._owner = threading.get_ident()
                try:
                    yield
                finally:
                    self._owner = None
        except BaseException:
            if not is_inside:
                with suppress(RuntimeError):  # it was not acquired
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
        """Run a caller's own code in the thread that holds the lock."""
        before, self._loan = self._loan, object()
        try:
            yield
        finally:
            self._loan = before
