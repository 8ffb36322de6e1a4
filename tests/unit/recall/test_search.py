"""Three ways to the lexical candidates that pass a filter, and one result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.recall import search
from hebbgraph.recall.masks import Masks, PassingChunks

N = 1200


@pytest.fixture(scope="module")
def index() -> Iterator[HebbianIndex]:
    rng = np.random.default_rng(3)
    words = np.array(["sail", "oar", "keel", "mast", "rope", "tide"])
    with HebbianIndex.open(":memory:") as index:
        index.add(
            Chunk(
                id=f"{at:04}",
                text=" ".join(rng.choice(words, rng.integers(2, 9))),
                metadata={"n": at % 100, "tenth": at % 10},
            )
            for at in range(N)
        )
        yield index


@pytest.mark.parametrize(
    ("where", "way"),
    [
        (None, "all"),
        ({"n": {"$lt": 50}}, "over"),
        ({"tenth": 3}, "facts"),
        ({"n": 7}, "facts"),
        ({"n": 100}, "rows"),  # nobody
        ({"$id": {"$in": ["0007", "0012"]}}, "rows"),
        ({"n": {"$gte": 99.0}, "tenth": {"$exists": True}}, "facts"),
        ({"n": {"$in": [3, 13, 23, 33]}}, "facts"),
    ],
)
def test_every_way_finds_the_same(
    index: HebbianIndex, where: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_CANDIDATES", 30)
    derived = index.parts.derived
    graph = derived.graph
    passing = Masks(index.parts.truth, None).passing(graph, where)
    asked: list[dict[str, Any]] = []
    plain = derived.lexical.search

    def spy(terms: Any, limit: int, **options: Any) -> Any:
        asked.append(options)
        return plain(terms, limit, **options)

    monkeypatch.setattr(derived.lexical, "search", spy)
    slots, scores = search.lexical_search(derived, graph, {"sail": 1.0, "keel": 1.0}, passing)
    used = {name for options in asked for name, value in options.items() if value is not None}
    assert used == {"facts": {"facts"}, "rows": {"only"}}.get(way, set())
    rows, every = plain({"sail": 1.0, "keel": 1.0}, N)
    allowed = {int(row) for row in graph.rows[passing.mask]}
    expected = {int(row): score for row, score in zip(rows, every, strict=True) if row in allowed}
    best = sorted(expected.values(), reverse=True)[:30]
    assert scores.tolist() == best
    found = zip(graph.rows[slots].tolist(), scores.tolist(), strict=True)
    assert all(expected[row] == score for row, score in found)


def test_facts_of_others_only_widen_what_is_looked_at(index: HebbianIndex) -> None:
    """A checksum may be that of another value: what it lets in is masked."""
    graph = index.parts.derived.graph
    passing = Masks(index.parts.truth, None).passing(graph, {"tenth": 3})
    other = Masks(index.parts.truth, None).passing(graph, {"tenth": 4})
    assert passing.cover is not None
    assert other.cover is not None
    wider = passing.cover._replace(terms=passing.cover.terms | other.cover.terms)
    found = search.lexical_search(
        index.parts.derived, graph, {"sail": 1.0}, PassingChunks(passing.mask, wider)
    )
    exact = search.lexical_search(
        index.parts.derived, graph, {"sail": 1.0}, PassingChunks(passing.mask)
    )
    assert passing.mask[found[0]].all()
    assert sorted(found[1].tolist()) == sorted(exact[1].tolist())


@pytest.mark.parametrize("prefix", ["", "chunk-of-the-same-name-"])
def test_ties_do_not_depend_on_the_order_of_insertion(
    prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of chunks that score the same, those with the smaller ids are candidates."""
    monkeypatch.setattr(search, "_CANDIDATES", 20)
    rng = np.random.default_rng(5)
    chunks = [Chunk(id=f"{prefix}{n:03}", text="A sail and a keel.") for n in range(150)]
    chunks += [Chunk(id=f"{prefix}best{n}", text="sail sail sail") for n in range(4)]
    chunks += [Chunk(id=f"{prefix}worse{n}", text="A sail " + "rope " * 40) for n in range(9)]
    found = []
    for _ in range(3):
        order = rng.permutation(len(chunks)).tolist()
        with HebbianIndex.open(":memory:") as index:
            for start in range(0, len(order), 40):
                index.add([chunks[at] for at in order[start : start + 40]])
            graph = index.parts.derived.graph
            slots, scores = search.lexical_search(
                index.parts.derived, graph, {"sail": 1.0}, PassingChunks(graph.alive)
            )
            ids = index.parts.derived.ids(graph.rows[slots])
            found.append(sorted(zip(ids, np.round(scores, 5).tolist(), strict=True)))
            recall = index.recall("sail", k=10)
            found[-1] += [(hit.chunk.id, round(hit.score, 9)) for hit in recall.hits]
    assert found[0] == found[1] == found[2]
    assert {id_ for id_, _ in found[0]} == {
        *(f"{prefix}best{n}" for n in range(4)),
        *(f"{prefix}{n:03}" for n in range(16)),
    }


def test_a_chunk_that_holds_the_whole_question_comes_before_one_whose_title_it_names() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                Chunk(id="lantern", title="Lantern", text="It hung over the door of the inn."),
                Chunk(id="whole", text="The Salt Lantern guides the boats of the village home."),
                *(Chunk(id=f"{n}", text=f"Boat {n} came home with salt.") for n in range(8)),
            ]
        )
        assert index.recall("Salt Lantern").hits[0].chunk.id == "whole"
