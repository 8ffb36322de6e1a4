"""Choosing hits that are both active and unlike each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from hebbgraph.records import Hit
from hebbgraph.text import lexical_terms, tokenize

__all__ = ["diverse"]


def diverse(hits: Sequence[Hit], k: int, lambda_mult: float) -> list[Hit]:
    """Choose k hits by maximal marginal relevance [1]_.

    ``lambda_mult`` times the score, relative to the best, minus ``1 - lambda_mult`` times
    the greatest likeness to one already chosen.

    References
    ----------
    .. [1] Carbonell and Goldstein (1998), The use of MMR, diversity-based reranking.
    """
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    terms = [_terms(hit) for hit in hits]
    likeness = [0.0] * len(hits)
    left = list(range(len(hits)))
    chosen: list[Hit] = []
    while left and len(chosen) < k:
        at = max(
            left,
            key=lambda at: (
                lambda_mult * hits[at].score / best - (1 - lambda_mult) * likeness[at],
                -at,
            ),
        )
        left.remove(at)
        chosen.append(hits[at])
        for other in left:
            likeness[other] = max(likeness[other], _cosine(terms[at], terms[other]))
    return chosen


def _terms(hit: Hit) -> Counter[str]:
    return Counter(lexical_terms(tokenize(f"{hit.chunk.title} {hit.chunk.text}")))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    if len(one) > len(other):
        one, other = other, one
    product = sum(count * other[term] for term, count in one.items())
    if not product:
        return 0.0
    return product / math.sqrt(
        sum(count * count for count in one.values())
        * sum(count * count for count in other.values())
    )
