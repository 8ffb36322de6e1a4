"""One corpus, and the arms that run on it under the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap
from hebbgraph.records import Chunk
from hebbgraph_papers.bio_rag.formulas import BreadthFirstParameters
from hebbgraph_papers.bio_rag.learning import Learning
from hebbgraph_papers.bio_rag.network import TermNetwork, TfIdf
from hebbgraph_papers.bio_rag.search import GraphSearch
from numpy.typing import NDArray

from hebbgraph_bench.baselines import Dense, passage_text
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.papers.bio_rag.learning import NumberedQuery, Rounds, judge, learn

__all__ = ["ASKED", "ROUNDS", "ArmResult", "BioRagResult", "Corpus", "Lab", "baselines", "ours"]

ROUNDS = 10
ASKED = "asked"


@dataclass(frozen=True)
class ArmResult:
    """One way to build and teach the graph, without and with learning.

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
    """All measurements of one run on one corpus."""

    name: str
    baselines: Mapping[str, Mapping[str, Mapping[str, NDArray[np.float64]]]]
    arms: Sequence[ArmResult]
    sweeps: Mapping[str, Sequence[ArmResult]]

    def arm(self, name: str) -> ArmResult:
        """Return an arm by its name."""
        return next(arm for arm in self.arms if arm.name == name)


@dataclass(frozen=True)
class Corpus:
    """Documents, and the questions of each stratum, by number."""

    name: str
    chunks: tuple[Chunk, ...]
    strata: Mapping[str, Sequence[NumberedQuery]]
    tf_idf: TfIdf

    @classmethod
    def of(
        cls, name: str, chunks: Sequence[Chunk], strata: Mapping[str, Sequence[NumberedQuery]]
    ) -> Corpus:
        return cls(name, tuple(chunks), strata, TfIdf([passage_text(chunk) for chunk in chunks]))


class Lab:
    """Runs arms on one corpus."""

    def __init__(
        self,
        corpus: Corpus,
        embedder: CachingEmbedder | None,
        tell: Callable[[str], None] | None,
    ) -> None:
        self.corpus = corpus
        self._tell = tell
        self.dense: Dense | None = None
        if embedder is not None:
            self.dense = Dense(embedder)
            order = sorted(range(len(corpus.chunks)), key=lambda at: corpus.chunks[at].id)
            self._place = np.argsort(order)
            self.dense.index(corpus.chunks)

    def similarity(self, query: str) -> NDArray[np.float64]:
        """Cosine of vectors, or of TF-IDF without an embedder."""
        if self.dense is None:
            return self.corpus.tf_idf.scores(query)
        scores: NDArray[np.float64] = self.dense.scores(query)[self._place].astype(np.float64)
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
            copy = replace(network, graph=network.graph.copy())
            search = GraphSearch(copy, self.similarity, parameters)
            results.append(
                learn(search, self.corpus.strata, teaching, rounds=ROUNDS, every_round=every_round)
            )
            edges.append(len(search.network.graph))
        return ArmResult(name, len(network.graph), edges[1], network.density, *results)

    def ranked(
        self, scores: Callable[[str], NDArray[np.float64]]
    ) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Judge a direct search; documents that score 0 are not returned."""
        by_stratum = {}
        for stratum, queries in self.corpus.strata.items():
            rankings = []
            for query in queries:
                values = scores(query.text)
                order = np.argsort(-values, kind="stable")[:10]
                rankings.append(order[values[order] > 0].tolist())
            by_stratum[stratum] = judge(rankings, queries)
        return by_stratum


def baselines(lab: Lab, seed: int) -> dict[str, dict[str, dict[str, NDArray[np.float64]]]]:
    """Judge direct search, and chance, by stratum and metric."""
    rng = np.random.default_rng(seed)
    n = len(lab.corpus.chunks)
    arms = {
        "TF-IDF": lab.ranked(lab.corpus.tf_idf.scores),
        "random": lab.ranked(lambda query: rng.random(n) + 1e-3),
    }
    if lab.dense is not None:
        arms["dense vectors"] = lab.ranked(lab.similarity)
    return arms


def ours(lab: Lab, embedder: CachingEmbedder | None) -> ArmResult:
    """Measure spreading and this library's own learning on the same queries and judgements."""
    row_of = {chunk.id: row for row, chunk in enumerate(lab.corpus.chunks)}
    retriever = HebbianRetriever("spreading", embedder=embedder)
    static, reinforced = Rounds(), Rounds()
    try:
        retriever.index(lab.corpus.chunks)
        index = retriever.opened
        for turn in range(ROUNDS + 1):
            lessons = []
            for stratum, queries in lab.corpus.strata.items():
                recalls = [index.recall(query.text, k=10) for query in queries]
                rankings = [[row_of[hit.chunk.id] for hit in recalled.hits] for recalled in recalls]
                values = judge(rankings, queries)
                reinforced.values.setdefault(stratum, []).append(values)
                static.values.setdefault(stratum, []).append(reinforced.values[stratum][0])
                if stratum == ASKED:
                    lessons = list(zip(recalls, queries, strict=True))
            if turn == ROUNDS:
                break
            for recall, query in lessons:
                ids = [hit.chunk.id for hit in recall.hits]
                cited = [id_ for id_ in ids if query.grades.get(row_of[id_], 0) > 0]
                if cited:
                    index.reinforce(recall, cited)
        stats = index.stats()
    finally:
        retriever.close()
    name = "hebbgraph: spreading, its own learning"
    return ArmResult(name, stats.edges, stats.edges, stats.density, static, reinforced)
