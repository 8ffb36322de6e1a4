"""Corrections to tags: what each kind does to recalls, who sees them, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, TagCorrection

pytestmark = pytest.mark.every_database

CHUNKS = [
    {
        "id": "apple",
        "title": "Big Apple",
        "text": "The Big Apple has ferries and a Harbour Office.",
    },
    {"id": "york", "title": "New York", "text": "New York lies on a river."},
    {"id": "voss", "text": "Clara Voss moved to New York. Clara Voss paints."},
    {"id": "walk", "text": "In the Big Apple, Clara Voss met the Harbour Office."},
]


def _cues(index: HebbianIndex, question: str) -> list[str]:
    return [cue.tag for cue in index.recall(question).cues]


def _tags(index: HebbianIndex, chunk_id: str) -> set[str]:
    return set(index.explain(index.recall("anything"), chunk_id).tags)


def _ids(index: HebbianIndex, question: str) -> list[str]:
    return [hit.chunk.id for hit in index.recall(question).hits]


def test_merged_tags_are_one(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(CHUNKS)
    assert _cues(index, "Who lives in the Big Apple?") == ["big apple"]
    index.correct_tags("merge", ["Big Apple"], into="New York")
    assert _cues(index, "Who lives in the Big Apple?") == ["new york"]
    assert {"new york"} <= _tags(index, "apple") & _tags(index, "walk") & _tags(index, "voss")
    assert "big apple" not in _tags(index, "apple")
    # It is still the title of both chunks, and as rare as the words that named it.
    path = next(hit for hit in index.recall("the Big Apple?").hits if hit.chunk.id == "york")
    assert path.path_text == "question → «new york» → New York"


def test_a_renamed_tag_answers_to_both_names(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(CHUNKS)
    index.correct_tags("rename", "New York", into="Gotham Town")
    assert _cues(index, "Is New York large?") == ["gotham town"]
    assert _cues(index, "Is Gotham Town large?") == ["gotham town"]
    index.correct_tags("rename", "Gotham Town", into="The Metropolis")
    assert _cues(index, "Is Gotham Town large?") == ["the metropolis"]


def test_a_muted_tag_says_nothing(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(CHUNKS)
    index.correct_tags("mute", "Clara Voss")
    assert _cues(index, "Where does Clara Voss paint?") == []
    assert "clara voss" not in _tags(index, "voss")
    index.add([{"id": "late", "text": "Clara Voss left."}])
    assert "clara voss" not in _tags(index, "late")
    assert _ids(index, "Where does Clara Voss paint?")[0] == "voss"  # words still find it


def test_a_split_parts_what_activation_crossed(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(CHUNKS)
    index.correct_tags("split", "New York", into="New York in England", chunks=["voss"])
    assert _tags(index, "voss") >= {"new york in england"}
    assert _tags(index, "york") >= {"new york"}
    assert set(_cues(index, "Who moved to New York?")) == {"new york", "new york in england"}


def test_every_reader_of_the_index_sees_it(open_index: Callable[..., HebbianIndex]) -> None:
    one, other = open_index(), open_index()
    one.add(CHUNKS)
    assert _cues(other, "Is New York large?") == ["new york"]
    correction = one.correct_tags("mute", "new york", actor="ann")
    assert _cues(other, "Is New York large?") == []
    assert other.tag_corrections() == [correction]
    one.close()
    assert other.undo_tag_correction(correction.id)
    assert not other.undo_tag_correction(correction)
    other.close()
    assert _cues(open_index(), "Is New York large?") == ["new york"]


def test_it_outlives_a_rebuild(open_index: Callable[..., HebbianIndex]) -> None:
    index = open_index()
    index.add(CHUNKS)
    index.correct_tags("merge", ["big apple", "harbour office"], into="New York")
    before = index.recall("Where is the Harbour Office?")
    index.parts.derived.start_over("a test says so")
    after = index.recall("Where is the Harbour Office?")
    assert (after.cues, after.hits) == (before.cues, before.hits)
    assert index.doctor().ok


def test_tenants_never_mix(open_index: Callable[..., HebbianIndex]) -> None:
    ours, theirs = open_index(), open_index(namespace="theirs")
    for index in (ours, theirs):
        index.add(CHUNKS)
    correction = ours.correct_tags("mute", "New York")
    assert _cues(theirs, "Is New York large?") == ["new york"]
    assert not theirs.undo_tag_correction(correction)
    assert theirs.tag_corrections() == []


def test_its_async_twins(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(CHUNKS)

    async def correct() -> tuple[list[TagCorrection], bool]:
        made = await index.acorrect_tags("mute", "New York")
        return await index.atag_corrections(), await index.aundo_tag_correction(made)

    corrections, undone = asyncio.run(correct())
    assert [one.kind for one in corrections] == ["mute"]
    assert undone


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("fold", "new york"), ParameterError, "kind is one of"),
        (("mute", []), ParameterError, "1 to 256 tags"),
        (("mute", "!!"), ParameterError, "cannot be a tag"),
        (("mute", [7]), ParameterError, "a tag is a str"),
        (("mute", 7), ParameterError, "iterable of str"),
        (("mute", "no such tag"), NotFoundError, "no chunk holds"),
        (("merge", "new york"), ParameterError, "needs into"),
        (("mute", "new york", "town"), ParameterError, "takes no into"),
        (("rename", "new york", "big apple"), ParameterError, "merge"),
        (("rename", "new york", "New York"), ParameterError, "stay as it is"),
        (("split", "new york", "town"), ParameterError, "needs chunks"),
        (("split", "new york", "town", ["gone"]), NotFoundError, "no chunk 'gone'"),
        (("merge", "new york", "town", ["voss"]), ParameterError, "takes no chunks"),
        (("rename", ["new york", "big apple"], "town"), ParameterError, "one tag"),
    ],
)
def test_what_is_refused_changes_nothing(
    make_index: Callable[..., HebbianIndex],
    arguments: tuple[object, ...],
    error: type[Exception],
    message: str,
) -> None:
    index = make_index(CHUNKS)
    kind, tags, into, chunks = (*arguments, None, None)[:4]
    with pytest.raises(error, match=message):
        index.correct_tags(kind, tags, into=into, chunks=chunks)  # type: ignore[arg-type]
    assert index.tag_corrections() == []
