"""Reading the chunks of one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from operator import lt
from typing import Any, Final, NamedTuple, TypeVar

from hebbgraph.errors import DamagedIndexError
from hebbgraph.held_json import read_json
from hebbgraph.records import Chunk, searched, text_hash
from hebbgraph.store.chunk_rows import chunk_of, digest, validity_in
from hebbgraph.store.database import Database, marks
from hebbgraph.store.facts import facts_of
from hebbgraph.store.texts import Passage, TextState, TextStore, hash_in

__all__ = [
    "MINE_BY_ROW",
    "ChunkReader",
    "Dated",
    "Named",
    "Outline",
    "pages",
]

_T = TypeVar("_T")
_PAGE = 500  # bound parameters per statement; every database allows that many
_STEP = 20
_DENSE = 2  # a page is read as a range if at least half of its rows are wanted
_FIELDS = "id, document_id, title, metadata, tags, links, validity, version_of, context, digest"
_MOST_VERIFIED = 100_000
#: That a chunk looked up by row is of a namespace: an expression, so that no index of it is used.
#: SQLite would otherwise walk through all chunks of the namespace instead of using the primary key.
MINE_BY_ROW = "namespace || '' = ?"
#: The dated chunks and old versions among some rows.
_DATED = """
    SELECT row, id, title, validity, version_of FROM chunks
    WHERE namespace = ? AND validity IS NOT NULL AND row > ? AND row <= ? ORDER BY row
