"""Terms by key: their ids, and how many chunks hold and propose them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.store.database import Session
from hebbgraph.terms import TermKind

#: A phrase is known once this many chunks propose it, or one has it for its title.
MIN_PROPOSALS = 2
IS_KNOWN = f"(titles > 0 OR proposals >= {MIN_PROPOSALS})"
#: Mentions that the proposal of a title justifies, and of a single word with a capital.
TITLE_WORTH, CAPITAL_WORTH = 16, 2
#: Larger values distrust words sooner that some texts mention as plain words.
_DISTRUST = 3


class Term(NamedTuple):
    """A term and its counts."""

    id: int
    kind: int
    key: str
    df: int  # chunks that hold it
    proposals: int = 0  # chunks that propose it
    titles: int = 0  # chunks that have it for a title
    given: int = 0  # chunks that it was given to
    support: int = 0  # mentions that the proposals justify

    @property
    def is_known(self) -> bool:
        """Whether a phrase is a tag of every chunk that mentions it."""
        return self.titles > 0 or self.proposals >= MIN_PROPOSALS

    @property
    def keyphraseness(self) -> float:
        """How far a mention is likely to mean what chunks titled by the phrase mean, in [0, 1].

        A page titled "Print" is not what most texts mean that contain the word. One word is
        trusted by the share of its mentions elsewhere that propose a name, or a capital.
        """
        if not self.titles or " " in self.key:
            return 1.0
        justified = self.support - TITLE_WORTH * self.titles
        share = (justified / CAPITAL_WORTH + 1) / (max(self.df - self.titles, 0) + 1)
        return min(max(share, 0.0), 1.0) ** _DISTRUST


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


def longest_phrases(session: Session, words: Collection[str]) -> dict[str, int]:
    """Return the length of the longest known phrase that begins with each word, or 0."""
    sql = "SELECT word, longest FROM $opening WHERE word = ANY(?)"
    return dict.fromkeys(words, 0) | dict(session.rows(sql, list(words)))


def number_terms(session: Session, kind: TermKind, keys: Collection[str]) -> dict[str, int]:
    """Return the ids of the terms of these keys, creating those that do not exist."""
    sql = "SELECT key, id FROM $term WHERE kind = ? AND key = ANY(?)"
    found: dict[str, int] = dict(session.rows(sql, int(kind), list(keys))) if keys else {}
    if missing := sorted(key for key in keys if key not in found):  # in the order of the index
        session.many(
            "INSERT INTO $term(kind, key) VALUES (?, ?)", ((int(kind), key) for key in missing)
        )
        found.update(session.rows(sql, int(kind), missing))
    return found


def count_held(
    session: Session, added: IntArray, removed: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Change the document frequencies; each array lists a term once for each chunk.

    Return the distinct terms, and their frequencies before and after.
    """
    terms, position = np.unique(np.concatenate((added, removed)), return_inverse=True)
    change = np.bincount(position[: len(added)], minlength=len(terms))
    change -= np.bincount(position[len(added) :], minlength=len(terms))
    sql = "SELECT df FROM $term WHERE id = ANY(?) ORDER BY id"
    before = np.array(session.rows(sql, terms.tolist()), np.int64).reshape(-1)
    after = before + change
    at = np.flatnonzero(change)
    pairs = zip(after[at].tolist(), terms[at].tolist(), strict=True)
    session.many("UPDATE $term SET df = ? WHERE id = ?", pairs)
    return terms, before, after


def drop_unused(session: Session, terms: IntArray) -> None:
    """Delete those of some terms that no chunk holds, proposes or was given any more."""
    unused = session.rows(
        "SELECT id, kind, key FROM $term "
        "WHERE id = ANY(?) AND df = 0 AND proposals = 0 AND given = 0",
        terms.tolist(),
    )
    session.run("DELETE FROM $term WHERE id = ANY(?)", [id_ for id_, _, _ in unused])
    words = {key.partition(" ")[0] for _, kind, key in unused if kind == TermKind.TAG}
    # A name that was deleted must not stay as the beginning of tags; "!" follows the space.
    session.run(
        "DELETE FROM $opening AS o WHERE word = ANY(?) AND NOT EXISTS (SELECT 1 FROM $term "
        "WHERE kind = ? AND key >= o.word AND key < o.word || '!')",
        sorted(words),
        int(TermKind.TAG),
    )
