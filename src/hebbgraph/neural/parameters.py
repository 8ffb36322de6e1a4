"""The constants of NAKG: the paper's where it gives them, ours otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from hebbgraph.errors import ParameterError

__all__ = ["NeuralSettings"]


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
    literal_chunks : int, at least 0
        Collections of up to this many chunks apply both minima as they are.
    link_cap : int, at least 1
        In larger collections, no minimum exceeds this.
    threshold_deviations : float
        Further links are kept if their weight exceeds the mean of the chunk's weights by
        this many standard deviations. Ours: the paper gives no rule.
    layers : int, at least 0
        Graph-attention layers. Paper: 3.
    layer_heads : int, at least 1
        Heads per layer. Not in the paper; 8 as in the Edge Transformer.
    gate : float
        Initial weight of the neighbours in the residual connections. Ours.
    rare_df : int, at least 2
        Chunks that share a tag of at most this many chunks are positives.
    title_df : int, at least 2
        A chunk that mentions another's title forms a positive with it, if at most this
        many chunks hold that tag.
    negatives : int, at least 1
        Negatives sampled per positive, from the same cluster.
    co_cited_weight : float, at least 0
        Weight of a co-cited pair, times the credit of the feedback. Pairs found by tags
        weigh 1.
    held_back : float, in (0, 1)
        Share of pairs and of questions held back for early stopping.
    edge_epochs, retrieval_epochs : int, at least 0
        Maximal number of epochs in the second and third phase.
    patience : int, at least 1
        A phase stops after this many epochs without improvement on held-back examples.
    clusters_per_epoch : int, at least 1
        Clusters sampled per epoch in the second phase.
    batch_chunks : int, at least 1
        Approximate number of chunks among which the third phase ranks a cited one.
    batch_questions : int, at least 1
        Questions per step of the third phase.
    edge_learning_rate, retrieval_learning_rate : float, positive
        Learning rates of AdamW. In the third phase, the already trained Edge Transformer
        continues with a tenth of its own.
    contrast : float, positive
        Temperature of the contrastive loss.
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
    literal_chunks: int = 2_000
    link_cap: int = 32
    threshold_deviations: float = 1.0
    layers: int = 3
    layer_heads: int = 8
    gate: float = 0.1
    rare_df: int = 5
    title_df: int = 20
    negatives: int = 4
    co_cited_weight: float = 4.0
    held_back: float = 0.2
    edge_epochs: int = 20
    retrieval_epochs: int = 60
    patience: int = 5
    clusters_per_epoch: int = 32
    batch_chunks: int = 2_000
    batch_questions: int = 256
    edge_learning_rate: float = 1e-4
    retrieval_learning_rate: float = 1e-3
    contrast: float = 0.05
    stay_close: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for names, low, high in (
            (("min_samples", "heads", "head_size", "hidden", "layer_heads", "link_cap"), 1, None),
            (("negatives", "patience", "clusters_per_epoch", "batch_chunks"), 1, None),
            (("batch_questions",), 1, None),
            (("max_cluster", "rare_df", "title_df"), 2, None),
            (("edge_layers", "min_links", "literal_chunks", "layers"), 0, None),
            (("edge_epochs", "retrieval_epochs", "co_cited_weight", "stay_close"), 0, None),
            (("link_share",), 0, 1),
        ):
            for name in names:
                value = getattr(self, name)
                if not (value >= low and (high is None or value <= high)):
                    bound = f"lie in [{low}, {high}]" if high is not None else f"be at least {low}"
                    raise ParameterError(f"{name} must {bound}, got {value!r}")
        for name in (
            "eps",
            "temperature",
            "edge_learning_rate",
            "retrieval_learning_rate",
            "contrast",
        ):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} must be positive, got {getattr(self, name)!r}")
        if not 0 < self.held_back < 1:
            raise ParameterError(f"held_back must lie in (0, 1), got {self.held_back!r}")
