"""The commits that led to the present truth.

A generation alone does not identify a state: if ``truth.sqlite3`` is restored from an old copy and
written to again, or if two databases share a cache directory, one number means two states. So each
commit draws a random mark, and the database keeps both. A derived part names its commit, and is
valid while that belongs to the history of the truth.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from hebbgraph.errors import ClosedIndexError
from hebbgraph.store.database import Connection, Database

__all__ = ["NEVER", "NOTHING", "Commit", "History", "deleted_meanwhile", "new_mark"]

_MARK = "SELECT mark FROM commits WHERE namespace = ? AND generation = ?"


class Commit(NamedTuple):
    """One commit of a namespace.

    Attributes
    ----------
    generation : int
        The number of commits so far, this one included.
    mark : int
        Random: no two commits of any databases are equal.
    """

    generation: int
    mark: int


NOTHING = Commit(0, 0)
"""Before the first commit; every history begins with it."""
NEVER = Commit(-1, 0)
"""Belongs to no history."""


def new_mark() -> int:
    """Draw a mark: a positive number that fits a signed 64-bit column."""
    return secrets.randbits(62) + 1


def deleted_meanwhile(namespace: str) -> ClosedIndexError:
    """Return the error of a write to a namespace whose row is gone."""
    return ClosedIndexError(
        f"the namespace {namespace!r} was deleted meanwhile; open it again to make it"
    )


class History:
    """The commits of one namespace."""

    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._namespace = namespace
        #: How often another history was found in its place. Caches by row are invalid then, as
        #: rows are reused.
        self.breaks = 0
        #: Answers of :meth:`leads_to` for one present commit.
        self._cached: tuple[Commit, dict[Commit, bool]] = (NOTHING, {})

    def leads_to(self, commit: Commit, now: Commit) -> bool:
        """Return whether a commit is ``now``, the present one, or an earlier one of its history."""
        if commit.generation >= now.generation:
            return commit == now
        if (cached := self._cached)[0] != now:
            cached = self._cached = now, {}
        if commit not in cached[1]:
            cached[1][commit] = self.knows(commit)
        return cached[1][commit]

    def knows(self, commit: Commit) -> bool:
        """Return whether a commit led to the present truth."""
        marks = self._database.ask(_MARK, (self._namespace, commit.generation))
        return commit == NOTHING or marks == [(commit.mark,)]

    def knew(self, connection: Connection, commit: Commit) -> bool:
        """Return whether a commit led to the truth that a transaction sees."""
        marks = connection.execute(_MARK, (self._namespace, commit.generation)).fetchall()
        return commit == NOTHING or marks == [(commit.mark,)]

    def record(self, connection: Connection, commit: Commit) -> None:
        """Add a commit, within its own transaction."""
        connection.execute("INSERT INTO commits VALUES (?, ?, ?)", (self._namespace, *commit))
