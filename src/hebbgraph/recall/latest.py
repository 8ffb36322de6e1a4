"""Which recall a result came from, for retrievers that explain what they returned."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hebbgraph.calling import in_thread
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.inspection import Explanation
from hebbgraph.records import Recall

__all__ = ["Explaining", "LatestRecalls"]

_MOST = 64

#: What any retriever has returned and somebody still has, by its ``id()``.
_RETURNED: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

#: An index; this room lies below its own.
_Index = TypeVar("_Index")


@dataclass(frozen=True, slots=True)
class _Returned(Generic[_Index]):
    """A recall, and weak references to the objects that it was returned as."""

    index: _Index
    recall: Recall
    results: list[weakref.ref[Any]]


class LatestRecalls(Generic[_Index]):
    """The latest recalls of a retriever, which many tenants may share.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> class Result:
    ...     pass
    >>> latest, result = LatestRecalls(), Result()
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "a", "text": "Owls hunt."}])
    ...     latest.add(index, index.recall("Do owls hunt?"), [result])
    ...     latest.add(index, index.recall("Do owls sing?"), [Result()])
    ...     latest.find("a", result)[1].query
    'Do owls hunt?'
    """

    def __init__(self) -> None:
        self._latest: deque[_Returned[_Index]] = deque(maxlen=_MOST)

    def add(self, index: _Index, recall: Recall, results: Iterable[Any]) -> None:
        """Keep a recall, and which objects were returned for it."""
        returned = list(results)
        _RETURNED.update((id(result), result) for result in returned)
        self._latest.append(_Returned(index, recall, [weakref.ref(result) for result in returned]))

    def find(
        self,
        id_: str,
        result: Any = None,
        *,
        recall_id: str | None = None,
        namespace: str | None = None,
    ) -> tuple[_Index, Recall]:
        """Return the recall that a result came from, and its index.

        Parameters
        ----------
        id_ : str
            Of the chunk.
        result : object, optional
            As it was returned, or a copy. An object is known again, whatever else was asked
            meanwhile; a copy is not, so it counts only if a single recall returned its id.
            Left out, the latest recall of the namespace that returned the id is meant.
        recall_id : str, optional
            The recall that the result names itself.
        namespace : str, optional
            Of the caller. Needed where nothing else says which recall is meant.

        Raises
        ------
        NotFoundError
            If none of the latest recalls returned it.
        ParameterError
            If it cannot be told which one is meant.
        """
        latest = list(reversed(self._latest))
        for returned in latest:
            if returned.recall.id == recall_id or (
                recall_id is None
                and result is not None
                and any(reference() is result for reference in returned.results)
            ):
                return returned.index, returned.recall
        if recall_id is None and _RETURNED.get(id(result), self) is result:
            raise ParameterError(
                f"{id_!r} came back from another retriever, or before the latest {_MOST} recalls "
                "of this one; ask that one why, or set include_path=True, so that results name "
                "their recall"
            )
        if recall_id is None:
            if namespace is None:
                raise ParameterError(
                    f"{id_!r} may stand in the namespaces of several tenants; say whose is meant: "
                    "why(..., namespace=...)"
                )
            matches = [
                (returned.index, returned.recall)
                for returned in latest
                if returned.recall.namespace == namespace and returned.recall.hit(id_) is not None
            ]
            if len(matches) > 1 and result is not None:
                raise ParameterError(
                    f"{len(matches)} of the latest recalls returned {id_!r}, and a copy does not "
                    "say which one is meant; hand over the object that came back, or set "
                    "include_path=True, so that results name their recall"
                )
            if matches:
                return matches[0]
        raise NotFoundError(
            f"none of the latest {_MOST} recalls of this retriever returned {id_!r}; ask first, "
            "or call index.explain(recall, id)"
        )


class Explaining(ABC):
    """What retrievers have that explain why something came back: :meth:`why`."""

    _latest: LatestRecalls[Any]

    @abstractmethod
    def _known(self, result: Any) -> tuple[str, Any, Mapping[str, Any]]:
        """Return the id of a result, the object if it is one, and the trail that it carries.

        Raises ParameterError for anything else.
        """

    @abstractmethod
    def _whose(self, namespace: str | None) -> str | None:
        """Return the namespace that a request is about, if anything says it."""

    @abstractmethod
    def _index_of(self, namespace: str | None) -> Any:
        """Return the index of a namespace."""

    def why(self, result: Any, *, namespace: str | None = None) -> Explanation:
        """Explain why something came back: evidence, path, and what learning changed.

        Parameters
        ----------
        result : node, document or str
            One that this retriever has returned lately: it is known again, whatever others have
            asked meanwhile. With ``include_path`` it names its recall itself, so that a copy will
            do. Of an id, the latest recall of the namespace that returned it counts.
        namespace : str, optional
            Whose id that is, over a pool, if the request does not say it.

        Raises
        ------
        NotFoundError
            If none of the latest 64 recalls of this retriever returned it.
        ParameterError
            If it cannot be told which recall is meant.
        """
        id_, held, trail = self._known(result)
        named = trail.get("recall_id")
        whose = self._whose(namespace)
        try:
            index, recall = self._latest.find(id_, held, recall_id=named, namespace=whose)
        except NotFoundError:
            if named is None:
                raise
            index, recall = self._index_of(trail.get("namespace")), named
        found: Explanation = index.explain(recall, id_)
        return found

    awhy = in_thread(why)
