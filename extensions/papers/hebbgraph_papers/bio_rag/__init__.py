"""Bio-RAG: breadth-first search over weighted edges, and Hebbian learning on its own graph.

============= ===============================================================
``search``    the search, on any graph
``strategy``  the search as a strategy of an index
``graph``     the paper's graph of documents and terms, and ways to thin it out
``learning``  paths to relevant documents gain weight, other edges decay
============= ===============================================================
"""

from __future__ import annotations

from hebbgraph_papers.bio_rag.search import Parameters
from hebbgraph_papers.bio_rag.strategy import BioRag

__all__ = ["BioRag", "Parameters"]
