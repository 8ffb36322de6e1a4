"""Steps after the ranking: ``recall(steps=[...])``."""

from __future__ import annotations

from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Recall

__all__ = ["RankStep"]


class RankStep:
    """One step of a recall. Subclass it and override what the step changes.

    A recall calls, in this order, each for all of its steps: :meth:`depth`, to know how many chunks
    to rank; :meth:`rank`, within the transaction, where no model may be asked; and
    :meth:`finish`, on the recall as the caller would get it. One object may serve several threads.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> class OnePerDocument(RankStep):
    ...     def depth(self, k):
    ...         return 3 * k
    ...     def finish(self, recall, k):
    ...         best = {hit.document_id: hit for hit in reversed(recall.hits)}
    ...         hits = sorted(best.values(), key=lambda hit: hit.rank)
    ...         return recall.model_copy(update={"hits": tuple(hits)})
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "1", "text": "Owls hunt.", "document_id": "owls"},
    ...                         {"id": "2", "text": "Owls hunt voles.", "document_id": "owls"}])
    ...     recall = index.recall("What do owls hunt?", k=2, steps=[OnePerDocument()])
    >>> [hit.id for hit in recall]
    ['1']
    """

    def depth(self, k: int) -> int:
        """Return how many hits the step wants to choose k from."""
        return k

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        """Return the ranking in another order; its rows are in order, and the first are hits."""
        return ranking

    def finish(self, recall: Recall, k: int) -> Recall:
        """Return the recall with other hits; the first k reach the caller, ranked by position."""
        return recall
