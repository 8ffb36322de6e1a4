"""The reading half of :mod:`hebbgraph.index`: from a question to a Recall.

A strategy (:mod:`~hebbgraph.recall.strategies`) turns a question into a ranking;
everything around it is the same for all: what the question says to the graph, filters,
direct search, ties, chunks and paths.
"""

from hebbgraph.recall.masks import Where
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.strategies import StrategyName

__all__ = ["Recaller", "StrategyName", "Where"]