"""


class Outline(NamedTuple):
    """A chunk as the database has it: without its text, but with its hash, if that is elsewhere."""

    chunk: Chunk
    text_hash: str | None


class Named(NamedTuple):
    """A row, and the names that tell whose it is."""

    row: int
    document_id: str | None
    id: str
    version_of: str | None


class Dated(NamedTuple):
    """A chunk that says when it holds, or what it supersedes."""

    row: int
    id: str
    title: str
    valid_from: datetime | None
    valid_until: datetime | None
    supersedes: tuple[str, ...]
    version_of: str | None


def by_rows(columns: str, count: int | None) -> str:
    """Return a query for ``count`` rows, or for a range of rows, of a namespace."""
    which = "row BETWEEN ? AND ?" if count is None else f"row IN ({marks(range(count))})"
    return f"SELECT row, {columns} FROM chunks WHERE {which} AND {MINE_BY_ROW} ORDER BY row"


class ChunkReader:
    """The chunks of a namespace, by row and by id.

    Every answer omits rows that were deleted.
    """

    def __init__(
        self, database: Database, namespace: str, text_store: TextStore | None = None
    ) -> None:
        self.database = database
        self.namespace = namespace
        self.text_store: Final[TextStore] = text_store or TextStore()
        #: The hash of each row that was found to have its digest. Rows never change.
        self._verified: dict[int, int] = {}

    def saved_settings(self) -> dict[str, Any] | None:
        """Return the build settings of the namespace, or None if it is new."""
        rows = self.database.ask(
            "SELECT build_settings FROM namespaces WHERE namespace = ?", (self.namespace,)
        )
        return dict(read_json(rows[0][0], dict, "build settings")) if rows else None

    def count(self) -> int:
        """Return the number of chunks."""
        ((count,),) = self._ask("SELECT count(*) FROM chunks WHERE namespace = ?")
        return int(count)

    def _ask(self, sql: str, *values: Any) -> list[Any]:
        """Ask for rows of this namespace, whose mark comes first."""
        return self.database.ask(sql, (self.namespace, *values))

    def _select(self, rows: Iterable[int], columns: str) -> Iterator[Sequence[Any]]:
        for page in pages(map(int, rows)):
            first, last = min(page), max(page)
            dense = last - first < _DENSE * len(page)
            if dense:
                query, bound = by_rows(columns, None), [first, last]
            else:
                # Few different queries: each is compiled once.
                count = min(-(-len(page) // _STEP) * _STEP, _PAGE)
                query, bound = by_rows(columns, count), page + [last] * (count - len(page))
            found = self.database.ask(query, (*bound, self.namespace))
            if dense:  # a damaged page may tell the rows of another
                self.check_order([row[0] for row in found])
            if dense and last - first + 1 > len(page):
                wanted = set(page)
                found = [row for row in found if row[0] in wanted]
            yield found

    def check_order(self, rows: Sequence[int]) -> None:
        """Raise DamagedIndexError unless rows ascend, as the database was asked for them."""
        if not all(map(lt, rows, islice(rows, 1, None))):
            raise DamagedIndexError(
                f"{self.database.place}: the database returns chunks twice or out of "
                "order; restore a backup"
            )

    def candidates(self, rows: Iterable[int]) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
        """Yield (row, id, candidate keys by kind), ascending."""
        for page in self._select(rows, "id, candidates"):
            for row, id_, held in page:
                yield row, id_, read_json(held, dict, "candidates of a chunk")

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str]]:
        """Yield (row, title, searched text), ascending."""
        for row, title, text, *_ in self._texts(rows):
            yield row, title, text

    def texts_and_facts(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str, str]]:
        """Yield (row, title, searched text, facts), ascending; see :mod:`.facts`."""
        held = self._texts(rows, ", document_id, metadata")
        for row, title, text, document_id, metadata in held:
            yield row, title, text, facts_of(document_id, metadata)

    def _texts(self, rows: Iterable[int], more: str = "") -> Iterator[tuple[Any, ...]]:
        store = self.text_store
        for page in self._select(rows, f"id, title, {store.column}, context{more}"):
            checked = store.read([Passage(id_, title, held) for _, id_, title, held, *_ in page])
            for (row, _, title, _, context, *rest), one in zip(page, checked, strict=True):
                yield row, title, searched(one.text, context), *rest

    def addresses(self) -> Iterator[tuple[str, list[str]]]:
        """Yield (document id, or the chunk's own id, addresses) of chunks that have any."""
        query = (
            "SELECT coalesce(document_id, id), links FROM chunks "
            "WHERE namespace = ? AND links IS NOT NULL"
        )
        for document, links in self._ask(query):
            yield document, read_json(links, dict, "links of a chunk").get("addresses", [])

    def dated(self, after: int, last: int) -> list[Dated]:
        """Return the dated chunks and old versions whose rows lie above one and up to another."""
        return [
            Dated(row, id_, title, **validity_in(validity), version_of=version_of)
            for row, id_, title, validity, version_of in self._ask(_DATED, after, last)
        ]

    def versions_of(self, ids: Iterable[str]) -> dict[int, Chunk]:
        """Return these chunks and their old versions by row."""
        return self.fetch(sorted(self.rows_of_versions(ids)))

    def rows_of_versions(self, ids: Iterable[str]) -> list[int]:
        """Return the rows of these chunks and of their old versions."""
        rows: list[int] = []
        for page in pages(ids):
            some = marks(page)
            query = (
                "SELECT row FROM chunks WHERE namespace = ? "
                f"AND (id IN ({some}) OR version_of IN ({some}))"
            )
            rows += (row for (row,) in self._ask(query, *page, *page))
        return rows

    def named_after(self, row: int, limit: int) -> list[Named]:
        """Return the names of the chunks in the first rows above one."""
        query = (
            f"SELECT row, document_id, id, version_of FROM chunks WHERE {MINE_BY_ROW} AND row > ? "
            "ORDER BY row LIMIT ?"
        )
        return [Named(*names) for names in self._ask(query, row, limit)]

    def text_hashes(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the :func:`~hebbgraph.records.text_hash` of each added text."""
        store = self.text_store
        return {
            row: text_hash(title, held) if store.here else hash_in(held)
            for page in self._select(rows, f"title, {store.column}")
            for row, title, held in page
        }

    def metadata(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str | None, str]]:
        """Yield (row, id, document_id, metadata as JSON), ascending."""
        for page in self._select(rows, "id, document_id, metadata"):
            for row in page:
                yield tuple(row)

    def ids(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the id of each row."""
        return {row: held for page in self._select(rows, "id") for row, held in page}

    def fetch(self, rows: Iterable[int]) -> dict[int, Chunk]:
        """Return the chunk of each row."""
        return {row: chunk for row, chunk, _ in self.fetch_checked(rows)}

    def fetch_checked(
        self, rows: Iterable[int], *, verify: bool = True
    ) -> Iterator[tuple[int, Chunk, TextState]]:
        """Yield (row, chunk, state of its text), ascending.

        Raises
        ------
        DamagedIndexError
            If a chunk has another digest than when it was written; not without ``verify``.
        """
        store = self.text_store
        for page in self._select(rows, f"{_FIELDS}, {store.column}"):
            checked = store.read([Passage(id_, title, held) for _, id_, _, title, *_, held in page])
            for told, (text, state) in zip(page, checked, strict=True):
                row, *fields, written, _ = told
                chunk = chunk_of(*fields, text=text)
                if verify and state is TextState.same:
                    self._verify(chunk, told, written)
                yield row, chunk, state

    def outlines(self, rows: Iterable[int]) -> dict[int, Outline]:
        """Return the chunk of each row without asking a text source.

        Raises
        ------
        DamagedIndexError
            As :meth:`fetch_checked`, but where texts are elsewhere.
        """
        store, outlines = self.text_store, {}
        for page in self._select(rows, f"{_FIELDS}, {store.column}"):
            for told in page:
                row, *fields, written, held = told
                chunk = chunk_of(*fields, text=held if store.here else "")
                if store.here:
                    self._verify(chunk, told, written)
                outlines[row] = Outline(chunk, None if store.here else hash_in(held))
        return outlines

    def _verify(self, chunk: Chunk, told: Sequence[Any], written: bytes) -> None:
        """Raise DamagedIndexError unless a chunk is what was written.

        Parameters
        ----------
        chunk : Chunk
        told : sequence
            The row it was read from: number, fields and text.
        written : bytes
            Its digest then.
        """
        looks = hash(tuple(told))  # of what was verified before: a tenth of the work
        if self._verified.get(told[0]) == looks:
            return
        if digest(chunk) != written:
            raise DamagedIndexError(
                f"{self.database.place}: chunk {chunk.id!r} is not what was written; delete it "
                "and add it again, or restore a backup: hebbgraph doctor names all such chunks"
            )
        if len(self._verified) >= _MOST_VERIFIED:
            self._verified.clear()
        self._verified[told[0]] = looks

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the row of each id held."""
        return self._by_id(ids, "row")

    def changed(self, candidates: Iterable[Chunk]) -> list[tuple[Chunk, bytes]]:
        """Return (chunk, digest) of chunks not held with the same content."""
        by_id = {chunk.id: (chunk, digest(chunk)) for chunk in candidates}
        held = self.digests(by_id)
        return [new for id_, new in by_id.items() if held.get(id_) != new[1]]

    def digests(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the :func:`digest` of each chunk held."""
        return self._by_id(ids, "digest")

    def _by_id(self, ids: Iterable[str], column: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        query = f"SELECT id, {column} FROM chunks WHERE namespace = ? AND id IN"
        for page in pages(ids):
            found.update(self._ask(f"{query} ({marks(page)})", *page))
        return found

    def ids_of_document(self, document_id: str) -> set[str]:
        """Return the ids of a document's chunks."""
        query = "SELECT id FROM chunks WHERE namespace = ? AND document_id = ?"
        return {id_ for (id_,) in self._ask(query, document_id)}

    def rows_by_id(self) -> Iterator[int]:
        """Yield all rows in the order of their ids, a page at a time."""
        return (row for _, row in self.by_id())

    def by_id(self) -> Iterator[tuple[str, int]]:
        """Yield all ids and their rows in the order of the ids, a page at a time."""
        last = ""
        while page := self.ids_after(last, _PAGE):
            yield from page
            last = page[-1][0]

    def ids_after(self, last: str, limit: int) -> list[tuple[str, int]]:
        """Return the first ids above one, and their rows."""
        query = "SELECT id, row FROM chunks WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?"
        return self._ask(query, last, limit)


def pages(values: Iterable[_T], size: int = _PAGE) -> Iterator[list[_T]]:
    """Yield values in lists, which by default fit one statement."""
    remaining = iter(values)
    while page := list(islice(remaining, size)):
        yield page
