"""Word search equals a naive full scan, and recalls cost few statements.

Blocks are patched to be small, so that most words have several. With ``HEBBGRAPH_SOAK=1``: 2,000
corpora instead of 150. ``-rP`` shows how many statements recalls take.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import best_by_words
from ships import ByNumber
from soak import SOAK

from hebbgraph import HebbianIndex, Ranking, Request
from hebbgraph.store.sqlite import SQLiteSession

_WORDS = ["auk", "bay", "coal", "dune", "elm", "fog", "gull", "the", "of", "東京", "Ida", "X-77b"]
_passages = st.builds(
    lambda words, more: " ".join([*words, *more * ["keel"]]),
    st.lists(st.sampled_from(_WORDS), max_size=12),
    st.sampled_from([0, 30]),  # stubs, and longer ones
)
_texts = st.lists(_passages, min_size=1, max_size=40)


class _Best:
    """The first n of word search."""

    name = "best"

    def __init__(self, n: int) -> None:
        self.n = n
        self.found: list[tuple[str, float]] = []

    def rank(self, request: Request) -> Ranking:
        rows, scores = request.question.search.best(self.n, request.allowed)
        ids = request.snapshot.ids(rows)
        pairs = zip(rows.tolist(), scores.tolist(), strict=True)
        self.found = [(ids[row], score) for row, score in pairs]
        return Ranking(np.empty(0, np.int64), np.empty(0))


@contextmanager
def _small(block: int) -> Iterator[None]:
    with (
        patch("hebbgraph.store.postings._BLOCK", block),
        patch("hebbgraph.store.postings._TAIL", max(block // 2, 1)),
    ):
        yield


@settings(max_examples=2000 if SOAK else 150)
@given(
    texts=_texts,
    question=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(" ".join),
    n=st.integers(1, 12),
    block=st.sampled_from([2, 4, 2048]),
    kinds=st.sets(st.integers(0, 3)),
    deleted=st.sets(st.integers(0, 39), max_size=10),
)
def test_best_chunks_equal_a_full_scan(
    texts: list[str],
    question: str,
    n: int,
    block: int,
    kinds: set[int],
    deleted: set[int],
) -> None:
    chunks = [
        {"id": f"c{at * 7 % 41:02}", "title": "." * (at % 2), "text": text or "-",
         "metadata": {"kind": at % 4}}
        for at, text in enumerate(texts)
    ]  # fmt: skip
    where = {"kind": {"$in": sorted(kinds)}}
    with _small(block), HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        index.delete([f"c{at:02}" for at in deleted])
        for rule in (None, where):
            best = _Best(n)
            index.recall(question, strategy=best, where=rule)
            found = sorted(best.found, key=lambda pair: (-pair[1], pair[0]))
            expected = best_by_words(index, question, n, index.ids(rule))
            assert [id_ for id_, _ in found] == [id_ for id_, _ in expected]
            scores = [score for _, score in expected]
            assert [score for _, score in found] == pytest.approx(scores, abs=2e-9)


def test_hits_say_which_words_they_hold() -> None:
    rng = random.Random(3)
    texts = [" ".join(rng.choices(_WORDS[:7], k=6)) for _ in range(300)]
    with _small(4), HebbianIndex.open(":memory:") as index:
        index.add({"id": f"c{n:03}", "text": text} for n, text in enumerate(texts))
        for question in ("auk bay coal dune elm fog gull", "auk", "bay zorvane"):
            for min_score in (None, 0.9, 1.0):
                for hit in index.recall(question, k=5, min_score=min_score):
                    words = set(hit.text.split())
                    assert hit.has == tuple(w for w in question.split() if w in words)
                    assert hit.lacks == tuple(w for w in question.split() if w not in words)


# -- statements -----------------------------------------------------------------------------

#: The bound of the design.
MOST = 20
_RARE = [f"word{n}" for n in range(2000)]
_WEIGHTS = [1 / (n + 1) for n in range(2000)]


@pytest.fixture(scope="module", params=[None, ByNumber(32)], ids=["words", "vectors"])
def large(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Path, Any]:
    """An index of 3,000 chunks with titles, links, metadata and, once, vectors."""
    rng, folder = random.Random(1), tmp_path_factory.mktemp("large")
    with HebbianIndex.open(folder, embedder=request.param) as index:
        index.add(
            {
                "id": f"c{n}",
                "title": f"Heron {n}" if n % 2 else "",
                "text": f"Heron {n} lies near Heron {rng.randrange(3000)}. "
                + " ".join(rng.choices(_RARE, _WEIGHTS, k=30)),
                "metadata": {"n": n, "kind": "abc"[n % 3]},
                "addresses": [f"doc{n}.md"] if n % 3 == 0 else [],
                "references": [f"doc{rng.randrange(3000)}.md"] if n % 3 == 0 else [],
            }
            for n in range(3000)
        )
    return folder, request.param


_SEEDS = [(f"c{n}", 1 / (n + 1)) for n in range(100)]
_RECALLS: dict[str, dict[str, Any]] = {
    "plain": {"question": "Who built Heron 77 near the word5 word900?"},
    "common words": {"question": " ".join(f"word{n}" for n in range(12))},
    "fifty hits": {"question": "Heron 5 word7 word20", "k": 50},
    "filter": {"question": "Heron 5 word7", "where": {"kind": "a"}},
    "narrow filter": {"question": "Heron 5 word7", "where": {"n": {"$lt": 5}}},
    "filter of many parts": {
        "question": "Heron 5 word7",
        "where": {"$or": [{"kind": "a"}, {"n": {"$gt": 5}}, {"$not": {"kind": "c"}}]},
    },
    "min_score": {"question": "word1 word2 Heron 5", "min_score": 0.99},
    "seeds": {"question": "Heron 5 word7", "seeds": _SEEDS},
    "hundred titles": {"question": " ".join(f"Heron {n}" for n in range(1, 200, 2))},
    "unknown words": {"question": "zorvane kelp marmot"},
    "stop words": {"question": "the of and is"},
    "long": {"question": " ".join(_RARE[:400])},
}


def _statements(folder: Path, embedder: Any, asked: dict[str, Any]) -> tuple[int, int]:
    """Return the number of statements of a recall after a write, and of the same one again."""
    counts = [0]
    rows = SQLiteSession.rows

    def counting(session: SQLiteSession, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        counts[-1] += 1
        return rows(session, sql, *parameters)

    with HebbianIndex.open(folder, embedder=embedder) as index:
        index.recall("Something else 7")
        index.add([{"id": "last", "text": f"The last chunk {asked}"}])
        with patch.object(SQLiteSession, "rows", counting):
            index.recall(**asked)
            counts.append(0)
            index.recall(**asked)
    return counts[0], counts[1]


@pytest.fixture(scope="module")
def counts(large: tuple[Path, Any]) -> dict[str, tuple[int, int]]:
    """How many statements recalls take."""
    return {name: _statements(*large, asked) for name, asked in _RECALLS.items()}


def test_statements_of_a_recall_are_bounded(counts: dict[str, tuple[int, int]]) -> None:
    for name, (first, again) in counts.items():
        print(f"{first:4d} statements, {again:2d} when asked again: {name}")
    assert {name: first for name, (first, _) in counts.items() if first > MOST} == {}
    assert max(again for _, again in counts.values()) <= 6
