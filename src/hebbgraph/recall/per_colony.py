"""The rank step of ``per_colony``: at most so many hits from one colony."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from hebbgraph.arrays import IntArray
from hebbgraph.limits import MAX_K
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import Ranking, Request

__all__ = ["ColonyLimit", "limit_per_colony"]

#: Rank this many times k chunks, to have others to choose from.
_DEPTH = 5


class ColonyLimit(RankStep):
    """Keeps at most ``limit`` hits of one colony.

    Parameters
    ----------
    limit : int, at least 1
    colony_of : callable
        Returns the colony of each slot; called while the graph is locked.
    """

    def __init__(self, limit: int, colony_of: Callable[[], IntArray]) -> None:
        self._limit = limit
        self._colony_of = colony_of

    def depth(self, k: int) -> int:
        """Return how many chunks to choose from."""
        return min(_DEPTH * k, MAX_K)

    def rank(self, request: Request, ranking: Ranking, k: int) -> Ranking:
        """Return k chunks; see :func:`limit_per_colony`."""
        positions = limit_per_colony(self._colony_of()[ranking.slots], k, self._limit)
        return replace(ranking, slots=ranking.slots[positions], scores=ranking.scores[positions])


def limit_per_colony(colonies: IntArray, k: int, limit: int) -> list[int]:
    """Return k positions of a ranking, at most ``limit`` of one colony if there are others.

    If too few are left, the best of those skipped fill the places. The order is kept. A negative
    colony stands for none.

    Examples
    --------
    >>> import numpy as np
    >>> limit_per_colony(np.array([5, 5, 5, 6]), 2, 1)
    [0, 3]
    >>> limit_per_colony(np.array([5, 5, 5, 6]), 3, 1)
    [0, 1, 3]
    """
    counts: Counter[int] = Counter()
    chosen: list[int] = []
    skipped: list[int] = []
    for position, colony in enumerate(colonies.tolist()):
        counts[colony] += 1
        full = colony >= 0 and counts[colony] > limit
        (skipped if full else chosen).append(position)
    return sorted((chosen + skipped)[:k])
