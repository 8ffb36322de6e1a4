"""What was folded, kept between openings."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learned import dump

from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.array_file import write_arrays
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.snapshot import SNAPSHOT_NAME, VERSION, load_snapshot
from hebbgraph.settings import LearningSettings

QUESTIONS = (
    "Where was the builder of the Petrel born?",
    "Who kept a yard at Gannet Point?",
    "What did the Heron carry for Corin Vale?",
    "What does a bowline do under load?",
)


class Letters:
    """Embeds by counting letters."""

    model_name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.lower().count(letter) for letter in "aeiourstln"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def teach(index: HebbianIndex, n: int, first: int = 0) -> None:
    for number in range(first, first + n):
        recall = index.recall(f"{QUESTIONS[number % 4]} {number // 9}", k=8)
        cited = [recall.hits[number % len(recall.hits)].chunk.id, recall.hits[0].chunk.id]
        index.reinforce(recall, dict.fromkeys(cited), actor=f"reader-{number % 3}")


def everything(index: HebbianIndex) -> list[Any]:
    found = [[(hit.chunk.id, hit.score) for hit in index.recall(q).hits] for q in QUESTIONS]
    learned = index.parts.memory
    return [found, dump(learned), list(learned.actors), learned.events]


def folded_anew(index: HebbianIndex) -> dict[Any, float]:
    parts = index.parts
    fresh = Memory(parts.log, parts.truth, parts.settings.learning)
    fresh.refresh(parts.derived.feedback)
    return dump(fresh)


@pytest.fixture
def opened(
    tmp_path: Path, corpus: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., HebbianIndex]:
    monkeypatch.setattr("hebbgraph.namespace._SAVED_WHEN_CLOSED", 1)

    def make(**options: Any) -> HebbianIndex:
        index = HebbianIndex.open(tmp_path, **options)
        if not index.stats().chunks:
            index.add(corpus)
        return index

    return make


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The feedbacks that are folded from now on."""
    seen: list[str] = []
    fold = Memory.fold

    def counted(self: Memory, feedback: Any) -> None:
        seen.append(feedback.id)
        fold(self, feedback)

    monkeypatch.setattr(Memory, "fold", counted)
    return seen


def test_what_is_trusted_counts_each_time_after_opening_too(
    opened: Callable[..., HebbianIndex],
) -> None:
    for _ in range(2):
        with opened() as index:
            for _ in range(3):
                recall = index.recall(QUESTIONS[0])
                index.reinforce(recall, [recall.hits[0].chunk.id], trusted=True)
            index.recall(QUESTIONS[0])
    with opened() as index:
        index.recall(QUESTIONS[0])
        assert dump(index.parts.memory) == folded_anew(index)


@pytest.mark.parametrize("embedder", [None, Letters()], ids=["words", "vectors"])
def test_opening_goes_on_where_it_was(
    opened: Callable[..., HebbianIndex], folds: list[str], embedder: Letters | None
) -> None:
    options = {} if embedder is None else {"embedder": embedder}
    with opened(**options) as index:
        teach(index, 45)
        before = everything(index)
    folds.clear()
    with opened(**options) as index:
        assert everything(index) == before
        assert not folds
        teach(index, 30, first=45)  # over several steps of the readers' clock
        after = everything(index)
        assert len(folds) == 30
    with opened(**options) as index:
        assert everything(index) == after
        assert dump(index.parts.memory) == folded_anew(index)
        recall = index.recall(QUESTIONS[0])
        explained = index.explain(recall, recall.hits[0].chunk.id)
        assert explained.learned
        assert index.doctor().ok


def test_what_is_forgotten_is_not_in_the_next_snapshot(
    opened: Callable[..., HebbianIndex],
) -> None:
    with opened() as index:
        teach(index, 20)
        everything(index)
    with opened() as index:
        index.forget(actor="reader-1")
        without = everything(index)
        assert without[1] == folded_anew(index)
    with opened() as index:
        assert everything(index) == without


