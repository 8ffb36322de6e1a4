"""From a question to a Recall.

The straight line: :mod:`~.recaller` reads the question (:mod:`~.question`), turns filters into
masks (:mod:`~.masks`, :mod:`~.predicate`), finds direct evidence (:mod:`~.search`), lets a
strategy rank (:mod:`~.strategies`) and builds the hits (:mod:`~.hits`). :mod:`~.explain` goes the
same way once more and says why.
"""

from hebbgraph.recall.masks import Where
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.strategies import Ranking, Request, Strategy, StrategyName

__all__ = ["Ranking", "Recaller", "Request", "Strategy", "StrategyName", "Where"]
