"""Plain-Python twins of what the index does with arrays and SQL."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.formulas.bm25 import LENGTHS
from hebbgraph.ingest.prepare import prepare
from hebbgraph.recall.question import MOST_WITH_CODE, weigh_compounds
from hebbgraph.text.query import is_code, query_terms

__all__ = ["best_by_words", "cooccurrences", "passes"]

_COMPARISONS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


# -- filters --------------------------------------------------------------------------------


def passes(chunk: Chunk, where: Mapping[str, Any]) -> bool:
    """Return whether a chunk passes a filter."""
    return all(_clause(chunk, key, value) for key, value in where.items())


def _clause(chunk: Chunk, key: str, value: Any) -> bool:
    if key == "$and":
        return all(passes(chunk, part) for part in value)
    if key == "$or":
        return any(passes(chunk, part) for part in value)
    if key == "$not":
        return not passes(chunk, value)
    if not isinstance(value, Mapping):
        value = {"$eq": value}
    metadata = {**chunk.metadata, "$id": chunk.id, "$document_id": chunk.document_id}
    return all(_holds(metadata, key, name, operand) for name, operand in value.items())


def _holds(metadata: Mapping[str, Any], key: str, name: str, operand: Any) -> bool:
    if name in ("$ne", "$nin"):
        return not _holds(metadata, key, {"$ne": "$eq", "$nin": "$in"}[name], operand)
    found, value = _value(metadata, key)
    items = list(_items(value)) if found else []
    if name == "$eq":
        return any(_equal(item, operand) for item in items)
    if name in ("$in", "$any"):
        return any(_equal(item, one) for item in items for one in operand)
    if name == "$all":
        return all(any(_equal(item, one) for item in items) for one in operand)
    if name in _COMPARISONS:
        same = [item for item in items if _kind(item) == _kind(operand)]
        return any(_COMPARISONS[name](item, operand) for item in same)
    if name == "$exists":
        return (found and not (key == "$document_id" and value is None)) is operand
    if name == "$is_empty":
        return (not found or value in (None, "", [], {})) is operand
    texts = [item for item in items if isinstance(item, str)]
    if name == "$text_match":
        return any(operand in text for text in texts)
    if name == "$text_match_insensitive":
        return any(operand.casefold() in text.casefold() for text in texts)
    assert name == "$contains"
    if isinstance(value, list):
        return bool(value) and any(_equal(item, operand) for item in items)
    return isinstance(operand, str) and any(operand in text for text in texts)


def _value(metadata: Any, key: str) -> tuple[bool, Any]:
    if isinstance(metadata, Mapping):
        if key in metadata:
            return True, metadata[key]
        first, _, rest = key.partition(".")
        if rest and first in metadata:
            return _value(metadata[first], rest)
    return False, None


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, list) and value:
        for item in value:
            yield from _items(item)
    elif isinstance(value, list | dict):
        yield from () if value else (None,)
    else:
        yield value


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else type(value).__name__


def _equal(one: Any, other: Any) -> bool:
    return _kind(one) == _kind(other) and bool(one == other)


# -- words ----------------------------------------------------------------------------------


def best_by_words(
    index: HebbianIndex, question: str, n: int, among: Collection[str]
) -> list[tuple[str, float]]:
    """Return the n best of some chunks by the words of a question, best first, ties by id."""
    settings = index.settings
    counts, lengths = {}, {}
    for chunk in index.get(index.ids()):
        read = prepare(chunk, None, settings)
        counts[chunk.id], lengths[chunk.id] = read.words, read.length
    df = Counter(word for words in counts.values() for word in words)
    mean = sum(lengths.values()) / max(len(counts), 1)
    asked = query_terms(question, settings.language)
    weigh_compounds(asked, {word: df[word] for word in asked}, question, settings.language)
    for code in filter(is_code, asked):
        asked[code] *= 2 if 0 < df[code] <= MOST_WITH_CODE else 1
    weights = {
        word: weight * math.log(1 + (len(counts) - df[word] + 0.5) / (df[word] + 0.5))
        for word, weight in asked.items()
    }
    held = {id_: {word for word in weights if counts[id_][word]} for id_ in among}
    scores: dict[str, float] = {}
    for id_ in filter(held.get, among):
        norm = 1.2 * (0.25 + 0.75 * _rounded_up(lengths[id_]) / max(mean, 1.0))
        times = {word: min(counts[id_][word], 255) for word in held[id_]}
        scores[id_] = sum(weights[word] * t * 2.2 / (t + norm) for word, t in times.items())
    best = dict(sorted(scores.items(), key=lambda found: (-round(found[1], 9), found[0]))[:n])
    for stub in sorted(
        (id_ for id_ in best if lengths[id_] <= 16), key=lambda id_: -len(held[id_])
    ):
        fuller = [id_ for id_ in best if held[id_] > held[stub] and best[id_] < best[stub]]
        shares = (
            best[id_] * _total(weights, held[stub]) / _total(weights, held[id_]) for id_ in fuller
        )
        best[stub] = min(shares, default=best[stub])
    for stub in (id_ for id_ in best if lengths[id_] <= 16):
        assert all(best[id_] >= best[stub] for id_ in best if held[id_] > held[stub])
    return sorted(best.items(), key=lambda found: (-round(found[1], 9), found[0]))


def _total(weights: Mapping[str, float], words: Iterable[str]) -> float:
    return sum(weights[word] for word in words)


def _rounded_up(length: int) -> float:
    return next((float(step) for step in LENGTHS if step >= length), float(LENGTHS[-1]))


# -- tags -----------------------------------------------------------------------------------


def cooccurrences(index: HebbianIndex) -> Counter[tuple[str, str]]:
    """Count the chunks that hold both of two tags, from what filters by tag would see."""
    graph: Counter[tuple[str, str]] = Counter()
    with index._database.read() as session:
        keys = dict(session.rows("SELECT id, key FROM $term WHERE kind = 1"))
        rows: dict[int, set[str]] = {}
        for term, first, data in session.rows("SELECT term, first, data FROM $posting"):
            if term in keys:
                for at in range(0, len(data), 6):
                    row = int.from_bytes(data[at : at + 4], "little")
                    assert row >= first
                    rows.setdefault(row, set()).add(keys[term])
    for tags in rows.values():
        graph.update(combinations(sorted(tags), 2))
    return graph
