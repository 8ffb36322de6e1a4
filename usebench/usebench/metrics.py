"""Retrieval metrics, one pure function each, of one ranking against its judgements.

``ranked`` is ids, best first; a repeated id counts at its first place only. ``relevant`` maps ids
to grades; those with a positive grade are relevant. Every value lies in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from usebench.errors import ParameterError

__all__ = [
    "METRICS",
    "all_relevant_at_k",
    "credited",
    "judge",
    "ndcg_at_k",
    "recall_at_k",
    "reciprocal_rank",
]


def recall_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Share of the relevant passages that are among the first ``k`` (R@k).

    Examples
    --------
    >>> recall_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 2)
    0.5
    """
    gold = _gold(relevant)
    return len(gold.intersection(_first(ranked, k))) / len(gold)


def all_relevant_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """1 if every relevant passage is among the first ``k``, else 0 (all-gold@k).

    A question that needs two passages is not answered by one of them.

    Examples
    --------
    >>> all_relevant_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 2)
    0.0
    >>> all_relevant_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 3)
    1.0
    """
    return float(_gold(relevant).issubset(_first(ranked, k)))


def reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """One over the rank of the first relevant passage, 0 if none is in the first ``k``.

    Its mean over questions is MRR [1]_.

    Examples
    --------
    >>> reciprocal_rank(["x", "a", "b"], {"a": 1, "b": 1}, 10)
    0.5

    References
    ----------
    .. [1] Voorhees (1999), The TREC-8 Question Answering Track Report.
    """
    gold = _gold(relevant)
    ranks = (rank for rank, id_ in enumerate(_first(ranked, k), 1) if id_ in gold)
    return 1 / next(ranks, math.inf)


def ndcg_at_k(ranked: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    r"""Discounted cumulative gain of the first ``k`` over that of the best order (nDCG@k).

    .. math:: \sum_{i=1}^{k} g_i / \log_2(i + 1)

    with the grade itself as gain, as in [1]_ and trec_eval (Burges' variant takes
    :math:`2^g - 1`).

    Examples
    --------
    >>> ndcg_at_k(["b", "a"], {"a": 2, "b": 1}, 10)  # (1/1 + 2/1.585) / (2/1 + 1/1.585)
    0.8597...

    References
    ----------
    .. [1] Järvelin and Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques,
       ACM TOIS 20(4).
    """
    _gold(relevant)
    grades = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    gains = (max(relevant.get(id_, 0), 0) for id_ in _first(ranked, k))
    return _dcg(gains) / _dcg(grades[:k])


#: The metrics of every answer, by name.
METRICS: dict[str, Callable[[Sequence[str], Mapping[str, int]], float]] = {
    "R@2": lambda ranked, relevant: recall_at_k(ranked, relevant, 2),
    "R@5": lambda ranked, relevant: recall_at_k(ranked, relevant, 5),
    "R@10": lambda ranked, relevant: recall_at_k(ranked, relevant, 10),
    "all-gold@5": lambda ranked, relevant: all_relevant_at_k(ranked, relevant, 5),
    "nDCG@10": lambda ranked, relevant: ndcg_at_k(ranked, relevant, 10),
    "MRR": lambda ranked, relevant: reciprocal_rank(ranked, relevant, 10),
}


def judge(
    ranked: Sequence[str], relevant: Mapping[str, int], also: Collection[str] = ()
) -> dict[str, float]:
    """Judge a ranking by every metric of :data:`METRICS`.

    Examples
    --------
    >>> judge(["x", "a"], {"a": 1})["MRR"]
    0.5
    """
    ranked = credited(ranked, relevant, also) if also else ranked
    return {name: metric(ranked, relevant) for name, metric in METRICS.items()}


def credited(
    ranked: Sequence[str], relevant: Mapping[str, int], also: Collection[str]
) -> list[str]:
    """Let each id of ``also`` trade places with a relevant one that is not ranked above it.

    So each relevant passage counts once.

    Examples
    --------
    >>> credited(["x", "b", "c", "a"], {"a": 1}, ["b", "c"])
    ['x', 'a', 'c', 'b']
    """
    missing = dict.fromkeys(relevant)
    traded: dict[str, str] = {}
    judged = []
    for id_ in ranked:
        if id_ in also and missing:
            stood_for, _ = missing.popitem()
            traded[stood_for] = id_
            judged.append(stood_for)
        else:
            missing.pop(id_, None)
            judged.append(traded.get(id_, id_))
    return judged


def _gold(relevant: Mapping[str, int]) -> set[str]:
    gold = {id_ for id_, grade in relevant.items() if grade > 0}
    if not gold:
        raise ParameterError("a question needs at least one relevant passage, got none")
    return gold


def _first(ranked: Sequence[str], k: int) -> list[str]:
    """Return the first ``k`` ids, a repeated one at its first place only."""
    if k < 1:
        raise ParameterError(f"k must be at least 1, got {k!r}")
    return list(dict.fromkeys(ranked))[:k]


def _dcg(gains: Iterable[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
