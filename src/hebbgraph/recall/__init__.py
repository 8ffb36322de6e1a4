"""From a question to a Recall.

Data flows through the room in this order:

==================== ================================================================
``options``          what is asked for beside the question: one record
``recaller``         the pipeline, from a question to a Recall
``query``            a question as it arrived, and what models add to it
``question``         a query read with one graph's vocabulary: terms, cues, memory
``conversation``     what earlier turns add to a question
``masks``            a filter to the chunks that pass it
``misfits``          why no chunk passes a filter
``predicate``        the same for a callable, asked in rank order
``search``           direct evidence: lexical and dense search
``elsewhere``        vectors that another store keeps, for the chunks a question comes to
``strategies``       ways to rank: what one is given, what it returns, one file each
``steps``            what may change a ranking: rank steps
``step_list``        which of our own steps a recall needs
``staleness``        the step of time: versions and events of one subject
``naming``           the step of titles: what a question names in full comes first
``judging``          the step of a judge or reranker: a second look at the first hits
``listwise``         a judge that is a language model
``hits``             a ranking to hits: ties, chunks, paths
``diversity``        hits that differ: by their words, or the step of ``per_colony``
``latest``           which recall a result came from, for retrievers that explain it
``search_options``   what the adapters' retrievers are told beside their fields
==================== ================================================================

The formulas that rank are in :mod:`hebbgraph.formulas`.
"""

from hebbgraph.recall.masks import Where
from hebbgraph.recall.options import RecallOptions
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import Ranking, Request, Strategy, StrategyName

__all__ = [
    "RankStep",
    "Ranking",
    "RecallOptions",
    "Recaller",
    "Request",
    "Strategy",
    "StrategyName",
    "Where",
]
