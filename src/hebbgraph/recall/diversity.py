"""Hits that differ from each other: by their words, or by their colonies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.formulas.diversity import cosines, marginal_relevance
from hebbgraph.limits import MAX_K
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Hit
from hebbgraph.text import lexical_terms, tokenize

__all__ = ["PerColony", "diverse_hits", "limit_per_colony"]

#: So many times k chunks are ranked, to have others to choose from.
_DEPTH = 5


def diverse_hits(hits: Sequence[Hit], k: int, *, diversity: float) -> list[Hit]:
    """Choose k hits by maximal marginal relevance; alike are those with the same words.

    Parameters
    ----------
    hits : sequence of Hit
        More than k, of one recall.
    k : int
    diversity : float, in [0, 1]
        0 keeps the order of the recall, 1 looks at nothing but difference.

    Examples
    --------
    >>> from hebbgraph import Chunk
    >>> texts = ("Owls hunt at night.", "At night owls hunt.", "Kilns glaze jars.")
    >>> hits = [
    ...     Hit(chunk=Chunk(id=str(at), text=text), score=1 - at / 10, rank=at + 1)
    ...     for at, text in enumerate(texts)
    ... ]
    >>> [hit.chunk.id for hit in diverse_hits(hits, 2, diversity=0.5)]
    ['0', '2']
    """
    terms = [
        Counter(lexical_terms(tokenize(f"{hit.chunk.title} {hit.chunk.text}"))) for hit in hits
    ]
    columns = {term: at for at, term in enumerate(dict.fromkeys(chain.from_iterable(terms)))}
    counts = np.zeros((len(hits), len(columns)))
    for row, counted in enumerate(terms):
        counts[row, [columns[term] for term in counted]] = list(counted.values())
    scores = np.array([hit.score for hit in hits])
    chosen = marginal_relevance(
        scores / (scores.max(initial=0.0) or 1.0), cosines(counts), k, diversity=diversity
    )
    return [hits[at] for at in chosen]


class PerColony(RankStep):
    """The rank step of ``per_colony``: keeps at most ``limit`` hits of one colony.

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
        kept = limit_per_colony(self._colony_of()[ranking.slots], k, self._limit)
        return replace(ranking, slots=ranking.slots[kept], scores=ranking.scores[kept])


def limit_per_colony(colonies: IntArray, k: int, limit: int) -> list[int]:
    """Return k positions of a ranking, at most ``limit`` of one colony if there are others.

    Places that stay empty go to the best of those skipped. The order is kept. A negative colony
    stands for none.

    Examples
    --------
    >>> limit_per_colony(np.array([5, 5, 5, 6]), 2, 1)
    [0, 3]
    >>> limit_per_colony(np.array([5, 5, 5, 6]), 3, 1)
    [0, 1, 3]
    """
    counts: dict[int, int] = {}
    first: list[int] = []
    over: list[int] = []
    for at, colony in enumerate(colonies.tolist()):
        counts[colony] = counts.get(colony, 0) + 1
        (over if colony >= 0 and counts[colony] > limit else first).append(at)
    return sorted((first + over)[:k])
