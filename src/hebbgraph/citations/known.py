"""Which answer a name means: those of this process, and those that indexes keep for others."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from hebbgraph.citations.answered import Answered, Kept
from hebbgraph.citations.credit import TeachableIndex, TeachablePool, pool_of
from hebbgraph.errors import ClosedIndexError, ParameterError
from hebbgraph.records import AnswerRecord

__all__ = ["KnownAnswers", "reading"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

#: Ids that nobody guesses: those of runs, recalls and messages. Of all tenants, one has them.
_RANDOM = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


class KnownAnswers:
    """Answers by their names, each in its namespaces.

    Parameters
    ----------
    remember : int
        How many of this process; indexes keep more.
    home : TeachableIndex or TeachablePool, optional
        Where answers of other processes may be kept, before the first answer comes from it.
    """

    def __init__(self, remember: int, home: TeachableIndex | TeachablePool | None = None) -> None:
        self.remember = remember
        self.home = home
        self._lock = threading.RLock()
        self._answers: dict[str, list[Answered]] = {}
        self._order: deque[Answered] = deque()
        #: Names and namespaces of the latest answers that cited nothing.
        self._uncited: deque[tuple[str, frozenset[str]]] = deque(maxlen=remember)
        self._indexes: weakref.WeakSet[TeachableIndex] = weakref.WeakSet()
        self._pools: weakref.WeakSet[Any] = weakref.WeakSet()
        self._tenants: set[str] = set()
        if isinstance(home, TeachablePool):
            self._pools.add(home)
        else:
            self.meet(home)

    def __len__(self) -> int:
        """Return how many indexes are known."""
        return len(self._indexes)

    def meet(self, index: TeachableIndex | None) -> None:
        """Take note of an index that was asked, and have it keep recalls for later verdicts."""
        if index is not None and index not in self._indexes:
            self._indexes.add(index)
            if (pool := pool_of(index)) is not None:
                self._pools.add(pool)
                self._tenants.add(index.namespace)
            with contextlib.suppress(ClosedIndexError):  # it refuses the lesson, by name
                index.keep_recalls()

    def add(self, answered: Answered) -> None:
        """Remember an answer that can be judged; of one name in one namespace, the latest."""
        if (earlier := self._named_before(answered)) is not None:
            logger.warning(
                "two answers are named %r; from now on that means the later one, and the earlier "
                "one goes by %r. Give each answer a name of its own",
                *(answered.names[0], earlier),
            )
        with self._lock:
            for name in answered.names:
                others = self._answers.setdefault(name, [])
                self._answers[name] = [one for one in others if not answered.replaces(one)]
                self._answers[name].append(answered)
            if answered.names and not any(one is answered for one in reversed(self._order)):
                self._order.append(answered)
            while len(self._order) > self.remember:
                oldest = self._order.popleft()
                for name in oldest.names:
                    left = [one for one in self._answers.get(name, ()) if one is not oldest]
                    self._answers[name] = left
                    if not left:
                        del self._answers[name]

    def of_request(self, request: object, names: Iterable[str]) -> Answered | None:
        """Return an earlier answer to the same request."""
        with self._lock:
            known = (one for name in names for one in self._answers.get(name, ()))
            return next((one for one in known if one.request is request), None)

    def _named_before(self, answered: Answered) -> str | None:
        """Return another name of an earlier answer that the caller gave the same name, if any."""
        own = answered.names[0] if answered.names else ""
        if not own or _RANDOM.search(own):
            return None
        with self._lock:
            held = [one.names for one in self._answers.get(own, ()) if answered.replaces(one)]
        if not held:
            kept = (reading(index.find_answer, own) for index in answered.indexes)
            held = [record.names for record in kept if record is not None]
        others = [name for names in held if names != answered.names for name in names]
        return next((name for name in others if name not in answered.names), None)

    def add_uncited(self, names: Iterable[str], namespaces: frozenset[str]) -> None:
        """Remember that an answer cited nothing."""
        self._uncited.extend((name, namespaces) for name in names)

    def cited_nothing(self, name: str, namespace: str | None) -> bool:
        """Return whether the answer of a name is known to have cited nothing."""
        return any(
            name == one and (namespace is None or namespace in where)
            for one, where in self._uncited
        )

    # -- where answers are kept -----------------------------------------------------------

    def index_of(self, namespace: str | None) -> TeachableIndex | None:
        """Return the learner's own index, or that of a namespace of its pool."""
        if not isinstance(self.home, TeachablePool):
            return self.home
        return None if namespace is None else self.home[namespace]

    def indexes(self, namespaces: Iterable[str] | None = None) -> list[TeachableIndex]:
        """Return the indexes to look in.

        Parameters
        ----------
        namespaces : iterable of str, optional
            Those that a request is about. Left out, tenants of a pool are not looked at, unless
            the learner is one's own.
        """
        known = list(self._indexes)
        if namespaces is None:
            return [one for one in known if pool_of(one) is None or one is self.home]
        wanted = set(namespaces)
        pooled = [pool[name] for pool in list(self._pools) for name in sorted(wanted)]
        found = [*(one for one in known if one.namespace in wanted), *pooled]
        return list({id(one): one for one in found}.values())

    # -- finding --------------------------------------------------------------------------

    def find(self, name: str, namespace: str | None = None) -> Answered | None:
        """Return the answer of a name, as its indexes keep it now, or else as it is remembered.

        Parameters
        ----------
        name : str
        namespace : str, optional
            Only answers that this namespace has a part in.

        Raises
        ------
        ParameterError
            If the name means several answers, or a tenant of a pool is to be guessed.
        """
        with self._lock:
            known = [
                one
                for one in self._answers.get(name, ())
                if namespace is None or namespace in one.namespaces
            ]
        places = self.indexes(None if namespace is None else [namespace])
        places += [index for one in known for index in one.indexes]
        answers: list[Answered] = []
        for group in _kept_by(places, name):
            if namespace is None or any(index.namespace == namespace for index, _ in group):
                same = next((one for one in known if one.is_among(group)), None)
                current = same is not None and same.is_as_kept(group)
                answers.append(same if same and current else Answered.recollected(group, same))
                # What an index keeps under the name took the place of what it kept before.
                here = {id(index) for index, _ in group}
                known = [one for one in known if {id(it) for it in one.indexes} - here]
        for one in known:
            one.settle()
        answers += known
        if len(answers) > 1:
            raise ParameterError(
                f"{name!r} names answers in several namespaces; say whose is meant: "
                f"namespace=..., or the id of its run or recall in place of {name!r}"
            )
        if namespace is None and self._must_be_told(name, answers):
            raise ParameterError(
                f"over a pool, the name {name!r} may be several tenants'; say whose is meant: "
                "namespace=..., or ask within the request"
            )
        return answers[0] if answers else None

    def _must_be_told(self, name: str, answers: Sequence[Answered]) -> bool:
        """Return whether a verdict without a namespace might be about another tenant's answer."""
        if not (len(self._tenants) > 1 or isinstance(self.home, TeachablePool)):
            return False
        pooled = [index for one in answers for index in one.indexes if pool_of(index) is not None]
        foreign = not answers or any(index is not self.home for index in pooled)
        return foreign and _RANDOM.search(name) is None


def _kept_by(indexes: Iterable[TeachableIndex], name: str) -> list[Kept]:
    """Return what indexes keep under a name, answer by answer: all its parts have its names."""
    groups: dict[object, list[tuple[TeachableIndex, AnswerRecord]]] = {}
    for index in {id(one): one for one in indexes}.values():
        record = reading(index.find_answer, name)
        if record is None:
            continue
        group = groups.setdefault(record.names or id(index), [])
        if all(record != other for _, other in group):  # an index may be open twice
            group.append((index, record))
    return list(groups.values())


def reading(read: Callable[[str], _T], name: str) -> _T | None:
    """Ask an index for what it keeps; one that is closed or damaged keeps nothing, and says so."""
    try:
        return read(name)
    except Exception as error:
        logger.warning("what an index keeps of answers cannot be read: %s", error)
        return None
