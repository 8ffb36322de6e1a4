"""Bio-RAG's loop: ask every query, judge, reinforce the paths, let the rest decay.

Ten rounds of all queries (section 3.3); after each round
:func:`hebbgraph_papers.bio_rag.learning.learn_round` changes the weights. Besides the asked
queries, their rewordings and other questions are judged; those teach nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hebbgraph_papers.bio_rag.learning import Learning, learn_round
from hebbgraph_papers.bio_rag.search import GraphSearch
from numpy.typing import NDArray

from hebbgraph_bench import metrics
from hebbgraph_bench.datasets import Query

__all__ = ["METRICS", "NumberedQuery", "Rounds", "judge", "learn"]

METRICS = ("P@5", "P@10", "MRR", "nDCG@10")
_DEPTH = 10


@dataclass(frozen=True, slots=True)
class NumberedQuery:
    """A question, and the grade of each document (by number)."""

    text: str
    grades: Mapping[int, int]

    @classmethod
    def all_of(
        cls, queries: Sequence[Query], ids: Sequence[str], *, variant: str | None = None
    ) -> list[NumberedQuery]:
        """Convert queries to numbered judgements; with ``variant``, only queries that have it."""
        row_of = {id_: row for row, id_ in enumerate(ids)}
        questions = []
        for query in queries:
            if variant is None:
                text, grades = query.text, query.relevant
            elif variant in query.variants:
                text, grades = query.variants[variant].text, query.variants[variant].relevant
            else:
                continue
            questions.append(cls(text, {row_of[id_]: grade for id_, grade in grades.items()}))
        return questions


@dataclass(frozen=True)
class Rounds:
    """Metrics of each stratum, per round, before that round teaches.

    Attributes
    ----------
    values : dict of stratum to list of dict of metric to ndarray
    edges : list of int
    changed : list of int
        Number of edges that a round reinforced.
    """

    values: dict[str, list[dict[str, NDArray[np.float64]]]] = field(default_factory=dict)
    edges: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)

    def curve(self, stratum: str, metric: str) -> list[float]:
        """Return the mean of a metric in each round."""
        return [float(values[metric].mean()) for values in self.values[stratum]]


def judge(
    rankings: Sequence[Sequence[int]], asked: Sequence[NumberedQuery]
) -> dict[str, NDArray[np.float64]]:
    """Return the paper's metrics, per query."""
    columns: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for ranked, query in zip(rankings, asked, strict=True):
        ids = [str(document) for document in ranked]
        grades = {str(document): grade for document, grade in query.grades.items()}
        columns["P@5"].append(metrics.precision_at_k(ids, grades, 5))
        columns["P@10"].append(metrics.precision_at_k(ids, grades, _DEPTH))
        columns["MRR"].append(metrics.reciprocal_rank(ids, grades, _DEPTH))
        columns["nDCG@10"].append(metrics.ndcg_at_k(ids, grades, _DEPTH))
    return {metric: np.array(column) for metric, column in columns.items()}


def learn(
    search: GraphSearch,
    strata: Mapping[str, Sequence[NumberedQuery]],
    learning: Learning | None,
    *,
    rounds: int = 10,
    every_round: bool = True,
) -> Rounds:
    """Run the loop; afterwards the network has the weights of the last round.

    Parameters
    ----------
    search : GraphSearch
    strata : mapping of str to sequence of NumberedQuery
        The first is asked and teaches, the others are only judged.
    learning : Learning or None
        None leaves the weights unchanged: the static graph.
    rounds : int
    every_round : bool
        Judge the other strata in each round; else only before the first and after the
        last.

    Returns
    -------
    Rounds
        One more entry than ``rounds``: the last is the state after all of them.
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
            results = [search.search(query.text) for query in queries]
            rankings = [answer.documents[:_DEPTH].tolist() for answer in results]
            result.values[name].append(judge(rankings, queries))
            if name == first:
                answers = results
        result.edges.append(len(search.network.graph))
        if learning is None or number == rounds:
            result.changed.append(0)
            continue
        stream = range(len(asked)) if learning.stream is None else learning.stream
        lessons = [(asked[place].grades, answers[place]) for place in stream]
        gained = learn_round(search, lessons, learning, number=number, used=used)
        result.changed.append(len(gained))
    return result
