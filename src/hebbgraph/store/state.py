"""The row of a namespace: its state, its lock, and what changed since a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hebbgraph.arrays import IntArray
from hebbgraph.store.database import Connection, Database
from hebbgraph.store.embeddings import EmbeddingState, parse_embedding
from hebbgraph.store.history import NOTHING, Commit

__all__ = ["STATE", "Changes", "FeedbackState", "State", "lock_namespace", "read_state"]

#: Asks for what :func:`read_state` reads.
STATE = """
    SELECT generation, floor, embedding, feedback_added, feedback_removed, mark, feedback_mark
    FROM namespaces WHERE namespace = ?
"""


class FeedbackState(NamedTuple):
    """How often feedback was added to a namespace's log, and how often removed.

    ``mark`` distinguishes it from the same numbers in another history; see :mod:`.history`.
    """

    added: int = 0
    removed: int = 0
    mark: int = 0


class State(NamedTuple):
    """The state of a namespace; small steps are possible from the generation ``floor`` on."""

    commit: Commit
    embedding: EmbeddingState | None
    feedback: FeedbackState
    floor: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed after a commit.

    Attributes
    ----------
    state : State
        The state that these changes lead to.
    added, removed : ndarray of int64
        Rows, ascending. A row both added and removed since is in neither.
    complete : bool
        False if the log does not reach back to the commit, or it belongs to another history:
        start from nothing.
    """

    state: State
    added: IntArray
    removed: IntArray
    complete: bool = True

    @property
    def commit(self) -> Commit:
        """The commit that these changes lead to."""
        return self.state.commit


def read_state(rows: Sequence[Any]) -> State:
    """Parse the answer to ``STATE``: one row, or none if the namespace is new."""
    if not rows:
        return State(NOTHING, None, FeedbackState(), 0)
    generation, floor, embedding, added, removed, mark, feedback_mark = rows[0]
    return State(
        Commit(generation, mark),
        parse_embedding(embedding),
        FeedbackState(added, removed, feedback_mark),
        floor,
    )


def lock_namespace(connection: Connection, database: Database, namespace: str) -> bool:
    """Lock a namespace against other writers; False if it was deleted meanwhile."""
    query = f"SELECT 1 FROM namespaces WHERE namespace = ?{database.driver.for_update}"
    return bool(connection.execute(query, (namespace,)).fetchall())
