"""Recalls only what a wrapped store, to which others write, still has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hebbgraph.records import Hit, Recall

__all__ = ["recall_stored"]

logger = logging.getLogger(__name__)

#: The most recalls of one question.
_MAX_ATTEMPTS = 5

_Document = TypeVar("_Document")


def recall_stored(
    recall_without: Callable[[Sequence[str]], Recall],
    found: Mapping[str, _Document],
    read: Callable[[list[str]], Mapping[str, _Document] | None],
    *,
    witness: str | None,
) -> tuple[Recall, list[Hit], dict[str, _Document]]:
    """Recall again and again without the chunks that the store has deleted.

    Parameters
    ----------
    recall_without : callable
        Recalls without the chunks with these ids.
    found : mapping
        The documents that the store's own search returned for the question, by id.
    read : callable
        Returns the documents with these ids that the store has now; None if it cannot tell.
    witness : str, optional
        An id from ``found``. A store that cannot return what it has just found cannot tell.

    Returns
    -------
    recall : Recall
        The last one.
    hits : list of Hit
        Its hits, without those that the store has deleted.
    current : dict
        The documents of the hits as they are now, by id, as far as the store can tell.
    """
    current = dict(found)
    deleted: list[str] = []
    for _ in range(_MAX_ATTEMPTS):
        recall = recall_without(deleted)
        unknown = [hit.chunk.id for hit in recall.hits if hit.chunk.id not in current]
        if not unknown:
            break
        stored = read(unknown if witness is None else [witness, *unknown])
        if stored is None or (witness is not None and witness not in stored):
            return recall, list(recall.hits), current
        current |= stored
        missing = [id_ for id_ in unknown if id_ not in stored]
        if not missing:
            break
        deleted += missing
    if deleted:
        logger.info("the store has deleted %d documents; refresh() removes them", len(deleted))
    return recall, [hit for hit in recall.hits if hit.chunk.id in current], current
