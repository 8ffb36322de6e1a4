"""A trained layer in an index: derived data that may rest, be masked, or be taken away."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hebbgraph import (
    DiskFullError,
    HebbianIndex,
    NotFoundError,
    ParameterError,
    ReadOnlyIndexError,
)

from hebbgraph_papers.nakg import NeuralSettings, NeuralSpreading, layer_counts, remove, train
from hebbgraph_papers.nakg.layer_file import LayerFile
from hebbgraph_papers.nakg.report import NeuralReport

TINY = NeuralSettings(
    heads=2,
    head_size=4,
    edge_layers=1,
    hidden=8,
    layer_heads=2,
    min_samples=3,
    edge_epochs=2,
    retrieval_epochs=2,
)
WORDS = ("owl", "reef", "kiln", "comet")


class Counting:
    """Counts known words."""

    model_name = "counting"

    def embed_query(self, text: str) -> list[float]:
        vector = [0.2, *(float(text.lower().count(word)) for word in WORDS), len(text) / 500]
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


CHUNKS: list[dict[str, Any]] = [
    {
        "id": f"{word}-{n}",
        "title": f"{word.title()} {n}",
        "text": f"The {word} of Harbour {n} {'was seen ' * n}near {word.title()} {(n + 1) % 6}.",
    }
    for word in WORDS
    for n in range(6)
]


@pytest.fixture
def taught(make_index: Callable[..., HebbianIndex]) -> HebbianIndex:
    index = make_index(CHUNKS, embedder=Counting())
    for word in WORDS:
        recall = index.recall(f"Where is the {word}?", k=4)
        index.reinforce(recall, [recall.hits[0].chunk.id, recall.hits[2].chunk.id])
    return index


def ranking(index: HebbianIndex, query: str = "an owl near a harbour", **options: Any) -> list[Any]:
    return [(hit.chunk.id, hit.score) for hit in index.recall(query, **options).hits]


def over_edges(index: HebbianIndex) -> list[Any]:
    return ranking(index, strategy=NeuralSpreading(index.parts, edge_gain=0.5))


def edges(index: HebbianIndex) -> set[tuple[str, str, float]]:
    """By id, all edges that the present truth admits."""
    index.stats()
    graph, derived = index.parts.derived.graph, index.parts.derived
    layer = LayerFile.of(index.parts).in_graph(derived, graph)
    assert layer is not None
    found = layer.edges
    ids = index.parts.truth.ids(graph.rows.tolist())
    return {
        (ids[int(graph.rows[source])], ids[int(graph.rows[target])], round(weight, 5))
        for source, target, weight in zip(
            found.sources.tolist(), found.targets.tolist(), found.weights.tolist(), strict=True
        )
    }


def test_training_tells_what_it_did(taught: HebbianIndex) -> None:
    before = ranking(taught)
    told: list[tuple[int, int | None]] = []
    report = train(
        taught, settings=TINY, on_progress=lambda done, total: told.append((done, total))
    )
    assert isinstance(report, NeuralReport)
    assert report.chunks == len(CHUNKS)
    assert report.questions == len(WORDS)
    assert report.tag_pairs > 0
    assert told[-1] == (4, 4)
    assert layer_counts(taught) == {
        "chunks": len(CHUNKS), "edges": report.edges, "generation": taught.stats().generation
    }  # fmt: skip
    assert ranking(taught) == before  # by default nothing reads it


def test_a_layer_outlives_the_process_and_can_be_removed(
    taught: HebbianIndex, open_index: Callable[..., HebbianIndex]
) -> None:
    train(taught, settings=TINY)
    kept, static = edges(taught), ranking(taught)
    taught.close()
    again = open_index(embedder=Counting())
    assert edges(again) == kept
    assert over_edges(again) != static
    assert remove(again)
    assert not remove(again)
    assert over_edges(again) == static
    assert layer_counts(again) == {}


def test_the_order_of_adding_is_irrelevant(make_index: Callable[..., HebbianIndex]) -> None:
    one = make_index(CHUNKS, name="one", embedder=Counting())
    other = make_index(CHUNKS[::-1], name="other", embedder=Counting())
    train(one, settings=TINY)
    train(other, settings=TINY)
    assert edges(one) == edges(other)


def test_deleted_and_changed_chunks_are_masked(taught: HebbianIndex) -> None:
    train(taught, settings=TINY)
    before = edges(taught)
    taught.delete(["owl-0"])
    taught.add([{**CHUNKS[1], "text": "Quite another text about an owl."}])
    after = edges(taught)
    gone = {"owl-0", "owl-1"}
    assert any(gone & {source, target} for source, target, _ in before)
    assert not any(gone & {source, target} for source, target, _ in after)
    pairs = {(source, target) for source, target, _ in before if not gone & {source, target}}
    assert {(source, target) for source, target, _ in after} == pairs
    assert layer_counts(taught)["chunks"] == len(CHUNKS) - 2
    # One that was added since takes part with its own vector.
    assert "owl-1" in [id_ for id_, _ in ranking(taught, "another owl", strategy="neural")]
    taught.compact()
    assert edges(taught) == after


def test_a_filter_holds_for_neural_edges(
    taught: HebbianIndex, open_index: Callable[..., HebbianIndex]
) -> None:
    train(taught, settings=TINY)
    taught.close()
    index = open_index(embedder=Counting())
    for strategy in (NeuralSpreading(index.parts, edge_gain=0.5), "neural"):
        recall = index.recall(
            "the owl", where=lambda chunk: chunk.id != "owl-2", strategy=strategy, k=24
        )
        seen = {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
        assert "owl-2" not in seen | {hit.chunk.id for hit in recall.hits}


def test_strategy_neural(taught: HebbianIndex) -> None:
    train(taught, settings=TINY)
    recall = taught.recall("the kiln of the harbour", strategy="neural", k=5)
    assert len(recall.hits) == 5
    assert all("kiln" in hit.chunk.id for hit in recall.hits)
    scores = [hit.score for hit in recall.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_propagated_vectors_take_the_place_of_own_ones(
    taught: HebbianIndex, open_index: Callable[..., HebbianIndex]
) -> None:
    train(taught, settings=TINY)
    static = ranking(taught)
    taught.close()
    index = open_index(embedder=Counting())
    strategy = NeuralSpreading(index.parts, propagated=True)
    assert ranking(index, strategy=strategy) != static
    index.delete(["owl-0"])
    assert "owl-0" not in [id_ for id_, _ in ranking(index, k=24, strategy=strategy)]


def test_nothing_trained_says_what_to_do(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(CHUNKS, embedder=Counting())
    with pytest.raises(NotFoundError, match=r"hebbgraph_papers\.nakg\.train"):
        index.recall("an owl", strategy="neural")


def test_without_vectors_there_is_nothing_to_learn_from(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    with pytest.raises(ParameterError, match="holds no vectors"):
        train(make_index(CHUNKS, name="bare"), settings=TINY)
    index = make_index(CHUNKS, embedder=Counting())
    train(index, settings=TINY)
    index.close()
    with pytest.raises(ParameterError, match="embedder"):
        open_index().recall("an owl", strategy="neural")


def test_forgetting_puts_a_layer_that_learned_from_it_to_rest(
    taught: HebbianIndex, caplog: pytest.LogCaptureFixture
) -> None:
    train(taught, settings=TINY)
    taught.forget(everything=True)
    with caplog.at_level(logging.WARNING):
        assert layer_counts(taught) == {}
    assert "forgotten" in caplog.text
    train(taught, settings=TINY)
    assert layer_counts(taught)


def test_another_model_puts_it_to_rest(taught: HebbianIndex) -> None:
    class Other(Counting):
        model_name = "other"

    train(taught, settings=TINY)
    taught.maintenance.reembed(Other())
    assert layer_counts(taught) == {}


def test_an_imported_vector_of_another_length_is_passed_over(taught: HebbianIndex) -> None:
    exported = io.StringIO()
    taught.log.export(exported)
    record = json.loads(exported.getvalue().splitlines()[0])
    record |= {"id": "foreign", "recall_id": "foreign", "vector": [1.0, 0.0]}
    assert taught.log.import_(io.StringIO(json.dumps(record))) == 1
    assert train(taught, settings=TINY).questions == len(WORDS) + 1


def test_a_layer_that_cannot_be_written_leaves_the_one_before(taught: HebbianIndex) -> None:
    train(taught, settings=TINY)
    store = LayerFile.of(taught.parts)
    assert store.path is not None
    before = store.path.read_bytes()
    with pytest.MonkeyPatch.context() as patched:

        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr(os, "replace", full)
        with pytest.raises(DiskFullError):
            train(taught, settings=TINY)
    assert store.path.read_bytes() == before
    assert not list(store.path.parent.glob("*.partial"))


def test_a_damaged_file_is_passed_over(
    taught: HebbianIndex,
    open_index: Callable[..., HebbianIndex],
    caplog: pytest.LogCaptureFixture,
) -> None:
    train(taught, settings=TINY)
    static, path = ranking(taught), LayerFile.of(taught.parts).path
    assert path is not None
    taught.close()
    content = bytearray(path.read_bytes())
    content[-3] ^= 0xFF  # one byte of an array: only the checksum tells
    for damaged in (bytes(content), bytes(content[:100]), b""):
        path.write_bytes(damaged)
        with caplog.at_level(logging.WARNING):
            index = open_index(embedder=Counting())
            assert over_edges(index) == static
        assert "damaged" in caplog.text
        caplog.clear()
        with pytest.raises(NotFoundError):
            index.recall("an owl", strategy="neural")
        index.close()


def test_going_on_from_a_checkpoint(taught: HebbianIndex, tmp_path: Path) -> None:
    path = tmp_path / "models" / "nakg.safetensors"
    train(taught, settings=TINY, checkpoint=path)
    first = edges(taught)
    none = NeuralSettings(**{**vars(TINY), "edge_epochs": 0, "retrieval_epochs": 0})
    train(taught, settings=none, start_from=path)
    assert edges(taught) == first


def test_tenants_have_layers_of_their_own(open_index: Callable[..., HebbianIndex]) -> None:
    with open_index(embedder=Counting(), namespace="a") as one:
        one.add(CHUNKS)
        train(one, settings=TINY)
        with open_index(embedder=Counting(), namespace="b") as other:
            other.add(CHUNKS)
            assert layer_counts(other) == {}
        assert layer_counts(one)


def test_in_memory(tmp_path: Path) -> None:
    with HebbianIndex.open(":memory:", embedder=Counting()) as index:
        index.add(CHUNKS)
        static = ranking(index)
        train(index, settings=TINY)
        assert over_edges(index) != static
        assert remove(index)
        assert over_edges(index) == static


def test_whom_the_index_does_not_believe_trains_nothing_here_either(taught: HebbianIndex) -> None:
    from hebbgraph_papers.nakg.training_data import read_training_data

    def credits_after(actor: str, rank: int, lessons: int = 25) -> np.ndarray:
        for n in range(lessons):
            recall = taught.recall(f"Where is the {WORDS[n % len(WORDS)]}, {n}?", k=4)
            taught.reinforce(recall, [recall.hits[rank].chunk.id], actor=actor)
        return np.array([one.credit for one in read_training_data(taught).questions])

    found = credits_after("ann", 0)
    assert found[-1] > 0.9
    assert found[0] == pytest.approx(1 / np.sqrt(2), rel=0.05)
    # Six chunks are alike, so search is not sure, and to disagree with it costs belief slowly.
    assert credits_after("eve", -1, lessons=40)[-1] < found[-1] / 2


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""

WITHOUT = """
from hebbgraph import HebbianIndex, MissingExtraError
from hebbgraph_papers.nakg import NeuralSettings, train, remove
class Embedder:
    def embed_query(self, text): return [float(len(text)), 1.0]
    def embed_documents(self, texts): return [self.embed_query(text) for text in texts]
