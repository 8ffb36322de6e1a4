"""The reading half of :mod:`hebbgraph.index`: from a question to a Recall.

A strategy (:mod:`~hebbgraph.recalling.strategies`) turns a question into a ranking;
everything around it is the same for all: what the question says to the graph, filters,
direct search, ties, chunks and paths.
"""

from hebbgraph.recalling.filtering import Where
from hebbgraph.recalling.recaller import Recaller
from hebbgraph.recalling.strategies import StrategyName

__all__ = ["Recaller", "StrategyName", "Where"]
