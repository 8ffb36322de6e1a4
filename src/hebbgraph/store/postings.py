"""Postings: for each term the chunks that hold it, in blocks of 1,280 at most.

A posting is a record of six bytes: the row, a number and a role. For a word they are how often it
occurs and the code of the chunk's length, for a tag 1 and its :class:`~hebbgraph.terms.Role`. Rows
ascend within a term, over all of its blocks.

New chunks have the highest rows, so their postings are appended to the last block of each term.
That block is small, so that a chunk costs few bytes a word; once it is full it joins the one
before.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.store.database import Session

__all__ = [
    "EMPTY",
    "Postings",
    "add_postings",
    "pack_pairs",
    "portions",
    "read_postings",
    "remove_postings",
    "unpack_pairs",
    "unpack_tags",
    "unpack_words",
]

RECORD = np.dtype([("row", "<i4"), ("number", "u1"), ("role", "u1")])
_SIZE = RECORD.itemsize
_BLOCK = 1280  # postings; with its row, a block fills a page of the database
_TAIL = 256  # postings of a last block that still grows
_PORTION = 200_000  # postings that are changed together

#: The blocks that may hold rows from the one to the other. A block's ``first`` is a bound: its
#: first row may have been removed.
_PLACES = """
    SELECT term, first, block FROM (SELECT id FROM $term WHERE id = ANY(?)) AS t
    JOIN $posting ON term = t.id AND first <= ? AND first >=
    coalesce((SELECT max(first) FROM $posting WHERE term = t.id AND first <= ?), 0)
    ORDER BY term, first
"""
_LAST_TWO = """
    SELECT term, block, data FROM (SELECT id FROM $term WHERE id = ANY(?)) AS t
    JOIN $posting ON term = t.id AND first >= (SELECT max(first) FROM $posting WHERE term = t.id
    AND first < (SELECT max(first) FROM $posting WHERE term = t.id))
    ORDER BY term, first
"""


class Postings(NamedTuple):
    """The chunks of one term, with ascending rows; all arrays have shape (n,)."""

    rows: NDArray[np.int32]
    numbers: NDArray[np.uint8]
    roles: NDArray[np.uint8]

    @classmethod
    def decode(cls, data: bytes) -> Postings:
        """Read one block or several."""
        records = np.frombuffer(data, RECORD)
        return cls(*(records[name].copy() for name in ("row", "number", "role")))

    def take(self, at: Any) -> Postings:
        """Return some of the postings, by position, mask or slice."""
        return Postings(*(column[at] for column in self))


EMPTY = Postings.decode(b"")


def read_postings(session: Session, terms: Iterable[int]) -> dict[int, Postings]:
    """Return the postings of each term; those that no chunk holds are left out."""
    blocks: dict[int, list[bytes]] = {}
    for term, data in session.rows(
        "SELECT term, data FROM $posting WHERE term = ANY(?) ORDER BY term, first", list(terms)
    ):
        blocks.setdefault(term, []).append(data)
    return {term: Postings.decode(b"".join(parts)) for term, parts in blocks.items()}


def add_postings(session: Session, terms: IntArray, added: Postings) -> None:
    """Add postings, one for each of some terms; those that are there already are replaced."""
    order = np.lexsort((added.rows, terms))
    terms = terms[order]
    records = np.asarray(np.rec.fromarrays(added.take(order), dtype=RECORD))
    for part in _parts(terms):
        _add(session, terms[part], records[part])


def remove_postings(session: Session, terms: IntArray, rows: IntArray) -> None:
    """Remove postings, given by term and row."""
    order = np.lexsort((rows, terms))
    terms, rows = terms[order], rows[order]
    for part in _parts(terms):
        updated, deleted = [], []
        gone = rows[part]
        for _, block, data, start, stop in _runs(session, terms[part], gone):
            held = np.frombuffer(data, RECORD)
            kept = held[~np.isin(held["row"], gone[start:stop])]
            if len(kept):
                updated.append((kept.tobytes(), block))
            else:
                deleted.append(block)
        session.many("UPDATE $posting SET data = ? WHERE block = ?", updated)
        session.run("DELETE FROM $posting WHERE block = ANY(?)", deleted)


def _parts(terms: IntArray) -> Iterator[slice]:
    """Yield portions of sorted terms, equal ones in the same."""
    stop = 0
    while stop < len(terms):
        start, last = stop, min(stop + _PORTION, len(terms)) - 1
        stop = int(terms.searchsorted(terms[last], "right"))
        yield slice(start, stop)


def _runs(
    session: Session, terms: IntArray, rows: IntArray
) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Yield term, block (0 for none), what it holds, start and stop of sorted postings in it."""
    span = int(rows.max()), int(rows.min())
    found = session.rows(_PLACES, np.unique(terms).tolist(), *span)
    owners, firsts, blocks = np.array([(-1, 0, 0), *found], np.int64).T
    at = (owners << 32 | firsts).searchsorted(terms.astype(np.int64) << 32 | rows, "right") - 1
    block = np.where(owners[at] == terms, blocks[at], 0)
    is_next = (np.diff(terms) != 0) | (np.diff(block) != 0)
    bounds = [0, *(np.flatnonzero(is_next) + 1).tolist(), len(terms)]
    sql = "SELECT block, data FROM $posting WHERE block = ANY(?)"
    contents = {0: b"", **dict(session.rows(sql, np.unique(block).tolist()))}
    for start, stop in pairwise(bounds):
        number = int(block[start])
        yield int(terms[start]), number, contents[number], start, stop


