"""Postings: for each term the chunks that hold it, in blocks of 1,280 at most.

A posting is a record of six bytes: the row, a number and a role. For a word they are how often it
occurs and the code of the chunk's length, for a tag 1 and its :class:`~hebbgraph.terms.Role`. Rows
ascend within a term, over all of its blocks.

New chunks have the highest rows, so their postings are appended to the last block of each term.
That block is small, so that a chunk costs few bytes a word; once it is full it joins the one
before. Learned edges lie in such blocks, too: for each cue the sums that it leads to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.errors import DamagedIndexError
from hebbgraph.store.database import Session

RECORD = np.dtype([("row", "<i4"), ("number", "u1"), ("role", "u1")])
_BLOCK = 1280  # records; of postings, with its row, a block fills a page of the database
_TAIL = 256  # records of a last block that still grows
_PORTION = 200_000  # records that are changed together


class Postings(NamedTuple):
    """The chunks of one term, with ascending rows; all arrays have shape (n,)."""

    rows: NDArray[np.int32]
    numbers: NDArray[np.uint8]
    roles: NDArray[np.uint8]

    @classmethod
    def decode(cls, data: bytes) -> Postings:
        records = np.frombuffer(data, RECORD)
        return cls(*(records[name].copy() for name in ("row", "number", "role")))

    def take(self, at: Any) -> Postings:
        return Postings(*(column[at] for column in self))


def united(held: Sequence[Postings]) -> Postings:
    """Return the chunks of any of some terms, each with its highest number."""
    if len(held) < 2:
        return held[0] if held else Postings.decode(b"")
    every = Postings(*map(np.concatenate, zip(*held, strict=True)))
    ordered = every.take(np.lexsort((~every.numbers, every.rows)))
    return ordered.take(np.unique(ordered.rows, return_index=True)[1])


def read_postings(session: Session, terms: Iterable[int]) -> dict[int, Postings]:
    """Return the postings of each term, in the order of the terms."""
    read: dict[int, list[bytes]] = {term: [] for term in terms}
    sql = "SELECT term, data FROM $posting WHERE term = ANY(?) ORDER BY term, first"
    for term, data in session.rows(sql, list(read)):
        if term not in read:
            raise DamagedIndexError("a block of postings has another term; call rebuild()")
        read[term].append(data)
    return {term: Postings.decode(b"".join(parts)) for term, parts in read.items()}


class Blocks:
    """A table of records by a key and a row, which begins each record; both ascend.

    ``row`` is the name of the row in a record; ``keys`` selects those of some keys that are there.
    """

    def __init__(self, table: str, key: str, row: str, keys: str, dtype: np.dtype[np.void]) -> None:
        self._row, self._size, self._dtype = row, dtype.itemsize, dtype
        # The blocks that may hold rows from the one to the other. A block's ``first`` is a bound:
        # its first row may have been removed.
        self._places = f"""
            SELECT {key}, first, block FROM ({keys}) AS k
            JOIN {table} ON {key} = k.id AND first <= ? AND first >=
            coalesce((SELECT max(first) FROM {table} WHERE {key} = k.id AND first <= ?), 0)
            ORDER BY {key}, first
        """
        self._last_two = f"""
            SELECT {key}, block, data FROM ({keys}) AS k
            JOIN {table} ON {key} = k.id AND first >= (SELECT max(first) FROM {table} WHERE
            {key} = k.id AND first < (SELECT max(first) FROM {table} WHERE {key} = k.id))
            ORDER BY {key}, first
        """
        self._read = f"SELECT block, data FROM {table} WHERE block = ANY(?)"
        self._update = f"UPDATE {table} SET data = ? WHERE block = ?"
        self._insert = f"INSERT INTO {table}({key}, first, data) VALUES (?, ?, ?)"
        self._delete = f"DELETE FROM {table} WHERE block = ANY(?)"

    def add(self, session: Session, keys: IntArray, records: NDArray[np.void]) -> None:
        """Add records, one for each of some keys; those that are there already are replaced."""
        order = np.lexsort((records[self._row], keys))
        keys, records = keys[order], records[order]
        for part in _parts(keys):
            self._add(session, keys[part], records[part])

    def remove(self, session: Session, keys: IntArray, rows: IntArray) -> None:
        """Remove records, given by key and row."""
        order = np.lexsort((rows, keys))
        keys, rows = keys[order], rows[order]
        for part in _parts(keys):
            updated, deleted = [], []
            gone = rows[part]
            for _, block, data, start, stop in self._runs(session, keys[part], gone):
                held = np.frombuffer(data, self._dtype)
                kept = held[~np.isin(held[self._row], gone[start:stop])]
                if len(kept):
                    updated.append((kept.tobytes(), block))
                else:
                    deleted.append(block)
            session.many(self._update, updated)
            session.run(self._delete, deleted)

    def _runs(
        self, session: Session, keys: IntArray, rows: IntArray
    ) -> Iterator[tuple[int, int, bytes, int, int]]:
        """Yield key, block (0 for none), what it holds, start and stop of sorted records in it."""
        distinct = np.unique(keys)
        places = session.rows(self._places, distinct.tolist(), int(rows.max()), int(rows.min()))
        found, firsts, blocks = np.array(places, np.int64).reshape(-1, 3).T
        # Keys may be too large to share one number with a row; their positions are not.
        owners, owner = distinct.searchsorted(found), distinct.searchsorted(keys)
        at = (owners << 32 | firsts).searchsorted(owner << 32 | rows, "right") - 1
        block = np.zeros(len(keys), np.int64)
        known = np.append(owners, -1)[at] == owner
        block[known] = blocks[at[known]]
        is_next = (np.diff(keys) != 0) | (np.diff(block) != 0)
        bounds = [0, *(np.flatnonzero(is_next) + 1).tolist(), len(keys)]
        contents = {0: b"", **dict(session.rows(self._read, np.unique(block).tolist()))}
        for start, stop in pairwise(bounds):
            number = int(block[start])
            yield int(keys[start]), number, contents[number], start, stop

    def _add(self, session: Session, keys: IntArray, records: NDArray[np.void]) -> None:
        """Add sorted records to the blocks where they belong; they replace those of equal rows."""
        updated: list[tuple[bytes, int]] = []
        inserted: list[tuple[int, int, bytes]] = []
        full = []
        size = self._size
        rows, encoded = records[self._row].tolist(), records.tobytes()
        for key, block, data, start, stop in self._runs(session, keys, records[self._row]):
            first, new = rows[start], encoded[size * start : size * stop]
            if first > int.from_bytes(data[-size:][:4], "little"):  # or there is no block
                if len(data) > size * _TAIL:
                    block, data = 0, b""
                if len(data) + len(new) > size * _TAIL:
                    full.append(key)
                new = data + new
            else:
                held, later = np.frombuffer(data, self._dtype), records[start:stop]
                both = np.append(held[~np.isin(held[self._row], later[self._row])], later)
                new = both[both[self._row].argsort()].tobytes()
            for at in range(0, len(new), size * _BLOCK):
                part = new[at : at + size * _BLOCK]
                if at == 0 and block:
                    updated.append((part, block))
                else:
                    inserted.append((key, int.from_bytes(part[:4], "little"), part))
        session.many(self._update, updated)
        session.many(self._insert, inserted)
        if full:
            self._join_last(session, full)

    def _join_last(self, session: Session, keys: Sequence[int]) -> None:
        """Let the last block of each key join the one before, if they make one block."""
        updated, deleted = [], []
        last = session.rows(self._last_two, keys)
        for (key, block, data), (other, end, more) in pairwise(last):
            if key == other and len(data) + len(more) <= self._size * _BLOCK:
                updated.append((data + more, block))
                deleted.append(end)
        session.many(self._update, updated)
        session.run(self._delete, deleted)


_POSTINGS = Blocks("$posting", "term", "row", "SELECT id FROM $term WHERE id = ANY(?)", RECORD)
remove_postings = _POSTINGS.remove


def add_postings(session: Session, terms: IntArray, added: Postings) -> None:
    """Add postings, one for each of some terms; those that are there already are replaced."""
    _POSTINGS.add(session, terms, np.asarray(np.rec.fromarrays(added, dtype=RECORD)))


def _parts(keys: IntArray) -> Iterator[slice]:
    """Yield portions of sorted keys, equal ones in the same."""
    stop = 0
    while stop < len(keys):
        start, last = stop, min(stop + _PORTION, len(keys)) - 1
        stop = int(keys.searchsorted(keys[last], "right"))
        yield slice(start, stop)


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
