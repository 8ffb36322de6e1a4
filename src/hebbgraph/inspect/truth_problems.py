"""Problems of the database itself and of the texts."""

from __future__ import annotations

from collections.abc import Iterator

from hebbgraph.labels import counted
from hebbgraph.records import Finding
from hebbgraph.store.chunk_rows import digest
from hebbgraph.store.chunks import pages
from hebbgraph.store.state import STATE, read_state
from hebbgraph.store.texts import TextState, some_of
from hebbgraph.store.truth import Truth

__all__ = ["truth_problems"]

#: Counts of rows in a state that no write leads to.
_IMPOSSIBLE = {
    "chunks of no or a future generation": (
        "SELECT count(*) FROM chunks WHERE namespace = ? AND (generation > ? OR generation < 1)"
    ),
    "tombstones of a future generation": (
        "SELECT count(*) FROM tombstones WHERE namespace = ? AND generation > ?"
    ),
    "rows both live and deleted": (
        "SELECT count(*) FROM chunks JOIN tombstones ON chunks.row = tombstones.row "
        "WHERE chunks.namespace = ? AND ? >= 0"
    ),
}
_TEXT_PROBLEMS = {
    TextState.missing: "not in the store that keeps them; put them back, or delete the chunks",
    TextState.changed: "changed since they were added; add the chunks again",
}


def truth_problems(truth: Truth) -> Iterator[Finding]:
    """Yield problems of the database itself and of the texts."""
    with truth.database.read() as connection:
        problems = truth.database.driver.problems(connection)
        newest = read_state(
            connection.execute(STATE, (truth.namespace,)).fetchall()
        ).commit.generation
        for what, query in _IMPOSSIBLE.items():
            (count,) = connection.execute(query, (truth.namespace, newest)).fetchone()
            problems += [f"{count} {what}"] if count else []
    for problem in problems:
        yield Finding(part="database", problem=problem)
    ids: dict[TextState, list[str]] = {state: [] for state in _TEXT_PROBLEMS}
    unread = 0
    for page in pages(truth.rows_by_id()):
        read = [(chunk, state) for _, chunk, state in truth.fetch_checked(page, verify=False)]
        unread += len(page) - len(read)
        expected = truth.digests(chunk.id for chunk, _ in read)
        for chunk, state in read:
            if state in ids:
                ids[state].append(chunk.id)
            elif expected.get(chunk.id, b"") not in (digest(chunk), b""):
                changed = f"chunk {chunk.id!r} is not what was written"
                yield Finding(part="database", problem=changed)
    if unread and truth.generation() == newest:  # else they may have been deleted meanwhile
        lost = f"listed, and cannot be read: {counted(unread, 'chunk')}"
        yield Finding(part="database", problem=lost)
    for state, problem in _TEXT_PROBLEMS.items():
        if ids[state]:
            yield Finding(part="texts", problem=f"{problem}: {some_of(ids[state])}")
