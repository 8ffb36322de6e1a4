"""NAKG: edges and vectors of a small neural network over an index with embeddings.

============== ====================================================================
``strategy``   the strategy ``"nakg"``, with the weights it starts from or trained ones
``training``   ``train(index)``, in three phases
``model``      Edge Transformer and graph attention; a model to edges and vectors
``links``      clusters, and which pairs of a cluster become edges
``relevance``  words, their order and meaning: the paper's scores
============== ====================================================================

Only ``strategy``, ``links`` and ``relevance`` can be imported without torch.
"""

from __future__ import annotations

from hebbgraph_papers.nakg.strategy import Nakg

__all__ = ["Nakg"]
