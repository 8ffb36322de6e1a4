"""A question as adapters put it to an index, perhaps over a store to which others write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hebbgraph.adapters.diversity import diverse_hits
from hebbgraph.filters import joined
from hebbgraph.records import Hit, Recall

__all__ = ["Found", "Question"]

logger = logging.getLogger(__name__)

#: The most recalls of one question.
_MAX_ATTEMPTS = 5

_Document = TypeVar("_Document")


@dataclass
class Found(Generic[_Document]):
    """The answer to a question.

    Attributes
    ----------
    recall : Recall
        The last one.
    hits : list of Hit
        Its hits, without those that the store has deleted, and those that have no text.
    current : dict
        The store's documents as they are now, by id, as far as it can tell.
    """

    recall: Recall
    hits: list[Hit]
    current: dict[str, _Document] = field(default_factory=dict)


@dataclass(kw_only=True)
class Question:
    """A question, and everything that decides which hits come back.

    Parameters
    ----------
    index : HebbianIndex
    text : str
    k : int
    where : filter, optional
    diversity : float, in [0, 1], optional
        Choose hits that differ from each other; see :func:`~.diversity.diverse_hits`.
    n_candidates : int
        How many hits those are chosen from.
    options : dict
        More keywords of ``HebbianIndex.recall``.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> chunks = [{"id": "a", "text": "Owls hunt."}, {"id": "b", "text": "Owls sing."}]
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add(chunks)
    ...     question = Question(index=index, text="What do owls do?", k=2)
    ...     found = question.ask_stored({}, lambda ids: {"b": "Owls sing."} if "b" in ids else {})
    >>> [hit.chunk.id for hit in found.hits]  # the store has deleted the other one
    ['b']
    """

    index: Any
    text: str
    k: int
    where: Any = None
    diversity: float | None = None
    n_candidates: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def ask(self) -> Found[Any]:
        """Ask the index."""
        recall = self._recall()
        return self._found(recall, recall.hits, {})

    def ask_stored(
        self,
        seeds: Mapping[str, _Document],
        read: Callable[[list[str]], Mapping[str, _Document] | None],
        *,
        witness: str | None = None,
    ) -> Found[_Document]:
        """Ask the index again and again, without the chunks that a store has deleted.

        Parameters
        ----------
        seeds : mapping
            The documents that the store's own search returned for the question, by id.
        read : callable
            Returns the documents with these ids that the store has now; None if it cannot tell.
        witness : str, optional
            An id from ``seeds``. A store that cannot return what it has just found cannot tell.
        """
        current = dict(seeds)
        deleted: list[str] = []
        for _ in range(_MAX_ATTEMPTS):
            recall = self._recall(deleted)
            unknown = [hit.chunk.id for hit in recall.hits if hit.chunk.id not in current]
            if not unknown:
                break
            stored = read(unknown if witness is None else [witness, *unknown])
            if stored is None or (witness is not None and witness not in stored):
                return self._found(recall, recall.hits, current)
            current |= stored
            missing = [id_ for id_ in unknown if id_ not in stored]
            if not missing:
                break
            deleted += missing
        if deleted:
            logger.info("the store has deleted %d documents; refresh() removes them", len(deleted))
        hits = [hit for hit in recall.hits if hit.chunk.id in current]
        return self._found(recall, hits, current)

    def _recall(self, excluded: Sequence[str] = ()) -> Recall:
        recall: Recall = self.index.recall(
            self.text,
            k=self.k if self.diversity is None else max(self.k, self.n_candidates),
            where=joined(self.where, {"$id": {"$nin": list(excluded)}} if excluded else None),
            **self.options,
        )
        return recall

    def _found(
        self, recall: Recall, hits: Sequence[Hit], current: dict[str, _Document]
    ) -> Found[_Document]:
        hits = [hit for hit in hits if not hit.lacks_text or hit.chunk.id in current]
        if self.diversity is not None:
            hits = diverse_hits(hits, self.k, diversity=self.diversity)
        return Found(recall, hits[: self.k], current)
