from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest

from hebbgraph import HebbianIndex

TAGGED = [
    {"id": "a", "text": "x", "tags": ["gull cliff", "tern rock"]},
    {"id": "b", "text": "x", "tags": ["gull cliff", "tern rock", "auk stack"]},
    {"id": "c", "text": "x", "tags": ["auk stack"]},
    {"id": "d", "text": "x"},
]


def test_worked_by_hand() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(TAGGED)
        stats = index.stats()
    assert (stats.chunks, stats.tags, stats.postings, stats.edges) == (4, 3, 6, 3)
    assert stats.density == 1.0
    assert stats.tags_per_chunk == 1.5
    assert stats.untagged_share == 0.25
    assert stats.degrees == {"p0": 2, "p50": 2, "p90": 2, "p99": 2, "p100": 2}
    assert stats.generation == 1


def test_nothing_counts_as_nothing() -> None:
    with HebbianIndex.open(":memory:") as index:
        stats = index.stats()
        index.add(["x"])
        index.delete([hit.chunk.id for hit in index.recall("x").hits])
        after = index.stats()
    assert (stats.chunks, stats.tags, stats.edges, stats.density) == (0, 0, 0, 0.0)
    assert after.model_copy(update={"generation": 0}) == stats.model_copy(update={"generation": 0})


@pytest.mark.parametrize("kind", ["tags", "incidence"])
def test_statistics_agree_with_networkx(make_index: Callable[..., HebbianIndex], kind: str) -> None:
    index = make_index()
    index.delete(["heron"])
    stats, graph = index.stats(), index.to_networkx(kind)
    if kind == "tags":
        assert graph.number_of_nodes() == stats.tags
        assert graph.number_of_edges() == stats.edges
        assert nx.density(graph) == pytest.approx(stats.density)
        degrees = sorted(degree for _, degree in graph.degree())
        assert (degrees[0], degrees[-1]) == (stats.degrees["p0"], stats.degrees["p100"])
    else:
        assert graph.number_of_edges() == stats.postings
        # A chunk without tags stands in the graph, alone.
        assert graph.number_of_nodes() == stats.chunks + stats.tags


def test_edges_and_degrees_of_a_large_graph_are_estimated(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every nth tag by frequency is looked at, the most frequent one among them."""
    index = make_index()
    whole = index.stats()
    monkeypatch.setattr("hebbgraph.inspect.statistics._MOST_PAIRS", 20)
    some = index.stats()
    assert (whole.estimated, some.estimated) == (False, True)
    counted = ("chunks", "tags", "postings", "tags_per_chunk", "untagged_share")
    assert [getattr(some, name) for name in counted] == [getattr(whole, name) for name in counted]
    assert some.edges == pytest.approx(whole.edges, rel=0.5)
    assert some.degrees["p100"] == whole.degrees["p100"]
