"""Bio-RAG's experiment: the null result, what decides it, and the remedies one at a time.

``hebbgraph bench --paper bio-rag`` needs no data set; sets that are named are the larger
corpora of the paper's future work (section 5.4, 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from hebbgraph.evaluation.baselines import Dense, passage_text
from hebbgraph.evaluation.bootstrap import Difference, paired_bootstrap
from hebbgraph.evaluation.datasets import Dataset, load
from hebbgraph.evaluation.embedding import CachingEmbedder, caching
from hebbgraph.evaluation.ours import HebbianRetriever
from hebbgraph.evaluation.output import Output
from hebbgraph.evaluation.papers.bio_rag_graph import (
    PAPER_DIGESTED,
    PAPER_EDGES,
    EdgeJudge,
    TermNetwork,
    TfIdf,
    ask_judge,
    dense_network,
)
from hebbgraph.evaluation.papers.bio_rag_learning import (
    METRICS,
    Asked,
    GraphSearch,
    Learning,
    Rounds,
    judge,
    learn,
)
from hebbgraph.evaluation.papers.bio_rag_plots import plot_rounds, plot_sweep
from hebbgraph.evaluation.papers.bio_rag_set import REWORDED, load_set
from hebbgraph.evaluation.tables import Grid
from hebbgraph.graph.colonies import colony_weights, find_colonies
from hebbgraph.protocols import Embedder
from hebbgraph.recall.breadth_first import BreadthFirstParameters
from hebbgraph.records import Chunk

__all__ = ["PUBLISHED", "ArmResult", "BioRagResult", "chance_judge", "run"]

PUBLISHED = (
    ("paper: Bio-RAG (reinforced)", (0.270, 0.180, 0.714, 0.377)),
    ("paper: static graph", (0.270, 0.180, 0.714, 0.377)),
    ("paper: TF-IDF", (0.658, 0.658, 0.692, 0.416)),
    ("paper: random", (0.000, None, None, None)),
)
"""Table 1: P@5, P@10, MRR, nDCG@10."""

ROUNDS = 10
_ASKED, _REWORDED, _HELD_OUT = "asked", "reworded", "never asked"
_SWEEP = (PAPER_EDGES, 128_000, 64_000, 32_000, 16_000, 12_000, 10_000)
_PRUNED = 20_000
_LIFT = 3.0
_LARGE_QUERIES = 100


@dataclass(frozen=True)
class ArmResult:
    """One way to build and teach the graph: what it does without and with learning.

    Attributes
    ----------
    name : str
    edges, edges_after : int
    density : float
    static, reinforced : Rounds
    """

    name: str
    edges: int
    edges_after: int
    density: float
    static: Rounds
    reinforced: Rounds

    def difference(self, stratum: str, metric: str = "nDCG@10", *, seed: int = 0) -> Difference:
        """Return reinforced minus static after the last round."""
        return paired_bootstrap(
            self.reinforced.values[stratum][-1][metric],
            self.static.values[stratum][-1][metric],
            seed=seed,
        )


@dataclass(frozen=True)
class BioRagResult:
    """All that one run measured on one corpus."""

    name: str
    baselines: Mapping[str, Mapping[str, Mapping[str, NDArray[np.float64]]]]
    arms: Sequence[ArmResult]
    sweeps: Mapping[str, Sequence[ArmResult]]

    def arm(self, name: str) -> ArmResult:
        """Return an arm by its name."""
        return next(arm for arm in self.arms if arm.name == name)


@dataclass(frozen=True)
class _Corpus:
    """Documents with the questions of each stratum, numbered."""

    name: str
    chunks: tuple[Chunk, ...]
    strata: Mapping[str, Sequence[Asked]]
    tf_idf: TfIdf

    @classmethod
    def of(cls, name: str, chunks: Sequence[Chunk], strata: Mapping[str, Sequence[Asked]]) -> Any:
        return cls(name, tuple(chunks), strata, TfIdf([passage_text(chunk) for chunk in chunks]))


class _Lab:
    """Runs arms on one corpus."""

    def __init__(
        self,
        corpus: _Corpus,
        embedder: CachingEmbedder | None,
        tell: Callable[[str], None] | None,
    ) -> None:
        self.corpus = corpus
        self._tell = tell
        self._dense: Dense | None = None
        if embedder is not None:
            self._dense = Dense(embedder)
            order = sorted(range(len(corpus.chunks)), key=lambda at: corpus.chunks[at].id)
            self._place = np.argsort(order)
            self._dense.index(corpus.chunks)

    def similarity(self, query: str) -> NDArray[np.float64]:
        """Cosine of vectors, or of TF-IDF without an embedder."""
        if self._dense is None:
            return self.corpus.tf_idf.scores(query)
        scores: NDArray[np.float64] = self._dense.scores(query)[self._place].astype(np.float64)
        return np.maximum(scores, 0.0)

    def arm(
        self,
        name: str,
        network: TermNetwork,
        learning: Learning,
        parameters: BreadthFirstParameters | None = None,
        *,
        every_round: bool = True,
    ) -> ArmResult:
        """Run one arm, static and reinforced, from the same weights."""
        if self._tell is not None:
            self._tell(f"{self.corpus.name}: {name}")
        results, edges = [], []
        for teaching in (None, learning):
            own = replace(network, graph=network.graph.copy())
            search = GraphSearch(own, self.similarity, parameters)
            results.append(
                learn(search, self.corpus.strata, teaching, rounds=ROUNDS, every_round=every_round)
            )
            edges.append(len(search.network.graph))
        return ArmResult(name, len(network.graph), edges[1], network.density, *results)

    def ranked(
        self, scores: Callable[[str], NDArray[np.float64]]
    ) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Judge a direct search; documents that score nothing do not return."""
        found = {}
        for stratum, queries in self.corpus.strata.items():
            rankings = []
            for query in queries:
                values = scores(query.text)
                order = np.argsort(-values, kind="stable")[:10]
                rankings.append(order[values[order] > 0].tolist())
            found[stratum] = judge(rankings, queries)
        return found


