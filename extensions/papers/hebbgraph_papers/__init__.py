"""Three published retrievers, each as published and as a strategy of hebbgraph.

Installed with ``pip install "hebbgraph[papers]"``. Recalls then know three strategies more:

>>> from hebbgraph import HebbianIndex
>>> with HebbianIndex.open(":memory:") as index:
...     _ = index.add([{"id": "petrel", "title": "Petrel", "text": "A schooner."}])
...     recall = index.recall("Who built the Petrel?", strategy="neighbourhood")
>>> recall.strategy
'neighbourhood'

============== ==================== =====================================================
``bambookg``   ``neighbourhood``    BambooKG: strongest neighbours by co-occurrence
``bio_rag``    ``breadth_first``    Bio-RAG: breadth-first search over weighted edges
``nakg``       ``neural``           NAKG: edges and vectors learned by a small network
                                    (training takes the extra ``neural``)
============== ==================== =====================================================

A strategy with constants of your own is an object: ``recall(strategy=BreadthFirst(index.parts,
BreadthFirstParameters(mu=0.3)))``.
"""

from __future__ import annotations

from hebbgraph_papers.bambookg import Neighbourhood
from hebbgraph_papers.bio_rag import BreadthFirst, BreadthFirstParameters
from hebbgraph_papers.nakg import (
    Neural,
    NeuralRecall,
    NeuralSettings,
    NeuralSpreading,
    layer_counts,
    remove,
    train,
)

__all__ = [
    "BreadthFirst",
    "BreadthFirstParameters",
    "Neighbourhood",
    "Neural",
    "NeuralRecall",
    "NeuralSettings",
    "NeuralSpreading",
    "layer_counts",
    "remove",
    "train",
]
