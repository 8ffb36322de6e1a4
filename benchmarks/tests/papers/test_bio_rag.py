"""Bio-RAG's graph and loop on three documents, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk

from hebbgraph_bench.papers.bio_rag.graph import (
    PAPER_EDGES,
    PAPER_NODES,
    TermNetwork,
    TfIdf,
    dense_network,
)
from hebbgraph_bench.papers.bio_rag.judges import ask_judge, chance_judge
from hebbgraph_bench.papers.bio_rag.learning import Asked, GraphSearch, Learning, judge, learn
from hebbgraph_bench.papers.bio_rag.questions import REWORDED, TOPICS, load_set

DOCUMENTS = [
    Chunk(id="a", title="Gull", text="gull cliff\ngull nest"),
    Chunk(id="b", title="Nest", text="nest straw"),
    Chunk(id="c", title="Rope", text="straw rope"),
]
ASKED = [Asked("gull", {1: 3}), Asked("rope", {2: 3})]


@pytest.fixture
def network() -> TermNetwork:
    return dense_network(DOCUMENTS, n_nodes=None, n_edges=None)


def no_similarity(query: str) -> np.ndarray:
    return np.zeros(3)


def test_what_occurs_together_is_wired(network: TermNetwork) -> None:
    assert network.labels == ("cliff", "gull", "nest", "rope", "straw")
    graph = network.graph
    cliff, gull, nest, rope, straw = range(3, 8)
    # gull and cliff: once in the document, once in a paragraph.
    assert graph.weights[graph.edge(gull, cliff)] == pytest.approx(0.2)
    assert graph.weights[graph.edge(gull, nest)] == pytest.approx(0.2)
    assert graph.weights[graph.edge(cliff, nest)] == pytest.approx(0.1)  # not in one paragraph
    assert graph.weights[graph.edge(0, gull)] == pytest.approx(0.3)  # title, twice in the text
    assert graph.weights[graph.edge(2, rope)] == pytest.approx(0.2)
    with pytest.raises(ParameterError, match="no edge"):
        graph.edge(gull, straw)
    assert len(graph) == 5 + 3 + 2 + 2  # 5 between terms; holdings of a, b and c


def test_undigested_documents_are_not_wired() -> None:
    network = dense_network(DOCUMENTS, digested=[1, 2], n_nodes=None, n_edges=None)
    assert network.labels == ("nest", "rope", "straw")
    assert len(network.graph.neighbours(np.array([0]))[0]) == 0


def test_ways_to_make_it_sparse(network: TermNetwork) -> None:
    between = int(network.between_terms.sum())
    few = network.strongest(len(network.graph) - between + 2)
    assert few.between_terms.sum() == 2
    assert few.counts[few.between_terms].tolist() == [2, 2]
    assert network.thinned(len(network.graph) - 1).between_terms.sum() == between - 1
    vectors = np.eye(5)
    vectors[1] = vectors[0]  # gull is like cliff and like nothing else
    similar = network.similar(vectors)
    assert similar.between_terms.sum() == 1
    assert similar.graph.edge(3, 4) >= 0


def test_a_model_prunes(network: TermNetwork) -> None:
    seen = []

    def say(prompt: str) -> str:
        seen.append(prompt)
        return "Here they are: [1]"

    pruned = network.judged(ask_judge(SimpleNamespace(invoke=say)), batch=10)
    assert pruned.between_terms.sum() == 1
    assert "1. cliff – gull" in seen[0]
    assert len(network.judged(lambda pairs: [True] * len(pairs)).graph) == len(network.graph)
    with pytest.raises(ParameterError, match="one verdict a pair"):
        network.judged(lambda pairs: [True])


@pytest.mark.parametrize(
    "model",
    [
        SimpleNamespace(complete=lambda prompt: SimpleNamespace(__str__=None) and "[2]"),
        SimpleNamespace(invoke=lambda prompt: SimpleNamespace(content="[2]")),
        lambda prompt: "[2]",
    ],
)
def test_any_chat_model_will_do(model: object) -> None:
    assert ask_judge(model)([("a", "b"), ("c", "d")]) == [False, True]


def test_models_that_do_not_answer() -> None:
    with pytest.raises(ParameterError, match="JSON list"):
        ask_judge(lambda prompt: "I would rather not")([("a", "b")])
    with pytest.raises(ParameterError, match="chat model"):
        ask_judge(7)


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
    rounds = learn(search, {"asked": [Asked("cliff", {1: 3})]}, Learning(), rounds=10)
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
    values = judge([[2, 0]], [Asked("q", {0: 2, 5: 1})])
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


def test_tf_idf_ranks_by_cosine() -> None:
    tf_idf = TfIdf(["gull gull cliff", "nest", ""])
    scores = tf_idf.scores("gull")
    assert scores[0] == pytest.approx(2 / np.sqrt(5))
    assert scores[1:].tolist() == [0.0, 0.0]
    assert tf_idf.scores("unknown").tolist() == [0.0, 0.0, 0.0]


def test_a_rule_stands_in_for_a_model(network: TermNetwork) -> None:
    judged = chance_judge(replace(network, n_documents=3), lift=1.6)
    # cliff and gull: together in 1 of 3, 1 expected by chance in 3: 3 times as often.
    assert judged([("cliff", "gull"), ("nest", "straw")]) == [True, False]
