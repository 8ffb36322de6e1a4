"""Terms by key: their ids, and how many chunks hold and propose them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.store.database import Session
from hebbgraph.terms import TermKind

__all__ = ["Term", "count_held", "drop_unused", "find_terms", "number_terms", "terms_by_id"]

#: A phrase is known once this many chunks propose it.
MIN_PROPOSALS = 2


class Term(NamedTuple):
    """A term and its counts.

    Attributes
    ----------
    id : int
    kind : TermKind
    key : str
    df : int
        Number of chunks that hold it.
    proposals, titles, given : int
        Numbers of chunks that propose it, that have it for a title, and that it was given to.
    support : int
        Number of mentions that the proposals justify.
    """

    id: int
    kind: int
    key: str
    df: int
    proposals: int = 0
    titles: int = 0
    given: int = 0
    support: int = 0

    @property
    def is_known(self) -> bool:
        """Whether a phrase is a tag of every chunk that mentions it."""
        return self.titles > 0 or self.proposals >= MIN_PROPOSALS


_COLUMNS = "id, kind, key, df, proposals, titles, given, support"


def find_terms(session: Session, kind: TermKind, keys: Collection[str]) -> dict[str, Term]:
    """Return the terms of one kind that exist, by key."""
    if not keys:
        return {}
    sql = f"SELECT {_COLUMNS} FROM $term WHERE kind = ? AND key = ANY(?)"
    return {row[2]: Term(*row) for row in session.rows(sql, int(kind), list(keys))}


def terms_by_id(session: Session, ids: Iterable[int]) -> dict[int, Term]:
    """Return terms by id."""
    sql = f"SELECT {_COLUMNS} FROM $term WHERE id = ANY(?)"
    return {row[0]: Term(*row) for row in session.rows(sql, list(ids))}


def number_terms(session: Session, kind: TermKind, keys: Collection[str]) -> dict[str, Term]:
    """Return the terms of these keys, creating those that do not exist."""
    found = find_terms(session, kind, keys)
    if missing := [key for key in keys if key not in found]:
        session.many(
            "INSERT INTO $term(kind, key) VALUES (?, ?)", ((int(kind), key) for key in missing)
        )
        found.update(find_terms(session, kind, missing))
    return found


def count_held(session: Session, added: IntArray, removed: IntArray) -> None:
    """Change the document frequencies; each array lists a term once for each chunk."""
    n = int(max(added.max(initial=-1), removed.max(initial=-1))) + 1
    if n:
        terms, position = np.unique(np.concatenate((added, removed)), return_inverse=True)
        change = np.bincount(position[: len(added)], minlength=len(terms))
        change -= np.bincount(position[len(added) :], minlength=len(terms))
        changed = change != 0
        pairs = zip(change[changed].tolist(), terms[changed].tolist(), strict=True)
        session.many("UPDATE $term SET df = df + ? WHERE id = ?", pairs)


def count_proposed(session: Session, changes: Mapping[int, tuple[int, int, int, int]]) -> None:
    """Change the counts of proposals, titles, gifts and support of some phrases."""
    session.many(
        "UPDATE $term SET proposals = proposals + ?, titles = titles + ?, given = given + ?, "
        "support = support + ? WHERE id = ?",
        ((*change, term) for term, change in changes.items() if any(change)),
    )


def drop_unused(session: Session, terms: IntArray) -> None:
    """Delete those of some terms that no chunk holds, proposes or was given any more."""
    session.run(
        "DELETE FROM $term WHERE id = ANY(?) AND df = 0 AND proposals = 0 AND given = 0",
        terms.tolist(),
    )
