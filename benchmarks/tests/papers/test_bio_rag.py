"""Bio-RAG's graph and loop on three documents, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hebbgraph.records import Chunk
from hebbgraph_papers.bio_rag.learning import Learning
from hebbgraph_papers.bio_rag.network import (
    PAPER_EDGES,
    PAPER_NODES,
    TermNetwork,
    dense_network,
)
from hebbgraph_papers.bio_rag.search import GraphSearch

from hebbgraph_bench.papers.bio_rag.learning import NumberedQuery, judge, learn
from hebbgraph_bench.papers.bio_rag.questions import REWORDED, TOPICS, load_set

DOCUMENTS = [
    Chunk(id="a", title="Gull", text="gull cliff\ngull nest"),
    Chunk(id="b", title="Nest", text="nest straw"),
    Chunk(id="c", title="Rope", text="straw rope"),
]
ASKED = [NumberedQuery("gull", {1: 3}), NumberedQuery("rope", {2: 3})]


@pytest.fixture
def network() -> TermNetwork:
    return dense_network(DOCUMENTS, n_nodes=None, n_edges=None)


def no_similarity(query: str) -> np.ndarray:
    return np.zeros(3)


def test_reinforcement_follows_the_formula(network: TermNetwork) -> None:
    search = GraphSearch(network, no_similarity)
    before = network.graph.weights.copy()
    found = search.search("gull")
    assert found.path(1) == [4, 5, 1]  # gull, nest, b
    rounds = learn(search, {"asked": ASKED[:1]}, Learning(), rounds=1)
    edges = [network.graph.edge(4, 5), network.graph.edge(5, 1)]
    gained = network.graph.weights[edges] - before[edges]
    assert gained.tolist() == pytest.approx([0.1 * 1.0 / 2] * 2)  # rate * relevance / length
    others = np.setdiff1d(np.arange(len(before)), edges)
    assert network.graph.weights[others] == pytest.approx(before[others] * 0.99)
    assert rounds.changed == [2, 0]


def test_inhibition_weakens_the_way_to_what_was_wrong(network: TermNetwork) -> None:
    search = GraphSearch(network, no_similarity)
    edge = network.graph.edge(0, 4)  # gull straight to a, which does not answer
    learn(search, {"asked": ASKED[:1]}, Learning(inhibition=0.5, decay=0.0), rounds=1)
    assert network.graph.weights[edge] == pytest.approx(0.3 - 0.1 * 0.5)


def test_at_the_ceiling_nothing_can_be_learned() -> None:
    network = dense_network(DOCUMENTS, n_nodes=None, n_edges=None, unit=1.0)
    search = GraphSearch(network, no_similarity)
    strata = {"asked": ASKED}
    rounds = learn(search, strata, Learning(w_max=1.0, decay=0.0), rounds=5)
    assert len(set(rounds.curve("asked", "nDCG@10"))) == 1
    assert (network.graph.weights == 1.0).all()


def test_learning_brings_the_right_document_up(network: TermNetwork) -> None:
    search = GraphSearch(network, no_similarity)
    assert search.search("cliff").documents[0] == 0
    rounds = learn(search, {"asked": [NumberedQuery("cliff", {1: 3})]}, Learning(), rounds=10)
    curve = rounds.curve("asked", "MRR")
    assert (round(curve[0], 2), curve[-1]) == (0.33, 1.0)  # the longest path sums up most


def test_unused_edges_are_cut(network: TermNetwork) -> None:
    search = GraphSearch(network, no_similarity)
    rounds = learn(search, {"asked": ASKED[:1]}, Learning(prune_after=1), rounds=2)
    assert rounds.edges == [12, 8, 8]  # of 5 edges between terms one was used


def test_a_static_graph_stays(network: TermNetwork) -> None:
    before = network.graph.weights.copy()
    rounds = learn(GraphSearch(network, no_similarity), {"asked": ASKED}, None, rounds=3)
    assert (network.graph.weights == before).all()
    assert len(rounds.values["asked"]) == 4


def test_the_papers_metrics() -> None:
    values = judge([[2, 0]], [NumberedQuery("q", {0: 2, 5: 1})])
    assert {name: round(float(column[0]), 3) for name, column in values.items()} == {
        "P@5": 0.2,
        "P@10": 0.1,
        "MRR": 0.5,
        "nDCG@10": round((2 / np.log2(3)) / (2 + 1 / np.log2(3)), 3),
    }


def test_the_corpus_is_as_the_paper_describes_it() -> None:
    found = load_set()
    topics = [str(chunk.metadata["topic"]) for chunk in found.asked.corpus]
    assert {topic: topics.count(topic) for topic in TOPICS.values()} == dict.fromkeys(
        TOPICS.values(), 10
    )
    words = [len(f"{chunk.title} {chunk.text}".split()) for chunk in found.asked.corpus]
    assert min(words) >= 500
    assert max(words) <= 800
    assert {query.type for query in found.asked.queries} == {"within", "across"}
    assert all(REWORDED in query.variants for query in found.asked.queries)
    texts = {query.text for query in found.asked.queries}
    assert not any(query.text in texts for query in found.held_out)


def test_the_density_is_that_of_the_paper() -> None:
    network = dense_network(load_set().asked.corpus)
    assert (network.graph.n_nodes, len(network.graph)) == (PAPER_NODES, PAPER_EDGES)
    assert network.density == pytest.approx(0.1246, abs=1e-4)
    assert network.graph.mean_degree == pytest.approx(252.5, abs=0.1)
