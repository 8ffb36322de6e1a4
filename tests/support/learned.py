"""Learned weights by name, for comparisons."""

from __future__ import annotations

import numpy as np

from hebbgraph.learning.traces import Family
from hebbgraph.learning.weights import RawWeights

__all__ = ["dump"]


def dump(weights: RawWeights) -> dict[tuple[str, str, str, str | None], float]:
    """Return every weight by (family, source, target, actor)."""
    actors, nodes = list(weights.actors.numbers), weights.nodes
    edges = np.arange(len(weights))
    columns = (column.tolist() for column in (*weights.ends(edges), weights.weight(edges)))
    return {
        (Family(family).name, nodes[source], nodes[target], actors[actor]): weight
        for family, source, target, actor, weight in zip(*columns, strict=True)
    }
