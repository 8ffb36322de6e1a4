"""Reading the chunks of one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from operator import lt
from typing import Any, Final, NamedTuple, TypeVar

from hebbgraph.errors import DamagedIndexError
from hebbgraph.records import Chunk, searched, text_hash
from hebbgraph.store.chunk_rows import chunk_of, digest, validity_in
from hebbgraph.store.database import Database, marks
from hebbgraph.store.facts import facts_of
from hebbgraph.store.texts import Passage, TextState, TextStore, hash_in
from hebbgraph.stored_json import read_json

__all__ = [
    "MINE_BY_ROW",
    "ChunkReader",
    "DatedChunk",
    "NamedRow",
    "Outline",
    "pages",
]

_T = TypeVar("_T")
_PAGE = 500  # bound parameters per statement; every database allows that many
_STEP = 20  # parameters are padded to a multiple, so few different queries are compiled
_DENSE = 2  # a page is read as a range if at least half of its rows are wanted
_FIELDS = "id, document_id, title, metadata, tags, links, validity, version_of, context, digest"
_MOST_VERIFIED = 100_000
#: The namespace of chunks that are looked up by row. As an expression it keeps SQLite from using
#: the index by namespace, and so walking through all its chunks, instead of the primary key.
MINE_BY_ROW = "namespace || '' = ?"
#: The dated chunks and old versions among some rows.
_DATED = """
    SELECT row, id, title, validity, version_of FROM chunks
    WHERE namespace = ? AND validity IS NOT NULL AND row > ? AND row <= ? ORDER BY row
"""


class Outline(NamedTuple):
    """A chunk as the database has it: if its text is kept elsewhere, with the text's hash."""

    chunk: Chunk
    text_hash: str | None


class NamedRow(NamedTuple):
    """A row, with the ids of its document and chunk."""

    row: int
    document_id: str | None
    id: str
    version_of: str | None


