"""NAKG: edges and vectors learned by a small neural network.

>>> from hebbgraph_papers.nakg import NeuralSettings, train  # does not import torch

:func:`train` reads an index with embeddings and writes a *layer* beside it: edges between
chunks, and vectors propagated along them. The layer is derived data and can be removed at
any time. Training takes the extra ``neural`` (torch, scikit-learn, safetensors); recalls that
read a layer take numpy and safetensors alone.

====================== ==============================================================
``strategy``           the strategy ``neural``, the paper's recall
``spreading``          the default strategy over a trained layer
``relevance``          the paper's relevance, on arrays
``layer``              a trained layer as recalls read it; ``layer_file`` on disk
``index_layer``        train a layer for an index, count and remove it
``training_data``      what training reads of an index, as arrays
``examples``           positive pairs from tags and citations
``clusters``           DBSCAN; only chunks of one cluster are compared
``modules``            the networks: Edge Transformer and graph attention (torch)
``training``           the phases of training, in ``edge_training`` and
                       ``retrieval_training``, each with ``early_stopping``; a trained
                       model to the edges and vectors of a layer
``edges``              which pairs of a cluster become edges
``checkpoint``         models on disk
``parameters``         the constants; ``report`` what training did
====================== ==============================================================
"""

from __future__ import annotations

from hebbgraph_papers.nakg.index_layer import layer_counts, remove, train
from hebbgraph_papers.nakg.parameters import NeuralSettings
from hebbgraph_papers.nakg.relevance import NeuralRecall
from hebbgraph_papers.nakg.spreading import NeuralSpreading
from hebbgraph_papers.nakg.strategy import Neural

__all__ = [
    "Neural",
    "NeuralRecall",
    "NeuralSettings",
    "NeuralSpreading",
    "layer_counts",
    "remove",
    "train",
]
