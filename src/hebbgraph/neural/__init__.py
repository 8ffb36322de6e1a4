"""NAKG: edges and vectors learned by a small neural network (extra ``neural``).

>>> from hebbgraph.neural import NeuralSettings, train  # needs no torch yet

:func:`train` reads an index with embeddings and writes a *layer* beside it: edges between
chunks, and vectors that their neighbours have taken part in. The layer is derived data: it
can be removed at any time, and recalls that read it need numpy and safetensors, not torch.
"""

from __future__ import annotations

from hebbgraph.formulas.relevance import NeuralRecall
from hebbgraph.neural.index_layer import remove, train
from hebbgraph.neural.parameters import NeuralSettings

__all__ = ["NeuralRecall", "NeuralSettings", "remove", "train"]
