"""The way back after forgetting: for a while, in memory alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hebbgraph import Chunk, Feedback, HebbianIndex, NotFoundError, ParameterError
from hebbgraph.learning.undo import ForgettingHistory
from hebbgraph.store.feedback_log import RemovedFeedback

QUESTION = "Where was the builder of the Petrel born?"


def cite(index: HebbianIndex, chunk: str, actor: str) -> Feedback:
    return index.reinforce(index.recall(QUESTION, k=8), [chunk], actor=actor)


@pytest.fixture
def index(corpus: list[Chunk], tmp_path: Path):
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(corpus)
        yield index


def test_it_is_kept_for_ten_minutes(index: HebbianIndex) -> None:
    cite(index, "bay", "ann")
    index.forget(actor="ann")
    [one] = index.forgotten()
    assert (one.actors, one.until - one.created_at) == ({"ann": 1}, 600.0)
    now = [one.created_at]
    kept = ForgettingHistory(clock=lambda: now[0])
    kept.keep([RemovedFeedback(cite(index, "bay", "ann"), {"body": "x"})])
    assert len(kept.records()) == 1
    now[0] += 600.0
    assert kept.records() == []


def test_edges_without_weight_that_would_go_are_not_subtracted_from_those_that_would_change(
    tmp_path: Path,
) -> None:
    with HebbianIndex.open(tmp_path / "ships") as index:
        index.add([f"Ship {n} carries cargo {n} to port {n}." for n in range(40)])
        for n in range(30):  # search contradicts them all, so most count nothing
            recall = index.recall(f"What does ship {n} carry?", k=3)
            index.reinforce(recall, [recall.hits[-1].chunk.id], actor="eve")
        preview = index.forget(actor="eve", dry_run=True)
    assert (preview.removed, preview.changed) == (30, 0)


def test_what_is_much_or_old_gives_way(index: HebbianIndex) -> None:
    feedback = cite(index, "bay", "ann")
    kept = ForgettingHistory()
    kept.keep([RemovedFeedback(feedback, {"body": "x" * 70_000_000})])
    assert kept.records() == []
    for _ in range(25):
        kept.keep([RemovedFeedback(feedback, {"body": "x"})])
    assert len(kept.records()) == 20


@pytest.mark.parametrize("how", ["compact", "forget", "delete", "close"])
def test_what_is_erased_has_no_way_back(index: HebbianIndex, tmp_path: Path, how: str) -> None:
    cite(index, "bay", "ann")
    index.forget(actor="ann")
    assert len(index.forgotten()) == 1
    if how == "compact":
        index.compact()
    elif how == "forget":
        index.forget(actor="nobody", erase=True)
    elif how == "delete":
        index.delete(["vale"], erase=True)
    else:
        with HebbianIndex.open(tmp_path / "index") as other:
            assert other.forgotten() == []
        return
    assert index.forgotten() == []
    with pytest.raises(NotFoundError, match="10 minutes"):
        index.undo_forget("gone")


def test_what_was_said_since_stands(index: HebbianIndex) -> None:
    recall = index.recall(QUESTION, k=8)
    index.reinforce(recall, ["bay"], actor="ann")
    index.forget(actor="ann")
    index.reinforce(recall, ["vale"], actor="ann")
    assert index.undo_forget(index.forgotten()[0]) == 0
    assert [lesson.cited for lesson in index.lessons()] == [("vale",)]


def test_of_the_same_feedback_the_latest_is_undone_first(index: HebbianIndex) -> None:
    feedback = index.reinforce(index.recall(QUESTION, k=8), ["bay", "vale"], actor="ann")
    index.forget(chunk="bay")
    index.forget(feedback)
    later, earlier = index.forgotten()
    with pytest.raises(ParameterError, match="undo that first"):
        index.undo_forget(earlier)
    assert [index.undo_forget(one) for one in (later, earlier)] == [1, 1]
    assert index.find_feedback([feedback.id]) == [feedback]


def test_names_of_what_was_deleted_since_do_not_come_back(
    index: HebbianIndex, tmp_path: Path
) -> None:
    index.add([Chunk(id="jab", title="Jabberwent", text="The Jabberwent freezes in winter.")])
    recall = index.recall("What is the Jabberwent?", k=8)
    index.reinforce(recall, ["jab"], actor="ann")
    index.forget(actor="ann")
    index.delete(["jab"])
    assert index.undo_forget(index.forgotten()[0]) == 1
    file = tmp_path / "log.jsonl"
    index.export_feedback(file)
    [line] = file.read_text().splitlines()
    assert json.loads(line)["cited"] == ["jab"]
    assert "jabberwent" not in line.lower()
