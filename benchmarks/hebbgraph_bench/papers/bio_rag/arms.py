"""The arms: the graph as published, the cause of the null result, and each remedy alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hebbgraph.formulas.communities import colony_weights, find_colonies
from hebbgraph_papers.bio_rag.formulas import BreadthFirstParameters
from hebbgraph_papers.bio_rag.judges import ask_judge, chance_judge
from hebbgraph_papers.bio_rag.learning import Learning
from hebbgraph_papers.bio_rag.network import (
    PAPER_DIGESTED,
    PAPER_EDGES,
    TermNetwork,
    dense_network,
)
from numpy.typing import NDArray

from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.papers.bio_rag.lab import (
    ASKED,
    BioRagResult,
    Corpus,
    Lab,
    baselines,
    ours,
)

__all__ = ["run_large", "run_small"]

_SWEEP = (PAPER_EDGES, 128_000, 64_000, 32_000, 16_000, 12_000, 10_000)
_PRUNED = 20_000


def run_small(lab: Lab, embedder: CachingEmbedder | None, seed: int, model: Any) -> BioRagResult:
    """Run all arms on a corpus of the paper's size, and sweep the number of edges."""
    chunks = lab.corpus.chunks
    pairs = _document_pairs(lab.corpus)
    rng = np.random.default_rng(seed)
    digested = sorted(rng.permutation(len(chunks))[:PAPER_DIGESTED].tolist())

    everything = dense_network(chunks, pairs=pairs, n_edges=None, seed=seed)
    full, base = everything.strongest(PAPER_EDGES, seed=seed), Learning()
    half_digested = {end: w for end, w in pairs.items() if set(end) <= set(digested)}
    network = dense_network(chunks, pairs=half_digested, digested=digested, seed=seed)
    saturated = full.at(1.0)
    vectors = _term_vectors(full, lab.corpus, embedder)
    sparse = full.similar(vectors)
    judge_of_edges = chance_judge(full) if model is None else ask_judge(model)
    by_judge = full.judged(judge_of_edges)
    stream = _skewed(len(lab.corpus.strata[ASKED]), rng)
    pruning_name = (
        "LLM-guided pruning" if model is not None else "LLM-guided pruning (stand-in: a rule)"
    )
    arms = [
        lab.arm("as written: 30 of 40 digested", network, base),
        lab.arm("all 40 digested", full, base),
        lab.arm("weights at the ceiling, no decay", saturated, Learning(w_max=1.0, decay=0.0)),
        lab.arm("weights at the ceiling, decay .01", saturated, Learning(w_max=1.0)),
        lab.arm("paths of all seeds add up", full, base, BreadthFirstParameters(combine="sum")),
        lab.arm("pruning: strongest 20,000 edges", full.strongest(_PRUNED, seed=seed), base),
        lab.arm("pruning: unused edges, after round 5", full, replace(base, prune_after=5)),
        lab.arm("sparse: similarity > .7 and overlap", sparse, base),
        lab.arm("inhibition .5", full, replace(base, inhibition=0.5)),
        lab.arm(pruning_name, by_judge, base),
        lab.arm("decay .1", full, replace(base, decay=0.1)),
        lab.arm("decay .01, half as much again a round", full, replace(base, decay_growth=1.5)),
        lab.arm("skewed stream of queries", full, replace(base, stream=stream)),
        lab.arm("sparse, inhibition .5", sparse, replace(base, inhibition=0.5)),
    ]
    sweeps = {
        "strongest edges": [
            lab.arm(f"{n} strongest", everything.strongest(n, seed=seed), base, every_round=False)
            for n in (len(everything.graph), *_SWEEP)
        ],
        "random edges": [
            lab.arm(f"{n} at random", everything.thinned(n, seed=seed), base, every_round=False)
            for n in (len(everything.graph), *_SWEEP)
        ],
    }
    arms.append(ours(lab, embedder))
    return BioRagResult("bio-rag", baselines(lab, seed), arms, sweeps)


def run_large(lab: Lab, embedder: CachingEmbedder | None, seed: int) -> BioRagResult:
    """Run the arms that work on a larger corpus, without a limit on nodes or edges."""
    full = dense_network(lab.corpus.chunks, n_nodes=None, n_edges=None, seed=seed)
    base = Learning()
    between = int(full.between_terms.sum())
    documents = len(full.graph) - between
    arms = [lab.arm("dense", full, base, every_round=False)]
    arms += [
        lab.arm(
            f"strongest {share:.0%} of the edges between terms",
            full.strongest(documents + int(share * between), seed=seed),
            base,
            every_round=False,
        )
        for share in (0.1, 0.01)
    ]
    if embedder is not None:
        sparse = full.similar(_term_vectors(full, lab.corpus, embedder))
        arms.append(lab.arm("sparse: similarity > .7 and overlap", sparse, base, every_round=False))
    arms.append(
        lab.arm("dense, inhibition .5", full, replace(base, inhibition=0.5), every_round=False)
    )
    arms.append(ours(lab, embedder))
    return BioRagResult(lab.corpus.name, baselines(lab, seed), arms, {})


def _document_pairs(corpus: Corpus) -> dict[tuple[int, int], float]:
    """Connect documents with the paper's colony weights; similarity is by TF-IDF."""
    has_term = corpus.tf_idf.matrix > 0
    similarity = corpus.tf_idf.matrix @ corpus.tf_idf.matrix.T
    shared = has_term.astype(np.float64) @ has_term.T.astype(np.float64)
    sizes = has_term.sum(axis=1)
    overlap = shared / np.maximum(np.minimum(sizes[:, None], sizes[None, :]), 1)
    rows, columns = np.triu_indices(len(similarity), k=1)
    colony = find_colonies(len(similarity), rows, columns, similarity[rows, columns])
    weights = colony_weights(
        similarity[rows, columns], overlap[rows, columns], colony[rows] == colony[columns]
    )
    return {
        (int(a), int(b)): float(w) for a, b, w in zip(rows, columns, weights, strict=True) if w > 0
    }


def _term_vectors(
    network: TermNetwork, corpus: Corpus, embedder: CachingEmbedder | None
) -> NDArray[np.float64]:
    """Vectors of the terms, by the embedder, or by latent semantic analysis without one."""
    if embedder is not None:
        vectors = np.asarray(embedder.embed_documents(list(network.labels)), np.float64)
        unit: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
    latent = corpus.tf_idf.term_vectors()
    row_of = {term: row for row, term in enumerate(corpus.tf_idf.terms)}
    term_vectors: NDArray[np.float64] = latent[[row_of[label] for label in network.labels]]
    return term_vectors


def _skewed(n: int, rng: np.random.Generator) -> list[int]:
    """Draw as many queries as there are, a few of them often (Zipf)."""
    share = 1.0 / (rng.permutation(n) + 1.0)
    return sorted(rng.choice(n, size=n, p=share / share.sum()).tolist())
