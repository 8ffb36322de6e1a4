"""Bio-RAG's loop: ask every query, judge, reinforce the paths, let the rest decay.

Ten rounds of all queries (section 3.3); after each the edges on the paths that led to
relevant documents gain ``learning_rate * relevance / path length`` and all others lose
``decay`` of their weight (section 2.3). Beside the queries that are asked, their
rewordings and other questions are judged; nothing is learned from those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from hebbgraph.formulas.breadth_first import (
    BreadthFirstParameters,
    Expansion,
    Labels,
    Reached,
    blend,
    expand,
    gather,
    hybrid_score,
    path_to,
)
from hebbgraph.formulas.plasticity import LearningRule, bio_rag
from numpy.typing import NDArray

from hebbgraph_bench import metrics
from hebbgraph_bench.datasets import Query
from hebbgraph_bench.papers.bio_rag.graph import NumberedGraph, TermNetwork, words_of

__all__ = ["METRICS", "Asked", "Found", "GraphSearch", "Learning", "Rounds", "judge", "learn"]

METRICS = ("P@5", "P@10", "MRR", "nDCG@10")
_DEPTH = 10
_HIGHEST_GRADE = 3.0
SimilarityTo = Callable[[str], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the grade of each document (by number)."""

    text: str
    grades: Mapping[int, int]

    @classmethod
    def all_of(
        cls, queries: Sequence[Query], ids: Sequence[str], *, variant: str | None = None
    ) -> list[Asked]:
        """Number the judgements of queries; with ``variant``, those that have it."""
        number = {id_: at for at, id_ in enumerate(ids)}
        found = []
        for query in queries:
            if variant is None:
                text, grades = query.text, query.relevant
            elif variant in query.variants:
                text, grades = query.variants[variant].text, query.variants[variant].relevant
            else:
                continue
            found.append(cls(text, {number[id_]: grade for id_, grade in grades.items()}))
        return found


@dataclass(frozen=True, slots=True)
class Found:
    """A ranking and the paths behind it."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    expansions: Sequence[Expansion]
    reached: Reached

    def path(self, document: int) -> list[int]:
        """Return the nodes from a seed to a document on the strongest path."""
        at = int(np.searchsorted(self.reached.targets, document))
        expansion = self.expansions[self.reached.expansion[at]]
        return path_to(expansion, int(self.reached.position[at]))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What of a query does not depend on the weights."""

    seeds: tuple[int, ...]
    overlap: NDArray[np.float64]
    similarity: NDArray[np.float64]


class GraphSearch:
    """Bio-RAG's recall over a network of documents and terms.

    Parameters
    ----------
    network : TermNetwork
        Its weights are changed by :func:`learn`.
    similarity : callable
        From a query to the similarity of each document, in [0, 1].
    parameters : BreadthFirstParameters, optional
    """

    def __init__(
        self,
        network: TermNetwork,
        similarity: SimilarityTo,
        parameters: BreadthFirstParameters | None = None,
    ) -> None:
        self.network = network
        self.parameters = parameters or BreadthFirstParameters()
        self._similarity = similarity
        self._labels = Labels(network.labels)
        self._prepared: dict[str, _Prepared] = {}

    def search(self, query: str) -> Found:
        """Rank the documents that the graph reaches; ties by number."""
        ready = self._prepared.get(query) or self._prepare(query)
        p, first = self.parameters, self.network.n_documents
        expansions = [
            expand(
                self.network.graph.neighbours,
                seed,
                min_weight=p.min_weight,
                max_nodes=p.max_nodes,
            )
            for seed in ready.seeds
        ]
        reached = gather(expansions, lambda nodes: nodes < first, combine=p.combine)
        overlap, similarity = ready.overlap[reached.targets], ready.similarity[reached.targets]
        graph = hybrid_score(reached.totals, overlap, alpha=p.alpha, beta=p.beta)
        scores = np.asarray(blend(similarity, graph, mu=p.mu), np.float64)
        order = np.lexsort((reached.targets, -scores.round(9)))
        return Found(reached.targets[order], scores[order], expansions, reached)

    def _prepare(self, query: str) -> _Prepared:
        words = list(dict.fromkeys(words_of(query)))
        first = self.network.n_documents
        seeds: dict[int, None] = {}
        for word in words:
            for label in self._labels.containing(word):
                seeds.setdefault(first + int(label))
        overlap = [len(held.intersection(words)) for held in self.network.holdings]
        ready = _Prepared(
            tuple(seeds),
            np.array(overlap, np.float64) / max(len(words), 1),
            np.asarray(self._similarity(query), np.float64),
        )
        self._prepared[query] = ready
        return ready


