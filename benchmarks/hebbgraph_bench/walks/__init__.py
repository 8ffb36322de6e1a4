"""Spreading beside two alternatives: the same formula on the whole graph, and PageRank.

- **Dense spreading**: the formula of :mod:`hebbgraph.formulas.activation` over all postings at
  once, without a beam and without a limit on a chunk's tags. Hubs stay cut, which is part of the
  model.
- **Personalised PageRank** until it converges, on the same transitions (chunk → tag by
  specificity, tag → chunk by title and evidence), reset to the same seeds: by igraph, by networkx,
  or by power iteration. It ignores trust, and does not distinguish links, backlinks and
  co-mentions.
"""

from __future__ import annotations

from hebbgraph_bench.walks.formulas import Transitions, dense_scores, transitions
from hebbgraph_bench.walks.questions import Question, ask_recorded
from hebbgraph_bench.walks.ranking import WalkResult, compare_walks
from hebbgraph_bench.walks.report import grids
from hebbgraph_bench.walks.times import WalkTimes, time_walks

__all__ = [
    "Question",
    "Transitions",
    "WalkResult",
    "WalkTimes",
    "ask_recorded",
    "compare_walks",
    "dense_scores",
    "grids",
    "time_walks",
    "transitions",
]
