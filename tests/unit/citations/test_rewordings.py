"""A question that is asked again at once doubts what its answer cited."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.citations import Exchange, Learner, Recalled, Reply
from hebbgraph.records import Feedback

FIRST, AGAIN, OTHER = "When do owls hunt?", "At what time do owls hunt?", "Where do eels live?"


def _turn(index: HebbianIndex, question: str, thread: str | None = "t") -> Exchange:
    recall = index.recall(question)
    hits = recall.hits
    prompt = "\n\n".join(f"[{hit.rank}] {hit.chunk.text}" for hit in hits)
    said = Reply(prompt=prompt, text="At night [1].")
    return Exchange(
        recalls=[Recalled(index, recall)], replies=[said], conversation=thread, actor="ann"
    )


def _doubts(index: HebbianIndex) -> list[tuple[str | None, tuple[str, ...]]]:
    return [(one.actor, one.rejected) for one in index.lessons() if one.kind == "asked again"]


@pytest.fixture
def index() -> HebbianIndex:
    index = HebbianIndex.open(":memory:")
    index.add([{"id": "owl", "text": "Owls hunt at night."}, {"id": "eel", "text": "Eels live."}])
    return index


@pytest.mark.parametrize(
    ("questions", "threads", "doubts"),
    [
        ([FIRST, AGAIN], "tt", [("ann", ("owl",))]),
        ([FIRST, FIRST], "tt", []),
        ([FIRST, OTHER], "tt", []),
        ([FIRST, AGAIN], "tu", []),
        ([FIRST, OTHER, AGAIN], "ttt", []),
        ([FIRST, AGAIN, FIRST], "ttt", [("ann", ("owl",)), ("ann", ("owl",))]),
    ],
)
def test_what_is_doubted(
    index: HebbianIndex,
    questions: list[str],
    threads: str,
    doubts: list[tuple[str, tuple[str, ...]]],
) -> None:
    learner = Learner(implicit=True)
    for question, thread in zip(questions, threads, strict=True):
        learner.learn(_turn(index, question, thread))
    assert _doubts(index) == doubts
    assert index.recall(FIRST).hits[0].chunk.id == "owl"  # it harms nothing by itself


def test_two_answers_to_one_request_doubt_once(index: HebbianIndex) -> None:
    heard: list[Feedback] = []
    learner, again = Learner(implicit=True, on_lesson=heard.append), _turn(index, AGAIN)
    learner.learn(_turn(index, FIRST))
    again.ids = ["run"]
    learner.learn(again)
    learner.learn(replace(again, replies=[replace(again.replies[0], text="In water [2].")]))
    assert [feedback.kind for feedback in heard].count("asked again") == 1


@pytest.mark.parametrize("undone", ["run-0", "run-1"])
def test_a_doubt_is_taken_back_with_the_answer(index: HebbianIndex, undone: str) -> None:
    """With the one that asked again, and with the one that it is about."""
    learner = Learner(implicit=True)
    for number, question in enumerate((FIRST, AGAIN)):
        turn = _turn(index, question)
        turn.ids = [f"run-{number}"]
        learner.learn(turn)
    assert (len(index.lessons()), _doubts(index)) == (3, [("ann", ("owl",))])
    assert learner.undo(undone) == 2
    assert (len(index.lessons()), _doubts(index)) == (1, [])
    assert learner.undo(undone) == 0


def test_by_default_nothing_is() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "owl", "text": "Owls hunt at night."}])
        learner = Learner()
        for question in (FIRST, AGAIN):
            learner.learn(_turn(index, question))
        assert _doubts(index) == []
    with pytest.raises(ParameterError, match="implicit is True or False"):
        Learner(implicit="yes")  # type: ignore[arg-type]


def test_what_fails_is_logged(
    index: HebbianIndex, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(implicit=True)
    learner.learn(_turn(index, FIRST))
    turn = _turn(index, AGAIN)
    teach = index.reinforce

    def fails(*args: object, kind: str, **options: object) -> object:
        if kind != "cited":
            raise OSError("disk full")
        return teach(*args, kind=kind, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "reinforce", fails)
    with caplog.at_level(logging.WARNING):
        assert learner.learn(turn).feedback
    assert "asked again teaches nothing: disk full" in caplog.text
