"""SQL and values of a transaction in PostgreSQL.

Numbers of facts are NUMERIC columns, so that ids of 64 bits and fractions are both kept exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import psycopg
from psycopg.types.numeric import FloatDumper, NumericBinaryLoader

__all__ = ["PostgresSession", "configure", "translated"]

#: What no text in PostgreSQL can hold, so that no row equals it.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@lru_cache(maxsize=4096)
def translated(sql: str, schema: str) -> bytes:
    """Return a statement of :mod:`hebbgraph.store.database` for the tables of a schema."""
    return sql.replace("%", "%%").replace("?", "%s").replace("$", f'"{schema}".').encode()


def _bound(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not isinstance(value, list | tuple):
        return value
    types = set(map(type, value))
    if types == {str}:
        return [text for text in value if not _UNSTORABLE.search(text)]
    # An array has one type.
    return list(map(_exact, value)) if float in types else list(value)


class PostgresSession:
    """See :class:`hebbgraph.store.database.Session`."""

    def __init__(
        self, connection: psycopg.Connection[Any], schema: str, meta: dict[str, str]
    ) -> None:
        self._connection = connection
        self._schema = schema
        self.statements = 0
        self.meta = meta

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._execute(sql, parameters).fetchall()

    def run(self, sql: str, *parameters: Any) -> int:
        return self._execute(sql, parameters).rowcount

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        self.statements += 1
        self._connection.cursor().executemany(translated(sql, self._schema), parameters)

    def _execute(self, sql: str, parameters: Sequence[Any]) -> psycopg.Cursor[Any]:
        self.statements += 1
        bound = [_bound(value) for value in parameters]
        return self._connection.execute(translated(sql, self._schema), bound, binary=True)


def _exact(number: float) -> Decimal:
    """Return a number as PostgreSQL keeps it."""
    return Decimal(number if number == int(number) else repr(number))


class _FloatDumper(FloatDumper):
    oid = psycopg.adapters.types["numeric"].oid

    def dump(self, obj: float) -> bytes:
        return str(_exact(obj)).encode()


class _NumberLoader(NumericBinaryLoader):
    """Returns what SQLite would: an int, or a float for a fraction or beyond 64 bits."""

    def load(self, data: Any) -> Any:
        number = super().load(data)
        is_int = number == number.to_integral_value() and abs(number) < 2**63
        return int(number) if is_int else float(number)


def configure(connection: psycopg.Connection[Any]) -> None:
    """Let a new connection keep numbers exactly."""
    connection.adapters.register_dumper(float, _FloatDumper)
    connection.adapters.register_loader("numeric", _NumberLoader)
