"""Measure retrieval: evaluation sets, metrics, baselines, and hebbgraph beside them.

``datasets`` reads sets; ``metrics`` judges one ranking; ``baselines``, ``phrase_pagerank``,
``peers`` and ``ours`` are the systems; ``protocol`` measures them; ``report`` shows the figures;
``benchmark`` runs all of this. ``studies`` runs the longer studies: ``ablation``, ``scale``,
``learning``.
"""

from __future__ import annotations

from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap

from hebbgraph_bench.baselines import (
    BM25,
    Dense,
    RankedChunk,
    ReciprocalRankFusion,
    Retriever,
    WeightedSum,
)
from hebbgraph_bench.benchmark import bench
from hebbgraph_bench.datasets import Dataset, Extraction, Query, Variant, load
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.phrase_pagerank import PhrasePageRank
from hebbgraph_bench.protocol import run
from hebbgraph_bench.results import AtTokens, EmbeddingCost, SetResult, SystemResult, compare
from hebbgraph_bench.vectors import VectorCache

__all__ = [
    "BM25",
    "AtTokens",
    "CachingEmbedder",
    "Dataset",
    "Dense",
    "Difference",
    "EmbeddingCost",
    "Extraction",
    "HebbianRetriever",
    "PhrasePageRank",
    "Query",
    "RankedChunk",
    "ReciprocalRankFusion",
    "Retriever",
    "SetResult",
    "SystemResult",
    "Variant",
    "VectorCache",
    "WeightedSum",
    "bench",
    "compare",
    "load",
    "paired_bootstrap",
    "run",
]
