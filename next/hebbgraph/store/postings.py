"""Postings: for each term the chunks that hold it, in blocks of 1,280 at most.

A block is four bytes for each row, then a byte for each number, then a byte for each role: for a
word how often it occurs and the code of the chunk's length, for a tag 1 and its
:class:`~hebbgraph.terms.Role`. Rows ascend within a term, over all of its blocks.

New chunks have the highest rows, so they are appended to the last block of each term. That block
is small, so that a chunk costs few bytes a word; once it is full it joins the one before.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.store.database import Session

__all__ = [
    "EMPTY",
    "NO_ENTRIES",
    "Entries",
    "Postings",
    "change_postings",
    "pack_tags",
    "portions",
    "read_postings",
    "unpack_tags",
    "unpack_words",
]

_BLOCK = 1280  # postings; with its row, a block fills a page of the database
_TAIL = 256  # postings of a last block that still grows
_FEW = 4  # rows that are removed one by one
_MANY = 4  # postings for each term, on average
_PORTION = 20_000  # terms that are changed together

_NEWEST_BLOCKS = """
    SELECT term, block, first, n, data FROM $posting AS p
    WHERE term = ANY(?) AND first = (SELECT max(first) FROM $posting WHERE term = p.term)
"""
_BLOCKS_AT = """
    SELECT block, n, data FROM $posting AS p WHERE term = ANY(?) AND first =
    (SELECT max(first) FROM $posting WHERE term = p.term AND first <= ?)
