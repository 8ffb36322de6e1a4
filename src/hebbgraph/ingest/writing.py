"""A batch of new chunks and deletions, as rows of one transaction.

Everything is exact when :func:`write_batch` returns, but for the tags that chunks mention: the
rows whose tags must be matched are noted in ``pending``, and terms because of which older chunks
must be matched again in ``changed``. :mod:`hebbgraph.ingest.tagging` does that, for a small batch
in the same transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import Float32Array, IntArray
from hebbgraph.formulas.bm25 import length_code
from hebbgraph.ingest.prepare import WORTH, Prepared, ProposedAs
from hebbgraph.store.chunks import COLUMNS, StoredChunk, facts_of, insert_chunks, rows_of
from hebbgraph.store.database import Session
from hebbgraph.store.meta import Counts, read_counts, vector_units, write_counts, write_meta
from hebbgraph.store.postings import (
    Postings,
    add_postings,
    pack_pairs,
    remove_postings,
    unpack_pairs,
    unpack_tags,
    unpack_words,
)
from hebbgraph.store.terms import MIN_PROPOSALS, count_held, drop_unused, number_terms, terms_by_id
from hebbgraph.terms import TermKind

#: A phrase whose rarest word stands in more chunks than this is no mention. It would be a hub, and
#: this bounds how many chunks are matched again when a phrase becomes known.
MOST_HOLDERS = 1000
#: Deleted embeddings are remembered while so many newer ones were made.
_MOST_GONE = 100_000


class _Removed(NamedTuple):
    """What the chunks of some rows held: words and tags as terms, and the row for each."""

    rows: list[int]
    length: int
    terms: IntArray
    row_of_term: IntArray
    proposed: list[list[tuple[int, int]]]


_NO_TERMS: IntArray = np.empty(0, np.int64)
_NOTHING = _Removed([], 0, _NO_TERMS, _NO_TERMS, [])


def write_batch(session: Session, added: Sequence[Prepared], removed: Collection[int]) -> None:
    """Write new chunks, with ids that no row has but those removed, and remove rows."""
    counts = read_counts(session)
    gone = _remove(session, removed)
    proposed = _numbered(session, added)
    rows = _insert_chunks(session, added, proposed)
    _index(session, added, rows, proposed, gone)
    counts = counts._replace(
        chunks=counts.chunks + len(added) - len(gone.rows),
        length=counts.length + sum(new.length for new in added) - gone.length,
    )
    counts = _remove_vectors(session, counts, gone.rows)
    vectors = [(row, new.vector) for row, new in zip(rows, added, strict=True)]
    counts = _add_vectors(session, counts, [(row, v) for row, v in vectors if v is not None])
    write_counts(session, counts)


def write_derived(session: Session, added: Sequence[Prepared], rows: Sequence[int]) -> None:
    """Write what follows from the texts of chunks that are stored."""
    counts = read_counts(session)
    proposed = _numbered(session, added)
    lengths = [new.length for new in added]
    session.many(
        "UPDATE $chunk SET length = ?, proposed = ? WHERE row = ?",
        ((n, pack_pairs(p), row) for n, p, row in zip(lengths, proposed, rows, strict=True)),
    )
    _index(session, added, rows, proposed, _NOTHING)
    write_counts(session, counts._replace(length=counts.length + sum(lengths)))


def _numbered(session: Session, added: Sequence[Prepared]) -> list[list[tuple[int, int]]]:
    """Return the proposals of each chunk as (term, code)."""
    keys = {key for new in added for key, _ in new.proposed}
    phrases = number_terms(session, TermKind.TAG, keys)
    return [[(phrases[key], code) for key, code in new.proposed] for new in added]


def _index(
    session: Session,
    added: Sequence[Prepared],
    rows: Sequence[int],
    proposed: Sequence[list[tuple[int, int]]],
    gone: _Removed,
) -> None:
    """Write words, proposals and facts of new chunks, and take those of removed ones back."""
    remove_postings(session, gone.terms, gone.row_of_term)
    terms = _add_words(session, added, rows)
    crossed = _count(session, terms, gone.terms)
    flipped = _count_proposals(session, proposed, gone.proposed)
    facts = [
        (*fact, row)
        for row, new in zip(rows, added, strict=True)
        for fact in facts_of(new.chunk.metadata)
    ]
    session.many("INSERT INTO $fact(key, number, string, row) VALUES (?, ?, ?, ?)", facts)
    session.many(
        "INSERT INTO $pending(row, tokens) VALUES (?, ?)",
        ((row, new.tokens) for row, new in zip(rows, added, strict=True)),
    )
    session.many(
        "INSERT INTO $changed(term) VALUES (?) ON CONFLICT DO NOTHING",
        ((term,) for term in (*crossed, *flipped)),
    )
    write_meta(session, {"open_tags": "1"})
    if gone.rows:
        proposals = [term for pairs in gone.proposed for term, _ in pairs]
        drop_unused(session, np.union1d(gone.terms, np.array(proposals, np.int64)))


# -- removing -----------------------------------------------------------------------------


def _remove(session: Session, rows: Collection[int]) -> _Removed:
    """Delete the rows of chunks; their postings and counts are left for the caller."""
    if not rows:
        return _NOTHING
    wanted = list(rows)
    chunks = session.rows("SELECT length, proposed FROM $chunk WHERE row = ANY(?)", wanted)
    lists = session.rows("SELECT row, words, tags FROM $held WHERE row = ANY(?)", wanted)
    for table in ("chunk", "held", "fact", "pending"):
        session.run(f"DELETE FROM ${table} WHERE row = ANY(?)", wanted)
    terms = [np.concatenate((unpack_words(w), unpack_tags(tags)[0])) for _, w, tags in lists]
    found = [row for row, _, _ in lists]
    return _Removed(
        rows=found,
        length=sum(length for length, _ in chunks),
        terms=np.concatenate([_NO_TERMS, *terms]),
        row_of_term=np.repeat(np.array(found, np.int64), list(map(len, terms))),
        proposed=[unpack_pairs(data) for _, data in chunks],
    )


# -- adding -------------------------------------------------------------------------------


def _insert_chunks(
    session: Session, added: Sequence[Prepared], proposed: Sequence[list[tuple[int, int]]]
) -> list[int]:
    rows = (
        (*StoredChunk.of(new.chunk, new.tagged), new.length, pack_pairs(pairs))
        for new, pairs in zip(added, proposed, strict=True)
    )
    insert_chunks(session, COLUMNS[1:], (columns for _, *columns in rows))  # without the row
    row_of = rows_of(session, [new.chunk.id for new in added])
    return [row_of[new.chunk.id] for new in added]


def _add_words(session: Session, added: Sequence[Prepared], rows: Sequence[int]) -> IntArray:
    """Write the postings and the forward lists of words; return each term once for each chunk."""
    words = set().union(*(new.words for new in added))
    numbers = number_terms(session, TermKind.WORD, words)
    sizes = [len(new.words) for new in added]
    n = sum(sizes)
    held = map(numbers.__getitem__, chain.from_iterable(new.words for new in added))
    terms = np.fromiter(held, np.int64, n)
    every = chain.from_iterable(new.words.values() for new in added)
    occurrences = np.fromiter(every, np.int64, n)
    codes = np.array([length_code(new.length) for new in added], np.uint8)
    postings = Postings(
        np.repeat(np.array(rows, "<i4"), sizes),
        np.minimum(occurrences, 255).astype(np.uint8),
        np.repeat(codes, sizes),
    )
    forward, ends = terms.astype("<i4"), np.cumsum(sizes).tolist()
    session.many(
        "INSERT INTO $held(row, words, tags) VALUES (?, ?, ?)",
        (
            (row, forward[end - size : end].tobytes(), b"")
            for row, size, end in zip(rows, sizes, ends, strict=True)
        ),
    )
    add_postings(session, terms, postings)
    return terms


# -- counting, and vectors ----------------------------------------------------------------


def _count(session: Session, added: IntArray, removed: IntArray) -> list[int]:
    """Change the document frequencies; return the words that are now common, or cease to be."""
    terms, before, after = count_held(session, added, removed)
    has_crossed = (before > MOST_HOLDERS) != (after > MOST_HOLDERS)
    crossed = terms_by_id(session, terms[has_crossed].tolist()).values()
    words = [term for term in crossed if term.kind == TermKind.WORD]
    common = [(term.key,) for term in words if term.df > MOST_HOLDERS]
    rare = [(term.key,) for term in words if term.df <= MOST_HOLDERS]
    session.many("INSERT INTO $common(word) VALUES (?)", common)
    session.many("DELETE FROM $common WHERE word = ?", rare)
    return [term.id for term in words]


def _count_proposals(
    session: Session,
    added: Sequence[list[tuple[int, int]]],
    removed: Sequence[list[tuple[int, int]]],
) -> list[int]:
    """Change the counts of proposed phrases; return those that became known, or ceased to be."""
    chunks = [*added, *removed]
    signs = np.repeat([1, -1], [len(added), len(removed)])
    flat = chain.from_iterable(chain.from_iterable(chunks))
    numbers, codes = np.fromiter(flat, np.int64).reshape(-1, 2).T
    owner = np.repeat(np.arange(len(chunks)), [len(chunk) for chunk in chunks])
    terms, position = np.unique(numbers, return_inverse=True)
    changes = np.zeros((len(terms), 4), np.int64)
    is_given = codes == ProposedAs.GIVEN
    for column, chosen in enumerate((~is_given, codes == ProposedAs.TITLE, is_given)):
        # A chunk counts once, whatever it proposes a phrase as.
        distinct = np.unique(owner[chosen] * len(terms) + position[chosen])
        chunk, term = np.divmod(distinct, max(len(terms), 1))
        np.add.at(changes[:, column], term, signs[chunk])
    np.add.at(changes[:, 3], position, np.array(WORTH)[codes] * signs[owner])
    rows = session.rows(
        "SELECT id, proposals, titles, given, support FROM $term WHERE id = ANY(?) ORDER BY id",
        terms.tolist(),
    )
    before = np.array(rows, np.int64).reshape(-1, 5)[:, 1:]
    after = before + changes
    at = changes.any(axis=1)
    session.many(
        "UPDATE $term SET proposals = ?, titles = ?, given = ?, support = ? WHERE id = ?",
        np.column_stack((after[at], terms[at])).tolist(),
    )
    was_known, is_known = (
        (counts[:, 1] > 0) | (counts[:, 0] >= MIN_PROPOSALS) for counts in (before, after)
    )
    is_new = (is_known | (after[:, 2] > 0)) & ~was_known & (before[:, 2] == 0)
    _note_openings(session, terms[is_new])
    flipped: list[int] = terms[was_known != is_known].tolist()
    return flipped


def _note_openings(session: Session, terms: IntArray) -> None:
    """Note how long phrases are, by first word: a bound that only grows, and saves look-ups."""
    longest: dict[str, int] = {}
    for (key,) in session.rows("SELECT key FROM $term WHERE id = ANY(?)", terms.tolist()):
        first, n = key.partition(" ")[0], key.count(" ") + 1
        longest[first] = max(longest.get(first, 0), n)
    session.many(
        "INSERT INTO $opening AS o(word, longest) VALUES (?, ?) ON CONFLICT (word) DO UPDATE "
        "SET longest = excluded.longest WHERE excluded.longest > o.longest",
        list(longest.items()),
    )


def _remove_vectors(session: Session, counts: Counts, rows: Sequence[int]) -> Counts:
    if not rows or not counts.vectors:
        return counts
    held = session.rows("SELECT seq, stamp, data FROM $embedding WHERE row = ANY(?)", list(rows))
    session.run("DELETE FROM $embedding WHERE row = ANY(?)", list(rows))
    session.many("INSERT INTO $gone(seq, stamp) VALUES (?, ?)", ((s, t) for s, t, _ in held))
    session.run("DELETE FROM $gone WHERE seq < (SELECT max(seq) FROM $gone) - ?", _MOST_GONE)
    total = sum(vector_units(np.frombuffer(data, "<f4")) for *_, data in held)
    return counts._replace(vectors=counts.vectors - len(held), vector_sum=counts.vector_sum - total)


def _add_vectors(
    session: Session, counts: Counts, vectors: Sequence[tuple[int, Float32Array]]
) -> Counts:
    if not vectors:
        return counts
    session.many(
        "INSERT INTO $embedding(row, stamp, data) VALUES (?, ?, ?)",
        ((row, secrets.randbits(62), v.astype("<f4").tobytes()) for row, v in vectors),
    )
    before = counts.vector_sum if len(counts.vector_sum) else np.zeros(1, np.int64)
    total = sum((vector_units(vector) for _, vector in vectors), start=before)
    return counts._replace(vectors=counts.vectors + len(vectors), vector_sum=total)