def test_a_correction_folds_only_what_came_after_the_snapshot(
    opened: Callable[..., HebbianIndex], folds: list[str]
) -> None:
    with opened() as index:
        teach(index, 20)
        everything(index)
    with opened() as index:
        recall = index.recall(QUESTIONS[1], k=8)
        first, second = (hit.chunk.id for hit in recall.hits[:2])
        index.reinforce(recall, [first], actor="ann")
        index.recall(QUESTIONS[0])
        folds.clear()
        index.reinforce(recall, [second], actor="ann")
        index.recall(QUESTIONS[0])
        assert len(folds) == 1
        assert dump(index.parts.memory) == folded_anew(index)
        index.forget(chunk=first)
        index.recall(QUESTIONS[0])
        assert dump(index.parts.memory) == folded_anew(index)


def test_a_snapshot_that_does_not_fit_is_passed_over(
    opened: Callable[..., HebbianIndex], folds: list[str]
) -> None:
    with opened() as index:
        teach(index, 20)
        everything(index)
    folds.clear()
    slower = Settings(learning=LearningSettings(half_life_events=100.0))
    with opened(settings=slower) as index:
        index.recall(QUESTIONS[0])
        assert len(folds) == 20
        assert dump(index.parts.memory) == folded_anew(index)


@pytest.mark.parametrize("place", ["format", "length", "checksum", "a fact", "arrays"])
def test_a_damaged_snapshot_is_replaced(
    opened: Callable[..., HebbianIndex],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    place: str,
) -> None:
    with opened() as index:
        teach(index, 20)
        before = everything(index)
    [path] = tmp_path.rglob(SNAPSHOT_NAME)
    data = bytearray(path.read_bytes())
    places = {"format": 0, "length": 8, "checksum": 16, "arrays": -9}
    # How often an actor was heard: another number is as good as any, but for the checksum.
    places["a fact"] = data.index(b'"reader-1", ') + len('"reader-1", ')
    data[places[place]] ^= 0x01
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING), opened() as index:
        assert everything(index) == before
        assert ("is damaged" in caplog.text) == (place != "format")
    assert load_snapshot(path) is not None


def test_a_snapshot_that_cannot_be_written_is_not_tried_each_time(
    opened: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("hebbgraph.learning.memory.write_arrays", full)
    monkeypatch.setattr("hebbgraph.learning.memory._SAVED_AFTER", 5)
    with caplog.at_level(logging.WARNING), opened() as index:
        teach(index, 12)
        index.recall(QUESTIONS[0])
        assert caplog.text.count("was not kept") == 2


def test_a_wrong_snapshot_that_is_whole_is_repaired(
    opened: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    with opened() as index:
        teach(index, 20)
        before = everything(index)
    [path] = tmp_path.rglob(SNAPSHOT_NAME)
    held = load_snapshot(path)
    assert held is not None
    halved = held.arrays | {"link_credit": held.arrays["link_credit"] / 2}
    write_arrays(path, VERSION, held.facts, halved)
    with opened() as index:
        assert everything(index) != before
        [finding] = index.doctor(repair=True).findings
        assert (finding.part, finding.repaired) == ("learned", True)
        assert everything(index) == before
    with opened() as index:
        assert everything(index) == before


def test_erasing_takes_the_snapshot_along(
    opened: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    with opened() as index:
        teach(index, 20)
        everything(index)
    assert list(tmp_path.rglob(SNAPSHOT_NAME))
    with opened() as index:
        index.forget(everything=True, erase=True)
        assert not list(tmp_path.rglob(SNAPSHOT_NAME))


def test_arrays_of_any_shape_come_back(tmp_path: Path) -> None:
    arrays = {
        "none": np.empty((0, 3), np.float32),
        "some": np.arange(6, dtype=np.int8).reshape(2, 3),
        "few": np.array([0.1, np.inf]),
    }
    write_arrays(tmp_path / "x", VERSION, {"a": [1, None]}, arrays)
    found = load_snapshot(tmp_path / "x")
    assert found is not None
    assert found.facts == {"a": [1, None]}
    for name, one in arrays.items():
        assert found.arrays[name].dtype == one.dtype
        np.testing.assert_array_equal(found.arrays[name], one)
    found.arrays["some"][:] = 7  # in memory alone
    again = load_snapshot(tmp_path / "x")
    assert again is not None
    assert again.arrays["some"].max() == 5
