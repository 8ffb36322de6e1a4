"""Bio-RAG: the search on an index and on the paper's graph, and its learning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hebbgraph_papers.bio_rag import BioRag, Parameters
from hebbgraph_papers.bio_rag.graph import TermGraph, TfIdf, dense_graph, document_edges
from hebbgraph_papers.bio_rag.learning import Learning, TermSearch, learn_round

from hebbgraph import Chunk, HebbianIndex

TEXTS = ["owl hunts vole", "vole eats grass", "grass grows"]


def path_graph() -> TermGraph:
    """Documents 0 and 1; term 2 "owl" leads to 0 over 0.4, over term 3 "vole" to 1: 0.5 and 0.2."""
    return TermGraph(
        2,
        ("owl", "vole"),
        (frozenset({"owl"}), frozenset({"vole"})),
        np.array([0, 2, 1]),
        np.array([2, 3, 3]),
        np.array([0.4, 0.5, 0.2]),
        np.ones(3, np.int64),
    )


def searched(graph: TermGraph) -> TermSearch:
    return TermSearch(graph, lambda _: np.array([0.3, 0.1]))


# -- on an index ----------------------------------------------------------------------------


def test_chunks_are_reached_over_tags_and_scored_as_published(memory: HebbianIndex) -> None:
    memory.add(
        Chunk(id=id_, text=text, tags=tags)
        for id_, text, tags in [
            ("a", "It hoots.", ["night owl"]),
            ("b", "It runs.", ["night owl", "vole"]),
            ("c", "It grows.", ["vole"]),
            ("d", "It shines.", ["moon"]),
        ]
    )
    recall = memory.recall("Which owl hoots?", strategy="bio_rag")
    # a and b hold the label with "owl" (.5); c lies behind the tag "vole" (.1 + .5).
    paths = {hit.id: [(s.value, s.weight) for s in hit.path[1:]] for hit in recall}
    assert paths == {
        "a": [("night owl", 0.0), ("a", 0.5)],
        "b": [("night owl", 0.0), ("b", 0.5)],
        "c": [("night owl", 0.0), ("vole", 0.1), ("c", 0.5)],
    }
    # Half similarity, half the graph: .5 * path + .5 * overlap, the highest 1. Of the two words, b
    # holds "owl", which is in two of four chunks, and a also "hoots", which is in one.
    graph = {"a": 0.5 * 0.5 + 0.5, "b": 0.5 * 0.5 + 0.5 * 0.5, "c": 0.5 * 0.6}
    owl, hoots = math.log(1 + 2.5 / 2.5), math.log(1 + 3.5 / 1.5)
    similarity = {"a": 1.0, "b": owl / (owl + hoots), "c": 0.05}
    expected = {id_: 0.5 * similarity[id_] + 0.5 * graph[id_] / 0.75 for id_ in graph}
    assert {hit.id: hit.score for hit in recall} == pytest.approx(expected)
    all_graph = memory.recall("Which owl hoots?", strategy=BioRag(Parameters(mu=1.0)))
    assert all_graph[0].score == 1.0


def test_filters_hold_and_a_question_without_labels_says_so(memory: HebbianIndex) -> None:
    memory.add(Chunk(id=i, text="It is so.", tags=["owl"], metadata={"n": i}) for i in "ab")
    assert [h.id for h in memory.recall("owl", where={"n": "b"}, strategy="bio_rag")] == ["b"]
    recall = memory.recall("What is a quokka?", strategy="bio_rag")
    assert not recall.hits
    assert "no tag of the index contains a word" in recall.notes[0]


# -- on its own graph -----------------------------------------------------------------------


def test_terms_of_a_document_are_wired_as_often_as_they_occur_together() -> None:
    graph = dense_graph(["owl hunts vole\nvole", *TEXTS[1:]], n_nodes=9)
    assert graph.labels == ("eats", "grass", "grows", "hunts", "owl", "vole")
    owl, vole = 3 + graph.labels.index("owl"), 3 + graph.labels.index("vole")
    assert graph.weights[graph.edge(owl, vole)] == 0.2  # the document, and a paragraph of it
    assert graph.weights[graph.edge(0, vole)] == 0.2
    assert len(graph.strongest(2)) == 2
    assert dense_graph(TEXTS, digested=[0], n_nodes=9).labels == ("hunts", "owl", "vole")


def test_documents_are_joined_by_likeness_within_a_colony_and_less_between() -> None:
    edges = document_edges(TfIdf(TEXTS))
    assert set(edges) == {(0, 1), (1, 2)}
    tf_idf = TfIdf(["owl", "owl", "vole"])
    assert document_edges(tf_idf) == {(0, 1): pytest.approx(1.0)}


def test_paths_to_relevant_documents_gain_and_other_edges_decay() -> None:
    graph = path_graph()
    search = searched(graph)
    found = search.search("owl")
    assert [node for node, _ in found.path(1)] == [2, 3, 1]
    # Document 1: .5 * .1 + .5 * (.5 * .7) / (.5 * .4 + .5 * 1); document 0: .5 * .3 + .5.
    assert found.scores.tolist() == pytest.approx([0.65, 0.05 + 0.5 * 0.35 / 0.7])
    used: set[int] = set()
    answers = [({1: 3}, found)]
    learn_round(search, answers, Learning(eta=0.1, decay=0.5), number=0, used=used)
    assert graph.weights.tolist() == pytest.approx([0.2, 0.55, 0.25])
    assert used == {1, 2}
    learn_round(search, answers, Learning(inhibition=1.0, decay=0.0), number=0, used=used)
    assert graph.weights.tolist() == pytest.approx([0.1, 0.6, 0.3])


def test_edges_that_led_nowhere_are_cut() -> None:
    search = searched(path_graph())
    answers = [({0: 3}, search.search("owl"))]
    learn_round(search, answers, Learning(prune_after=1), number=0, used=set())
    assert list(zip(search.graph.sources, search.graph.targets, strict=True)) == [(0, 2), (1, 3)]
    assert search.search("owl").documents.tolist() == [0]


def test_graphs_are_thinned_by_likeness_and_by_a_judge() -> None:
    graph = path_graph()
    assert len(graph.similar(np.array([[1.0, 0.0], [0.0, 1.0]]))) == 2
    assert len(graph.judged(lambda first, second: (first, second) == ("owl", "vole"))) == 3
