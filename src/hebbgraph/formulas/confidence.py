r"""How likely the corpus covers a question at all.

.. math:: p = \sigma(a + b\,\text{coverage} + c\,\text{nearness})

The coefficients, with vectors and without, come from logistic regression on questions written for
the corpus and questions written for another one, tested on a corpus that was left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from hebbgraph.formulas.bm25 import K1, idf

#: Below this confidence, a recall reports that nothing is known about the question.
NOTHING_KNOWN = 0.3
#: The most confidence in what is found for a question that names nothing to search for.
SAYS_NOTHING = 0.1
#: A question stands or falls with its rarest words; the others are often grammar.
_N_RAREST = 3
#: The most that BM25 gives for a term, in units of its idf.
_SATURATION = K1 + 1.0
#: Coverage by a chunk of mean length that holds each of the rarest words once.
HELD_ONCE = 1.0 / _SATURATION
#: Coverage by a chunk that holds all codes of a question, whatever else it lacks.
CODE_HELD = 0.38
#: Factor on coverage if no chunk holds a code or a long number of the question.
NUMBER_LACKS = 0.6


def coverage(terms: Iterable[tuple[float, int]], n_chunks: int, best: float) -> float:
    """Return how far the best chunk covers the rarest words of a question.

    The BM25 of the best chunk, divided by the most that the question's three rarest terms can
    give. A term that no chunk holds counts like a term of a single chunk.

    ``terms`` are pairs of weight and document frequency, ``best`` is the highest BM25 of a chunk.
    Each of the two words could give 9.4; no chunk holds the second one.

    >>> round(coverage([(1.0, 1), (1.0, 0)], 100, best=6.0), 2)
    0.32
    """
    masses = [_mass(weight, df, n_chunks) for weight, df in terms]
    most = _SATURATION * sum(sorted(masses)[-_N_RAREST:])
    return min(best / most, 1.0) if most > 0 else 0.0


def rarest(terms: Mapping[str, tuple[float, int]], n_chunks: int) -> list[str]:
    """Return the words with which a question stands or falls, at most three.

    >>> rarest({"the": (1.0, 90), "petrel": (1.0, 1), "yard": (1.0, 7), "gannet": (1.0, 2)}, 100)
    ['petrel', 'gannet', 'yard']
    """
    return sorted(terms, key=lambda term: -_mass(*terms[term], n_chunks))[:_N_RAREST]


def _mass(weight: float, df: int, n_chunks: int) -> float:
    return weight * idf(min(max(df, 1), n_chunks), n_chunks)


def share_held(terms: Iterable[tuple[float, int]], n_chunks: int, best: float) -> float:
    """Return the share of a question that the best chunk holds.

    The BM25 of the best chunk, divided by that of a chunk of mean length that holds each term
    once. Terms that no chunk holds are left out; without others, the share is 1.
    """
    whole = sum(weight * idf(min(df, n_chunks), n_chunks) for weight, df in terms if df > 0)
    return min(best / whole, 1.0) if whole > 0 else 1.0


def nearness(nearest: float, background: float) -> float:
    """Return how near the best chunk is, relative to chunks in general.

    Embedders differ in how far apart they place unrelated texts, so cosines are rescaled: the
    mean of all chunks becomes 0, and 1 stays 1.

    >>> round(nearness(0.85, 0.7), 2)
    0.5
    """
    return (nearest - background) / max(1.0 - background, 1e-9)


def confidence(covered: float, near: float | None = None) -> float:
    """Return the probability that the corpus covers the question, by coverage and nearness.

    >>> round(confidence(0.6), 2), round(confidence(0.2), 2)
    (0.99, 0.06)
    >>> round(confidence(0.2, 0.7), 2), round(confidence(0.2, 0.2), 2)
    (0.7, 0.04)
    """
    logit = -6.3 + 18.1 * covered if near is None else -7.8 + 15.0 * covered + 8.1 * near
    return 1.0 / (1.0 + math.exp(-logit))
