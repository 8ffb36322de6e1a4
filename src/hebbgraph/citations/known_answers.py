"""Finds the answer that a name means: remembered by this process, or kept by an index."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from hebbgraph.citations.answer import Answer, KeptAnswer
from hebbgraph.citations.credit import TeachableIndex, TeachablePool, pool_of
from hebbgraph.errors import ClosedIndexError, ParameterError
from hebbgraph.records import AnswerRecord

__all__ = ["KnownAnswers", "read_kept"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

#: Ids of runs, recalls and messages: nobody guesses one, and no two tenants have the same.
_RANDOM_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


class KnownAnswers:
    """Answers by name, and the indexes that may keep more of them.

    Parameters
    ----------
    remember : int
        How many answers of this process are remembered; indexes keep more.
    home : TeachableIndex or TeachablePool, optional
        Searched for kept answers even before it is asked for the first time.
    """

    def __init__(self, remember: int, home: TeachableIndex | TeachablePool | None = None) -> None:
        self.remember = remember
        self.home = home
        self._lock = threading.RLock()
        self._answers: dict[str, list[Answer]] = {}
        self._oldest_first: deque[Answer] = deque()
        self._indexes: weakref.WeakSet[TeachableIndex] = weakref.WeakSet()
        self._pools: weakref.WeakSet[Any] = weakref.WeakSet()
        self._tenants: set[str] = set()
        if isinstance(home, TeachablePool):
            self._pools.add(home)
        else:
            self.add_index(home)

    # -- indexes -----------------------------------------------------------------------

    @property
    def has_indexes(self) -> bool:
        """Whether any index is known that may keep answers."""
        return self.home is not None or bool(self._indexes)

    def add_index(self, index: TeachableIndex | None) -> None:
        """Remember an index, and have it keep recalls for later verdicts."""
        if index is not None and index not in self._indexes:
            self._indexes.add(index)
            if (pool := pool_of(index)) is not None:
                self._pools.add(pool)
                self._tenants.add(index.namespace)
            with contextlib.suppress(ClosedIndexError):  # it will refuse the lesson anyway
                index.keep_recalls()

    def index_of(self, namespace: str | None) -> TeachableIndex | None:
        """Return the learner's own index, or that of a namespace of its pool."""
        if not isinstance(self.home, TeachablePool):
            return self.home
        return None if namespace is None else self.home[namespace]

    def indexes(self, namespaces: Iterable[str] | None = None) -> list[TeachableIndex]:
        """Return the known indexes of some namespaces.

        Parameters
        ----------
        namespaces : iterable of str, optional
            Left out, all indexes that belong to no pool, and the learner's own.
        """
        known = list(self._indexes)
        if namespaces is None:
            return [index for index in known if pool_of(index) is None or index is self.home]
        wanted = set(namespaces)
        pooled = [pool[name] for pool in list(self._pools) for name in sorted(wanted)]
        matches = [*(index for index in known if index.namespace in wanted), *pooled]
        return list({id(index): index for index in matches}.values())

    # -- remembering -------------------------------------------------------------------

    def add(self, answer: Answer) -> None:
        """Remember an answer; it takes over the names of earlier ones in the same indexes."""
        if (other_name := self._other_name_of_namesake(answer)) is not None:
            logger.warning(
                "two answers are named %r; from now on that means the later one, and the earlier "
                "one goes by %r. Give each answer a name of its own",
                answer.names[0],
                other_name,
            )
        with self._lock:
            for name in answer.names:
                others = [
                    earlier
                    for earlier in self._answers.get(name, ())
                    if not _same_place(answer, earlier)
                ]
                self._answers[name] = [*others, answer]
            if answer.names and not any(
                earlier is answer for earlier in reversed(self._oldest_first)
            ):
                self._oldest_first.append(answer)
            while len(self._oldest_first) > self.remember:
                self._drop(self._oldest_first.popleft())

    def _drop(self, answer: Answer) -> None:
        for name in answer.names:
            others = [other for other in self._answers.pop(name, ()) if other is not answer]
            if others:
                self._answers[name] = others

    def _other_name_of_namesake(self, answer: Answer) -> str | None:
        """Return another name of an earlier answer that the caller named alike, if any."""
        name = answer.names[0] if answer.names else ""
        if not name or _RANDOM_ID.search(name):
            return None
        records = (read_kept(index.find_answer, name) for index in answer.indexes)
        others = [
            other
            for record in records
            if record is not None and record.credits and record.names != answer.names
            for other in record.names
        ]
        return next((other for other in others if other not in answer.names), None)

    def of_request(self, request: object, names: Iterable[str]) -> Answer | None:
        """Return an earlier answer to the same request."""
        with self._lock:
            answers = (answer for name in names for answer in self._answers.get(name, ()))
            return next((answer for answer in answers if answer.request is request), None)

    # -- finding -----------------------------------------------------------------------

    def find(self, name: str, namespace: str | None = None) -> Answer | None:
        """Return the answer of a name: as its indexes keep it now, or else as it is remembered.

        Parameters
        ----------
        name : str
        namespace : str, optional
            Only answers whose recalls searched this namespace.

        Raises
        ------
        ParameterError
            If the name means several answers, or the tenant of a pool would have to be guessed.
        """
        with self._lock:
            remembered = [
                answer
                for answer in self._answers.get(name, ())
                if namespace is None or namespace in answer.namespaces
            ]
        indexes = self.indexes(None if namespace is None else [namespace])
        indexes += [index for answer in remembered for index in answer.indexes]
        answers: list[Answer] = []
        for kept in _kept_answers(indexes, name):
            if namespace is not None and all(index.namespace != namespace for index, _ in kept):
                continue
            names = {record.names for _, record in kept}
            known = next((answer for answer in remembered if answer.names in names), None)
            if known is not None and known.is_unchanged_in(kept):
                answers.append(known)
            else:
                answers.append(Answer.from_records(kept, known))
            # A kept answer has replaced what the same indexes kept under this name before.
            ids = {id(index) for index, _ in kept}
            remembered = [
                answer for answer in remembered if not ids.issuperset(map(id, answer.indexes))
            ]
        for answer in remembered:
            answer.sync_with_logs()
        answers += remembered
        if len(answers) > 1:
            raise ParameterError(
                f"{name!r} names answers in several namespaces; say whose is meant: "
                f"namespace=..., or the id of its run or recall in place of {name!r}"
            )
        if namespace is None and self._needs_namespace(name, answers):
            raise ParameterError(
                f"over a pool, the name {name!r} may be several tenants'; say whose is meant: "
                "namespace=..., or ask within the request"
            )
        return answers[0] if answers else None

    def _needs_namespace(self, name: str, answers: Sequence[Answer]) -> bool:
        """Return whether a verdict without a namespace might judge another tenant's answer."""
        if not (len(self._tenants) > 1 or isinstance(self.home, TeachablePool)):
            return False
        pooled = [
            index for answer in answers for index in answer.indexes if pool_of(index) is not None
        ]
        is_foreign = not answers or any(index is not self.home for index in pooled)
        return is_foreign and _RANDOM_ID.search(name) is None


def _same_place(answer: Answer, other: Answer) -> bool:
    """Return whether two answers are from the same indexes, so that one may replace the other."""
    return set(map(id, answer.indexes)) == set(map(id, other.indexes))


def _kept_answers(indexes: Iterable[TeachableIndex], name: str) -> list[KeptAnswer]:
    """Return what indexes keep under a name, grouped by answer."""
    groups: dict[object, list[tuple[TeachableIndex, AnswerRecord]]] = {}
    for index in {id(index): index for index in indexes}.values():
        record = read_kept(index.find_answer, name)
        if record is None:
            continue
        group = groups.setdefault(record.names or id(index), [])
        if all(record != other for _, other in group):  # an index may be open twice
            group.append((index, record))
    return list(groups.values())


def read_kept(read: Callable[[str], _T], name: str) -> _T | None:
    """Read what an index keeps under a name; None, and a warning, if that fails."""
    try:
        return read(name)
    except Exception as error:
        logger.warning("an index's record of answers cannot be read: %s", error)
        return None
