"""The constants of NAKG: the paper's where it gives them, ours otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from hebbgraph.formulas.parameters import check_positive, check_range, former_fields

__all__ = ["FORMER", "NeuralSettings"]


#: Settings of former versions, which saved checkpoints still name; now constants of their modules.
FORMER = (
    "literal_chunks", "link_cap", "threshold_deviations", "gate", "rare_df", "title_df",
    "negatives", "co_cited_weight", "held_back", "clusters_per_epoch",
    "batch_chunks", "batch_questions", "contrast",
)  # fmt: skip


@former_fields(*FORMER)
@dataclass(frozen=True, kw_only=True)
class NeuralSettings:
    """How the neural layer is built and trained [1]_.

    Parameters
    ----------
    eps : float, positive
        Cosine distance within which chunks are neighbours for DBSCAN. Paper: 0.5, of an
        unnamed distance.
    min_samples : int, at least 1
        Neighbours of a core chunk. Paper: 5.
    max_cluster : int, at least 2
        Clusters are split until none has more chunks than this.
    heads, head_size : int, at least 1
        Attention of the Edge Transformer. Paper: 8 heads of 64 in section 7, 12 heads in
        section 3.3.
    edge_layers : int, at least 0
        Attention layers of the Edge Transformer. Paper: "multiple".
    hidden : int, at least 1
        Width of the MLP over pairs. Not in the paper.
    temperature : float, positive
        ``T`` in ``sigmoid(T * MLP)``. Paper: 8.
    link_share : float, in [0, 1]
        Minimal number of links per chunk, as a share of its cluster. Paper: 0.3.
    min_links : int, at least 0
        Minimal number of links per chunk. Paper: 2.
    layers : int, at least 0
        Graph-attention layers. Paper: 3.
    layer_heads : int, at least 1
        Heads per layer. Not in the paper; 8 as in the Edge Transformer.
    edge_epochs, retrieval_epochs : int, at least 0
        Maximal number of epochs in the second and third phase.
    patience : int, at least 1
        A phase stops after this many epochs without improvement on held-back examples.
    edge_learning_rate, retrieval_learning_rate : float, positive
        Learning rates of AdamW. In the third phase, the already trained Edge Transformer
        continues with a tenth of its own.
    stay_close : float, at least 0
        Weight of ``1 - cos`` between a chunk's propagated vector and its own, in the third
        phase, so that few citations do not distort unrelated vectors.
    seed : int
        Seed of all random choices. On the CPU, with the same number of threads, the same
        seed gives the same layer.

    References
    ----------
    .. [1] Gibbs, Neural Adaptive Knowledge Graphs, sections 3 and 7.

    Examples
    --------
    >>> NeuralSettings().temperature
    8.0
    """

    eps: float = 0.5
    min_samples: int = 5
    max_cluster: int = 200
    heads: int = 8
    head_size: int = 64
    edge_layers: int = 2
    hidden: int = 128
    temperature: float = 8.0
    link_share: float = 0.3
    min_links: int = 2
    layers: int = 3
    layer_heads: int = 8
    edge_epochs: int = 20
    retrieval_epochs: int = 60
    patience: int = 5
    edge_learning_rate: float = 1e-4
    retrieval_learning_rate: float = 1e-3
    stay_close: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_range(
            self, ("min_samples", "heads", "head_size", "hidden", "layer_heads", "patience"), 1
        )
        check_range(self, ("max_cluster",), 2)
        check_range(self, ("edge_layers", "min_links", "layers", "stay_close"), 0)
        check_range(self, ("edge_epochs", "retrieval_epochs"), 0)
        check_range(self, ("link_share",), 0, 1)
        positive = ("eps", "temperature", "edge_learning_rate", "retrieval_learning_rate")
        check_positive(self, positive)
