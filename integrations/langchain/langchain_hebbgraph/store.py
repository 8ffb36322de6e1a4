"""HebbianStore: LangGraph's long-term memory of agents, in a graph that learns.

An item is a chunk: its texts are what is searched, and its value comes back as it went in.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from hebbgraph import Chunk, HebbianIndex, ParameterError
from hebbgraph.calling import Closing, in_thread
from hebbgraph.ingest import is_blank
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
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
except ImportError as error:
    raise ImportError(
        "HebbianStore needs LangGraph: pip install langchain-hebbgraph[langgraph]"
    ) from error

__all__ = ["HebbianStore"]

_PAGE = 500
#: Fields of a chunk's metadata.
_PATH, _WITHIN, _KEY, _VALUE = "namespace", "within", "key", "value"
_CREATED, _UPDATED, _TTL, _EXPIRES = "created_at", "updated_at", "ttl_minutes", "expires_at"
#: A read prolongs an item only after this share of its time, so that few reads write.
_WORTH_PROLONGING = 0.05
#: Text of an item that is not searched: no word, as a chunk without text is refused.
_NO_TEXT = "-"


class HebbianStore(Closing, BaseStore):
    """A LangGraph store over an index, for ``create_agent(store=...)`` and ``compile(store=...)``.

    ``search`` with a query recalls: by words and links, and by vectors if the index embeds. It
    finds in all namespaces below a prefix. A :class:`CitationLearner` that listens learns from
    answers that cite what a search has found.

    Parameters
    ----------
    index : HebbianIndex
        It holds nothing else; :meth:`open` opens one.
    fields : sequence of str, optional
        Paths to the texts of a value that are searched, such as ``["text", "notes[*].body"]``.
        Left out, all of them. ``put(..., index=[...])`` names others for one item. Name those
        that your prompts show: by them a learner sees which items an answer was given.
    ttl : dict, optional
        LangGraph's ``TTLConfig``, in minutes. What has expired is never returned;
        :meth:`sweep_ttl` deletes it, and so does a write after ``sweep_interval_minutes``.

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
        index.make_namespace()  # a new store is empty, and not one whose name is misspelt
        self.index = index
        self.fields = None if fields is None else list(fields)
        self.ttl_config = ttl
        self._swept = time.time()

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
        """Open an index, new or not, and a store over it; further arguments as elsewhere."""
        return cls(open_index(location, embedding, open_options), fields=fields, ttl=ttl)

    def __repr__(self) -> str:
        return f"HebbianStore({self.index!r})"

    # -- operations -------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations; reads see what was there before the writes of the same batch."""
        wanted = list(ops)
        for op in wanted:
            _check_labels(op)
        results: list[Result] = [self._read(op) for op in wanted]
        puts = {_id_of(op.namespace, op.key): op for op in wanted if isinstance(op, PutOp)}
        self._write(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Async twin of :meth:`batch`."""
        return await _abatch(self, ops)

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
        found = self.index.get([_id_of(op.namespace, op.key)])
        if not found or _has_expired(found[0]):
            return None
        self._prolong(found, op.refresh_ttl)
        return Item(**_fields_of(found[0]))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        matches = _matcher(op.filter)
        if op.query and op.query.strip():
            found = self._recalled(op, matches)
        else:
            listed = (one for one in self._within(op.namespace_prefix) if matches(one))
            latest = sorted(listed, key=lambda one: (_number(one, _UPDATED), one.id), reverse=True)
            found = [(one, None) for one in latest]
        found = found[op.offset : op.offset + op.limit]
        self._prolong([chunk for chunk, _ in found], op.refresh_ttl)
        return [SearchItem(**_fields_of(chunk), score=score) for chunk, score in found]

    def _recalled(
        self, op: SearchOp, matches: Callable[[Chunk], bool]
    ) -> list[tuple[Chunk, float | None]]:
        where = _below(op.namespace_prefix, time.time())
        narrowed = _as_where(op.filter)
        if narrowed is not None:
            where = {"$and": [where, narrowed]} if narrowed else where
            k = op.offset + op.limit
        else:  # a filter on lists or on what lies deeper is applied to the result
            k = max(op.offset + op.limit, len(self.index.ids(where)))
        if k < 1:
            return []
        id_ = str(uuid.uuid4())
        recall = self.index.recall(str(op.query), k=k, where=where, id=id_)
        announce(self.index, recall)
        return [(hit.chunk, hit.score) for hit in recall.hits if matches(hit.chunk)]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        paths = {tuple(_path(one)) for one in self._within(())}
        kept = {path for path in paths if all(_fits(path, one) for one in conditions)}
        if op.max_depth is not None:
            kept = {path[: op.max_depth] for path in kept}
        return sorted(kept)[op.offset : op.offset + op.limit]

    def _within(self, prefix: Sequence[str]) -> Iterator[Chunk]:
        """Yield the items below a prefix that have not expired."""
        ids = self.index.ids(_below(prefix, time.time()))
        for at in range(0, len(ids), _PAGE):
            yield from self.index.get(ids[at : at + _PAGE])

    def _write(self, puts: Mapping[str, PutOp]) -> None:
        kept = {id_: op for id_, op in puts.items() if op.value is not None}
        if kept:
            held = {one.id: one for one in self.index.get(kept)}
            now = time.time()
            self.index.add([self._chunk(id_, op, held.get(id_), now) for id_, op in kept.items()])
        if gone := [id_ for id_ in puts if id_ not in kept]:
            self.index.delete(gone)
        interval = (self.ttl_config or {}).get("sweep_interval_minutes")
        if puts and interval is not None and time.time() - self._swept >= interval * 60:
            self.sweep_ttl()

    def _chunk(self, id_: str, op: PutOp, held: Chunk | None, now: float) -> dict[str, Any]:
        value = dict(op.value or {})
        fresh = held is None or _has_expired(held)
        metadata = {
            _PATH: list(op.namespace),
            _WITHIN: [".".join(op.namespace[: at + 1]) for at in range(len(op.namespace))],
            _KEY: op.key,
            _VALUE: value,
            _CREATED: now if held is None or fresh else held.metadata[_CREATED],
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

    # -- what expires -----------------------------------------------------------------

    def sweep_ttl(self) -> int:
        """Delete what has expired; return how many items that were."""
        self._swept = time.time()
        gone = self.index.ids({_EXPIRES: {"$lte": self._swept}})
        return self.index.delete(gone) if gone else 0

    def _prolong(self, chunks: Iterable[Chunk], wanted: bool) -> None:
        if not wanted:
            return
        now, late = time.time(), []
        for chunk in chunks:
            if _TTL not in chunk.metadata:
                continue
            seconds = _number(chunk, _TTL) * 60
            if now + seconds - _number(chunk, _EXPIRES) > _WORTH_PROLONGING * seconds:
                metadata = {**chunk.metadata, _EXPIRES: now + seconds}
                text = _NO_TEXT if is_blank(chunk.text) else chunk.text
                late.append(chunk.model_copy(update={"metadata": metadata, "text": text}))
        if late:
            self.index.add(late)

    # -- life -------------------------------------------------------------------------

    def close(self) -> None:
        """Close the index."""
        self.index.close()


_abatch = in_thread(HebbianStore.batch)


# -- items and chunks ------------------------------------------------------------------


def _id_of(namespace: Sequence[str], key: str) -> str:
    place = json.dumps([list(namespace), key])
    return hashlib.sha256(place.encode()).hexdigest()[:32]


def _fields_of(chunk: Chunk) -> dict[str, Any]:
    held = chunk.metadata
    return {
        "namespace": tuple(_path(chunk)),
        "key": held[_KEY],
        "value": held[_VALUE],
        "created_at": datetime.fromtimestamp(_number(chunk, _CREATED), UTC),
        "updated_at": datetime.fromtimestamp(_number(chunk, _UPDATED), UTC),
    }


def _path(chunk: Chunk) -> list[str]:
    path = chunk.metadata.get(_PATH)
    return [str(label) for label in path] if isinstance(path, list) else []


def _number(chunk: Chunk, field: str) -> float:
    value = chunk.metadata.get(field)
    return float(value) if isinstance(value, int | float) else math.inf


def _has_expired(chunk: Chunk) -> bool:
    return _number(chunk, _EXPIRES) <= time.time()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(part)


def _check_labels(op: Op) -> None:
    """Raise for a label with a period, which would look like two."""
    labels: Sequence[object] = ()
    if isinstance(op, GetOp | PutOp):
        labels = op.namespace
    elif isinstance(op, SearchOp):
        labels = op.namespace_prefix
    elif isinstance(op, ListNamespacesOp):
        labels = [label for one in op.match_conditions or () for label in one.path]
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"a label of a namespace is a str without periods, got {label!r}"
            )


# -- filters ---------------------------------------------------------------------------


def _below(prefix: Sequence[str], now: float) -> dict[str, Any]:
    lives: dict[str, Any] = {"$not": {_EXPIRES: {"$lte": now}}}
    if not prefix:
        return lives
    return {"$and": [{_WITHIN: {"$contains": ".".join(prefix)}}, lives]}


def _as_where(conditions: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Write LangGraph's filter as one of ours, if it asks for plain values alone."""
    where: dict[str, Any] = {}
    for name, wanted in (conditions or {}).items():
        operators = isinstance(wanted, Mapping) and all(key in _OPERATORS for key in wanted)
        parts = list(wanted.values()) if operators else [wanted]
        if "." in name or not all(isinstance(part, str | int | float) for part in parts):
            return None
        where[f"{_VALUE}.{name}"] = wanted
    return where


def _matcher(conditions: Mapping[str, Any] | None) -> Callable[[Chunk], bool]:
    wanted = dict(conditions or {})

    def matches(chunk: Chunk) -> bool:
        value = chunk.metadata[_VALUE]
        return all(_equal(_at(value, name), part) for name, part in wanted.items())

    return matches


def _at(value: Any, name: str) -> Any:
    """Return a field of a value; a name with periods leads deeper unless a field has it."""
    if isinstance(value, Mapping):
        if name in value:
            return value[name]
        first, _, rest = name.partition(".")
        if rest and first in value:
            return _at(value[first], rest)
    return None


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: _comparable(value, wanted) and bool(value > wanted),
    "$gte": lambda value, wanted: _comparable(value, wanted) and bool(value >= wanted),
    "$lt": lambda value, wanted: _comparable(value, wanted) and bool(value < wanted),
    "$lte": lambda value, wanted: _comparable(value, wanted) and bool(value <= wanted),
}


def _comparable(value: Any, wanted: Any) -> bool:
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    return numbers or (isinstance(value, str) and isinstance(wanted, str))


def _equal(value: Any, wanted: Any) -> bool:
    """Return whether a value is as a filter wants it; of an object, as far as the filter goes."""
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            if unknown := [key for key in wanted if key not in _OPERATORS]:
                raise ParameterError(
                    f"unknown operator {unknown[0]!r}; known are {', '.join(_OPERATORS)}"
                )
            return all(_OPERATORS[key](value, part) for key, part in wanted.items())
        return isinstance(value, Mapping) and all(
            _equal(value.get(key), part) for key, part in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(map(_equal, value, wanted))
        )
    return bool(value == wanted)


def _fits(path: Sequence[str], condition: MatchCondition) -> bool:
    wanted = tuple(condition.path)
    if len(path) < len(wanted):
        return False
    own = path[: len(wanted)] if condition.match_type == "prefix" else path[-len(wanted) :]
    return all(label in ("*", part) for part, label in zip(own, wanted, strict=bool(wanted)))
