"""What a shard elsewhere is asked: the calls of a truth that a coordinator needs.

Each is one message there and one back. Both ends read this table: the shard runs the function and
checks its arguments by its annotations, and the coordinator checks the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_type_hints

import numpy as np
from pydantic import ConfigDict, Field, PlainValidator, Strict, TypeAdapter, validate_call

from hebbgraph.arrays import IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.records import Finding
from hebbgraph.shards.plan import MOST_SHARDS
from hebbgraph.store.chunks import Dated, Named, chunk_of_row, digest
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import Commit
from hebbgraph.store.schema import chunks
from hebbgraph.store.truth import (
    Changes,
    ChunkWrite,
    Outcome,
    OvertakenError,
    Standing,
    State,
    Truth,
)

__all__ = ["CALLS", "MOST_ROWS", "Call", "Opened", "Opening", "Request", "is_row"]

#: Rows of one message; more come in several.
MOST_ROWS = 500

_COLUMNS = {column.name: column for column in chunks.c}
_KINDS = {name: (column.type.python_type, column.nullable) for name, column in _COLUMNS.items()}


def _ints(value: object) -> IntArray:
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.ndim != 1:
        raise ValueError("an array of int64")
    return value


Rows: TypeAlias = Annotated[IntArray, PlainValidator(_ints)]
Some: TypeAlias = Annotated[IntArray, PlainValidator(_ints), Field(max_length=MOST_ROWS)]
Blob: TypeAlias = Annotated[bytes, Strict()]
Column: TypeAlias = Literal[
    "id",
    "document_id",
    "title",
    "text",
    "metadata",
    "tags",
    "candidates",
    "digest",
    "imprint",
    "links",
    "validity",
    "version_of",
    "vector",
    "vector_epoch",
]


class Request(NamedTuple):
    """One message to a shard.

    Attributes
    ----------
    version : int
    call : str
    database : str or None
        The id of the database that is meant; another one does not answer. None when it is opened.
    given : dict
        The arguments of the call.
    """

    version: int
    call: str
    database: str | None
    given: dict[str, Any]


class Opening(NamedTuple):
    """What a coordinator says of a shard that it opens.

    Attributes
    ----------
    number, name : int, str
        Its place in ``shards.toml``, and its name there.
    known : str or None
        The id of its database; None makes it, if there is none.
    coordinator : str
        Whose shard it is.
    build, before : dict
        The build settings of the namespace, and what those were that older versions did not save.
    """

    number: Annotated[int, Field(ge=0, lt=MOST_SHARDS)]
    name: str
    known: str | None
    coordinator: str
    build: dict[str, Any]
    before: dict[str, Any]


class Opened(NamedTuple):
    """What a shard says of itself when it is opened."""

    database: str
    read_only: bool


class Call(NamedTuple):
    """One call.

    Attributes
    ----------
    run : callable
        Of a truth and the arguments, which it checks.
    answer : TypeAdapter
        Checks what it returns.
    writes : bool
        Whether it changes something, so that it is not sent twice.
    lasts : bool
        Whether it reads or rewrites all that a shard holds, which no recall waits for and no time
        limit of a message fits.
    """

    run: Callable[..., Any]
    answer: TypeAdapter[Any]
    writes: bool
    lasts: bool = False


CALLS: dict[str, Call] = {}
_CONFIG = ConfigDict(arbitrary_types_allowed=True)


def _call(run: Callable[..., Any], *, writes: bool = False) -> Callable[..., Any]:
    returns = get_type_hints(run, include_extras=True)["return"]
    checked = validate_call(config=_CONFIG)(run)
    config = None if isinstance(returns, type) and issubclass(returns, tuple) else _CONFIG
    CALLS[run.__name__] = Call(checked, TypeAdapter(returns, config=config), writes)
    return run


def _write(run: Callable[..., Any]) -> Callable[..., Any]:
    return _call(run, writes=True)


def _lasting(run: Callable[..., Any]) -> Callable[..., Any]:
    CALLS[run.__name__] = CALLS[run.__name__]._replace(lasts=True)
    return run


def is_row(held: Sequence[Any], columns: Sequence[str]) -> bool:
    """Return whether something is a row number and what these columns may hold.

    Examples
    --------
    >>> is_row([7, "moss", None], ["id", "links"]), is_row([7, None], ["id"])
    (True, False)
    """
    return len(held) == len(columns) + 1 and all(
        isinstance(value, kind) or (value is None and nullable)
        for value, (kind, nullable) in zip(
            held, ((int, False), *(_KINDS[name] for name in columns)), strict=True
        )
    )


# -- what it is, and what has changed ----------------------------------------------------


@_call
def state(truth: Truth) -> State:
    return truth.state()


@_call
def knows(truth: Truth, commit: Commit) -> bool:
    return truth.history.knows(commit)


@_call
def changes_since(truth: Truth, commit: Commit) -> tuple[State, Rows, Rows, bool]:
    found: Changes = truth.changes_since(commit)
    return found.state, found.added, found.removed, found.complete


@_call
def count(truth: Truth) -> int:
    return truth.count()


@_lasting
@_call
def problems(truth: Truth) -> list[Finding]:
    return [*truth.problems()]


# -- chunks ------------------------------------------------------------------------------


@_call
def select(truth: Truth, rows: Some, columns: list[Column]) -> list[list[Any]]:
    wanted = [_COLUMNS[name] for name in columns]
    return [list(held) for page in truth._select(rows.tolist(), *wanted) for held in page]


@_call
def by_id(
    truth: Truth, ids: list[str], column: Literal["row", "digest"]
) -> list[tuple[str, int | Blob]]:
    return [*truth._by_id(ids, _COLUMNS[column]).items()]


@_call
def rows_of_versions(truth: Truth, ids: list[str]) -> list[int]:
    return truth.rows_of_versions(ids)


@_call
def documents_held(truth: Truth, names: list[str]) -> set[str]:
    return truth.documents_held(names)


@_call
def ids_of_document(truth: Truth, document_id: str) -> set[str]:
    return truth.ids_of_document(document_id)


@_call
def ids_after(truth: Truth, last: str, limit: int) -> list[tuple[str, int]]:
    return truth.ids_after(last, limit)


@_call
def named_after(truth: Truth, row: int, limit: int) -> list[Named]:
    return truth.named_after(row, limit)


@_call
def dated(truth: Truth, after: int, last: int) -> list[Dated]:
    return truth.dated(after, last)


@_lasting
@_call
def addresses(truth: Truth) -> list[tuple[str, list[str]]]:
    return [*truth.addresses()]


@_lasting
@_call
def fingerprints(truth: Truth) -> list[tuple[str, str]]:
    return [*truth.fingerprints().items()]


# -- vectors -----------------------------------------------------------------------------


@_call
def without_vector(truth: Truth, rows: Rows, epoch: int) -> set[int]:
    return truth.embeddings.without_vector(rows.tolist(), epoch)


@_call
def rows_to_embed(truth: Truth, epoch: int, limit: int, after: int) -> list[int]:
    return truth.embeddings.rows_to_embed(epoch, limit, after=after)


@_call
def by_content(truth: Truth, ids: list[str], epoch: int) -> list[tuple[Blob, Blob]]:
    return [*truth.embeddings.by_content(ids, epoch).items()]


@_call
def count_to_embed(truth: Truth, epoch: int) -> int:
    return truth.embeddings.count_to_embed(epoch)


@_call
def count_vectors(truth: Truth, epoch: int, at: Commit) -> int | None:
    return truth.embeddings.count_vectors(epoch, at)


# -- writing -----------------------------------------------------------------------------


@_write
def apply(
    truth: Truth,
    rows: list[list[Any]],
    vectors: list[Blob | None],
    delete_ids: list[str],
    delete_documents: list[str],
    fingerprints: list[tuple[str, str]],
    embedding: EmbeddingState | None,
    instead_of: list[tuple[str, int]] | None,
    standing: Standing | None,
) -> Outcome | None:
    """Write a batch; None if it was overtaken.

    ``rows`` are what :func:`~hebbgraph.store.chunks.row_of` returns.
    """
    writes = [_written(row, vector) for row, vector in zip(rows, vectors, strict=True)]
    try:
        return truth.apply(
            writes,
            delete_ids=delete_ids,
            delete_documents=delete_documents,
            fingerprints=dict(fingerprints),
            embedding=embedding,
            instead_of=None if instead_of is None else dict(instead_of),
            standing=standing,
        )
    except OvertakenError:
        return None


def _written(row: Sequence[Any], vector: bytes | None) -> ChunkWrite:
    """Return what is to be written; ParameterError if it is not what was sent."""
    try:
        chunk, candidates, known = chunk_of_row(row)
        if digest(chunk) == known:
            return ChunkWrite(chunk, candidates, vector, known)
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError(f"a row is that of a chunk: {error}") from error
    raise ParameterError("a chunk has another digest than was sent")


@_write
def write_vectors(truth: Truth, epoch: int, rows: Rows, vectors: list[Blob]) -> None:
    held = dict(zip(rows.tolist(), vectors, strict=True))
    truth.embeddings.write_vectors(epoch, held)


@_write
def begin_epoch(truth: Truth, embedding: EmbeddingState) -> EmbeddingState:
    return truth.embeddings.begin_epoch(embedding)


@_lasting
@_write
def drop_tombstones(truth: Truth) -> None:
    truth.drop_tombstones()


@_lasting
@_write
def vacuum(truth: Truth) -> None:
    truth.database.vacuum()
