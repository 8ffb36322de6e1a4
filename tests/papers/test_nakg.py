"""NAKG: relevance, clusters and links, the network, training, and recall on an index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from postgres import PostgresServer

from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from hebbgraph_papers.nakg import Nakg
from hebbgraph_papers.nakg.links import cluster_chunks, members_of
from hebbgraph_papers.nakg.model import Model, derive, untrained
from hebbgraph_papers.nakg.training import train

torch.set_num_threads(1)  # small matrices; threads would wait for each other
TOPICS = ("ship", "slate", "salt")


class Topics:
    """Embeds a text by the topic that it names, with a little of its length."""

    name = "topics"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [*(float(topic in text) for topic in TOPICS), 0.01 * len(text), 0.1]


@pytest.fixture
def topics() -> Iterator[HebbianIndex]:
    """Thirty chunks of three topics; neighbors in a topic share a tag."""
    with HebbianIndex.open(":memory:", embedder=Topics()) as index:
        index.add(
            {
                "id": f"{topic}-{n}",
                "text": f"It is about {topic}, {'very ' * n}much so.",
                "tags": [f"{topic} mark {n // 2}", f"{topic} deck"],
            }
            for topic in TOPICS
            for n in range(10)
        )
        yield index


# -- the network ----------------------------------------------------------------------------


def unit(rows: list[list[float]]) -> np.ndarray:
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_untrained_edges_follow_the_cosine_and_vectors_hardly_move() -> None:
    vectors = unit([[1, 0, 0, 0], [1, 0.2, 0, 0], [1, 0.4, 0, 0], [0, 0, 1, 0]])
    model = untrained(4)
    layer = derive(model, vectors, np.zeros(4, np.int64))
    weight = dict(zip(zip(layer.sources, layer.targets, strict=True), layer.weights, strict=True))
    assert weight[0, 1] > 0.9  # cos .98, so about sigmoid(8 * .48)
    assert all(source != target for source, target in weight)
    assert {target for source, target in weight if source == 0} == {1, 2}  # max(2, .3 * 4)
    assert (layer.vectors * vectors).sum(axis=1).min() > 0.9
    again = derive(untrained(4), vectors, np.zeros(4, np.int64))
    assert np.array_equal(again.vectors, layer.vectors)


def test_the_order_of_chunks_changes_nothing() -> None:
    vectors = unit(np.random.default_rng(0).standard_normal((12, 16)).tolist())
    order, labels = np.random.default_rng(1).permutation(12), np.zeros(12, np.int64)
    model = untrained(16)
    moved = derive(model, vectors, labels).vectors
    assert derive(model, vectors[order], labels).vectors == pytest.approx(moved[order], abs=1e-5)


def test_attention_reads_chosen_neighbors_alone() -> None:
    model: Model = untrained(8)
    layer = model.layers[0]
    h = torch.nn.functional.normalize(torch.randn(3, 8), dim=1)
    log_weights = torch.tensor([[-np.inf, 0.0, -np.inf], [0.0, -np.inf, 0.0], [-np.inf] * 3])
    attention = layer.attention(layer.value(h).view(3, 8, 1), log_weights)
    assert attention[0].tolist() == [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]


def test_large_clusters_are_split_also_if_all_vectors_are_equal() -> None:
    sizes = [len(part) for part in members_of(cluster_chunks(np.ones((450, 2)) / 2**0.5))]
    assert sum(sizes) == 450
    assert max(sizes) <= 200


# -- on an index ----------------------------------------------------------------------------


def test_words_their_order_and_vectors_rank(topics: HebbianIndex) -> None:
    recall = topics.recall("Is it about slate?", strategy="nakg")
    assert {hit.id.split("-")[0] for hit in recall} == {"slate"}
    assert recall.notes == ()
    assert [hit.score for hit in recall] == sorted((h.score for h in recall), reverse=True)
    # A change makes another layer.
    topics.delete(recall[0].id)
    topics.add([{"id": "new", "text": "It is about slate."}])
    assert "new" in {hit.id for hit in topics.recall("Is it about slate?", strategy="nakg")}


def test_training_learns_pairs_and_lessons_and_is_repeatable(topics: HebbianIndex) -> None:
    for n in range(8):
        recall = topics.recall(f"Which slate, {'very ' * n}much so?", 6)
        topics.reinforce(recall, ["slate-9"], shown=[hit.id for hit in recall] + ["slate-9"])
    first, second = (train(topics, edge_epochs=2, retrieval_epochs=3) for _ in range(2))
    assert first.report == second.report
    assert first.report["pairs within clusters"] == first.report["pairs"] == 15
    assert first.report["questions"] == 8
    assert (first.report["edges: epochs"], first.report["retrieval: epochs"]) == (2, 3)
    for phase in ("edges", "retrieval"):
        before, after = first.report[f"{phase}: before"], first.report[f"{phase}: after"]
        assert before is not None
        assert after is not None
        assert after <= before
    one, other = (topics.recall("Which salt?", strategy=nakg) for nakg in (first, second))
    assert [(hit.id, hit.score) for hit in one] == [(hit.id, hit.score) for hit in other]
    assert one.strategy == "nakg, trained"


def test_without_vectors_words_rank_and_training_is_refused(memory: HebbianIndex) -> None:
    memory.add([{"id": "a", "text": "red ship"}, {"id": "b", "text": "ship of red"}])
    recall = memory.recall("red ship", strategy=Nakg())
    assert [hit.id for hit in recall] == ["a", "b"]
    assert "no vectors" in recall.notes[0]
    with pytest.raises(ParameterError, match="without any"):
        train(memory)
    assert len(memory.recall("red ship", strategy="nakg", vector=[1.0, 0.0])) == 2


def test_a_vector_of_another_length_is_refused(topics: HebbianIndex) -> None:
    with pytest.raises(ParameterError, match="vectors of 5 numbers"):
        topics.recall("Which salt?", strategy="nakg", vector=[1.0, 0.0])


def test_postgresql_gives_the_same_as_a_file(topics: HebbianIndex, server: PostgresServer) -> None:
    chunks = topics.get(topics.ids())
    with HebbianIndex.open(server.new_database(), embedder=Topics()) as index:
        index.add(chunks)
        for strategy in ("bambookg", "bio_rag", "nakg"):
            one, other = (
                i.recall("What is very much a salt mark 3?", strategy=strategy)
                for i in (topics, index)
            )
            assert one.hits
            assert [(hit.id, hit.score, hit.path_text) for hit in one] == [
                (hit.id, hit.score, hit.path_text) for hit in other
            ]
        index.reinforce(index.recall("Which salt?"), ["salt-1"])
        assert train(index, edge_epochs=0, retrieval_epochs=0).report["questions"] == 1
