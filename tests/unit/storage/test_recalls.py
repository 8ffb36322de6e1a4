"""The store of recent recalls: best effort, for each namespace by itself."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from hebbgraph import HebbianIndex, Recall
from hebbgraph.storage.recalls import RecallStore

RECALL = Recall(id="r", namespace="one", strategy="spreading", query="Who?")


def test_compacting_one_namespace_leaves_the_recalls_of_others(
    open_index: Callable[..., HebbianIndex],
) -> None:
    one, other = open_index(namespace="one"), open_index(namespace="other")
    for index in (one, other):
        index.add(["Owls hunt at night."])
        index.recall("Who hunts?", id="r")
    one.compact()
    assert one.find_recall("r") is None
    assert other.find_recall("r") is not None


@pytest.mark.parametrize("damage", [lambda old: b"no database" * 99, lambda old: old[:1500]])
def test_a_damaged_store_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "recalls.sqlite3"
    store = RecallStore(path, 10)
    store.put(RECALL)
    store.close()
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        store = RecallStore(path, 10)
    assert "begun anew" in caplog.text
    store.put(RECALL)
    assert store.get("one", "r") == RECALL
    store.close()


def test_what_is_closed_meanwhile_keeps_nothing_and_says_nothing() -> None:
    store = RecallStore(None, 10)
    with store._lock:
        store._connection, held = None, store._connection
    store.put(RECALL)
    assert store.get("one", "r") is None
    store.discard("one", ["r"])
    store.clear("one")
    store._connection = held
    store.close()
    store.close()
