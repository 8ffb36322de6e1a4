"""Bio-RAG: breadth-first search over a graph that reinforces successful paths.

============== ==========================================================
``formulas``   search and scores as published, on arrays
``strategy``   the strategy ``breadth_first`` that runs it on an index
``network``    the paper's own graph of documents and terms
``search``     the paper's recall over that graph
``learning``   one round of reinforcement and decay
``judges``     which edges a chat model, or a rule, would keep
============== ==========================================================
"""

from __future__ import annotations

from hebbgraph_papers.bio_rag.formulas import BreadthFirstParameters
from hebbgraph_papers.bio_rag.strategy import BreadthFirst

__all__ = ["BreadthFirst", "BreadthFirstParameters"]
