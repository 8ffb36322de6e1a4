"""Follow-ups: what earlier turns add to a question, and when they add nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hebbgraph import HebbianIndex, ParameterError, Recall
from hebbgraph.limits import MAX_TURN

pytestmark = pytest.mark.also_served

CORPUS: list[dict[str, str]] = [
    {"id": "port-summer", "text": "Mooring in Tessel Bay: in summer the port asks nine crowns."},
    {"id": "port-winter", "text": "Mooring in Tessel Bay: in winter the port asks four crowns."},
    {"id": "ski-winter", "text": "The ski lift on Gannet Fell runs in winter, if there is snow."},
    {"id": "hut-winter", "text": "The hut on Gannet Fell has a winter room with a stove."},
    {"id": "bread", "text": "Rye bread rises slowly; leave the dough in a warm place overnight."},
    {"id": "knots", "text": "A bowline holds under load and unties when the load is gone."},
]
MOORING = "What does mooring in the port of Tessel Bay cost in summer?"
LIFT = "When does the ski lift on Gannet Fell run?"


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add(CORPUS)
        yield index


def best(recall: Recall) -> str:
    return recall.hits[0].chunk.id


def test_a_follow_up_is_understood_from_the_turn_before(index: HebbianIndex) -> None:
    assert best(index.recall("And in winter?", history=[MOORING])) == "port-winter"
    assert best(index.recall("And in winter?", history=[LIFT])) == "ski-winter"
    assert best(index.recall("And in winter?", history=[MOORING, LIFT])) == "ski-winter"


def test_the_recall_keeps_what_counted_and_marks_what_it_carried(index: HebbianIndex) -> None:
    recall = index.recall("And in winter?", history=["Hello!", MOORING])
    assert [turn.text for turn in recall.history][-1] == MOORING
    assert 0.2 < recall.history[-1].weight <= 0.5
    carried = {cue.tag: cue.weight for cue in recall.cues if cue.from_history}
    (alone,) = (cue.weight for cue in index.recall("Tessel Bay?").cues)
    assert 0 < carried["tessel bay"] < alone

    again = Recall.model_validate_json(recall.model_dump_json())
    assert again == recall
    explained = index.explain(again, "port-winter")
    assert explained.cues == recall.cues
    assert explained.score == pytest.approx(recall.hits[0].score)


def test_a_question_that_says_enough_is_left_alone(index: HebbianIndex) -> None:
    question = "How long does rye bread dough rise in a warm place?"
    alone, after = index.recall(question), index.recall(question, history=[MOORING, LIFT])
    assert after.history == ()
    assert [(hit.chunk.id, hit.score) for hit in after.hits] == [
        (hit.chunk.id, hit.score) for hit in alone.hits
    ]
    assert after.cues == alone.cues


def test_the_lesson_of_a_follow_up_is_about_what_was_asked(index: HebbianIndex) -> None:
    def rank(id_: str, **options: Any) -> int:
        hits = index.recall("And in winter?", **options).hits
        return next(hit.rank for hit in hits if hit.chunk.id == id_)

    before = rank("hut-winter", history=[MOORING])
    for actor in ("ann", "bea", "cid", "dan", "eve"):
        recall = index.recall("And in winter?", history=[LIFT])
        feedback = index.reinforce(recall, cited=["hut-winter"], actor=actor)
    cues = {cue.tag: cue.weight for cue in feedback.cues}
    assert cues["gannet fell"] > 0, "the question alone does not name it"
    assert len(feedback.terms) > 1
    assert rank("hut-winter", history=[LIFT]) == 1
    assert rank("hut-winter", history=[MOORING]) == before


def test_only_the_last_turns_that_say_something_count(index: HebbianIndex) -> None:
    turns = ["Tell me of bread."] * 996 + [MOORING, "", "  ", "\n"]
    recall = index.recall("And in winter?", history=iter(turns))
    assert len(recall.history) <= 4
    assert recall.history[-1].text == MOORING
    assert best(recall) == "port-winter"
    long = index.recall("And in winter?", history=[MOORING + " hm" * MAX_TURN])
    assert len(long.history[0].text) <= MAX_TURN
    assert best(long) == "port-winter"


def test_without_anything_to_go_by_it_is_a_plain_recall(index: HebbianIndex) -> None:
    alone = index.recall("And in winter?")
    for history in ([], ["", " "], ["???"], ["zyx"]):
        assert index.recall("And in winter?", history=history).hits == alone.hits
    with HebbianIndex.open(":memory:") as empty:
        assert empty.recall("And in winter?", history=[MOORING]).hits == ()


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ("one turn", "history is a sequence of str, oldest first, got str"),
        (3, "history is a sequence of str, oldest first, got int"),
        (["fine", None], "turn 2 of history must be a str, got None"),
        ([{"role": "user"}], "turn 1 of history must be a str"),
    ],
)
def test_what_is_no_history(index: HebbianIndex, history: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        index.recall("And in winter?", history=history)


class Seasons:
    """Two axes: mooring, winter."""

    name = "seasons"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        words = text.lower()
        return [float("moor" in words), float("winter" in words), 0.1]


def test_vectors_of_the_turns_join_the_question_s() -> None:
    with HebbianIndex.open(":memory:", embedder=Seasons()) as index:
        index.add(CORPUS)
        alone = index.recall("And in winter?").vector
        recall = index.recall("And in winter?", history=[MOORING])
        given = index.recall("And in winter?", history=[MOORING], vector=alone)
        assert best(recall) == "port-winter"
        assert alone is not None
        assert recall.vector is not None
        assert recall.vector[0] > alone[0] == 0.0
        assert given.vector == pytest.approx(recall.vector)


def test_a_search_of_one_s_own_gets_the_conversation_as_one_text() -> None:
    asked: list[str] = []

    def search(query: str) -> list[tuple[str, float]]:
        asked.append(query)
        return [("port-winter", 1.0)]

    with HebbianIndex.open(":memory:", search=search) as index:
        index.add(CORPUS)
        index.recall("And in winter?", history=[MOORING])
        index.recall("How long does rye bread dough rise in a warm place?", history=[MOORING])
    assert asked == [
        f"{MOORING}\nAnd in winter?",
        "How long does rye bread dough rise in a warm place?",
    ]


def test_async(index: HebbianIndex) -> None:
    recall = asyncio.run(index.arecall("And in winter?", history=[MOORING]))
    assert best(recall) == "port-winter"
