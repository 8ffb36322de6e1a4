"""The store of recent recalls: best effort, for each namespace by itself."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
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


def test_a_vector_comes_back_bit_for_bit(tmp_path: Path) -> None:
    vector = tuple(np.random.default_rng(1).standard_normal(384).astype(np.float32).tolist())
    asked = RECALL.model_copy(update={"vector": vector})
    store = RecallStore(tmp_path / "recalls.sqlite3", 10)
    store.put(asked)
    assert store.get("one", "r") == asked
    store.close()


def test_a_store_that_does_not_say_whose_recalls_it_holds_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "recalls.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE recalls (number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT, "
            "id TEXT, body TEXT, vector BLOB, UNIQUE (namespace, id))"
        )
        connection.execute(
            "INSERT INTO recalls (namespace, id, body) VALUES ('one', 'r', ?)",
            (RECALL.model_dump_json(),),
        )
    for _ in range(2):
        store = RecallStore(path, 10, "mine")
        assert store.get("one", "r") is None
        store.put(RECALL.model_copy(update={"id": "new"}))
        assert store.get("one", "new") is not None
        store.close()


def test_databases_that_share_a_store_do_not_see_each_other(tmp_path: Path) -> None:
    mine, theirs = (RecallStore(tmp_path / "recalls.sqlite3", 10, name) for name in "ab")
    mine.put(RECALL)
    assert theirs.get("one", "r") is None
    theirs.put(RECALL.model_copy(update={"query": "Whose?"}))
    assert mine.get("one", "r") == RECALL
    theirs.discard("one", ["r"])
    theirs.clear("one")
    assert mine.get("one", "r") == RECALL
    for store in (mine, theirs):
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
