from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from hebbgraph import Chunk, HebbianIndex

ODD = Chunk(
    id='q"<&>é 漢',
    title="Müller & Söhne <GmbH>",
    text="Die Firma «Müller & Söhne» baute 东京塔 und 东京湾.",
    tags=("东京塔", 'a "quoted" tag'),
)


@pytest.fixture
def index(make_index: Callable[..., HebbianIndex], corpus: list[Chunk]) -> HebbianIndex:
    return make_index([*corpus, ODD])


def _content(graph: nx.Graph) -> tuple[dict, dict]:
    nodes = {str(node): dict(data) for node, data in graph.nodes(data=True)}
    edges = {frozenset((str(a), str(b))): dict(data) for a, b, data in graph.edges(data=True)}
    return nodes, edges


@pytest.mark.parametrize("kind", ["tags", "incidence"])
def test_graphml_round_trip(index: HebbianIndex, tmp_path: Path, kind: str) -> None:
    graph = index.to_networkx(kind)
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    assert _content(nx.read_graphml(tmp_path / "graph.graphml")) == _content(graph)


@pytest.mark.parametrize("kind", ["tags", "incidence"])
def test_node_link_round_trip(index: HebbianIndex, kind: str) -> None:
    graph = index.to_networkx(kind)
    written = json.dumps(nx.node_link_data(graph, edges="edges"))
    back = nx.node_link_graph(json.loads(written), edges="edges")
    assert _content(back) == _content(graph)
    assert back.graph == {"generation": index.stats().generation}


def test_tags_carry_df_and_edges_weight(index: HebbianIndex) -> None:
    graph = index.to_networkx()
    assert graph.nodes["ida moss"]["df"] == 3
    assert graph.edges["ida moss", "corin vale"]["weight"] == 2
    assert not graph.has_edge("petrel", "corin vale")


def test_incidence_names_both_sides(index: HebbianIndex) -> None:
    graph = index.to_networkx("incidence")
    assert graph.edges["chunk:moss", "tag:ida moss"]["is_title"] is True
    assert graph.edges["chunk:petrel", "tag:ida moss"]["is_title"] is False
    assert graph.nodes["chunk:moss"] == {"bipartite": 0, "label": "moss"}
    assert graph.nodes["tag:东京塔"] == {"bipartite": 1, "label": "东京塔"}
    assert nx.is_bipartite(graph)
