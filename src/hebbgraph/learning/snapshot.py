"""What was folded of the log, on disk: so that opening folds what is new alone.

Derived like the graph's snapshot: if it is missing, damaged, of another version, or does not fit
log and settings, the log is folded again.
"""

from __future__ import annotations

import logging
from pathlib import Path

from hebbgraph.array_file import ArrayFile, read_arrays
from hebbgraph.errors import IndexLockedError
from hebbgraph.locks import LockedFile, lock_file

__all__ = ["SNAPSHOT_NAME", "VERSION", "load_snapshot", "snapshot_lock"]

logger = logging.getLogger(__name__)

SNAPSHOT_NAME = "learned.arrays"
#: Raised when the fold, its constants or the arrays change.
VERSION = 13
#: How long to wait for a process that writes or removes a snapshot, which takes moments.
_LOCK_SECONDS = 10.0


def load_snapshot(path: Path) -> ArrayFile | None:
    """Read a snapshot, or return None and log why."""
    try:
        return read_arrays(path, VERSION)
    except OSError as error:
        logger.warning("%s: the feedback log is read again", error)
        return None


def snapshot_lock(path: Path) -> LockedFile:
    """Keep other processes from writing or removing the snapshot at a path."""
    lock = lock_file(path.with_name("learned.lock"), wait_seconds=_LOCK_SECONDS)
    if lock is None:
        raise IndexLockedError(
            f"{path}: another process kept it locked for more than {_LOCK_SECONDS:g} s; try again"
        )
    return lock
