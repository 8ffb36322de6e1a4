"""Links of one chunk are told apart by the sentences that they are in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hebbgraph import Chunk, HebbianIndex, Settings

ROAD = (
    "Winter roads need care.\n"
    "Where lorries wait, crews spread a thin layer\nof brine before dusk.\n\n"
    "- On steep lanes, a coarse grit\n"
    "- Beside culverts, willow\n"
)
CHUNKS = [
    Chunk(id="road", text=ROAD, references=("works/brine.md", "works.md#coarse-grit", "willow")),
    Chunk(
        id="a", text="Sacks of fifty pounds, from the quarry.", addresses=("works.md#coarse-grit",)
    ),
    Chunk(id="b", text="Four to five parts, stirred until clear.", addresses=("works/brine.md",)),
    Chunk(id="c", text="Plant shoots as long as a hand.", addresses=("willow",)),
    Chunk(id="d", text="A ferry crosses at noon."),
]


def order(question: str, chunks: Sequence[Chunk] = CHUNKS, **options: object) -> list[str]:
    with HebbianIndex.open(":memory:", **options) as index:  # type: ignore[arg-type]
        index.add(chunks)
        return [hit.chunk.id for hit in index.recall(question, k=2).hits]


@pytest.mark.parametrize(
    ("question", "target"),
    [
        ("What helps winter roads where lorries wait?", "b"),  # over the end of a line
        ("What helps winter roads on steep lanes?", "a"),  # by the words of the anchor
        ("What helps winter roads beside culverts?", "c"),
    ],
)
def test_the_sentence_that_answers_decides_which_link_is_followed(
    question: str, target: str
) -> None:
    assert order(question) == ["road", target]


def test_a_link_whose_name_no_sentence_holds_is_followed_by_evidence_alone() -> None:
    road = Chunk(id="road", text="Where lorries wait, crews are sent.", references=("x/1", "x/2"))
    targets = [
        Chunk(id="a", text="Four parts to five.", addresses=("x/1",)),
        Chunk(id="b", text="Lorries of four tons.", addresses=("x/2",)),
    ]
    assert order("Where do lorries wait?", [road, *targets, CHUNKS[-1]]) == ["road", "b"]


def test_a_store_elsewhere_is_asked_for_the_hits_alone() -> None:
    asked: list[list[str]] = []

    def texts(ids: Sequence[str]) -> dict[str, str]:
        asked.append(sorted(ids))
        return {chunk.id: chunk.text for chunk in CHUNKS if chunk.id in ids}

    settings = Settings(keep_text=False)
    found = order("What helps winter roads beside culverts?", settings=settings, texts=texts)
    assert asked == [sorted(found)]
