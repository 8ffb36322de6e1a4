"""Fixtures; what they are made of is in helpers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hebbgraph import LearningSettings, Settings
from langchain_core.documents import Document
from lc_helpers import RecordingIndex, ScriptedChat, make_documents

from langchain_hebbgraph.conversion import to_chunk


@pytest.fixture
def documents() -> list[Document]:
    return make_documents()


@pytest.fixture
def index(documents: list[Document]) -> Iterator[RecordingIndex]:
    settings = Settings(learning=LearningSettings(families=()))  # keeps rankings as they are
    with RecordingIndex.open(":memory:", settings=settings) as index:
        index.keep_recalls()
        index.lessons = []
        index.add([to_chunk(document) for document in documents])
        yield index


@pytest.fixture
def chat() -> Callable[..., ScriptedChat]:
    def make(script: Any, **options: Any) -> ScriptedChat:
        if not callable(script):
            reply = script
            return ScriptedChat(script=lambda messages: reply, seen=[], **options)
        return ScriptedChat(script=script, seen=[], **options)

    return make


@pytest.fixture
def threads() -> Callable[[Callable[[int], Any], int], list[Any]]:
    """Run a function n times at once; return the results in order."""

    def run(function: Callable[[int], Any], count: int) -> list[Any]:
        results: list[Any] = [None] * count
        barrier = threading.Barrier(count)

        def one(number: int) -> None:
            barrier.wait()
            results[number] = function(number)

        own = [threading.Thread(target=one, args=(number,)) for number in range(count)]
        for thread in own:
            thread.start()
        for thread in own:
            thread.join()
        return results

    return run
