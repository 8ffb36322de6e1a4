"""The rule of credit, by hand on three chunks."""

from __future__ import annotations

from typing import Any

import pytest
from recalls import recalled

from hebbgraph import HebbianIndex
from hebbgraph.citations import Recalled, share_credit


def credits(*args: Any, **kwargs: Any) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [
        (lesson.recalled.recall.id, lesson.cited, lesson.shown)
        for lesson in share_credit(*args, **kwargs)
    ]


def test_the_recall_that_ranks_a_chunk_best() -> None:
    recalls = [recalled("one", "a", "b"), recalled("two", "b", "c", "a")]
    assert credits(["b", "a"], ["a", "b", "c"], recalls) == [
        ("one", ("a",), ("a",)),
        ("two", ("b",), ("b", "c")),
    ]


@pytest.mark.parametrize("times", [2, 3])
def test_of_equal_ranks_the_latest(times: int) -> None:
    recalls = [recalled(str(number), "a", "b") for number in range(times)]
    assert credits(["b", "a"], ["a", "b"], recalls) == [(str(times - 1), ("b", "a"), ("a", "b"))]


def test_a_better_rank_beats_a_later_recall() -> None:
    recalls = [recalled("one", "a", "b"), recalled("two", "c", "a")]
    assert credits(["a"], ["a", "b", "c"], recalls) == [("one", ("a",), ("a", "b"))]


def test_earlier_turns_get_what_the_present_one_did_not_find() -> None:
    earlier = [recalled("old", "a", "b", "c"), recalled("newer", "d", "b", "c")]
    own = [recalled("now", "e", "d")]
    assert credits(["d", "b"], ["a", "b", "c", "d", "e"], own, earlier=earlier) == [
        ("now", ("d",), ("d", "e")),
        # "b" ranks second in both: the latest. "d" was used, so it was not shown in vain.
        ("newer", ("b",), ("b", "c")),
    ]


def test_what_the_request_has_taught_is_neither_taught_again_nor_shown_in_vain() -> None:
    recalls = [recalled("one", "a", "b", "c")]
    assert credits(["a", "b"], ["a", "b", "c"], recalls, taught={"a"}) == [
        ("one", ("b",), ("b", "c"))
    ]
    assert credits(["a"], ["a", "b", "c"], recalls, taught={"a"}) == []


def test_nothing_for_what_no_recall_holds() -> None:
    assert credits(["x"], ["x"], [recalled("one", "a")]) == []
    assert credits([], ["a"], [recalled("one", "a")]) == []
    assert credits(["a"], ["a"], []) == []


def test_a_lesson_teaches_its_index() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "a", "text": "Owls hunt at night."}, {"id": "b", "text": "Owls sleep."}])
        own = Recalled(index, index.recall("What do owls do?"))
        (lesson,) = share_credit(["a"], ["a", "b"], [own])
        given = lesson.by("ida").teach()
        assert (given.cited, given.actor) == (("a",), "ida")
        assert [one.chunk_id for one in given.shown if one.chunk_id != "a"] == ["b"]
        against = lesson.teach(good=False)
        assert (against.cited, against.rejected) == ((), ("a",))
