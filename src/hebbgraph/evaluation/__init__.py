"""Measuring retrieval: sets, metrics, baselines, and ours beside them.

A file per idea: ``datasets`` reads sets, ``metrics`` judges one ranking, ``bootstrap``
compares two systems, ``baselines``, ``pagerank``, ``peers`` and ``ours`` are the systems,
``protocol`` measures them, ``report`` shows the figures, ``benchmark`` does it all.
``ablation``, ``scale`` and ``learning`` are studies of their own, which ``studies`` runs.
"""

from __future__ import annotations

from hebbgraph.evaluation.baselines import (
    BM25,
    Dense,
    RankedChunk,
    ReciprocalRankFusion,
    Retriever,
    WeightedSum,
)
from hebbgraph.evaluation.benchmark import bench
from hebbgraph.evaluation.bootstrap import Difference, paired_bootstrap
from hebbgraph.evaluation.datasets import Dataset, Extraction, Query, Variant, load
from hebbgraph.evaluation.embedding import CachingEmbedder
from hebbgraph.evaluation.ours import HebbianRetriever
from hebbgraph.evaluation.pagerank import PhrasePageRank
from hebbgraph.evaluation.protocol import run
from hebbgraph.evaluation.results import AtTokens, EmbeddingCost, SetResult, SystemResult, compare
from hebbgraph.evaluation.vectors import VectorCache

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
