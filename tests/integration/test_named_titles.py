"""What a question names by its whole title is among the first hits."""

from __future__ import annotations

import pytest

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.recall.naming import is_named

QUESTION = "Which came out first, Thelma and Louise or A Field of Their Own?"
FILM = Chunk(
    id="film",
    title="A Field of Their Own",
    text="It was shown at the harbour hall in autumn, to a full house.",
)
OTHERS = [
    Chunk(id="town", title="Thelma, Kentucky", text="Thelma came first of the towns by the ford."),
    Chunk(
        id="royal", title="Louise, Princess", text="Louise came out at court, the first of four."
    ),
    Chunk(id="lake", title="Thelma, Lake", text="Thelma came out of the ice first."),
    Chunk(id="ship", title="Louise, barque", text="Louise came out of the yard first."),
    Chunk(id="mill", title="Thelma, mill", text="Which mill was first, Thelma or its own field?"),
    *(Chunk(id=f"field{n}", text=f"They came to a field of their own in {n}.") for n in range(9)),
]


def _ids(index: HebbianIndex, question: str) -> list[str]:
    return [hit.chunk.id for hit in index.recall(question, k=7).hits]


def test_a_title_that_is_named_is_among_the_first_three() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([FILM, *OTHERS])
        assert "film" in _ids(index, QUESTION)[:3]
        recall = index.recall(QUESTION)
        scores = [hit.score for hit in recall.hits]
        assert scores == sorted(scores, reverse=True)
        for hit in index.inspect.trace(recall).hits:  # its causes add up to its score
            one = hit.causes
            assert one.lexical + one.dense + one.graph + one.learned == pytest.approx(hit.score)


def test_each_title_that_is_named_has_a_passage() -> None:
    ships = [
        Chunk(id=f"{name}{n}", title=f"{name} Bell", text=f"Crew list {n} of a lugger.")
        for name in ("Amber", "Cedar", "Flint", "Hazel")
        for n in range(3)
    ]
    about = [
        Chunk(id=f"about{n}", title="", text=f"Amber, Cedar, Flint, Hazel: bells, sunk in {n}.")
        for n in range(8)
    ]
    with HebbianIndex.open(":memory:") as index:
        index.add([*ships, *about])
        first = _ids(index, "Who sank Amber Bell, Cedar Bell, Flint Bell and Hazel Bell?")[:4]
        assert {id_[:-1] for id_ in first} == {"Amber", "Cedar", "Flint", "Hazel"}


MOSSES = [
    Chunk(id="plant", title="Moss", text="Small flowerless plants that form dense green clumps."),
    Chunk(id="ida", title="Moss, Ida", text="Moss built schooners. Moss died in Tessel Bay."),
    Chunk(id="lake", title="Moss (lake)", text="Moss is north of Moss Fell; Moss feeds the Moss."),
    Chunk(id="ship", title="Petrel", text="The Petrel, built by Moss for Moss, sank off Moss."),
]


@pytest.mark.parametrize("question", ["What is Moss?", "moss", "Who or what was moss?"])
@pytest.mark.parametrize("n_mentions", [0, 30])
def test_a_question_that_is_only_a_title_has_its_passage_first(
    question: str, n_mentions: int
) -> None:
    mentions = [Chunk(id=f"{n}", text=f"Moss, entry {n} of a log.") for n in range(n_mentions)]
    with HebbianIndex.open(":memory:") as index:
        index.add([*MOSSES, *mentions])
        recall = index.recall(question)
        assert recall.hits[0].chunk.id == "plant"
        assert recall.confidence is not None
        assert recall.hits[0].score <= recall.confidence
        for hit in index.inspect.trace(recall).hits:
            causes = hit.causes
            parts = (causes.lexical, causes.dense, causes.graph)
            assert min(parts) > -1e-9
            assert sum(parts) == pytest.approx(hit.score)


def test_a_title_is_above_longer_forms_of_it() -> None:
    fields = [Chunk(id=f"{n}", text=f"Sheep grow fat on field {n}.") for n in range(9)]
    with HebbianIndex.open(":memory:") as index:
        index.add([*MOSSES, *fields])
        found = _ids(index, "Where does moss grow?")
        assert found.index("plant") < min(found.index("ida"), found.index("lake"))


def test_a_filter_holds() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([FILM.model_copy(update={"metadata": {"kind": "film"}}), *OTHERS])
        found = index.recall(QUESTION, where={"kind": {"$exists": False}})
        assert "film" not in [hit.chunk.id for hit in found.hits]


def test_a_part_of_a_name_is_not_named() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([FILM, *OTHERS, Chunk(id="moss", title="Ida Moss", text="A list of her tools.")])
        plain = _ids(index, "Who sold the yard that Ida Moss Fenwick left to the town?")
        named = _ids(index, "Who sold the yard that Ida Moss left to the town?")
        assert named.index("moss") < 3
        assert plain.index("moss") >= named.index("moss")


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("Who built Ash Fenn?", True),
        ("who built ash fenn mill?", True),  # nothing tells
        ("Who built Ash Fenn Mill?", False),
        ("Who built Old Ash Fenn?", False),
        ("Who built Ash Fenn Mill, and who lived in Ash Fenn?", True),
        ("What did Ida's Ash Fenn cost?", True),
        ("In 1890, Ash Fenn burned.", True),
        ("Is The Ash Fenn still there, Ida?", True),
        ("Did Ash Fenn burn?", True),
        ("WHO BUILT ASH FENN MILL", True),
    ],
)
def test_where_a_name_ends(question: str, alone: bool) -> None:
    assert is_named("ash fenn", question, rare=True) is alone


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Who wrote A Field of Their Own?", True),
        ("Who wrote a field of their own?", False),
        ("Who has a field of Their Own?", False),
    ],
)
def test_common_words_are_a_name_if_they_are_written_as_one(question: str, named: bool) -> None:
    assert is_named("field of their own", question, rare=False) is named


def test_what_many_other_passages_mention_is_not_named_in_common_words() -> None:
    """Of two words that often stand together, neither is rare, but their sum seems to be."""
    oven = Chunk(id="oven", title="bread oven", text="It has a door of cast iron and two flues.")
    asked = "why does the crust of rye loaves burn in a bread oven?"
    rye = [Chunk(id=f"rye{n}", text=f"Crust of rye loaves, batch {n}: burnt.") for n in range(5)]
    oats = [Chunk(id=f"oats{n}", text=f"Field {n} was sown with oats.") for n in range(60)]
    lit = [Chunk(id=f"lit{n}", text=f"Day {n}: lit the bread oven, swept it.") for n in range(12)]
    ranks = []
    for others in (oats, oats + lit):
        with HebbianIndex.open(":memory:") as index:
            index.add([oven, *rye, *others])
            ranks.append(_ids(index, asked).index("oven"))
    assert ranks[0] < 3 <= ranks[1]
