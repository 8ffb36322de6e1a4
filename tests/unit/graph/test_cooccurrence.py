from __future__ import annotations

from unittest.mock import patch

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms import bipartite

from hebbgraph.graph.incidence import Incidence, Postings
from hebbgraph.inspect.cooccurrence import cooccurrence_edges, degrees

Rows = list[list[int]]


def _incidence(rows: Rows, n_tags: int) -> Incidence:
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    tags = np.array([tag for row in rows for tag in row], dtype=np.int32)
    return Incidence(Postings(indptr, tags, np.zeros(len(tags), np.bool_)), n_tags)


def _projected(rows: Rows) -> dict[tuple[int, int], int]:
    graph = nx.Graph()
    for chunk, row in enumerate(rows):
        graph.add_edges_from((f"c{chunk}", tag) for tag in row)
    tags = {tag for row in rows for tag in row}
    if not tags:  # networkx has no projection of nothing
        return {}
    projected = bipartite.weighted_projected_graph(graph, tags)
    return {(min(a, b), max(a, b)): w for a, b, w in projected.edges(data="weight")}


_ROWS = st.lists(st.sets(st.integers(0, 7), max_size=5).map(sorted), max_size=10)


@given(_ROWS)
def test_edges_are_the_bipartite_projection(rows: Rows) -> None:
    found = cooccurrence_edges(_incidence(rows, 8), np.arange(len(rows)))
    as_dict = {(s, t): w for s, t, w in zip(*(part.tolist() for part in found), strict=True)}
    assert len(as_dict) == len(found.weight)
    assert as_dict == _projected(rows)


@given(_ROWS, st.sampled_from((1, 3, 4_000_000)))
def test_degrees_count_neighbours_for_any_block_size(rows: Rows, at_once: int) -> None:
    incidence, used = _incidence(rows, 8), np.array(sorted({t for row in rows for t in row}), int)
    pairs = np.array([sum(len(row) for row in rows if tag in row) for tag in used], float)
    with patch("hebbgraph.inspect.cooccurrence._PAIRS_AT_ONCE", at_once):
        found = degrees(incidence, used[::-1], pairs[::-1])
    edges = _projected(rows)
    assert found.tolist() == [sum(int(tag) in edge for edge in edges) for tag in used[::-1]]


def test_only_the_given_chunks_count() -> None:
    incidence = _incidence([[0, 1], [0, 1], [0, 2]], 3)
    found = cooccurrence_edges(incidence, np.array([1, 2]))
    assert list(zip(*(part.tolist() for part in found), strict=True)) == [(0, 1, 1), (0, 2, 1)]
