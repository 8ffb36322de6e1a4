"""Recalls over a store to which others write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from recalls import recalled

from hebbgraph import Recall
from hebbgraph.adapters.questions import Question

CHUNKS = ("a", "b", "c", "d", "e", "f", "g", "h")


class Store:
    """Has some of the chunks; two of those that are not excluded are recalled at a time."""

    def __init__(self, *stored: str) -> None:
        self.stored = stored
        self.recalls = 0

    def recall(self, text: str, *, k: int, where: Any) -> Recall:
        self.recalls += 1
        excluded = where["$id"]["$nin"] if where else ()
        return recalled("q", *[id_ for id_ in CHUNKS if id_ not in excluded][:2]).recall

    def read(self, ids: Sequence[str]) -> dict[str, str]:
        return {id_: f"now {id_}" for id_ in ids if id_ in self.stored}


@pytest.mark.parametrize(
    ("stored", "found", "hits", "recalls"),
    [
        ("abc", "a", ["a", "b"], 1),
        ("acd", "a", ["a", "c"], 2),
        ("ae", "a", ["a", "e"], 4),
        ("ah", "a", ["a"], 5),  # too few rather than one that is deleted
        ("", "", [], 5),
        ("b", "a", ["a", "b"], 1),  # it cannot return what it has just found
        ("ab", "ab", ["a", "b"], 1),
    ],
)
def test_what_the_store_has_deleted_is_replaced(
    stored: str, found: str, hits: list[str], recalls: int
) -> None:
    store = Store(*stored)
    answer = Question(index=store, text="q", k=2).ask_stored(
        {id_: f"found {id_}" for id_ in found}, store.read, witness=found[0] if found else None
    )
    assert ([hit.chunk.id for hit in answer.hits], store.recalls) == (hits, recalls)
    if hits == ["a", "c"]:
        assert (answer.current["a"], answer.current["c"]) == ("now a", "now c")


def test_a_store_that_cannot_be_read() -> None:
    store = Store()
    found = Question(index=store, text="q", k=2).ask_stored(
        {"a": "found a"}, lambda ids: None, witness="a"
    )
    assert (tuple(found.hits), found.current) == (found.recall.hits, {"a": "found a"})
    assert store.recalls == 1
