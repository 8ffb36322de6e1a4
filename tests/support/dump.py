"""All that an index holds, by keys and ids, so that two indexes can be compared exactly."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np
from ships import QUESTIONS

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.store.chunks import COLUMNS
from hebbgraph.store.postings import Postings, unpack_tags, unpack_words

__all__ = ["Close", "assert_sound", "differences", "fresh_build", "seen", "tables"]


class Close(float):
    """A number that equals others up to a billionth."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) <= 1e-9

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def tables(index: HebbianIndex) -> dict[str, Any]:
    """Return the decoded tables of an index; row and term ids are replaced by ids and keys."""
    with index._database.read() as session:
        ids = dict(session.rows("SELECT row, id FROM $chunk"))
        terms = {
            id_: (kind, key) for id_, kind, key in session.rows("SELECT id, kind, key FROM $term")
        }
        postings: dict[Any, Any] = {}
        for term, first, data in session.rows(
            "SELECT term, first, data FROM $posting ORDER BY term, first"
        ):
            block = Postings.decode(data)
            assert block.rows[0] >= first
            for row, number, role in zip(*(part.tolist() for part in block), strict=True):
                assert (terms[term], ids[row]) not in postings
                postings[terms[term], ids[row]] = number, role
        held = {}
        for row, words, tags in session.rows("SELECT row, words, tags FROM $held"):
            numbers, roles = unpack_tags(tags)
            held[ids[row]] = (
                sorted(terms[term] for term in unpack_words(words).tolist()),
                sorted(zip((terms[t] for t in numbers.tolist()), roles.tolist(), strict=True)),
            )
        packed = base64.b64decode(session.meta.get("vector_sum", ""))
        return {
            "chunks": {
                id_: rest
                for _, id_, *rest, _ in session.rows(f"SELECT {', '.join(COLUMNS)} FROM $chunk")
            },
            "terms": sorted(
                session.rows("SELECT kind, key, df, proposals, titles, given, support FROM $term")
            ),
            "postings": postings,
            "held": held,
            "facts": sorted(
                (repr((key, number, string)), ids[row])
                for key, number, string, row in session.rows(
                    "SELECT key, number, string, row FROM $fact"
                )
            ),
            "vectors": {
                ids[row]: data for row, data in session.rows("SELECT row, data FROM $embedding")
            },
            "counts": {
                name: int(session.meta.get(name, 0))
                for name in ("chunks", "length", "vectors", "open_tags")
            },
            "vector_sum": [n for n in np.frombuffer(packed, "<i8").tolist() if n],
            "pending": session.rows("SELECT row FROM $pending"),
            "changed": session.rows("SELECT term FROM $changed"),
        }


def seen(index: HebbianIndex, questions: Iterable[str] = QUESTIONS) -> dict[str, Any]:
    """Return what the public methods show of an index."""
    tags = index.tags(limit=10_000)
    return {
        "ids": index.ids(),
        "chunks": index.get(index.ids()),
        "tags": [(tag.tag, tag.chunks, tag.titles) for tag in tags],
        "neighbors": {
            tag.tag: [(n.tag, n.weight) for n in index.neighbors(tag.tag, 1000)]
            for tag in tags
            if tag.chunks > 1
        },
        "recalls": [
            [(hit.id, Close(hit.score)) for hit in index.recall(question, k=50)]
            for question in questions
        ],
    }


def fresh_build(index: HebbianIndex, chunks: Iterable[Chunk] | None = None) -> HebbianIndex:
    """Return an index in memory, built in one go from what an index holds, in another order."""
    fresh = HebbianIndex.open(":memory:", settings=index.settings, embedder=index.embedder)
    fresh.add(reversed(index.get(index.ids()) if chunks is None else list(chunks)))
    return fresh


def differences(one: HebbianIndex, other: HebbianIndex) -> list[str]:
    """Return in what two indexes differ: tables and everything that callers see."""
    found = []
    for look in (tables, seen):
        first, second = look(one), look(other)
        for name, value in first.items():
            if value != second[name]:
                found.append(f"{name}: {_difference(value, second[name])}")
    return found


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, dict):
        keys = [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]
        return str({key: (one.get(key), other.get(key)) for key in keys[:3]})
    if isinstance(one, list) and one and isinstance(one[0], list):
        pairs = zip(one, other, strict=True)
        return " | ".join(_difference(left, right) for left, right in pairs if left != right)
    if isinstance(one, list):
        left, right = [x for x in one if x not in other], [x for x in other if x not in one]
        return f"{left[:3]!r:.600} against {right[:3]!r:.600}"
    return f"{one!r:.200} against {other!r:.200}"


def assert_sound(index: HebbianIndex) -> None:
    """Check an index by itself, and against one that is built from what it holds."""
    assert index.doctor() == []
    with fresh_build(index) as fresh:
        assert differences(index, fresh) == []
