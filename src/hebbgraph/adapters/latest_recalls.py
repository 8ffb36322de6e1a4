"""Which recall a result came from, for retrievers that explain what they returned."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hebbgraph.adapters.tenants import MultiTenant
from hebbgraph.calling import in_thread
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.records import Recall
from hebbgraph.records.explanations import Explanation

__all__ = ["Explaining", "LatestRecalls"]

_MOST = 64

#: Results of any retriever that are still referenced, by their ``id()``.
_RETURNED: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

_Index = TypeVar("_Index")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[_Index]):
    """A recall, and weak references to the objects that were returned for it."""

    index: _Index
    recall: Recall
    results: list[weakref.ref[Any]]


class LatestRecalls(Generic[_Index]):
    """The latest recalls of a retriever, which several tenants may share.

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
        self._entries: deque[_Entry[_Index]] = deque(maxlen=_MOST)

    def add(self, index: _Index, recall: Recall, results: Iterable[Any]) -> None:
        """Remember a recall and the objects that were returned for it."""
        returned = list(results)
        _RETURNED.update((id(result), result) for result in returned)
        self._entries.append(_Entry(index, recall, [weakref.ref(result) for result in returned]))

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
            The object that was returned, or a copy of it. A copy names no recall, so it counts
            only if a single recall returned its id. Left out, the latest recall of the namespace
            that returned the id is meant.
        recall_id : str, optional
            The recall that the result itself names.
        namespace : str, optional
            The caller's. Needed if neither the object nor ``recall_id`` identifies the recall.

        Raises
        ------
        NotFoundError
            If none of the latest recalls returned it.
        ParameterError
            If several recalls may be meant.
        """
        entries = list(reversed(self._entries))
        for entry in entries:
            if entry.recall.id == recall_id or (
                recall_id is None
                and result is not None
                and any(reference() is result for reference in entry.results)
            ):
                return entry.index, entry.recall
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
                (entry.index, entry.recall)
                for entry in entries
                if entry.recall.namespace == namespace and entry.recall.hit(id_) is not None
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


class Explaining(MultiTenant):
    """Base of retrievers that explain why something came back: :meth:`why`."""

    _latest: LatestRecalls[Any]

    @abstractmethod
    def _known(self, result: Any) -> tuple[str, Any, Mapping[str, Any]]:
        """Return the chunk id of an object, the object, and its metadata on the recall.

        Raises ParameterError for anything but a result.
        """

    def why(self, result: Any, *, namespace: str | None = None) -> Explanation:
        """Explain why something came back: evidence, path, and what learning changed.

        Parameters
        ----------
        result : node, document or str
            A recent result of this retriever, or a chunk id. With ``include_path``, results name
            their recall, so a copy will do. For an id, the latest recall of the namespace that
            returned it counts.
        namespace : str, optional
            The namespace of an id, over a pool, if the request does not name it.

        Raises
        ------
        NotFoundError
            If none of the latest 64 recalls of this retriever returned it.
        ParameterError
            If several recalls may be meant.
        """
        known = (result, None, {}) if isinstance(result, str) else self._known(result)
        chunk_id, returned, trail = known
        recall_id = trail.get("recall_id")
        try:
            index, recall = self._latest.find(
                chunk_id, returned, recall_id=recall_id, namespace=self._whose(namespace)
            )
        except NotFoundError:
            if recall_id is None:
                raise
            index, recall = self._index_of(trail.get("namespace")), recall_id
        explanation: Explanation = index.explain(recall, chunk_id)
        return explanation

    awhy = in_thread(why)
