"""Bio-RAG's graph on three documents, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk

from hebbgraph_papers.bio_rag.judges import ask_judge, chance_judge
from hebbgraph_papers.bio_rag.network import TermNetwork, TfIdf, dense_network

DOCUMENTS = [
    Chunk(id="a", title="Gull", text="gull cliff\ngull nest"),
    Chunk(id="b", title="Nest", text="nest straw"),
    Chunk(id="c", title="Rope", text="straw rope"),
]


@pytest.fixture
def network() -> TermNetwork:
    return dense_network(DOCUMENTS, n_nodes=None, n_edges=None)


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
