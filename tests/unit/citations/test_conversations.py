from __future__ import annotations

import pytest
from recalls import recalled

from hebbgraph.citations import Conversations, Recalled
from hebbgraph.citations import conversations as room


def ids(recalls: list[Recalled]) -> list[str]:
    return [one.recall.id for one in recalls]


def test_the_latest_recalls_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_RECALLS", 3)
    conversations = Conversations()
    conversations.note("t", [recalled("1"), recalled("2")])
    conversations.note("t", [recalled("2"), recalled("3"), recalled("4")])
    assert ids(conversations.earlier("t")) == ["2", "3", "4"]
    assert ids(conversations.earlier("t", but=[recalled("4"), recalled("9")])) == ["2", "3"]
    assert conversations.earlier("u") == []


def test_the_quietest_conversation_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_CONVERSATIONS", 2)
    conversations = Conversations()
    for name in ("a", "b", "a", "c"):
        conversations.note(name, [recalled(f"of {name}")])
    conversations.note("nothing to remember", [])
    assert len(conversations) == 2
    assert conversations.earlier("b") == []
    assert ids(conversations.earlier("a")) == ["of a"]