def run(
    datasets: Sequence[str | Path],
    /,
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    queries: int | None = None,
    plots: str | Path | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
    model: Any = None,
) -> list[BioRagResult]:
    """Run the experiment; see :func:`hebbgraph.evaluation.papers.bench_paper`.

    ``k`` is 10, as in the paper, whatever is given. ``model`` is a chat model for the
    LLM-guided pruning (:func:`.bio_rag_graph.ask_judge`); without it a rule stands in for
    one, and the tables say so.
    """
    del k
    output = Output(json_path, console)
    large = [load(path, seed=seed, queries=queries or _LARGE_QUERIES) for path in datasets]
    results: list[BioRagResult] = []
    with caching(embedder, cache) as vectors, output.status("bio-rag") as status:
        tell = None if status is None else status.update
        results.append(_small(_Lab(_own_corpus(), vectors, tell), vectors, seed, model))
        grids = _grids(results[0], seed)
        output.write(grids, {"seed": seed, "corpora": [_as_dict(results[0], seed)]})
        for dataset in large:
            results.append(_large(_Lab(_shared_corpus(dataset), vectors, tell), vectors, seed))
            grids = [grid for result in results for grid in _grids(result, seed)]
            output.write(
                grids, {"seed": seed, "corpora": [_as_dict(result, seed) for result in results]}
            )
    output.show(grids)
    if plots is not None:
        plot_rounds(results[0], plots)
        plot_sweep(results[0], plots, seed=seed)
    return results


def _own_corpus() -> _Corpus:
    found = load_set()
    ids = [chunk.id for chunk in found.asked.corpus]
    strata = {
        _ASKED: Asked.all_of(found.asked.queries, ids),
        _REWORDED: Asked.all_of(found.asked.queries, ids, variant=REWORDED),
        _HELD_OUT: Asked.all_of(found.held_out, ids),
    }
    corpus: _Corpus = _Corpus.of("bio-rag", found.asked.corpus, strata)
    return corpus


def _shared_corpus(dataset: Dataset) -> _Corpus:
    """Every other question is asked; the others never are."""
    chunks = [chunk for chunk in dataset.corpus if chunk.title.strip() or chunk.text.strip()]
    ids = [chunk.id for chunk in chunks]
    # Those with rewordings come first, so that as many as possible are asked.
    order = sorted(dataset.queries, key=lambda query: not query.variants)
    half = len(order) // 2
    strata = {_ASKED: Asked.all_of(order[:half], ids), _HELD_OUT: Asked.all_of(order[half:], ids)}
    reworded = Asked.all_of(order[:half], ids, variant=REWORDED)
    if reworded:
        strata[_REWORDED] = reworded
    corpus: _Corpus = _Corpus.of(dataset.name, chunks, strata)
    return corpus


