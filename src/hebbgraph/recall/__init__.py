"""From a question to a Recall.

Data flows through the room in this order:

==================== ================================================================
``recaller``         checks a request, asks models, holds the graph, returns the Recall
``question``         a query read with one graph's vocabulary: terms, cues, features
``conversation``     what earlier turns add to a question
``masks``            a filter to the chunks that pass it
``predicate``        the same for a callable, asked in rank order
``search``           direct evidence: lexical and dense search
``elsewhere``        vectors that another store keeps, for the chunks a question comes to
``strategies``       ways to rank: what one is given, what it returns, one file each
``hits``             a ranking to hits: ties, chunks, paths
``staleness``        versions and events of one subject, by what the question asks about
``reranking``        a reranker's second look at the first hits
``diversity``        of many hits, those that differ
``latest``           which recall a result came from, for retrievers that explain it
==================== ================================================================

The formulas that rank are in :mod:`hebbgraph.formulas`.
"""

from hebbgraph.recall.masks import Where
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.strategies import Ranking, Request, Strategy, StrategyName

__all__ = ["Ranking", "Recaller", "Request", "Strategy", "StrategyName", "Where"]