class DatedChunk(NamedTuple):
    """A chunk with a period of validity, or one that supersedes others."""

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
        #: The hash of each row whose digest was verified. Rows never change.
        self._verified: dict[int, int] = {}

    def count(self) -> int:
        """Return the number of chunks."""
        ((count,),) = self._ask("SELECT count(*) FROM chunks WHERE namespace = ?")
        return int(count)

    def _ask(self, sql: str, *values: Any) -> list[Any]:
        """Run a query whose first mark is the namespace."""
        return self.database.ask(sql, (self.namespace, *values))

    def _select(self, rows: Iterable[int], columns: str) -> Iterator[Sequence[Any]]:
        for page in pages(map(int, rows)):
            first, last = min(page), max(page)
            dense = last - first < _DENSE * len(page)
            if dense:
                query, bound = by_rows(columns, None), [first, last]
            else:
                count = min(-(-len(page) // _STEP) * _STEP, _PAGE)
                query, bound = by_rows(columns, count), page + [last] * (count - len(page))
            selected = self.database.ask(query, (*bound, self.namespace))
            if dense:  # a damaged page may contain the rows of another
                self.check_order([row[0] for row in selected])
            if dense and last - first + 1 > len(page):
                wanted = set(page)
                selected = [row for row in selected if row[0] in wanted]
            yield selected

    def check_order(self, rows: Sequence[int]) -> None:
        """Raise DamagedIndexError unless rows ascend, as a query demanded."""
        if not all(map(lt, rows, islice(rows, 1, None))):
            raise DamagedIndexError(
                f"{self.database.place}: the database returns chunks twice or out of "
                "order; restore a backup"
            )

    def candidates(self, rows: Iterable[int]) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
        """Yield (row, id, candidate keys by kind), ascending."""
        for page in self._select(rows, "id, candidates"):
            for row, id_, candidates in page:
                yield row, id_, read_json(candidates, dict, "candidates of a chunk")

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str]]:
        """Yield (row, title, searched text), ascending."""
        for row, title, text, *_ in self._texts(rows):
            yield row, title, text

    def texts_and_facts(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str, str]]:
        """Yield (row, title, searched text, facts), ascending; see :mod:`.facts`."""
        texts = self._texts(rows, ", document_id, metadata")
        for row, title, text, document_id, metadata in texts:
            yield row, title, text, facts_of(document_id, metadata)

    def _texts(self, rows: Iterable[int], more_columns: str = "") -> Iterator[tuple[Any, ...]]:
        store = self.text_store
        for page in self._select(rows, f"id, title, {store.column}, context{more_columns}"):
            texts = store.read([Passage(*record[1:4]) for record in page])
            for (row, _, title, _, context, *rest), read in zip(page, texts, strict=True):
                yield row, title, searched(read.text, context), *rest

    def addresses(self) -> Iterator[tuple[str, list[str]]]:
        """Yield (document id, or the chunk's own id, addresses) of chunks that have any."""
        query = (
            "SELECT coalesce(document_id, id), links FROM chunks "
            "WHERE namespace = ? AND links IS NOT NULL"
        )
        for document, links in self._ask(query):
            yield document, read_json(links, dict, "links of a chunk").get("addresses", [])

    def dated(self, after: int, last: int) -> list[DatedChunk]:
        """Return the dated chunks and old versions with rows in ``(after, last]``."""
        return [
            DatedChunk(row, id_, title, **validity_in(validity), version_of=version_of)
            for row, id_, title, validity, version_of in self._ask(_DATED, after, last)
        ]

    def versions_of(self, ids: Iterable[str]) -> dict[int, Chunk]:
        """Return these chunks and their old versions by row."""
        rows: list[int] = []
        for page in pages(ids):
            query = (
                "SELECT row FROM chunks WHERE namespace = ? "
                f"AND (id IN ({marks(page)}) OR version_of IN ({marks(page)}))"
            )
            rows += (row for (row,) in self._ask(query, *page, *page))
        return self.fetch(sorted(rows))

    def named_after(self, row: int, limit: int) -> list[NamedRow]:
        """Return the names of the chunks in the next rows after one."""
        query = (
            f"SELECT row, document_id, id, version_of FROM chunks WHERE {MINE_BY_ROW} AND row > ? "
            "ORDER BY row LIMIT ?"
        )
        return [NamedRow(*names) for names in self._ask(query, row, limit)]

    def text_hashes(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the :func:`~hebbgraph.records.text_hash` of each added text."""
        store = self.text_store
        return {
            row: text_hash(title, stored) if store.here else hash_in(stored)
            for page in self._select(rows, f"title, {store.column}")
            for row, title, stored in page
        }

    def metadata(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str | None, str]]:
        """Yield (row, id, document_id, metadata as JSON), ascending."""
        for page in self._select(rows, "id, document_id, metadata"):
            for row in page:
                yield tuple(row)

    def ids(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the id of each row."""
        return {row: id_ for page in self._select(rows, "id") for row, id_ in page}

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
            With ``verify``, if a chunk's digest differs from the written one.
        """
        store = self.text_store
        for page in self._select(rows, f"{_FIELDS}, {store.column}"):
            passages = [Passage(id_, title, stored) for _, id_, _, title, *_, stored in page]
            for record, (text, state) in zip(page, store.read(passages), strict=True):
                row, *fields, _, _ = record
                chunk = chunk_of(*fields, text=text)
                if verify and state is TextState.same:
                    self._verify(chunk, record)
                yield row, chunk, state

    def outlines(self, rows: Iterable[int]) -> dict[int, Outline]:
        """Return the chunk of each row without asking a text source.

        Raises
        ------
        DamagedIndexError
            If texts are in the database and a chunk's digest differs from the written one.
        """
        store, outlines = self.text_store, {}
        for page in self._select(rows, f"{_FIELDS}, {store.column}"):
            for record in page:
                row, *fields, _, stored = record
                chunk = chunk_of(*fields, text=stored if store.here else "")
                if store.here:
                    self._verify(chunk, record)
                outlines[row] = Outline(chunk, None if store.here else hash_in(stored))
        return outlines

    def _verify(self, chunk: Chunk, record: Sequence[Any]) -> None:
        """Raise DamagedIndexError unless the digest of a chunk is that in its record.

        The record ends with the written digest and the text.
        """
        row, fingerprint = record[0], hash(tuple(record))  # a tenth of the work of a digest
        if self._verified.get(row) == fingerprint:
            return
        if digest(chunk) != record[-2]:
            raise DamagedIndexError(
                f"{self.database.place}: chunk {chunk.id!r} is not what was written; delete it "
                "and add it again, or restore a backup: hebbgraph doctor names all such chunks"
            )
        if len(self._verified) >= _MOST_VERIFIED:
            self._verified.clear()
        self._verified[row] = fingerprint

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the rows of chunks by id."""
        return self._by_id(ids, "row")

    def changed(self, chunks: Iterable[Chunk]) -> list[tuple[Chunk, bytes]]:
        """Return (chunk, digest) of the chunks that are new, or differ from the stored ones."""
        by_id = {chunk.id: (chunk, digest(chunk)) for chunk in chunks}
        stored = self.digests(by_id)
        return [new for id_, new in by_id.items() if stored.get(id_) != new[1]]

    def digests(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the stored digests of chunks by id."""
        return self._by_id(ids, "digest")

    def _by_id(self, ids: Iterable[str], column: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        query = f"SELECT id, {column} FROM chunks WHERE namespace = ? AND id IN"
        for page in pages(ids):
            values.update(self._ask(f"{query} ({marks(page)})", *page))
        return values

    def ids_of_document(self, document_id: str) -> set[str]:
        """Return the ids of a document's chunks."""
        query = "SELECT id FROM chunks WHERE namespace = ? AND document_id = ?"
        return {id_ for (id_,) in self._ask(query, document_id)}

    def rows_by_id(self) -> Iterator[int]:
        """Yield all rows in the order of their ids."""
        return (row for _, row in self.by_id())

    def by_id(self) -> Iterator[tuple[str, int]]:
        """Yield all ids and their rows in the order of the ids; reads a page at a time."""
        query = "SELECT id, row FROM chunks WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?"
        last = ""
        while page := self._ask(query, last, _PAGE):
            yield from page
            last = page[-1][0]


def pages(values: Iterable[_T], size: int = _PAGE) -> Iterator[list[_T]]:
    """Yield values in lists that, by default, fit one statement."""
    remaining = iter(values)
    while page := list(islice(remaining, size)):
        yield page
