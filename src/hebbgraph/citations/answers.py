"""Finds the answer that a name means, and earlier turns: in memory, or as an index keeps them."""

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
from hebbgraph.citations.credit import (
    Recalled,
    TeachableIndex,
    TeachablePool,
    namespace_of,
    pool_of,
)
from hebbgraph.errors import ClosedIndexError, ParameterError

__all__ = ["Answers"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

#: Ids of runs, recalls and messages: nobody guesses one, and no two tenants have the same.
_RANDOM_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
#: Latest recalls of a conversation that a later turn may cite from.
_MAX_EARLIER = 8


class Answers:
    """The latest answers of this process, and the indexes that keep more of them.

    Parameters
    ----------
    remember : int
        How many answers are remembered.
    home : TeachableIndex or TeachablePool, optional
        Searched for kept answers even before it is asked for the first time.
    """

    def __init__(self, remember: int, home: TeachableIndex | TeachablePool | None = None) -> None:
        self.home = home
        self._lock = threading.RLock()
        self._latest: deque[Answer] = deque(maxlen=remember)
        self._indexes: weakref.WeakSet[TeachableIndex] = weakref.WeakSet()
        self._pools: weakref.WeakSet[Any] = weakref.WeakSet()
        self._tenants: set[str] = set()
        if isinstance(home, TeachablePool):
            self._pools.add(home)
        else:
            self.add_index(home)

    # -- indexes -----------------------------------------------------------------------

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

    def _indexes_of(self, namespaces: Iterable[str] | None) -> list[TeachableIndex]:
        """Return the known indexes of some namespaces, or the learner's own and all unpooled."""
        known = list(self._indexes)
        if namespaces is None:
            return [index for index in known if pool_of(index) is None or index is self.home]
        wanted = sorted(set(namespaces))
        pooled = [pool[name] for pool in list(self._pools) for name in wanted]
        return [*(index for index in known if index.namespace in wanted), *pooled]

    # -- remembering -------------------------------------------------------------------

    def add(self, answer: Answer) -> None:
        """Remember an answer; it takes over the names of earlier ones in the same indexes."""
        if (other_name := _namesake_name(answer)) is not None:
            logger.warning(
                "two answers are named %r; from now on that means the later one, and the earlier "
                "one goes by %r. Give each answer a name of its own",
                answer.names[0],
                other_name,
            )
        with self._lock:
            if (answer.names or answer.conversation) and answer not in self._latest:
                self._latest.append(answer)

    def of_request(self, request: object, names: Iterable[str]) -> Answer | None:
        """Return an earlier answer to the same request that has one of these names."""
        wanted = set(names)
        answers = (answer for answer in self._newest_first() if answer.request is request)
        return next((answer for answer in answers if not wanted.isdisjoint(answer.names)), None)

    def before(self, answer: Answer) -> Answer | None:
        """Return the latest answer of the same conversation that recalled anything."""
        others = (
            other
            for other in self._newest_first()
            if other is not answer
            and other.made
            and other.conversation == answer.conversation
            and other.namespaces == answer.namespaces
        )
        return next(others, None)

    def _newest_first(self) -> list[Answer]:
        with self._lock:
            return list(reversed(self._latest))

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
        latest = self._newest_first()
        remembered: dict[frozenset[int], Answer] = {}  # by place
        for answer in latest:
            if name in answer.names and (namespace is None or namespace in answer.namespaces):
                remembered.setdefault(frozenset(answer.indexes), answer)
        indexes = self._indexes_of(None if namespace is None else [namespace])
        indexes += [index for answer in remembered.values() for index in answer.indexes.values()]
        answers: list[Answer] = []
        for kept in _kept_answers(indexes, name):
            tenants = {index.namespace for index, _ in kept}  # two may choose the same name
            if namespace in (None, *tenants):
                names = kept[0][1].names  # none, if it cited nothing
                alike = [a for a in latest if (a.names == names if names else name in a.names)]
                known = (answer for answer in alike if tenants <= answer.namespaces)
                answers.append(Answer.restored(kept, next(known, None)))
                places = {id(index) for index, _ in kept}
                remembered = {at: answer for at, answer in remembered.items() if not at <= places}
        answers += (answer for answer in remembered.values() if answer not in answers)
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
        is_foreign = not answers or any(
            pool_of(index) is not None and index is not self.home
            for answer in answers
            for index in answer.indexes.values()
        )
        return is_foreign and _RANDOM_ID.search(name) is None

    def unknown(self, name: str, namespace: str | None) -> str:
        """Describe where a name was looked for in vain."""
        where = "" if namespace is None else f" in namespace {namespace!r}"
        hint = "; hand the learner its index, which keeps more" if self.home is None else ""
        return (
            f"no answer of run {name!r} is remembered{where}, neither by this process "
            f"(the last {self._latest.maxlen}) nor by an index{hint}"
        )

    # -- earlier turns -----------------------------------------------------------------

    def earlier(
        self, conversation: str, but: Sequence[Recalled], namespace: str | None = None
    ) -> list[Recalled]:
        """Return the recalls of earlier turns of a conversation, oldest first.

        Includes turns that another process answered, as far as an index has kept them. Two
        tenants never share a conversation, even if theirs have the same name.

        Parameters
        ----------
        conversation : str
        but : sequence of Recalled
            The recalls of the present turn, which are left out.
        namespace : str, optional
            The namespace of the request. Left out, those that ``but`` searched.
        """
        made = [
            recalled
            for answer in reversed(self._newest_first())
            if answer.conversation == conversation
            for recalled in answer.made
        ]
        own = self.own(made, but, namespace)
        remembered = {recalled.recall.id: recalled for recalled in own}
        kept = {
            recall.id: Recalled(index, recall)
            for index in self._indexes_of(self._tenants_of(but, namespace) or None)
            for recall in _read_kept(index.earlier_recalls, conversation) or ()
            if recall.id not in remembered
        }
        present = {recalled.recall.id for recalled in but}
        latest = [*kept.values(), *list(remembered.values())[-_MAX_EARLIER:]]
        return [recalled for recalled in latest if recalled.recall.id not in present]

    def own(
        self, recalls: Iterable[Recalled], but: Sequence[Recalled], namespace: str | None
    ) -> list[Recalled]:
        """Return the recalls of the tenant of a request; those in ``but`` are the request's."""
        tenants = self._tenants_of(but, namespace)
        return [
            recalled
            for recalled in recalls
            if (namespace_of(recalled.index) in tenants if tenants else not pool_of(recalled.index))
        ]

    def _tenants_of(self, but: Sequence[Recalled], namespace: str | None) -> set[str]:
        """Return the namespaces of a request over a pool: named, or those that it searched."""
        if namespace is not None:
            return {namespace}
        pooled = {
            namespace_of(recalled.index) for recalled in but if pool_of(recalled.index) is not None
        }
        is_pooled = not pooled and pool_of(self.home) is not None
        return {namespace_of(self.home)} if is_pooled else pooled


def _namesake_name(answer: Answer) -> str | None:
    """Return another name of an earlier answer that the caller named alike, if any."""
    name = answer.names[0] if answer.names else ""
    if not name or _RANDOM_ID.search(name):
        return None
    records = (_read_kept(index.find_answer, name) for index in answer.indexes.values())
    others = [
        other
        for record in records
        if record is not None and record.credits and record.names != answer.names
        for other in record.names
    ]
    return next((other for other in others if other not in answer.names), None)


def _kept_answers(indexes: Iterable[TeachableIndex], name: str) -> list[KeptAnswer]:
    """Return what indexes keep under a name, grouped by answer."""
    groups: dict[object, KeptAnswer] = {}
    for at, index in {id(index): index for index in indexes}.items():
        record = _read_kept(index.find_answer, name)
        if record is not None:
            group = groups.setdefault(record.names or at, [])
            if all(record != other for _, other in group):  # an index may be open twice
                group.append((index, record))
    return list(groups.values())


def _read_kept(read: Callable[[str], _T], name: str) -> _T | None:
    """Read what an index keeps under a name; None, and a warning, if that fails."""
    try:
        return read(name)
    except Exception as error:
        logger.warning("an index's record of answers cannot be read: %s", error)
        return None