with HebbianIndex.open({place!r}, embedder=Embedder()) as index:
    index.add(["Owls hunt at night.", "Reefs grow by day."])
    recall = index.recall("What hunts?")
    index.reinforce(recall, [recall.hits[0].chunk.id])
    index.explain(recall, recall.hits[0].chunk.id)
    index.stats()
    for ask in (lambda: train(index), lambda: index.recall("owl", strategy="neural")):
        try:
            ask()
        except MissingExtraError as error:
            assert "hebbgraph[neural]" in str(error), error
        else:
            raise AssertionError("no error")
print("fine")
"""


READING = """
from hebbgraph import HebbianIndex
class Counting:
    model_name = "counting"
    def embed_query(self, text): return [0.2, 1, 0, 0, 0, 0.1]
    def embed_documents(self, texts): return [self.embed_query(text) for text in texts]
index = HebbianIndex.open({place!r}, embedder=Counting())
from hebbgraph_papers import layer_counts
print(layer_counts(index)["chunks"], len(index.recall("owl", strategy="neural").hits))
"""


@pytest.mark.parametrize("blocked", [("torch",), ("torch", "sklearn", "safetensors")])
def test_without_the_extra_everything_else_works(blocked: tuple[str, ...], tmp_path: Path) -> None:
    code = BLOCKED.format(blocked=set(blocked)) + WITHOUT.format(place=str(tmp_path / "index"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "fine\n", done.stderr


def test_reading_a_layer_needs_no_torch(taught: HebbianIndex, tmp_path: Path) -> None:
    train(taught, settings=TINY)
    taught.close()
    code = BLOCKED.format(blocked={"torch", "sklearn"}) + READING.format(
        place=str(tmp_path / "index")
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [str(len(CHUNKS)), "10"], done.stderr


def test_a_read_only_index_is_not_trained(
    taught: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LayerFile.of(taught.parts), "_writable", False)
    with pytest.raises(ReadOnlyIndexError):
        train(taught, settings=TINY)


def test_a_layer_of_another_history_rests(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The truth was put back from an old copy, and has come as far again."""
    place = tmp_path / "index" / "truth.sqlite3"
    make_index(CHUNKS, embedder=Counting()).close()
    shutil.copy(place, tmp_path / "copy")
    with open_index(embedder=Counting()) as index:
        index.add([{"id": "late", "text": "The owl of Harbour 99."}])
        train(index, settings=TINY)
        assert edges(index)
        index.delete(["late"])
        index.compact()
        assert edges(index)  # a later commit of the same history
    shutil.copy(tmp_path / "copy", place)
    elsewhere = tmp_path / "elsewhere"
    with open_index(embedder=Counting(), cache_dir=elsewhere) as index:
        for n in range(3):
            index.add([{"id": f"other{n}", "text": "The kiln of Harbour 98."}])
    with open_index(embedder=Counting()) as index:
        expected = over_edges(index)
        assert "another history of the database; train it again" in caplog.text
        assert remove(index)
        assert over_edges(index) == expected


def test_a_share_of_edges_beyond_one_is_refused(make_index: Callable[..., HebbianIndex]) -> None:
    with pytest.raises(ParameterError, match=r"edge_gain must lie in \[0, 1\], got 1.5"):
        NeuralSpreading(make_index(CHUNKS[:1]).parts, edge_gain=1.5)


def test_the_former_names_warn_and_work() -> None:
    code = (
        "import hebbgraph, hebbgraph.neural as n; print(hebbgraph.NeuralRecall is n.NeuralRecall)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "True\n", done.stderr
    assert done.stderr.count("DeprecationWarning") == 2
