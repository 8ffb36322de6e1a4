"""Bio-RAG: breadth-first search over a graph whose successful paths gain weight.

============== ==========================================================
``formulas``   search and scores as published, on arrays
``strategy``   the strategy ``breadth_first`` that runs it on an index
``network``    the paper's own graph of documents and terms
``search``     the paper's recall over that graph
``learning``   one round of reinforcement and decay
``judges``     prune edges between terms by a chat model, or by a rule
============== ==========================================================
"""

from __future__ import annotations

from hebbgraph_papers.bio_rag.formulas import BreadthFirstParameters
from hebbgraph_papers.bio_rag.strategy import BreadthFirst

__all__ = ["BreadthFirst", "BreadthFirstParameters"]