def _add(session: Session, terms: IntArray, records: NDArray[np.void]) -> None:
    """Add sorted postings to the blocks where they belong."""
    updated: list[tuple[bytes, int]] = []
    inserted: list[tuple[int, int, bytes]] = []
    full = []
    rows, encoded = records["row"].tolist(), records.tobytes()
    for term, block, data, start, stop in _runs(session, terms, records["row"]):
        first, new = rows[start], encoded[_SIZE * start : _SIZE * stop]
        if first > int.from_bytes(data[-_SIZE:][:4], "little"):  # or there is no block
            if len(data) > _SIZE * _TAIL:
                block, data = 0, b""
            if len(data) + len(new) > _SIZE * _TAIL:
                full.append(term)
            new = data + new
        else:
            new = _merged(data, records[start:stop])
        for at in range(0, len(new), _SIZE * _BLOCK):
            part = new[at : at + _SIZE * _BLOCK]
            if at == 0 and block:
                updated.append((part, block))
            else:
                inserted.append((term, int.from_bytes(part[:4], "little"), part))
    session.many("UPDATE $posting SET data = ? WHERE block = ?", updated)
    session.many("INSERT INTO $posting(term, first, data) VALUES (?, ?, ?)", inserted)
    if full:
        _join_last(session, full)


def _merged(data: bytes, new: NDArray[np.void]) -> bytes:
    """Return a block with new postings, which replace those of equal rows."""
    held = np.frombuffer(data, RECORD)
    both = np.concatenate((held[~np.isin(held["row"], new["row"])], new))
    return both[both["row"].argsort()].tobytes()


def _join_last(session: Session, terms: Sequence[int]) -> None:
    """Let the last block of each term join the one before, if they make one block."""
    updated, deleted = [], []
    last = session.rows(_LAST_TWO, terms)
    for (term, block, data), (other, end, more) in pairwise(last):
        if term == other and len(data) + len(more) <= _SIZE * _BLOCK:
            updated.append((data + more, block))
            deleted.append(end)
    session.many("UPDATE $posting SET data = ? WHERE block = ?", updated)
    session.run("DELETE FROM $posting WHERE block = ANY(?)", deleted)


def portions(values: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield a list in portions."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def pack_pairs(pairs: Sequence[tuple[int, int]]) -> bytes:
    """Return terms, each with a role or the code of a proposal, as a column of bytes."""
    terms, codes = zip(*pairs, strict=True) if pairs else ((), ())
    return struct.pack(f"<{len(terms)}i", *terms) + bytes(codes)


def unpack_pairs(data: bytes) -> list[tuple[int, int]]:
    """Return the pairs of a column ``tags`` or ``proposed``."""
    terms, codes = unpack_tags(data)
    return list(zip(terms.tolist(), codes.tolist(), strict=True))


def unpack_tags(data: bytes) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the terms and roles of a column ``tags``."""
    n = len(data) // 5
    return np.frombuffer(data, "<i4", n), np.frombuffer(data, np.uint8, n, 4 * n)


def unpack_words(data: bytes) -> NDArray[np.int32]:
    """Return the terms of a column ``words``."""
    return np.frombuffer(data, "<i4")
