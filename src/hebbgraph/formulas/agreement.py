"""How far a citation agrees with search.

A log-likelihood ratio compares a reader, who cites what search ranks high, with a random pick. The
model is Plackett–Luce [1]_: citations are drawn one after the other from the remaining chunks.

References
----------
.. [1] Plackett (1975), The analysis of permutations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["agreement"]

#: A reader cites by ``evidence ** 12``, and in one case of five at random.
_SHARPNESS, _AT_RANDOM = 12.0, 0.2
#: Compensates for the factors of at most 1 that ``telling`` brings.
_TELLING = 2.0


def agreement(
    evidence: Sequence[float], cited: Sequence[int], *, telling: bool = True
) -> tuple[float, float]:
    """Return how much more likely a reader cites these chunks than a random pick does.

    A logarithm, averaged over the cited chunks; and how far direct evidence left it open that they
    are cited, in [0, 1].

    Parameters
    ----------
    evidence : sequence of float, in [0, 1]
        Direct evidence of all chunks that were found.
    cited : sequence of int
        Positions of the cited ones.
    telling : bool
        Multiply what speaks for a reader by how open it was, to the fourth power, so that
        questions with one obvious answer earn no belief. Multiply what speaks against by the
        highest probability, to the fourth power: honest readers contradict search where it is
        unsure, liars where it is sure.

    Examples
    --------
    >>> evidence = [1.0, 0.9, 0.6, 0.6]
    >>> [round(agreement(evidence, [at])[0], 2) for at in range(4)]
    [0.0, -0.04, -0.64, -0.64]
    >>> agreement([1.0], [0])
    (0.0, 0.0)
    """
    n = len(evidence)
    best = max(evidence, default=0.0)
    if not cited or best <= 0.0:
        return 0.0, 0.0
    # A few numbers for each lesson of a log: arrays would take three times as long.
    powers = [(value / best) ** _SHARPNESS for value in evidence]
    total_power = sum(powers)
    by_evidence = {at: powers[at] / total_power for at in cited}
    weights = {at: _weight(chance, n) for at, chance in by_evidence.items()}
    surest = _weight(1.0 / total_power, n)
    weight_left, chance_left, n_left = 1.0, 1.0, n
    agrees = openness = 0.0
    for at in sorted(cited, key=lambda at: -weights[at]):
        if n_left > 1:
            ratio = math.log(n_left * weights[at] / weight_left)
            is_open = max(1.0 - by_evidence[at] / chance_left, 0.0)
            factor = _TELLING * (is_open if ratio > 0 else surest) ** 4 if telling else 1.0
            agrees += factor * ratio
            openness += is_open
        n_left -= 1
        weight_left = max(weight_left - weights[at], 1e-9)
        chance_left = max(chance_left - by_evidence[at], 1e-9)
    return agrees / len(cited), openness / len(cited)


def _weight(chance: float, n: int) -> float:
    """Return how likely a reader cites one of n chunks."""
    return (1.0 - _AT_RANDOM) * chance + _AT_RANDOM / n
