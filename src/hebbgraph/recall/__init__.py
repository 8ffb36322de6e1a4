"""From a question to a Recall.

The files, in the order in which a question meets them; read ``recaller`` first:

================== =================================================================
``recaller``       the pipeline
``options``        the keywords of ``recall`` in one record, checked
``query``          a question as it arrived, and what models add to it
``conversation``   what earlier turns add to a question
``question``       a query read with one graph's vocabulary: terms, cues, memory
``masks``          a filter to the chunks that pass it
``search``         direct evidence: lexical and dense search
``link_sentences`` what the sentences in which chunks link hold of a question
``vector_slots``   the vectors of a table as slots of a graph
``elsewhere``      vectors that another store keeps
``strategies``     ways to rank: what they read, what they return, one file each
``naming``         titles that a question names come first
``predicate``      a callable as a filter, called in rank order
``steps``          the base class of rank steps
``step_list``      which of our own steps a recall needs:
``staleness``      - versions and events of one subject, by time
``per_colony``     - at most so many hits of one colony
``judging``        - a judge or reranker looks at the first hits again
``listwise``       a judge that is a language model
``hits``           a ranking to hits: ties, chunks, paths
================== =================================================================

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
