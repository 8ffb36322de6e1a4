"""What forgetting would change: the log is folded without it, and weights are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hebbgraph.inspection import EdgeChange, ForgetPreview
from hebbgraph.learning.memory import FAMILY_NAMES, Memory
from hebbgraph.learning.traces import Family
from hebbgraph.learning.weights import RawWeights
from hebbgraph.records import Feedback
from hebbgraph.text import display

__all__ = ["preview"]

_MOST_CHANGES = 100
_TOLERANCE = 1e-9

_Edges: TypeAlias = dict[tuple[Family, str, str], float]


def preview(
    learned: Memory, touched: Sequence[Feedback], rest: Mapping[str, Feedback | None]
) -> ForgetPreview:
    """Compare what was learned with what would have been.

    Parameters
    ----------
    learned : Memory
        Up to date with the log.
    touched : sequence of Feedback
        What would be removed or changed.
    rest : mapping of id to Feedback or None
        What would remain of each.
    """
    with learned.held():
        # Others change too, by as much as the clock of decay goes back.
        concerned = {edge for one in touched for edge in learned.edges_of(one)}
        before = _edges(learned.weights, concerned)
        after = _edges(learned.with_log_as(rest), concerned)
    changes = [
        EdgeChange(
            family=FAMILY_NAMES[family],
            source=_readable(source),
            target=_readable(target),
            before=weight,
            after=after.get((family, source, target), 0.0),
        )
        for (family, source, target), weight in before.items()
        if abs(weight - after.get((family, source, target), 0.0)) > _TOLERANCE
    ]
    changes.sort(key=lambda one: (-abs(one.before - one.after), one.source, one.target))
    removed = len(before.keys() - after.keys())
    return ForgetPreview(
        feedback=tuple(one.id for one in touched),
        actors=dict(sorted(Counter(one.actor or "" for one in touched).items())),
        removed=removed,
        changed=len(changes) - removed,
        changes=tuple(changes[:_MOST_CHANGES]),
    )


def _edges(weights: RawWeights, wanted: set[tuple[Family, str, str]]) -> _Edges:
    """Return the weight of each wanted edge that exists, of all its actors together."""
    families, sources, targets = weights.all_edges()
    found: _Edges = {}
    for family, source, target, weight in zip(
        families.tolist(),
        sources.tolist(),
        targets.tolist(),
        weights.weight(np.arange(len(weights))).tolist(),
        strict=True,
    ):
        edge = Family(family), weights.nodes[source], weights.nodes[target]
        if edge in wanted:
            found[edge] = found.get(edge, 0.0) + weight
    return found


def _readable(node: str) -> str:
    if node[0] == "t":
        return display(node[2:])
    return node[19:] if node[0] == "c" else node[2:]
