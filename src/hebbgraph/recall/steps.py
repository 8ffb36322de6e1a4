"""Rank steps: they change a ranking after the strategy.

Time, a limit per colony and a reranker are steps; ``recall(steps=[...])`` appends your own.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from hebbgraph.errors import ParameterError
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Recall

__all__ = ["RankStep", "check_steps"]


class RankStep:
    """One step of a recall. Subclass it and override what the step changes.

    A recall calls the methods in this order, each for all of its steps:

    1. :meth:`hits` and :meth:`depth`, to know how many chunks to rank;
    2. :meth:`narrow`, then the strategy ranks;
    3. :meth:`rank`, while the graph is locked: no model may be asked here;
    4. :meth:`finish`, on the recall as the caller would get it, with nothing locked.

    One object may serve several threads at once.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> class OnePerDocument(RankStep):
    ...     def hits(self, k):
    ...         return 3 * k
    ...     def finish(self, recall, k):
    ...         best = {hit.chunk.document_id: hit for hit in reversed(recall.hits)}
    ...         hits = sorted(best.values(), key=lambda hit: hit.rank)
    ...         return recall.model_copy(update={"hits": tuple(hits)})
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "1", "text": "Owls hunt.", "document_id": "owls"},
    ...                         {"id": "2", "text": "Owls hunt voles.", "document_id": "owls"}])
    ...     recall = index.recall("What do owls hunt?", k=2, steps=[OnePerDocument()])
    >>> [hit.chunk.id for hit in recall.hits]
    ['1']
    """

    def hits(self, k: int) -> int:
        """Return how many hits :meth:`finish` wants to choose k from."""
        return k

    def depth(self, k: int) -> int:
        """Return how many ranked chunks :meth:`rank` wants to choose k from."""
        return k

    def narrow(self, request: Request) -> Request:
        """Return the request, with fewer chunks that take part."""
        return request

    def rank(self, request: Request, ranking: Ranking, k: int) -> Ranking:
        """Return the ranking in another order; the first k become hits."""
        return ranking

    def finish(self, recall: Recall, k: int) -> Recall:
        """Return the recall with other hits; the first k reach the caller, ranked by position."""
        return recall


_METHODS = ("hits", "depth", "narrow", "rank", "finish")


def check_steps(steps: Any) -> None:
    """Raise ParameterError unless this is a list of steps whose methods are spelt right."""
    # A class would pass hasattr() checks, hence isinstance().
    if not isinstance(steps, Sequence) or not all(isinstance(step, RankStep) for step in steps):
        hint = "; leave it out where there are none" if steps is None else ""
        raise ParameterError(
            "steps is a list of objects of subclasses of hebbgraph.RankStep, "
            f"got {steps!r:.80}{hint}"
        )
    for step in steps:
        for name in dir(step):
            if name.startswith("_") or name in _METHODS:
                continue
            close = get_close_matches(name, _METHODS, n=1)
            if close and getattr(type(step), close[0]) is getattr(RankStep, close[0]):
                raise ParameterError(
                    f"nothing calls the method {name!r} of the step {type(step).__name__}; did you "
                    f"mean {close[0]!r}?"
                )
