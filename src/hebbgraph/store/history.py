"""Which commits led to the truth as it is.

A number alone does not name a state: when ``truth.sqlite3`` is put back from an old copy
and written to again, or when two databases share a cache directory, the same number comes
twice and means something else each time. So each commit draws a random mark, and the
database keeps both. Whatever is derived remembers the commit that it was made from, and
counts for as long as that commit is part of the history of the truth.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

import sqlalchemy as sa

from hebbgraph.store.database import Database
from hebbgraph.store.schema import commits

__all__ = ["NEVER", "NOTHING", "Commit", "History", "new_mark"]

_MARK = sa.select(commits.c.mark).where(
    commits.c.namespace == sa.bindparam("mine"), commits.c.generation == sa.bindparam("number")
)


class Commit(NamedTuple):
    """One commit of a namespace.

    Attributes
    ----------
    generation : int
        How many there were, this one included.
    mark : int
        Random, so that no two commits are equal, in whatever database.
    """

    generation: int
    mark: int


NOTHING = Commit(0, 0)
"""Before the first commit; every history begins with it."""
NEVER = Commit(-1, 0)
"""Part of no history."""


def new_mark() -> int:
    """Draw a mark, a positive number that a signed column of eight bytes can hold."""
    return secrets.randbits(62) + 1


class History:
    """The commits of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    """

    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._namespace = namespace
        #: How often it turned out to be another one than before; what is kept by row in
        #: memory ends with that, for rows are used again.
        self.breaks = 0

    def knows(self, commit: Commit) -> bool:
        """Tell whether a commit led to the truth as it is."""
        bound = {"mine": self._namespace, "number": commit.generation}
        return _is(commit, [mark for (mark,) in self._database.ask(_MARK, bound)])

    def knew(self, connection: sa.Connection, commit: Commit) -> bool:
        """Tell the same within a transaction."""
        bound = {"mine": self._namespace, "number": commit.generation}
        return _is(commit, list(connection.execute(_MARK, bound).scalars()))

    def record(self, connection: sa.Connection, commit: Commit) -> None:
        """Add a commit, within its own transaction."""
        connection.execute(
            sa.insert(commits),
            {
                "namespace": self._namespace,
                "generation": commit.generation,
                "mark": commit.mark,
            },
        )


def _is(commit: Commit, marks: list[int]) -> bool:
    return commit == NOTHING or marks == [commit.mark]
