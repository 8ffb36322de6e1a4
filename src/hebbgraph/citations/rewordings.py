"""A question asked again at once in other words: doubt about what its answer cited."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hebbgraph.citations.conversations import MAX_CONVERSATIONS
from hebbgraph.citations.credit import Lesson, TeachableIndex, namespace_of
from hebbgraph.citations.exchange import Exchange
from hebbgraph.records import Feedback
from hebbgraph.text import tokenize
from hebbgraph.text.query import query_terms

__all__ = ["Rewordings", "is_reworded"]

#: Questions are the same need from this cosine of their words on.
_ALIKE = 0.5


def is_reworded(before: str, after: str) -> bool:
    """Return whether a question says the same in other words; the same words are a retry.

    >>> is_reworded("What does the ferry cost?", "How much does the ferry cost today?")
    True
    >>> is_reworded("What does the ferry cost?", "What does the mill grind?")
    False
    """
    words = [tokenize(text) for text in (before, after)]
    one, other = (set(query_terms(text, "english")) for text in (before, after))
    is_alike = len(one & other) >= _ALIKE * (len(one) * len(other)) ** 0.5 > 0
    return is_alike and sorted(words[0]) != sorted(words[1])


class Rewordings:
    """The lessons of the last answer of each conversation, and doubts; bounded. Thread-safe."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, frozenset[str]], Sequence[Lesson]] = OrderedDict()
        self._told: OrderedDict[str, list[tuple[TeachableIndex, Feedback]]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, names: Iterable[str], index: TeachableIndex, feedback: Feedback) -> None:
        """Keep under which names of answers a doubt is taken back."""
        with self._lock:
            for name in names:
                self._told.setdefault(name, []).append((index, feedback))
                self._told.move_to_end(name)
            while len(self._told) > MAX_CONVERSATIONS:
                self._told.popitem(last=False)

    def undo(self, names: Iterable[str], namespace: str | None) -> int:
        """Take back the doubts that an answer raised, or that were raised about it."""
        with self._lock:
            found = {
                feedback.id: index
                for name in names
                for index, feedback in self._told.get(name, ())
                if namespace in (None, feedback.namespace)
            }
        return sum(index.forget(feedback=id_) for id_, index in found.items())

    def doubts(self, exchange: Exchange, lessons: Sequence[Lesson]) -> list[Lesson]:
        """Return the lessons against what the last answer cited, if it was asked again.

        Parameters
        ----------
        exchange : Exchange
            This turn.
        lessons : sequence of Lesson
            What its own answer teaches.
        """
        if exchange.conversation is None or not exchange.recalls:
            return []
        tenants = frozenset(namespace_of(one.index) for one in exchange.recalls)
        key = (exchange.conversation, tenants)
        with self._lock:
            before = self._last.pop(key, ())
            self._last[key] = tuple(lessons)
            while len(self._last) > MAX_CONVERSATIONS:
                self._last.popitem(last=False)
        asked = {one.recall.query for one in exchange.recalls}
        return [
            replace(lesson.as_rejection(), trusted=False, kind="asked again")
            for lesson in before
            if any(is_reworded(lesson.recalled.recall.query, query) for query in asked)
        ]
