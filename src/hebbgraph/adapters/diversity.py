"""Hits that differ from each other by their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from hebbgraph.formulas.diversity import cosines, marginal_relevance
from hebbgraph.records import Hit
from hebbgraph.text import lexical_terms, tokenize

__all__ = ["diverse_hits"]


def diverse_hits(hits: Sequence[Hit], k: int, *, diversity: float) -> list[Hit]:
    """Choose k hits by maximal marginal relevance; hits with the same words are alike.

    Parameters
    ----------
    hits : sequence of Hit
        More than k, of one recall.
    k : int
    diversity : float, in [0, 1]
        0 keeps the order of the recall, 1 looks only at difference.

    Examples
    --------
    >>> from hebbgraph import Chunk
    >>> texts = ("Owls hunt at night.", "At night owls hunt.", "Kilns glaze jars.")
    >>> hits = [
    ...     Hit(chunk=Chunk(id=str(n), text=text), score=1 - n / 10, rank=n + 1)
    ...     for n, text in enumerate(texts)
    ... ]
    >>> [hit.chunk.id for hit in diverse_hits(hits, 2, diversity=0.5)]
    ['0', '2']
    """
    terms = [
        Counter(lexical_terms(tokenize(f"{hit.chunk.title} {hit.chunk.text}"))) for hit in hits
    ]
    columns = {term: at for at, term in enumerate(dict.fromkeys(chain.from_iterable(terms)))}
    counts = np.zeros((len(hits), len(columns)))
    for row, counter in enumerate(terms):
        counts[row, [columns[term] for term in counter]] = list(counter.values())
    scores = np.array([hit.score for hit in hits])
    chosen = marginal_relevance(
        scores / (scores.max(initial=0.0) or 1.0), cosines(counts), k, diversity=diversity
    )
    return [hits[at] for at in chosen]
