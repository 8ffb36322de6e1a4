"""Titles and codes in questions, and what a score means: tables decided before they were tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hebbgraph import HebbianIndex, Settings

FILL = [f"The keeper of hall {n} writes a note about rope and salt every week." for n in range(60)]
TITLED = {
    "Moss": "Small flowerless plants that grow in dense green clumps.",
    "Ida Moss": "Ida Moss built ships. Moss lived by the sea, and Moss is buried there.",
    "Petrel": "The Petrel was built by Ida Moss in 1871.",
    "Print": "Write values to a stream.",
    "Release notes": "Tell people what is new before you print them.",
}


@pytest.fixture(scope="module")
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": title, "title": title, "text": text} for title, text in TITLED.items())
        index.add(
            [
                {"id": "E4305", "text": "E4305: the card has expired, ask for another one."},
                {"id": "E4304", "text": "E4304: the card was declined."},
                {"id": "PX-77b", "text": "Part PX-77b fits the old pump."},
            ]
        )
        index.add({"id": f"fill {n}", "text": text} for n, text in enumerate(FILL))
        yield index


@pytest.mark.parametrize("title", ["Moss", "Petrel", "Print", "Release notes"])
@pytest.mark.parametrize(
    "phrase",
    [
        *("What is {}?", "{}", "{}?", "Tell me about {}", "tell me something about {}.", "find {}"),
        *("Who or what is {}?", "Explain {}", "Describe {} please", "Give me information on {}"),
        *("I want to know more about {}", "what do you know about {}", "information about {}"),
        *("Can you explain what {} is?", "how would you define {}", "Show me {}", "overview of {}"),
        *("I'd like to read about {}", "Please summarize {}", "Could you please list {}?"),
    ],
)
def test_who_asks_for_a_title_gets_it_first(index: HebbianIndex, title: str, phrase: str) -> None:
    for name in (title, title.lower()):
        hit = index.recall(phrase.format(name), 3)[0]
        assert hit.id == title
        assert hit.score >= 0.3


@pytest.mark.parametrize("code", ["E4305", "E4304", "PX-77b"])
@pytest.mark.parametrize(
    "phrase",
    [
        *("{}", "error {}", "I got {} at checkout, what now?", "{}!", "the printout says {}"),
        *("What does the message {} mean on my phone?", "is {} covered by my contract?"),
        *("Why do I see {} since yesterday evening?", "Fehler {} beim Bezahlen", "{} – was nun?"),
    ],
)
def test_a_code_that_is_held_decides(index: HebbianIndex, code: str, phrase: str) -> None:
    recall = index.recall(phrase.format(code), 3, min_score=0.3)
    assert [hit.id for hit in recall][:1] == [code]
    alone = index.recall(code).confidence
    assert recall.confidence is not None
    assert alone is not None
    assert recall.confidence <= alone + 0.05


@pytest.mark.parametrize("question", ["E4306", "What does E4306 mean?", "is PX-78b covered?"])
def test_a_code_that_nothing_holds_is_not_known(index: HebbianIndex, question: str) -> None:
    assert not index.recall(question, min_score=0.3).hits
    assert not index.recall(f"{question} E4305", min_score=0.3).hits


def test_a_lesson_on_a_question_that_names_nothing_answers_no_other(index: HebbianIndex) -> None:
    recall = index.recall("And why?")
    index.reinforce(recall, cited=["Petrel"], actor="ann")
    again = index.recall("And why?")
    assert [hit.score for hit in again] == [hit.score for hit in recall]
    assert any(note.startswith("too short") for note in again.notes)
    index.forget(actor="ann")


@pytest.mark.parametrize("number", ["4006381333931", "10 x 30", "2026-04-03"])
def test_a_long_number_that_is_held_outweighs_vectors(number: str) -> None:
    with HebbianIndex.open(
        ":memory:", embedder=Embedder(), settings=Settings(vectors=0.95)
    ) as index:
        index.add([{"id": "label", "text": f"Type label, marked {number}."}, *FILL])
        assert index.recall(f"Which article has {number}?")[0].id == "label"


class Embedder:
    """Places every question near the notes, and far from the label."""

    model_name = "notes"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.1] if "keeper" in text else [0.1, 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.1]