def _small(lab: _Lab, embedder: CachingEmbedder | None, seed: int, model: Any) -> BioRagResult:
    chunks = lab.corpus.chunks
    pairs = _document_pairs(lab.corpus)
    rng = np.random.default_rng(seed)
    digested = sorted(rng.permutation(len(chunks))[:PAPER_DIGESTED].tolist())

    everything = dense_network(chunks, pairs=pairs, n_edges=None, seed=seed)
    full, base = everything.strongest(PAPER_EDGES, seed=seed), Learning()
    half_digested = {end: w for end, w in pairs.items() if set(end) <= set(digested)}
    written = dense_network(chunks, pairs=half_digested, digested=digested, seed=seed)
    saturated = full.at(1.0)
    vectors = _term_vectors(full, lab.corpus, embedder)
    sparse = full.similar(vectors)
    judge_of_edges = chance_judge(full) if model is None else ask_judge(model)
    by_judge = full.judged(judge_of_edges)
    stream = _skewed(len(lab.corpus.strata[_ASKED]), rng)
    said = "LLM-guided pruning" if model is not None else "LLM-guided pruning (stand-in: a rule)"
    arms = [
        lab.arm("as written: 30 of 40 digested", written, base),
        lab.arm("all 40 digested", full, base),
        lab.arm("weights at the ceiling, no decay", saturated, Learning(w_max=1.0, decay=0.0)),
        lab.arm("weights at the ceiling, decay .01", saturated, Learning(w_max=1.0)),
        lab.arm("paths of all seeds add up", full, base, BreadthFirstParameters(combine="sum")),
        lab.arm("pruning: strongest 20,000 edges", full.strongest(_PRUNED, seed=seed), base),
        lab.arm("pruning: unused edges, after round 5", full, replace(base, prune_after=5)),
        lab.arm("sparse: similarity > .7 and overlap", sparse, base),
        lab.arm("inhibition .5", full, replace(base, inhibition=0.5)),
        lab.arm(said, by_judge, base),
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
    arms.append(_ours(lab, embedder))
    return BioRagResult("bio-rag", _baselines(lab, seed), arms, sweeps)


def _large(lab: _Lab, embedder: CachingEmbedder | None, seed: int) -> BioRagResult:
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
    arms.append(_ours(lab, embedder))
    return BioRagResult(lab.corpus.name, _baselines(lab, seed), arms, {})


def _document_pairs(corpus: _Corpus) -> dict[tuple[int, int], float]:
    """Wire documents with the paper's colony weights; similarity is that of TF-IDF."""
    held = corpus.tf_idf.matrix > 0
    similarity = corpus.tf_idf.matrix @ corpus.tf_idf.matrix.T
    shared = held.astype(np.float64) @ held.T.astype(np.float64)
    sizes = held.sum(axis=1)
    overlap = shared / np.maximum(np.minimum(sizes[:, None], sizes[None, :]), 1)
    one, other = np.triu_indices(len(similarity), k=1)
    colony = find_colonies(len(similarity), one, other, similarity[one, other])
    weights = colony_weights(
        similarity[one, other], overlap[one, other], colony[one] == colony[other]
    )
    return {
        (int(a), int(b)): float(w) for a, b, w in zip(one, other, weights, strict=True) if w > 0
    }


def _term_vectors(
    network: TermNetwork, corpus: _Corpus, embedder: CachingEmbedder | None
) -> NDArray[np.float64]:
    """Vectors of the terms: of the embedder, or of latent semantic analysis without one."""
    if embedder is not None:
        vectors = np.asarray(embedder.embed_documents(list(network.labels)), np.float64)
        unit: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
    latent = corpus.tf_idf.term_vectors()
    place = {term: at for at, term in enumerate(corpus.tf_idf.terms)}
    found: NDArray[np.float64] = latent[[place[label] for label in network.labels]]
    return found


def chance_judge(network: TermNetwork, *, lift: float = _LIFT) -> EdgeJudge:
    """Stand in for a model: two terms belong together if they meet more than by chance.

    Parameters
    ----------
    network : TermNetwork
    lift : float
        In how many times as many documents as independent terms would.
    """
    places: dict[str, set[int]] = {}
    for at, held in enumerate(network.holdings):
        for term in held:
            places.setdefault(term, set()).add(at)
    n = len(network.holdings)

    def judge_pairs(some: Sequence[tuple[str, str]]) -> list[bool]:
        return [
            len(places[one] & places[other]) * n >= lift * len(places[one]) * len(places[other])
            for one, other in some
        ]

    return judge_pairs


def _skewed(n: int, rng: np.random.Generator) -> list[int]:
    """Draw as many queries as there are, a few of them often (Zipf)."""
    share = 1.0 / (rng.permutation(n) + 1.0)
    return sorted(rng.choice(n, size=n, p=share / share.sum()).tolist())


def _baselines(lab: _Lab, seed: int) -> dict[str, dict[str, dict[str, NDArray[np.float64]]]]:
    rng = np.random.default_rng(seed)
    n = len(lab.corpus.chunks)
    found = {
        "TF-IDF": lab.ranked(lab.corpus.tf_idf.scores),
        "random": lab.ranked(lambda query: rng.random(n) + 1e-3),
    }
    if lab._dense is not None:
        found["dense vectors"] = lab.ranked(lab.similarity)
    return found


def _ours(lab: _Lab, embedder: CachingEmbedder | None) -> ArmResult:
    """Spreading and this library's own learning, on the same queries and judgements."""
    number = {chunk.id: at for at, chunk in enumerate(lab.corpus.chunks)}
    retriever = HebbianRetriever("spreading", embedder=embedder)
    static, reinforced = Rounds(), Rounds()
    try:
        retriever.index(lab.corpus.chunks)
        index = retriever.opened
        for turn in range(ROUNDS + 1):
            lessons = []
            for stratum, queries in lab.corpus.strata.items():
                recalls = [index.recall(query.text, k=10) for query in queries]
                rankings = [[number[hit.chunk.id] for hit in one.hits] for one in recalls]
                values = judge(rankings, queries)
                reinforced.values.setdefault(stratum, []).append(values)
                static.values.setdefault(stratum, []).append(reinforced.values[stratum][0])
                if stratum == _ASKED:
                    lessons = list(zip(recalls, queries, strict=True))
            if turn == ROUNDS:
                break
            for recall, query in lessons:
                ids = [hit.chunk.id for hit in recall.hits]
                cited = [id_ for id_ in ids if query.grades.get(number[id_], 0) > 0]
                if cited:
                    index.reinforce(recall, cited)
        stats = index.stats()
    finally:
        retriever.close()
    name = "hebbgraph: spreading, its own learning"
    return ArmResult(name, stats.edges, stats.edges, stats.density, static, reinforced)


def _grids(result: BioRagResult, seed: int) -> list[Grid]:
    grids = [_quality(result)]
    strata = list(result.arms[0].static.values)
    for stratum in strata:
        rows = [_difference_row(arm, stratum, seed) for arm in result.arms]
        grids.append(
            Grid(
                f"{result.name}, {stratum} queries: nDCG@10 after {ROUNDS} rounds",
                ("graph", "edges", "density", "static", "reinforced", "difference, 95 %"),
                rows,
            )
        )
    for kind, arms in result.sweeps.items():
        rows = [
            (
                f"{arm.edges:,}",
                f"{100 * arm.density:.2f} %",
                *(cell for stratum in strata for cell in _difference_row(arm, stratum, seed)[3:]),
            )
            for arm in arms
        ]
        headings = [
            heading
            for stratum in strata
            for heading in (f"{stratum}: static", "reinforced", "difference")
        ]
        grids.append(Grid(f"{result.name}: {kind}", ("edges", "density", *headings), rows))
    return grids


def _quality(result: BioRagResult) -> Grid:
    rows: list[tuple[str, ...]] = []
    first = result.arms[0]
    for name, rounds in (("reinforced", first.reinforced), ("static graph", first.static)):
        values = rounds.values[_ASKED][-1]
        cells = (_show(float(values[metric].mean())) for metric in METRICS)
        rows.append((f"{name} ({first.name})", *cells))
    for name, by_stratum in result.baselines.items():
        of_asked = by_stratum[_ASKED]
        rows.append((name, *(_show(float(of_asked[metric].mean())) for metric in METRICS)))
    if result.name == "bio-rag":
        rows += [(name, *map(_show, figures)) for name, figures in PUBLISHED]
    n = len(first.static.values[_ASKED][0]["MRR"])
    return Grid(f"{result.name}: {n} asked queries, round {ROUNDS}", ("system", *METRICS), rows)


def _difference_row(arm: ArmResult, stratum: str, seed: int) -> tuple[str, ...]:
    found = arm.difference(stratum, seed=seed)
    return (
        arm.name,
        f"{arm.edges:,}",
        f"{100 * arm.density:.2f} %",
        _show(arm.static.curve(stratum, "nDCG@10")[-1]),
        _show(arm.reinforced.curve(stratum, "nDCG@10")[-1]),
        f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]",
    )


def _show(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.3f}".removeprefix("0")


def _as_dict(result: BioRagResult, seed: int) -> dict[str, Any]:
    def arm(one: ArmResult) -> dict[str, Any]:
        return {
            "name": one.name,
            "edges": one.edges,
            "edges_after": one.edges_after,
            "density": one.density,
            "strata": {
                stratum: {
                    "static": one.static.curve(stratum, "nDCG@10")[0],
                    "metrics": {
                        metric: one.reinforced.curve(stratum, metric) for metric in METRICS
                    },
                    "differences": {
                        metric: asdict(one.difference(stratum, metric, seed=seed))
                        for metric in METRICS
                    },
                }
                for stratum in one.static.values
            },
            "reinforced_edges": one.reinforced.changed,
        }

    return {
        "name": result.name,
        "baselines": {
            name: {
                stratum: {metric: float(column.mean()) for metric, column in values.items()}
                for stratum, values in by_stratum.items()
            }
            for name, by_stratum in result.baselines.items()
        },
        "arms": [arm(one) for one in result.arms],
        "sweeps": {kind: [arm(one) for one in arms] for kind, arms in result.sweeps.items()},
    }