@dataclass(frozen=True, slots=True)
class Learning:
    """How the loop learns; the paper gives no numbers.

    Parameters
    ----------
    learning_rate : float, in (0, 1]
        The paper's η.
    decay : float, in [0, 1)
        The paper's λ, per round, for edges that no path of the round used.
    decay_growth : float, at least 1
        By which ``decay`` grows each round: a schedule that forgets faster and faster.
    w_max : float
        No weight grows beyond; infinite in the paper.
    inhibition : float, in [0, 1]
        Negative relevance of a document that was shown and is not relevant; 0 in the
        paper. Weights stay at 0 or above.
    prune_after : int, optional
        After so many rounds, edges that no successful path has used are cut.
    stream : sequence of int, optional
        Which queries a round asks, by number, repeats allowed; left out, each once.
    """

    learning_rate: float = 0.1
    decay: float = 0.01
    decay_growth: float = 1.0
    w_max: float = np.inf
    inhibition: float = 0.0
    prune_after: int | None = None
    stream: Sequence[int] | None = None
    rule: LearningRule = bio_rag


@dataclass(frozen=True)
class Rounds:
    """Metrics of each stratum, round by round, before that round is learned from.

    Attributes
    ----------
    values : dict of stratum to list of dict of metric to ndarray
    edges : list of int
    changed : list of int
        Edges that a round reinforced.
    """

    values: dict[str, list[dict[str, NDArray[np.float64]]]] = field(default_factory=dict)
    edges: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)

    def curve(self, stratum: str, metric: str) -> list[float]:
        """Return the mean of a metric in each round."""
        return [float(values[metric].mean()) for values in self.values[stratum]]


def judge(
    rankings: Sequence[Sequence[int]], asked: Sequence[Asked]
) -> dict[str, NDArray[np.float64]]:
    """Return the paper's metrics, per query."""
    columns: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for ranked, query in zip(rankings, asked, strict=True):
        ids = [str(one) for one in ranked]
        grades = {str(one): grade for one, grade in query.grades.items()}
        columns["P@5"].append(metrics.precision_at_k(ids, grades, 5))
        columns["P@10"].append(metrics.precision_at_k(ids, grades, _DEPTH))
        columns["MRR"].append(metrics.reciprocal_rank(ids, grades, _DEPTH))
        columns["nDCG@10"].append(metrics.ndcg_at_k(ids, grades, _DEPTH))
    return {metric: np.array(column) for metric, column in columns.items()}


def learn(
    search: GraphSearch,
    strata: Mapping[str, Sequence[Asked]],
    learning: Learning | None,
    *,
    rounds: int = 10,
    every_round: bool = True,
) -> Rounds:
    """Run the loop; the network's weights are those of the last round afterwards.

    Parameters
    ----------
    search : GraphSearch
    strata : mapping of str to sequence of Asked
        The first is asked and learned from, the others only judged.
    learning : Learning or None
        None leaves the weights as they are: the static graph.
    rounds : int
    every_round : bool
        Judge the other strata in each round; else only before the first and after the
        last.

    Returns
    -------
    Rounds
        One more entry than ``rounds``: the last is what all of them led to.
    """
    result = Rounds({name: [] for name in strata})
    first, asked = next(iter(strata.items()))
    used: set[int] = set()
    for number in range(rounds + 1):
        for name, queries in strata.items():
            if name != first and not every_round and 0 < number < rounds:
                continue
            if learning is None and number:
                result.values[name].append(result.values[name][0])
                continue
            found = [search.search(one.text) for one in queries]
            rankings = [one.documents[:_DEPTH].tolist() for one in found]
            result.values[name].append(judge(rankings, queries))
            if name == first:
                answers = found
        result.edges.append(len(search.network.graph))
        if learning is None or number == rounds:
            result.changed.append(0)
            continue
        stream = range(len(asked)) if learning.stream is None else learning.stream
        lessons = [(asked[at], answers[at]) for at in stream]
        gained = _reinforce(search.network.graph, lessons, learning)
        used |= gained
        decay = 1 - (1 - learning.decay) ** (learning.decay_growth**number)
        _decay(search.network.graph, gained, decay)
        result.changed.append(len(gained))
        if learning.prune_after == number + 1:
            _cut_unused(search, used)
    return result


def _reinforce(
    graph: NumberedGraph, lessons: Sequence[tuple[Asked, Found]], learning: Learning
) -> set[int]:
    """Apply the rule to the paths of one round; return the edges that gained."""
    gained: set[int] = set()
    for query, found in lessons:
        for document in found.documents[:_DEPTH].tolist():
            credit = query.grades.get(document, 0) / _HIGHEST_GRADE or -learning.inhibition
            path = found.path(document) if credit else []
            edges = np.array([graph.edge(*ends) for ends in pairwise(path)], np.int64)
            if not len(edges):
                continue
            graph.weights[edges] = learning.rule(
                graph.weights[edges],
                np.full(len(edges), credit),
                np.full(len(edges), float(len(edges))),
                learning_rate=learning.learning_rate,
                w_max=learning.w_max,
                w_min=0.0,
            )
            if credit > 0:
                gained.update(edges.tolist())
    return gained


def _decay(graph: NumberedGraph, gained: set[int], decay: float) -> None:
    idle = np.ones(len(graph), np.bool_)
    idle[list(gained)] = False
    graph.weights[idle] *= 1 - decay


def _cut_unused(search: GraphSearch, used: set[int]) -> None:
    """Cut edges between terms that no successful path has used."""
    keep = ~search.network.between_terms
    keep[list(used)] = True
    search.network = search.network.kept(keep)
