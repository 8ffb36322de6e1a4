"""BambooKG: lists of fixed length, 5-3, chunks of the retrieved edges."""

from __future__ import annotations

from hebbgraph_papers.bambookg import BambooKG

from hebbgraph import Chunk, HebbianIndex, Recall
from hebbgraph.tagger import LLMTagger

#: pet–cat is in two chunks, all other pairs in one.
TAGS = {
    "a": ["pet", "cat"],
    "b": ["pet", "cat", "indoor"],
    "c": ["pet", "dog"],
    "d": ["cat", "milk"],
    "e": ["milk", "cow"],
}


def add(index: HebbianIndex) -> None:
    index.add(
        Chunk(id=id_, text="it is so", tags=tags, metadata={"letter": id_})
        for id_, tags in TAGS.items()
    )


def edges_of(recall: Recall) -> dict[str, list[str]]:
    return {hit.id: [step.value for step in hit.path[1:-1]] for hit in recall}


def test_the_strongest_neighbors_come_first_and_lead_one_step_further(memory: HebbianIndex) -> None:
    add(memory)
    one_one = memory.recall("Which pet?", strategy=BambooKG(first=1, second=1))
    # pet–cat has weight 2; of cat's others, indoor comes before milk.
    assert edges_of(one_one) == {
        "a": ["pet", "cat"],
        "b": ["pet", "cat"],
    }
    assert [(hit.id, hit.score) for hit in one_one] == [("b", 1.0), ("a", 0.5)]
    as_published = memory.recall("Which pet?", strategy="bambookg")
    assert edges_of(as_published) == {
        "a": ["pet", "cat"],
        "b": ["pet", "cat"],
        "c": ["pet", "dog"],
        "d": ["pet", "cat", "milk"],
    }
    # Of the edges pet–cat, pet–dog, pet–indoor and cat–milk, b holds two.
    assert [(hit.id, hit.score) for hit in as_published][:2] == [("b", 0.5), ("a", 0.25)]
    assert len(memory.recall("Which pet?", k=2, strategy="bambookg")) == 2


def test_a_question_is_answered_in_part(memory: HebbianIndex) -> None:
    add(memory)
    assert {hit.id for hit in memory.recall("Does a cow eat hay?", strategy="bambookg")} == {
        "d",
        "e",
    }


def test_what_no_tag_names_is_not_learned(memory: HebbianIndex) -> None:
    add(memory)
    recall = memory.recall("Does a horse eat hay?", strategy="bambookg")
    assert (recall.hits, recall.notes) == (
        (),
        ("not learned: the index knows none of the concepts of the question",),
    )


def test_lists_are_of_fixed_length_and_filters_hold(memory: HebbianIndex) -> None:
    add(memory)
    short = memory.recall("Which pet?", strategy=BambooKG(list_length=2))
    assert edges_of(short)["b"] == ["pet", "cat"]
    assert not any("indoor" in tags for tags in edges_of(short).values())
    only = memory.recall("Which pet?", strategy="bambookg", where={"letter": "c"})
    assert [hit.id for hit in only] == ["c"]


def test_a_tagger_gives_the_lists_else_titles_and_rare_tags_do() -> None:
    tagger = LLMTagger(lambda _: '{"texts": [{"number": 1, "tags": ["ice trade", "Ida Moss"]}]}')
    with HebbianIndex.open(":memory:", tagger=tagger) as index:
        index.add([Chunk(id="petrel", title="Petrel", text="Ida Moss built it.")])
        recall = index.recall("Who was in the ice trade?", strategy="bambookg")
        assert edges_of(recall) == {"petrel": ["ice trade", "ida moss"]}
        assert not index.recall("Who built the Petrel?", strategy="bambookg").hits
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                Chunk(id="petrel", title="Petrel", text="Ida Moss built it."),
                Chunk(id="moss", title="Ida Moss", text="She is of Tessel Bay."),
            ]
        )
        recall = index.recall("Who built the Petrel?", strategy="bambookg")
        assert edges_of(recall) == {"petrel": ["petrel", "ida moss"]}
