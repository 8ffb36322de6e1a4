from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hebbgraph.errors import ParameterError

from hebbgraph_bench import Dataset
from hebbgraph_bench.datasets import Extraction
from hebbgraph_bench.pagerank import personalized_pagerank
from hebbgraph_bench.phrase_pagerank import PhrasePageRank

from .conftest import HashEmbedder

EXTRACTIONS = {
    "a": Extraction(("gull",), (("gull", "nests above", "harbour"),)),
    "b": Extraction(triples=(("harbour", "built by", "Mira Voss"),)),
    "c": Extraction(triples=(("Mira Voss", "born in", "Tarn"), ("", "is", "blank"))),
}


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_equals_networkx(damping: float) -> None:
    graph = nx.gnp_random_graph(30, 0.15, seed=3)
    graph.add_nodes_from([30, 31])  # without edges
    rng = np.random.default_rng(0)
    for one, other in graph.edges:
        graph.edges[one, other]["weight"] = rng.uniform(0.5, 2)
    reset = np.where(rng.random(32) < 0.3, rng.random(32), 0)
    ends = np.array([(one, other) for one, other in graph.edges])
    weight = np.array([graph.edges[one, other]["weight"] for one, other in ends])
    ours = personalized_pagerank(
        np.concatenate([ends[:, 0], ends[:, 1]]),
        np.concatenate([ends[:, 1], ends[:, 0]]),
        np.concatenate([weight, weight]),
        reset,
        damping=damping,
        tol=1e-10,
    )
    theirs = nx.pagerank(graph, alpha=damping, personalization=dict(enumerate(reset)), tol=1e-12)
    assert ours == pytest.approx([theirs[node] for node in range(32)], abs=1e-8)


def test_phrases_of_the_question_lead_to_passages_that_share_no_word(dataset: Dataset) -> None:
    retriever = PhrasePageRank(EXTRACTIONS)
    retriever.index(dataset.corpus)
    hits = retriever.retrieve("Whose work is the harbour?", 3)
    assert {hit.id for hit in hits[:2]} == {"a", "b"}
    assert hits[2].id == "c"
    assert hits[2].score > 0
    assert sum(hit.score for hit in hits) < 1
    retriever.close()


def test_a_question_without_known_phrase_is_searched_directly(dataset: Dataset) -> None:
    retriever = PhrasePageRank(EXTRACTIONS)
    retriever.index(dataset.corpus)
    assert retriever.retrieve("an engineer", 1)[0].id == "c"


def test_with_embedder_facts_and_synonyms_count(dataset: Dataset, embedder: HashEmbedder) -> None:
    near = {**EXTRACTIONS, "a": Extraction(triples=(("gull", "flies over", "Mira Voss."),))}
    retriever = PhrasePageRank(near, embedder=embedder, facts=1)
    retriever.index(dataset.corpus)
    assert retriever.retrieve("Who was born in Tarn", 1)[0].id == "c"
    assert [len(retriever.retrieve("gull", k)) for k in (1, 3)] == [1, 3]


def test_damping_is_checked() -> None:
    with pytest.raises(ParameterError, match=r"damping lies in \[0, 1\)"):
        PhrasePageRank({}, damping=1)
