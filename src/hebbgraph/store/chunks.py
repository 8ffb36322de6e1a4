"""Chunks as rows, and the facts of their metadata that filters compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic import JsonValue

from hebbgraph.errors import DamagedIndexError
from hebbgraph.records import Chunk, text_digest
from hebbgraph.store.database import Session

Fact: TypeAlias = tuple[str, float | int | None, str | None]
"""Key, number and string; a bool is a number with the string ``"bool"``."""


class Given(NamedTuple):
    """What a caller gave with a chunk, and the tags of a tagger; None if it was not asked."""

    tags: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    tagged: tuple[str, ...] | None = None


class StoredChunk(NamedTuple):
    """A row of the table ``chunk``, without what follows from its text."""

    row: int  #: 0 before the database has given it one
    id: str
    document_id: str | None
    title: str
    text: str
    metadata: str
    given: str
    digest: str

    def chunk(self) -> Chunk:
        given = to_given(self.given)
        return Chunk(
            id=self.id,
            text=self.text,
            title=self.title,
            metadata=loaded(self.metadata),
            document_id=self.document_id,
            tags=given.tags,
            addresses=given.addresses,
            references=given.references,
        )

    @classmethod
    def of(cls, chunk: Chunk, tagged: Iterable[str] | None) -> StoredChunk:
        """Return the row for a chunk, and the tags of a tagger; None if it was not asked."""
        values = {"tags": chunk.tags, "addresses": chunk.addresses, "references": chunk.references}
        given = {name: value for name, value in values.items() if value}
        if tagged is not None:
            given["tagged"] = tuple(tagged)
        return cls(
            row=0,
            id=chunk.id,
            document_id=chunk.document_id,
            title=chunk.title,
            text=chunk.text,
            metadata=dumped(chunk.metadata),
            given=dumped(given),
            digest=text_digest(chunk.title, chunk.text),
        )

    def equals(self, chunk: Chunk) -> bool:
        """Return whether this is the same chunk, so that adding it again changes nothing."""
        return self._replace(row=0) == StoredChunk.of(chunk, to_given(self.given).tagged)


#: The columns of the table: ``row``, those of :class:`StoredChunk`, and what follows from the text.
COLUMNS = (*StoredChunk._fields, "length", "proposed")
_COLUMNS = ", ".join(StoredChunk._fields)


def insert_chunks(session: Session, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of the table ``chunk``."""
    marks = ", ".join("?" * len(columns))
    session.many(f"INSERT INTO $chunk({', '.join(columns)}) VALUES ({marks})", rows)


def to_given(column: str) -> Given:
    """Return what a column ``given`` says."""
    values = loaded(column).items()
    return Given(**{name: tuple(value) for name, value in values if name in Given._fields})


def dumped(value: object) -> str:
    """Return JSON as it is stored."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loaded(text: str) -> dict[str, Any]:
    """Return a JSON object that was stored; raise DamagedIndexError if it is none."""
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise DamagedIndexError(
            f"a value in the database is damaged ({error}); restore a backup"
        ) from error


def chunks_by_row(session: Session, rows: Iterable[int]) -> dict[int, StoredChunk]:
    """Return chunks by row."""
    sql = f"SELECT {_COLUMNS} FROM $chunk WHERE row = ANY(?)"
    return {row[0]: StoredChunk(*row) for row in session.rows(sql, list(rows))}


def chunks_by_id(session: Session, ids: Collection[str]) -> dict[str, StoredChunk]:
    """Return chunks by id; ids that the index does not hold are left out."""
    sql = f"SELECT {_COLUMNS} FROM $chunk WHERE id = ANY(?)"
    return {row[1]: StoredChunk(*row) for row in session.rows(sql, list(ids))}


def ids_of(session: Session, rows: Iterable[int]) -> dict[int, str]:
    """Return the ids of rows."""
    return dict(session.rows("SELECT row, id FROM $chunk WHERE row = ANY(?)", list(rows)))


def rows_of(session: Session, ids: Collection[str]) -> dict[str, int]:
    """Return the rows of ids."""
    return dict(session.rows("SELECT id, row FROM $chunk WHERE id = ANY(?)", list(ids)))


def facts_of(metadata: Mapping[str, JsonValue]) -> Iterator[Fact]:
    """Yield the facts of metadata: nested fields by a dotted key, elements of lists by ``key[]``.

    An empty list or object, and None, are a fact without number and string.

    >>> list(facts_of({"year": 1871, "author": {"name": "Ida"}, "tags": ["ice"], "draft": True}))
    [('year', 1871, None), ('author.name', None, 'Ida'), ('tags[]', None, 'ice'), \
('draft', 1, 'bool')]
    """
    for key, value in metadata.items():
        yield from _facts(key, value)


def comparable(number: float) -> float:
    """Return a number as databases compare it: beyond 64 bits, as a finite float.

    >>> comparable(2**62 + 1), comparable(10**400)
    (4611686018427387905, 1.7976931348623157e+308)
    """
    if isinstance(number, float) or -(2**63) <= number < 2**63:
        return number
    most = sys.float_info.max
    return float(min(max(number, int(-most)), int(most)))


def _facts(key: str, value: Any) -> Iterator[Fact]:
    if isinstance(value, bool):
        yield key, int(value), "bool"
    elif isinstance(value, str):
        yield key, None, value
    elif isinstance(value, int | float):
        yield key, comparable(value), None
    elif isinstance(value, dict) and value:
        yield from facts_of({f"{key}.{name}": part for name, part in value.items()})
    elif isinstance(value, list) and value:
        for part in value:
            yield from _facts(key if key.endswith("[]") else f"{key}[]", part)
    else:
        yield key, None, None
