"""HebbianStore: LangGraph's long-term memory of agents, over an index.

Each item is a chunk with the item's texts, and its value in the metadata.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, cast

from hebbgraph import Chunk, HebbianIndex, InvalidChunkError, ParameterError
from hebbgraph.calling import Closing, in_thread
from hebbgraph.filters import MISSING, joined, value_at
from hebbgraph.ingest import is_blank
from hebbgraph.limits import MAX_K
from hebbgraph.protocols import Embedder
from hebbgraph.records import storable

from langchain_hebbgraph.base import announce
from langchain_hebbgraph.options import open_index

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
    from langgraph.store.memory import InMemoryStore
except ImportError as error:
    raise ImportError(
        "HebbianStore needs LangGraph: pip install langchain-hebbgraph[langgraph]"
    ) from error

__all__ = ["HebbianStore"]

_PAGE = 500
#: Fields of a chunk's metadata.
_PATH, _PREFIXES, _KEY, _VALUE = "namespace", "within", "key", "value"
_CREATED, _UPDATED, _TTL, _EXPIRES = "created_at", "updated_at", "ttl_minutes", "expires_at"
#: A read prolongs an item only after this share of its time, so few reads write.
_MIN_SHARE_ELAPSED = 0.05
#: Text of an item that is not searched; it has no word, and empty text is refused.
_NO_TEXT = "-"


class HebbianStore(Closing, BaseStore):
    """A LangGraph store over an index, for ``create_agent(store=...)`` and ``compile(store=...)``.

    ``search`` with a query ranks by words and links, and by vectors if the index embeds, in all
    namespaces below a prefix. A :class:`CitationLearner` learns from answers that cite the items
    found.

    Parameters
    ----------
    index : HebbianIndex
        Used for nothing else; :meth:`open` opens one.
    fields : sequence of str, optional
        Paths to the texts of a value to search, such as ``["text", "notes[*].body"]``. Left out,
        all of them. ``put(..., index=[...])`` names others for one item. Name those that your
        prompts show, so that a learner can tell which items were shown.
    ttl : dict, optional
        LangGraph's ``TTLConfig``, in minutes. Expired items are never returned;
        :meth:`sweep_ttl` deletes them, and so does a write after ``sweep_interval_minutes``.

    Examples
    --------
    >>> with HebbianStore.open(":memory:") as store:
    ...     store.put(("users", "ann"), "boat", {"text": "Her boat is the Petrel."})
    ...     store.put(("users", "bob"), "boat", {"text": "His boat is the Heron."})
    ...     (item,) = store.search(("users", "ann"), query="Which boat is hers?")
    >>> item.key, item.value
    ('boat', {'text': 'Her boat is the Petrel.'})
    """

    supports_ttl = True

    def __init__(
        self,
        index: HebbianIndex,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if not isinstance(index, HebbianIndex):
            raise ParameterError(
                f"index is a HebbianIndex, got {index!r:.80}; HebbianStore.open takes a location"
            )
        if isinstance(fields, str):
            raise ParameterError(f"fields is a list of paths, got {fields!r}; put it in a list")
        index.make_namespace()  # a new store is empty, not an error
        self.index = index
        self.fields = None if fields is None else list(fields)
        self.ttl_config = ttl
        self._swept = time.time()
        self._writing = threading.RLock()

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        embedding: Embedder | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        open_options: dict[str, Any] | None = None,
    ) -> Self:
        """Open an index, new or not, and a store over it."""
        return cls(open_index(location, embedding, open_options), fields=fields, ttl=ttl)

    def __repr__(self) -> str:
        return f"HebbianStore({self.index!r})"

    # -- operations -------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations; reads see what was there before the writes of the same batch."""
        ops = list(ops)
        for op in ops:
            _check(op)
        results: list[Result] = [self._read(op) for op in ops]
        puts = {_id_of(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        with self._writing:
            self._write(puts)
        return results

    abatch = in_thread(batch)  # type: ignore[arg-type]

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        if isinstance(op, PutOp):
            return None
        raise ParameterError(f"an operation is a GetOp, PutOp, ..., got {op!r:.80}")

    def _get(self, op: GetOp) -> Item | None:
        chunks = self.index.get([_id_of(op.namespace, op.key)])
        if not chunks or _has_expired(chunks[0]):
            return None
        self._prolong(chunks, op.refresh_ttl)
        return Item(**_fields_of(chunks[0]))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        matches = _matcher(op.filter)
        if op.query and op.query.strip():
            scored = self._recalled(op, matches)
        else:
            chunks = [chunk for chunk in self._below(op.namespace_prefix) if matches(chunk)]
            chunks.sort(key=lambda chunk: (_number(chunk, _UPDATED), chunk.id), reverse=True)
            scored = [(chunk, None) for chunk in chunks]
        scored = scored[op.offset : op.offset + op.limit]
        self._prolong([chunk for chunk, _ in scored], op.refresh_ttl)
        return [SearchItem(**_fields_of(chunk), score=score) for chunk, score in scored]

    def _recalled(
        self, op: SearchOp, matches: Callable[[Chunk], bool]
    ) -> list[tuple[Chunk, float | None]]:
        k = op.offset + op.limit
        if k < 1:
            return []
        values: Any = _index_filter(op.filter)
        if values is None:  # the index cannot filter lists and nested values
            k, values = MAX_K, matches  # all at once, or pages would not fit together
        where = joined(_where(op.namespace_prefix), values or None)
        recall = self.index.recall(str(op.query), k=k, where=where, id=str(uuid.uuid4()))
        announce(self.index, recall)
        return [(hit.chunk, hit.score) for hit in recall.hits if matches(hit.chunk)]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        # LangGraph's own store in memory lists the same namespaces.
        known = InMemoryStore()
        known.batch([PutOp(path, "-", {}) for path in {*map(_path, self._below(()))}])
        return cast("list[tuple[str, ...]]", known.batch([op])[0])

    def _below(self, prefix: Sequence[str]) -> Iterator[Chunk]:
        """Yield the items below a prefix that have not expired."""
        ids = self.index.ids(_where(prefix))
        for at in range(0, len(ids), _PAGE):
            yield from self.index.get(ids[at : at + _PAGE])

    def _write(self, puts: Mapping[str, PutOp]) -> None:
        stored = {id_: op for id_, op in puts.items() if op.value is not None}
        if stored:
            old = {chunk.id: chunk for chunk in self.index.get(stored)}
            now = time.time()
            chunks = [self._chunk(id_, op, old.get(id_), now) for id_, op in stored.items()]
            try:
                self.index.add(chunks)
            except InvalidChunkError as error:  # names a chunk by its id, which callers do not know
                message = str(error)
                for id_, op in stored.items():
                    item = f"item {op.key!r} of {op.namespace}"
                    message = message.replace(f"chunk {id_!r}", item)
                raise InvalidChunkError(message) from error
        if deleted := [id_ for id_ in puts if id_ not in stored]:
            self.index.delete(deleted)
        interval = (self.ttl_config or {}).get("sweep_interval_minutes")
        if puts and interval is not None and time.time() - self._swept >= interval * 60:
            self.sweep_ttl()

    def _chunk(self, id_: str, op: PutOp, old: Chunk | None, now: float) -> dict[str, Any]:
        value = dict(op.value or {})
        is_new = old is None or _has_expired(old)
        metadata = {
            _PATH: list(op.namespace),
            _PREFIXES: [".".join(op.namespace[: at + 1]) for at in range(len(op.namespace))],
            _KEY: op.key,
            _VALUE: value,
            _CREATED: now if old is None or is_new else old.metadata[_CREATED],
            _UPDATED: now,
        }
        if op.ttl is not None:
            metadata |= {_TTL: op.ttl, _EXPIRES: now + op.ttl * 60}
        return {"id": id_, "text": self._text(value, op.index), "metadata": metadata}

    def _text(self, value: dict[str, Any], index: Sequence[str] | bool | None) -> str:
        paths = index if isinstance(index, list | tuple) else self.fields
        if index is False:
            paths = []
        if paths is None:
            text = "\n".join(_strings(value))
        else:
            text = "\n".join(text for path in paths for text in get_text_at_path(value, path))
        return _NO_TEXT if is_blank(storable(text)) else text

    # -- expiry ------------------------------------------------------------------------

    def sweep_ttl(self) -> int:
        """Delete expired items; return how many."""
        self._swept = time.time()
        expired = self.index.ids({_EXPIRES: {"$lte": self._swept}})
        return self.index.delete(expired) if expired else 0

    def _prolong(self, chunks: Iterable[Chunk], refresh_ttl: bool) -> None:
        due = [chunk.id for chunk in chunks if refresh_ttl and _is_due(chunk)]
        if not due:
            return
        with self._writing:
            now, prolonged = time.time(), []
            # Read again, so that what was replaced or deleted meanwhile does not come back.
            for chunk in filter(_is_due, self.index.get(due)):
                metadata = {**chunk.metadata, _EXPIRES: now + _number(chunk, _TTL) * 60}
                text = _NO_TEXT if is_blank(chunk.text) else chunk.text
                prolonged.append(chunk.model_copy(update={"metadata": metadata, "text": text}))
            if prolonged:
                self.index.add(prolonged)

    def close(self) -> None:
        """Close the index."""
        self.index.close()


# -- items and chunks ------------------------------------------------------------------


def _id_of(namespace: Sequence[str], key: str) -> str:
    path = json.dumps([list(namespace), key])
    return hashlib.sha256(path.encode()).hexdigest()[:32]


def _fields_of(chunk: Chunk) -> dict[str, Any]:
    return {
        "namespace": _path(chunk),
        "key": chunk.metadata[_KEY],
        "value": chunk.metadata[_VALUE],
        "created_at": datetime.fromtimestamp(_number(chunk, _CREATED), UTC),
        "updated_at": datetime.fromtimestamp(_number(chunk, _UPDATED), UTC),
    }


def _path(chunk: Chunk) -> tuple[str, ...]:
    path = chunk.metadata.get(_PATH)
    return tuple(map(str, path)) if isinstance(path, list) else ()


def _number(chunk: Chunk, field: str) -> float:
    value = chunk.metadata.get(field)
    return float(value) if isinstance(value, int | float) else math.inf


def _has_expired(chunk: Chunk) -> bool:
    return _number(chunk, _EXPIRES) <= time.time()


def _is_due(chunk: Chunk) -> bool:
    """Return whether a read should prolong an item."""
    if _TTL not in chunk.metadata or _has_expired(chunk):
        return False
    seconds = _number(chunk, _TTL) * 60
    return time.time() + seconds - _number(chunk, _EXPIRES) > _MIN_SHARE_ELAPSED * seconds


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(part)


def _check(op: Op) -> None:
    """Raise InvalidNamespaceError for a label with a period, which would look like two.

    Also for a single str, whose characters would be labels; ParameterError for other values.
    """
    labels: Sequence[object] = ()
    if isinstance(op, GetOp | PutOp):
        labels = op.namespace
    elif isinstance(op, SearchOp):
        labels = op.namespace_prefix
    elif isinstance(op, ListNamespacesOp):
        labels = [label for match in op.match_conditions or () for label in match.path]
    if isinstance(labels, str):
        raise InvalidNamespaceError(
            f"a namespace is a tuple of labels, got {labels!r:.80}; write ({labels!r:.80},)"
        )
    if isinstance(op, PutOp) and not isinstance(op.value, dict | None):
        raise ParameterError(
            f"the value of {op.key!r} is a dict, or None to delete it; got "
            f"{type(op.value).__name__}"
        )
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"a label of a namespace is a str without periods, got {label!r}"
            )


# -- filters ---------------------------------------------------------------------------


def _where(prefix: Sequence[str]) -> dict[str, Any]:
    """Return a filter of the index for items below a prefix that have not expired."""
    is_current: dict[str, Any] = {"$not": {_EXPIRES: {"$lte": time.time()}}}
    if not prefix:
        return is_current
    return {"$and": [{_PREFIXES: {"$contains": ".".join(prefix)}}, is_current]}


def _index_filter(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Translate LangGraph's filter to one of the index; None if it compares other than scalars."""
    where: dict[str, Any] = {}
    for name, condition in (filter or {}).items():
        is_operators = isinstance(condition, Mapping) and all(
            key in _OPERATORS for key in condition
        )
        operands = list(condition.values()) if is_operators else [condition]
        if "." in name or not all(isinstance(operand, str | int | float) for operand in operands):
            return None
        where[f"{_VALUE}.{name}"] = condition
    return where


def _matcher(filter: Mapping[str, Any] | None) -> Callable[[Chunk], bool]:
    conditions = dict(filter or {})

    def matches(chunk: Chunk) -> bool:
        value: Any = chunk.metadata[_VALUE]
        pairs = ((value_at(name, value), part) for name, part in conditions.items())
        return all(_meets(None if field is MISSING else field, part) for field, part in pairs)

    return matches


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Compare numbers with numbers and texts with texts; other pairs have no order."""

    def compared(value: Any, operand: Any) -> bool:
        kinds = (int | float, str)
        is_pair = any(isinstance(value, kind) and isinstance(operand, kind) for kind in kinds)
        return is_pair and compare(value, operand)

    return compared


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
}


def _meets(value: Any, condition: Any) -> bool:
    """Return whether a value meets a condition; an object may have more fields than it names."""
    if isinstance(condition, Mapping):
        if any(str(key).startswith("$") for key in condition):
            if unknown := [key for key in condition if key not in _OPERATORS]:
                raise ParameterError(
                    f"unknown operator {unknown[0]!r}; known are {', '.join(_OPERATORS)}"
                )
            return all(_OPERATORS[key](value, operand) for key, operand in condition.items())
        return isinstance(value, Mapping) and all(
            _meets(value.get(key), part) for key, part in condition.items()
        )
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(map(_meets, value, condition))
        )
    return bool(value == condition)
