"""Terms by key: their ids, how many chunks hold and propose them, and which tags occur together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import combinations
from typing import NamedTuple

import networkx as nx
import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.errors import NotFoundError
from hebbgraph.records import Neighbor, Tag, storable
from hebbgraph.store.database import Session, pages
from hebbgraph.store.postings import portions, read_postings, unpack_tags
from hebbgraph.terms import TermKind
from hebbgraph.text.tokens import display, phrase_key

__all__ = [
    "Term",
    "cooccurrence",
    "count_held",
    "drop_unused",
    "find_tags",
    "find_terms",
    "neighbors",
    "number_terms",
    "terms_by_id",
]

_PAGE = 5000

#: A phrase is known once this many chunks propose it.
MIN_PROPOSALS = 2


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
    known = dict(session.rows("SELECT id, df FROM $term WHERE id = ANY(?)", terms.tolist()))
    before = np.array([known[term] for term in terms.tolist()], np.int64)
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
    if not unused:
        return
    session.run("DELETE FROM $term WHERE id = ANY(?)", [id_ for id_, _, _ in unused])
    words = {key.partition(" ")[0] for _, kind, key in unused if kind == TermKind.TAG}
    # A name that was deleted must not stay as the beginning of tags; "!" follows the space.
    session.run(
        "DELETE FROM $opening AS o WHERE word = ANY(?) AND NOT EXISTS (SELECT 1 FROM $term "
        "WHERE kind = ? AND key >= o.word AND key < o.word || '!')",
        sorted(words),
        int(TermKind.TAG),
    )


# -- which tags there are, and which occur together ----------------------------------------


def find_tags(session: Session, prefix: str, limit: int) -> list[Tag]:
    """Return the tags that begin with a prefix, those of most chunks first."""
    start = " ".join(storable(prefix).lower().split())
    found = session.rows(
        "SELECT key, df, titles FROM $term WHERE kind = ? AND key >= ? AND key < ? AND df > 0 "
        "ORDER BY df DESC, key LIMIT ?",
        int(TermKind.TAG),
        start,
        start + "\U0010ffff",
        limit,
    )
    return [Tag(tag=display(key), chunks=df, titles=titles) for key, df, titles in found]


def neighbors(session: Session, tag: str, k: int) -> list[Neighbor]:
    """Return the tags that most often occur in the chunks of a tag."""
    term = find_terms(session, TermKind.TAG, [phrase_key(tag)]).get(phrase_key(tag))
    if term is None or not term.df:
        raise NotFoundError(f"no chunk holds the tag {tag!r}; tags(prefix) lists those there are")
    rows = read_postings(session, [term.id])[term.id].rows.tolist()
    counts: Counter[int] = Counter()
    for part in portions(rows, _PAGE):
        for (data,) in session.rows("SELECT tags FROM $held WHERE row = ANY(?)", part):
            counts.update(unpack_tags(data)[0].tolist())
    del counts[term.id]
    terms = terms_by_id(session, counts)
    ranked = sorted(
        (-n, terms[id_].key) for id_, n in counts.items() if terms[id_].kind == TermKind.TAG
    )
    return [Neighbor(tag=display(key), weight=-n) for n, key in ranked[:k]]


def cooccurrence(session: Session) -> nx.Graph[str]:
    """Return the graph of tags; ``weight`` is the number of chunks that hold both."""
    counts: Counter[tuple[int, int]] = Counter()
    terms: dict[int, Term] = {}
    for page in pages(session, "SELECT row, tags FROM $held WHERE row > ? ORDER BY row", _PAGE):
        lists = [unpack_tags(data)[0].tolist() for _, data in page]
        new = {tag for tags in lists for tag in tags if tag not in terms}
        terms.update(terms_by_id(session, new))
        for tags in lists:
            counts.update(combinations((t for t in tags if terms[t].kind == TermKind.TAG), 2))
    graph: nx.Graph[str] = nx.Graph()
    for term in terms.values():
        if term.kind == TermKind.TAG:
            graph.add_node(display(term.key), chunks=term.df, titles=term.titles)
    for (first, second), weight in counts.items():
        graph.add_edge(
            display(terms[first].key), display(terms[second].key), weight=weight, learned=0.0
        )
    return graph
