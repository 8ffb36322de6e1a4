"""NAKG: edges and vectors learned by a small neural network (extra ``neural``).

>>> from hebbgraph.neural import NeuralSettings, train  # does not import torch

:func:`train` reads an index with embeddings and writes a *layer* beside it: edges between
chunks, and vectors propagated along them. The layer is derived data and can be removed at
any time. Recalls that read it need numpy and safetensors, but not torch.

====================== ==============================================================
``index_layer``        train a layer for an index, and remove it
``training_data``      what training reads of an index, as arrays
``examples``           positive pairs from tags and citations
``clusters``           DBSCAN; only chunks of one cluster are compared
``density``            DBSCAN in N log N, from each chunk's nearest neighbours
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

from hebbgraph.formulas.relevance import NeuralRecall
from hebbgraph.neural.index_layer import remove, train
from hebbgraph.neural.parameters import NeuralSettings

__all__ = ["NeuralRecall", "NeuralSettings", "remove", "train"]
