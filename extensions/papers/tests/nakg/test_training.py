from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hebbgraph import ParameterError, StorageError
from hebbgraph.graph.incidence import Postings
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from hebbgraph_papers.nakg.checkpoint import load_checkpoint, save_checkpoint
from hebbgraph_papers.nakg.clusters import Clusters, cluster_chunks
from hebbgraph_papers.nakg.examples import LearnedQuestion, Pairs, co_cited_pairs, tag_pairs
from hebbgraph_papers.nakg.parameters import FORMER, NeuralSettings
from hebbgraph_papers.nakg.training import TrainingResult, derive_layer, train_model


def clustered(vectors: NDArray[np.float32], settings: NeuralSettings) -> Clusters:
    return cluster_chunks(
        vectors,
        eps=settings.eps,
        min_samples=settings.min_samples,
        max_cluster=settings.max_cluster,
        seed=settings.seed,
    )


def neighbours(n: int) -> Pairs:
    """Chunks six apart are of one topic, and belong together."""
    first = np.arange(n - 6)
    return Pairs.gathered(first, first + 6, np.ones(n - 6))


def questions(vectors: NDArray[np.float32]) -> list[LearnedQuestion]:
    return [LearnedQuestion(vectors[at], (at, at + 3), 1.0) for at in range(18)]


def trained(vectors: NDArray[np.float32], settings: NeuralSettings) -> TrainingResult:
    return train_model(
        vectors,
        clustered(vectors, settings),
        neighbours(len(vectors)),
        questions(vectors),
        settings,
    )


def test_pairs_by_tags_by_hand() -> None:
    # tag 0: title of chunk 0, mentioned by 1 and 2; tag 1: shared by 2 and 3;
    # tag 2: title of 4 and of 5, which is no pair.
    postings = Postings(
        np.array([0, 1, 2, 4, 5, 6, 7]),
        np.array([0, 0, 0, 1, 1, 2, 2], np.int32),
        np.array([True, False, False, False, False, True, True]),
    )
    found = tag_pairs(postings, rare_df=2, title_df=3)
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 2), (2, 3)]
    # With rare tags of up to three chunks, 1 and 2 share tag 0 as well.
    found = tag_pairs(postings, rare_df=3, title_df=3)
    assert (1, 2) in zip(found.first.tolist(), found.second.tolist(), strict=True)


def test_the_larger_weight_of_equal_pairs_counts() -> None:
    found = co_cited_pairs(
        [LearnedQuestion(None, (3, 1, 2), 0.5), LearnedQuestion(None, (1, 3), 1.0)], weight=2.0
    )
    assert found.first.tolist() == [1, 1, 2]
    assert found.second.tolist() == [2, 3, 3]
    assert found.weights.tolist() == [1.0, 2.0, 1.0]


def test_the_same_seed_gives_the_same_layer(
    tiny: NeuralSettings, vectors: NDArray[np.float32]
) -> None:
    clusters = clustered(vectors, tiny)
    before = torch.get_rng_state()
    one, other = (derive_layer(trained(vectors, tiny).model, vectors, clusters) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert one[0].sources.tolist() == other[0].sources.tolist()
    assert (one[0].weights == other[0].weights).all()
    assert (one[1] == other[1]).all()


def test_training_lowers_the_loss_on_what_was_held_back(
    tiny: NeuralSettings, vectors: NDArray[np.float32]
) -> None:
    settings = replace(tiny, edge_epochs=10, retrieval_epochs=10, patience=10, stay_close=0.0)
    found = trained(vectors, settings)
    assert found.edge_phase.examples + found.edge_phase.held_back > 0
    assert found.edge_phase.after < found.edge_phase.before
    assert found.retrieval_phase.held_back == 4  # of 18 questions
    assert found.retrieval_phase.after < found.retrieval_phase.before


def test_without_a_log_the_third_phase_rests(
    tiny: NeuralSettings, vectors: NDArray[np.float32]
) -> None:
    found = train_model(vectors, clustered(vectors, tiny), neighbours(len(vectors)), [], tiny)
    assert found.retrieval_phase.epochs == 0
    assert found.edge_phase.epochs > 0


def test_edges_stay_within_clusters(tiny: NeuralSettings, vectors: NDArray[np.float32]) -> None:
    clusters = clustered(vectors, tiny)
    edges, propagated = derive_layer(trained(vectors, tiny).model, vectors, clusters)
    assert (clusters.labels[edges.sources] == clusters.labels[edges.targets]).all()
    assert ((edges.weights >= 0) & (edges.weights <= 1)).all()
    assert np.allclose(np.linalg.norm(propagated, axis=1), 1.0, atol=1e-5)


def test_checkpoint_round_trip(
    tiny: NeuralSettings, vectors: NDArray[np.float32], tmp_path: Path
) -> None:
    clusters = clustered(vectors, tiny)
    model = trained(vectors, tiny).model
    save_checkpoint(model, tmp_path / "model.safetensors")
    back = load_checkpoint(tmp_path / "model.safetensors")
    assert back.settings == tiny
    ours, theirs = derive_layer(model, vectors, clusters), derive_layer(back, vectors, clusters)
    assert (ours[0].weights == theirs[0].weights).all()
    assert (ours[1] == theirs[1]).all()
    # Other settings of training may be given; the shapes stay those of the checkpoint.
    other = load_checkpoint(tmp_path / "model.safetensors", NeuralSettings(patience=9))
    assert (other.settings.patience, other.settings.heads) == (9, tiny.heads)


def test_a_checkpoint_may_name_settings_that_are_constants_now(
    tiny: NeuralSettings, vectors: NDArray[np.float32], tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    save_checkpoint(trained(vectors, replace(tiny, edge_epochs=0, retrieval_epochs=0)).model, path)
    with safe_open(str(path), framework="numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    written = json.loads(metadata["settings"]) | dict.fromkeys(FORMER, 1)
    save_file(tensors, str(path), metadata | {"settings": json.dumps(written)})
    assert load_checkpoint(path).settings.heads == tiny.heads
    with pytest.raises(ParameterError, match="gate is a constant"):
        NeuralSettings(gate=0.1)  # type: ignore[call-arg]


@pytest.mark.parametrize("damage", ["cut", "foreign", "missing", "text"])
def test_a_damaged_checkpoint_says_so(
    damage: str, tiny: NeuralSettings, vectors: NDArray[np.float32], tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    save_checkpoint(trained(vectors, replace(tiny, edge_epochs=0, retrieval_epochs=0)).model, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "foreign":
        save_file({"x": np.zeros(3, np.float32)}, str(path))
    elif damage == "missing":
        path.unlink()
    else:
        path.write_text("not tensors")
    with pytest.raises(StorageError, match="cannot be read as a checkpoint"):
        load_checkpoint(path)
