"""Rank steps: what changes a ranking between the strategy and the caller.

Time, a limit per colony and a reranker are steps; ``recall(steps=[...])`` appends your own. A step
that a recall does not need is not in its list.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

from hebbgraph.arrays import BoolArray
from hebbgraph.errors import ParameterError
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.query import Query
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Recall

if TYPE_CHECKING:
    from hebbgraph.recall.options import RecallOptions

__all__ = ["RankStep", "StepSource", "check_steps"]


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
        """Return the recall with other hits; the first k are returned to the caller."""
        return recall


_METHODS = ("hits", "depth", "narrow", "rank", "finish")


def check_steps(steps: Any) -> None:
    """Raise ParameterError for what is no list of steps, and for a method that is misspelt."""
    # Of objects: a class has the methods, too.
    if not isinstance(steps, Sequence) or not all(isinstance(step, RankStep) for step in steps):
        hint = "; leave it out where there are none" if steps is None else ""
        raise ParameterError(
            "steps is a list of objects of subclasses of hebbgraph.RankStep, "
            f"got {steps!r:.80}{hint}"
        )
    for step in steps:
        for name in (one for one in dir(step) if not one.startswith("_") and one not in _METHODS):
            meant = get_close_matches(name, _METHODS, n=1)
            if meant and getattr(type(step), meant[0]) is getattr(RankStep, meant[0]):
                raise ParameterError(
                    f"nothing calls the method {name!r} of the step {type(step).__name__}; did you "
                    f"mean {meant[0]!r}?"
                )


class StepSource(Protocol):
    """Which steps a recall needs besides its own: see :mod:`hebbgraph.recall.step_list`."""

    def steps(self, graph: TagGraph, query: Query, options: RecallOptions, /) -> Sequence[RankStep]:
        """Return the steps, in their order; called while the graph is locked."""
        ...

    def stale(self, graph: TagGraph, /) -> BoolArray | None:
        """Return which chunks are stale, for ``$stale`` in filters; None if none can be."""
        ...
