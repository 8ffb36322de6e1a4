"""Which lessons are exams is drawn, and nobody who chooses words chooses them."""

import random

import pytest

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.learning import exams
from hebbgraph.learning.cues import hash_term
from hebbgraph.records import lesson_digest

MOST = 24


def lowest(word: str) -> bytes:
    """Return what a lesson that cites c0 for this word and "heron" says, as a number."""
    return lesson_digest("False", "eve", ("c0",), (), [hash_term(word), hash_term("heron")])[:8]


@pytest.fixture
def drawn(monkeypatch):
    """The numbers of the lessons that were exams."""
    held = []
    hold = exams._exam

    def noted(lessons, lesson, *others):
        held.append(lesson)
        return hold(lessons, lesson, *others)

    monkeypatch.setattr(exams, "_N_EXAMS", MOST)
    monkeypatch.setattr(exams, "_exam", noted)
    return held


def test_crafted_words_are_drawn_no_more_often_than_others(drawn):
    letters = random.Random(0)
    words = ["".join(letters.choices("bcdfgklmnprtvz", k=9)) for _ in range(10_000)]
    with HebbianIndex.open(":memory:") as index:
        index.add(
            Chunk(id=f"c{n}", text=f"The heron number{n} waits by the mill pond{n % 7}.")
            for n in range(30)
        )
        for n in range(40):
            recall = index.recall(f"Where does heron number{n % 30} wait the {n}th time?")
            index.reinforce(recall, [recall.hits[0].chunk.id], actor=f"honest{n % 10}")
        for word in sorted(words, key=lowest)[:24]:
            recall = index.recall(f"{word} heron")
            assert recall.hit("c0")
            index.reinforce(recall, ["c0"], actor="eve")
        drawn.clear()
        index.recall("Where does the heron wait?")
        crafted = sum(event.actor == "eve" for event in index.parts.memory.events)
        of_eve = sum(index.parts.memory.lessons.event(at).actor == "eve" for at in drawn)
    assert crafted == len(drawn) == MOST
    assert of_eve < MOST / 2
