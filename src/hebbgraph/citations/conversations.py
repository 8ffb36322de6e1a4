"""What a learner remembers of conversations: recalls of earlier turns, and reworded questions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from hebbgraph.citations.credit import Lesson, Recalled, TeachableIndex, namespace_of, pool_of
from hebbgraph.records import Feedback
from hebbgraph.text import tokenize
from hebbgraph.text.query import query_terms

__all__ = ["MAX_CONVERSATIONS", "MAX_RECALLS", "Conversations", "Rewordings", "is_reworded"]

#: Conversations remembered; the least recent is dropped first.
MAX_CONVERSATIONS = 256
#: Latest recalls remembered per conversation.
MAX_RECALLS = 8
#: Two questions ask for the same from this cosine of their terms on.
_ALIKE = 0.5

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Conversations:
    """The latest recalls of each conversation. Bounded and thread-safe.

    Examples
    --------
    >>> from hebbgraph import Recall
    >>> recall = Recall(id="r1", namespace="", strategy="", query="Who built it?")
    >>> conversations = Conversations()
    >>> conversations.note("thread-1", [Recalled(None, recall)])
    >>> [recalled.recall.id for recalled in conversations.earlier("thread-1")]
    ['r1']
    """

    def __init__(self) -> None:
        self._recalls: OrderedDict[tuple[str, str], list[Recalled]] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._recalls)

    def note(self, conversation: str, recalls: Sequence[Recalled]) -> None:
        """Remember the recalls of a turn, oldest first; known ones keep their place.

        Conversations of the same name in two namespaces of a pool are kept apart.
        """
        with self._lock:
            for recalled in recalls:
                key = (conversation, _tenant(recalled))
                remembered = self._recalls.setdefault(key, [])
                if all(recalled.recall.id != other.recall.id for other in remembered):
                    remembered.append(recalled)
                    del remembered[:-MAX_RECALLS]
                self._recalls.move_to_end(key)
            _drop_oldest(self._recalls)

    def earlier(
        self,
        conversation: str,
        *,
        but: Sequence[Recalled] = (),
        namespaces: Collection[str] | None = None,
    ) -> list[Recalled]:
        """Return the remembered recalls of a conversation, oldest first.

        Parameters
        ----------
        conversation : str
        but : sequence of Recalled
            The recalls of the present turn, which are left out.
        namespaces : collection of str, optional
            The namespaces of the present turn. Left out, recalls in a pool are not returned.
        """
        present = {recalled.recall.id for recalled in but}
        with self._lock:
            return [
                recalled
                for (name, tenant), recalls in self._recalls.items()
                if name == conversation
                for recalled in recalls
                if recalled.recall.id not in present
                and (
                    not tenant if namespaces is None else namespace_of(recalled.index) in namespaces
                )
            ]


def _tenant(recalled: Recalled) -> str:
    return "" if pool_of(recalled.index) is None else namespace_of(recalled.index)


def _drop_oldest(remembered: OrderedDict[_Key, _Value]) -> None:
    while len(remembered) > MAX_CONVERSATIONS:
        remembered.popitem(last=False)


def is_reworded(before: str, after: str) -> bool:
    """Return whether a question asks for the same in other words; the same words are a retry.

    >>> is_reworded("What does the ferry cost?", "How much does the ferry cost today?")
    True
    >>> is_reworded("What does the ferry cost?", "What does the mill grind?")
    False
    """
    terms, other_terms = (set(query_terms(text, "english")) for text in (before, after))
    is_alike = len(terms & other_terms) >= _ALIKE * (len(terms) * len(other_terms)) ** 0.5 > 0
    return is_alike and sorted(tokenize(before)) != sorted(tokenize(after))


class Rewordings:
    """Doubts raised by asking again at once in other words. Bounded and thread-safe.

    Keeps the lessons of the last answer in each conversation, and the doubts that were taught.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, frozenset[str]], Sequence[Lesson]] = OrderedDict()
        self._taught: OrderedDict[str, list[tuple[TeachableIndex, Feedback]]] = OrderedDict()
        self._lock = threading.Lock()

    def doubts(
        self, conversation: str | None, recalls: Sequence[Recalled], lessons: Sequence[Lesson]
    ) -> list[Lesson]:
        """Return lessons against what the last answer cited, if this turn asks for it again.

        Parameters
        ----------
        conversation : str or None
        recalls, lessons : sequence
            Those of this turn.
        """
        if conversation is None or not recalls:
            return []
        key = (conversation, frozenset(namespace_of(recalled.index) for recalled in recalls))
        with self._lock:
            before = self._last.pop(key, ())
            self._last[key] = tuple(lessons)
            _drop_oldest(self._last)
        queries = {recalled.recall.query for recalled in recalls}
        return [
            replace(lesson.as_rejection(), trusted=False, kind="asked again")
            for lesson in before
            if any(is_reworded(lesson.recalled.recall.query, query) for query in queries)
        ]

    def note(self, names: Iterable[str], index: TeachableIndex, feedback: Feedback) -> None:
        """Remember a taught doubt under the names of the answers that it concerns."""
        with self._lock:
            for name in names:
                self._taught.setdefault(name, []).append((index, feedback))
                self._taught.move_to_end(name)
            _drop_oldest(self._taught)

    def undo(self, names: Iterable[str], namespace: str | None) -> int:
        """Take back the doubts that concern an answer; return how many."""
        with self._lock:
            indexes = {
                feedback.id: index
                for name in names
                for index, feedback in self._taught.get(name, ())
                if namespace in (None, feedback.namespace)
            }
        return sum(index.forget(feedback=id_) for id_, index in indexes.items())
