"""Where search is unsure, what was taught of other questions overturns nothing."""

import pytest

from hebbgraph import Chunk, HebbianIndex

TAUGHT = "Which function gives the amount of dough water?"
OTHER = "Which function gives the amount of yeast?"


@pytest.fixture
def index():
    with HebbianIndex.open(":memory:") as made:
        made.add(
            [
                Chunk(id="water", text="def water(flour, hydration): return flour * hydration"),
                Chunk(id="yeast", text="def yeast(flour, hours): return flour * 0.02 / hours"),
                Chunk(
                    id="oven", text="The oven is swept with a wet broom before the first loaves."
                ),
                Chunk(id="till", text="Count the till at noon and again at closing."),
                Chunk(id="van", text="The van leaves at five with the rolls for the station."),
            ]
        )
        yield made


def teach(index):
    for actor in ("ada", "ben", "cy"):
        index.reinforce(index.recall(TAUGHT), cited=["water"], actor=actor)


def test_a_word_in_common_with_a_taught_question_outweighs_no_word_of_a_passage(index):
    before = index.recall(OTHER)
    assert before.hits[0].chunk.id == "yeast"
    assert before.confidence < 0.2
    teach(index)
    after = index.recall(OTHER)
    assert after.hits[0].chunk.id == "yeast"
    assert after.confidence < 0.2  # what was taught of something else makes it no surer
    assert index.recall(TAUGHT).hits[0].chunk.id == "water"


def test_a_passage_that_was_taught_is_still_found_by_its_own_words(index):
    for n, (asked, right) in enumerate((("count the till", "till"), ("the van leaves", "van")) * 9):
        index.reinforce(index.recall(f"{asked} {n}"), cited=[right], actor=f"reader-{n % 3}")
    teach(index)
    unsure = index.recall("What happens with hydration and rye and salt and malt and rest?")
    assert unsure.confidence < 0.3
    assert unsure.hits[0].chunk.id == "water"
    assert unsure.hits[0].score > 0.5 * unsure.confidence
