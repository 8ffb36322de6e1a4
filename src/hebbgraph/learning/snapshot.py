"""The folded log on disk, so that opening an index folds only what is new.

A snapshot is derived: if it is missing, damaged, of another version, or does not fit the log and
the settings, the log is folded again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hebbgraph.array_file import ArrayFile, read_arrays
from hebbgraph.errors import IndexLockedError
from hebbgraph.learning.lessons import Lessons
from hebbgraph.locks import LockedFile, lock_file
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.state import FeedbackState

__all__ = ["SNAPSHOT_NAME", "VERSION", "load_snapshot", "restored_lessons", "snapshot_lock"]

logger = logging.getLogger(__name__)

SNAPSHOT_NAME = "learned.arrays"
#: Raised when the fold, its constants or the arrays change.
VERSION = 16
#: Another process writes or removes a snapshot in moments.
_LOCK_SECONDS = 10.0


def load_snapshot(path: Path) -> ArrayFile | None:
    """Read a snapshot, or return None and log why."""
    try:
        return read_arrays(path, VERSION)
    except OSError as error:
        logger.warning("%s: the feedback log is read again", error)
        return None


def restored_lessons(
    snapshot: ArrayFile, fits: Mapping[str, Any], log: FeedbackLog, state: FeedbackState
) -> Lessons | None:
    """Return the lessons of a snapshot, or None unless they are those of the log in this state.

    ``fits`` are facts that the snapshot must have been made with.
    """
    facts, arrays = snapshot
    if {name: facts.get(name) for name in fits} != fits:
        return None
    if log.id_at(facts["seq"]) != facts["last_id"]:
        return None
    lessons = Lessons.restored(arrays, facts["embedders"])
    if log.count(until=facts["seq"]) != len(lessons):
        return None
    # Feedback removed since may lie behind the snapshot; rewritten feedback is shorter.
    if FeedbackState(*facts["state"]).removed != state.removed and (
        log.size(until=facts["seq"]) != facts["size"]
    ):
        return None
    return lessons


def snapshot_lock(path: Path) -> LockedFile:
    """Keep other processes from writing or removing the snapshot at a path."""
    lock = lock_file(path.with_name("learned.lock"), wait_seconds=_LOCK_SECONDS)
    if lock is None:
        raise IndexLockedError(
            f"{path}: another process kept it locked for more than {_LOCK_SECONDS:g} s; try again"
        )
    return lock