"""


class Postings(NamedTuple):
    """The chunks of one term, with ascending rows; all arrays have shape (n,)."""

    rows: NDArray[np.int32]
    numbers: NDArray[np.uint8]
    roles: NDArray[np.uint8]

    @classmethod
    def decode(cls, n: int, data: bytes) -> Postings:
        """Read a block."""
        return cls(
            np.frombuffer(data, "<i4", n),
            np.frombuffer(data, np.uint8, n, 4 * n),
            np.frombuffer(data, np.uint8, n, 5 * n),
        )

    def encode(self) -> bytes:
        """Write a block."""
        return b"".join(column.tobytes() for column in self)

    @classmethod
    def joined(cls, parts: list[Postings]) -> Postings:
        """Concatenate blocks."""
        if len(parts) < 2:
            return parts[0] if parts else EMPTY
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def take(self, at: Any) -> Postings:
        """Return some of the postings, by position, mask or slice."""
        return Postings(*(column[at] for column in self))


EMPTY = Postings(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8))


class Entries(NamedTuple):
    """Postings of several terms; all arrays have shape (n,)."""

    terms: NDArray[np.int64]
    postings: Postings

    def sorted(self) -> Entries:
        """Return the entries by term, then row."""
        order = np.lexsort((self.postings.rows, self.terms))
        return Entries(self.terms[order], self.postings.take(order))

    def runs(self, terms: IntArray) -> tuple[list[int], list[int]]:
        """Return where the entries of each of some terms begin and end, in sorted entries."""
        first = self.terms.searchsorted(terms, "left")
        return first.tolist(), self.terms.searchsorted(terms, "right").tolist()


NO_ENTRIES = Entries(np.empty(0, np.int64), EMPTY)


def read_postings(session: Session, terms: Iterable[int]) -> dict[int, Postings]:
    """Return the postings of each term; those that no chunk holds are left out."""
    parts: dict[int, list[Postings]] = {}
    for term, n, data in session.rows(
        "SELECT term, n, data FROM $posting WHERE term = ANY(?) ORDER BY term, first", list(terms)
    ):
        parts.setdefault(term, []).append(Postings.decode(n, data))
    return {term: Postings.joined(blocks) for term, blocks in parts.items()}


class _Writes:
    """Blocks to write, collected so that each kind of statement runs once."""

    def __init__(self) -> None:
        self.updated: list[tuple[int, int, bytes, int]] = []
        self.inserted: list[tuple[int, int, int, bytes]] = []
        self.deleted: list[int] = []

    def put(self, term: int, postings: Postings, block: int | None) -> None:
        """Write postings to a block and, if they are too many, to new ones after it."""
        n = len(postings.rows)
        if not n:
            if block is not None:
                self.deleted.append(block)
            return
        for start in range(0, n, _BLOCK):
            part = postings.take(slice(start, start + _BLOCK)) if n > _BLOCK else postings
            values = int(part.rows[0]), len(part.rows), part.encode()
            if start == 0 and block is not None:
                self.updated.append((*values, block))
            else:
                self.inserted.append((term, *values))

    def run(self, session: Session) -> None:
        if self.deleted:
            session.run("DELETE FROM $posting WHERE block = ANY(?)", self.deleted)
        if self.updated:
            session.many(
                "UPDATE $posting SET first = ?, n = ?, data = ? WHERE block = ?", self.updated
            )
        if self.inserted:
            session.many(
                "INSERT INTO $posting(term, first, n, data) VALUES (?, ?, ?, ?)", self.inserted
            )


def change_postings(session: Session, added: Entries, removed: Entries) -> None:
    """Add postings to the blocks of their terms, and remove others.

    Parameters
    ----------
    session : Session
    added, removed : Entries
        In any order; of ``removed``, numbers and roles do not matter. A posting in both is
        replaced.
    """
    rows = np.unique(removed.postings.rows)
    if len(rows) <= _FEW:
        for row in rows.tolist():
            _remove_row(session, removed.terms[removed.postings.rows == row], row)
        removed = NO_ENTRIES
    added, removed = added.sorted(), removed.sorted()
    terms = np.union1d(added.terms, removed.terms)
    # A block that grows little by little stays small; many postings at once fill one up.
    many = len(added.terms) > _MANY * max(len(terms), 1)
    for start in range(0, len(terms), _PORTION):
        part = terms[start : start + _PORTION]
        _change(session, part, added, removed, _BLOCK if many else _TAIL)


def _remove_row(session: Session, terms: IntArray, row: int) -> None:
    """Remove one row from the postings of terms, which hold it."""
    updated: list[tuple[int, bytes, int]] = []
    deleted: list[int] = []
    for block, n, data in session.rows(_BLOCKS_AT, terms.tolist(), row):
        rows = np.frombuffer(data, "<i4", n)
        at = int(rows.searchsorted(row))
        if at == n or rows[at] != row:
            continue
        if n == 1:
            deleted.append(block)
            continue
        # The first row of a block may go: ``first`` is a bound.
        kept = (data[: 4 * at], data[4 * at + 4 : 4 * n + at], data[4 * n + at + 1 : 5 * n + at])
        updated.append((n - 1, b"".join((*kept, data[5 * n + at + 1 :])), block))
    session.many("UPDATE $posting SET n = ?, data = ? WHERE block = ?", updated)
    if deleted:
        session.run("DELETE FROM $posting WHERE block = ANY(?)", deleted)


def _change(session: Session, terms: IntArray, added: Entries, removed: Entries, most: int) -> None:
    newest = {term: block for term, *block in session.rows(_NEWEST_BLOCKS, terms.tolist())}
    writes = _Writes()
    inside: list[tuple[int, Postings, NDArray[np.int32]]] = []
    firsts = added.postings.rows.tolist()
    rows, numbers, roles = (column.tobytes() for column in added.postings)
    for term, start, stop, gone, gone_stop in zip(
        terms.tolist(), *added.runs(terms), *removed.runs(terms), strict=True
    ):
        new, n = None, stop - start
        if gone == gone_stop and n <= _BLOCK:
            new = rows[4 * start : 4 * stop], numbers[start:stop], roles[start:stop]
        if new is None:
            is_done = False
        elif term not in newest:
            is_done = True
            writes.inserted.append((term, firsts[start], n, b"".join(new)))
        else:
            is_done = _append(writes, term, newest[term], firsts[start], n, new, most)
        if not is_done:
            part = added.postings.take(slice(start, stop))
            inside.append((term, part, removed.postings.rows[gone:gone_stop]))
    if inside:
        _change_inside(session, inside, writes)
    writes.run(session)


def _append(
    writes: _Writes,
    term: int,
    block: list[Any],
    row: int,
    n: int,
    new: tuple[bytes, bytes, bytes],
    most: int,
) -> bool:
    """Append n postings, from a row on, to the newest block or as one after it, if they fit.

    A block takes up to ``most`` postings.
    """
    number, first, held, data = block
    if row <= int.from_bytes(data[4 * held - 4 : 4 * held], "little"):
        return False
    if held > most or (most == _BLOCK and held + n > _BLOCK):
        writes.inserted.append((term, row, n, b"".join(new)))
        return True
    if held + n > most:  # it joins the one before; see _change_inside
        return False
    rows, numbers, roles = data[: 4 * held], data[4 * held : 5 * held], data[5 * held :]
    joined = b"".join((rows, new[0], numbers, new[1], roles, new[2]))
    writes.updated.append((first, held + n, joined, number))
    return True


def _change_inside(
    session: Session, changes: list[tuple[int, Postings, NDArray[np.int32]]], writes: _Writes
) -> None:
    """Change blocks other than the last, and let a full last block join the one before."""
    places: dict[int, list[tuple[int, int, int]]] = {}
    for term, *place in session.rows(
        "SELECT term, first, n, block FROM $posting WHERE term = ANY(?) ORDER BY term, first",
        [term for term, _, _ in changes],
    ):
        places.setdefault(term, []).append((place[0], place[1], place[2]))
    wanted: dict[int, tuple[int, Postings, NDArray[np.int32]]] = {}
    joins: dict[int, int] = {}
    for term, new, gone in changes:
        held = places.get(term, [])
        firsts, blocks = np.array([f for f, _, _ in held], np.int64), [b for _, _, b in held]
        if not blocks:
            writes.put(term, new, None)
            continue
        owner_new = np.maximum(firsts.searchsorted(new.rows, "right") - 1, 0)
        owner_gone = np.maximum(firsts.searchsorted(gone, "right") - 1, 0)
        for at in np.union1d(owner_new, owner_gone).tolist():
            part = new.take(owner_new == at), gone[owner_gone == at]
            wanted[blocks[at]] = (term, *part)
            n = held[at][1] + len(part[0].rows)
            if at == len(blocks) - 1 > 0 and n > _TAIL and held[at - 1][1] + n <= _BLOCK:
                joins[blocks[at]] = blocks[at - 1]
    contents = _contents(session, [*wanted, *joins.values()])
    for block, (term, new, gone) in wanted.items():
        content, before = _merged(contents[block], new, gone), joins.get(block)
        if before is not None and before not in wanted:
            writes.deleted.append(block)
            block, content = before, Postings.joined([contents[before], content])
        writes.put(term, content, block)


def _contents(session: Session, blocks: Iterable[int]) -> dict[int, Postings]:
    rows = session.rows("SELECT block, n, data FROM $posting WHERE block = ANY(?)", list(blocks))
    return {block: Postings.decode(n, data) for block, n, data in rows}


def _merged(held: Postings, new: Postings, gone: NDArray[np.int32]) -> Postings:
    """Return postings without some rows and with new ones, which replace those of equal rows."""
    out = np.isin(held.rows, np.concatenate((gone, new.rows)), invert=True)
    both = Postings.joined([held.take(out), new])
    return both.take(np.argsort(both.rows, kind="stable"))


def portions(values: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield a list in portions."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def pack_tags(terms: Sequence[int], roles: Sequence[int]) -> bytes:
    """Return the tags of a chunk and their roles as the column ``tags`` holds them."""
    return struct.pack(f"<{len(terms)}i", *terms) + bytes(roles)


def unpack_tags(data: bytes) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the terms and roles of a column ``tags``."""
    n = len(data) // 5
    return np.frombuffer(data, "<i4", n), np.frombuffer(data, np.uint8, n, 4 * n)


def unpack_words(data: bytes) -> NDArray[np.int32]:
    """Return the terms of a column ``words``."""
    return np.frombuffer(data, "<i4")
