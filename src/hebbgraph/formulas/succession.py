"""What takes the place of what: edges from the older to the newer, without circles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["Edge", "Succession", "latest_edges", "without_circles"]

Edge: TypeAlias = tuple[int, int]


class Succession(NamedTuple):
    """What takes a chunk's place, and since when."""

    slot: int
    since: int


def without_circles(edges: Sequence[Edge]) -> tuple[list[Edge], frozenset[int]]:
    """Leave out the edges of circles: whoever is in one says what another denies.

    Nodes that no edge enters are taken away until there are none, then those that no edge
    leaves. What remains are circles, and what leads from one to another.

    Returns
    -------
    list of (older, newer)
    frozenset of int
        The nodes that remained.

    Examples
    --------
    >>> without_circles([(0, 1), (1, 2), (2, 1), (2, 3)])
    ([(0, 1), (2, 3)], frozenset({1, 2}))
    """
    remaining = _peeled(_peeled(set(edges), 0), 1)
    nodes = frozenset(node for edge in remaining for node in edge)
    return [edge for edge in edges if edge not in remaining], nodes


def latest_edges(edges: Sequence[Edge]) -> list[Edge]:
    """Leave out each edge that closes a circle with later ones: the latest word holds.

    Examples
    --------
    >>> latest_edges([(0, 1), (1, 2), (2, 0)]), latest_edges([(0, 1), (1, 0), (1, 2)])
    ([(1, 2), (2, 0)], [(1, 0), (1, 2)])
    """
    _, tangled = without_circles(edges)
    newer_of: defaultdict[int, list[int]] = defaultdict(list)
    kept: list[Edge] = []
    for older, newer in reversed(edges):
        if {older, newer} <= tangled:
            after, waiting = {newer}, [newer]
            while waiting:
                more = set(newer_of[waiting.pop()]) - after
                after |= more
                waiting += more
            if older in after:
                continue
            newer_of[older].append(newer)
        kept.append((older, newer))
    return kept[::-1]


def _peeled(edges: Iterable[Edge], side: int) -> set[Edge]:
    """Take edges away whose end on one side is no other edge's end on the other side."""
    remaining = set(edges)
    count: defaultdict[int, int] = defaultdict(int)
    of: defaultdict[int, list[Edge]] = defaultdict(list)
    for edge in remaining:
        count[edge[1 - side]] += 1
        of[edge[side]].append(edge)
    free = [node for node in list(of) if not count[node]]
    while free:
        for edge in of[free.pop()]:
            remaining.discard(edge)
            far = edge[1 - side]
            count[far] -= 1
            if not count[far]:
                free.append(far)
    return remaining
