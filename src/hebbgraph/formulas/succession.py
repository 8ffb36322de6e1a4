"""Which chunk replaces which: edges from the older to the newer, without circles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["Edge", "Succession", "latest_edges", "without_circles"]

Edge: TypeAlias = tuple[int, int]


class Succession(NamedTuple):
    """The chunk that replaces another one, and since when (microseconds since 1970)."""

    slot: int
    since: int


def without_circles(edges: Sequence[Edge]) -> tuple[list[Edge], frozenset[int]]:
    """Drop the edges of circles, whose claims contradict each other.

    Nodes without incoming edges are removed until none is left, then nodes without outgoing
    edges. What remains are circles, and edges that lead from one circle to another.

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
    """Drop each edge that closes a circle with later ones: the latest claim wins.

    Examples
    --------
    >>> latest_edges([(0, 1), (1, 2), (2, 0)]), latest_edges([(0, 1), (1, 0), (1, 2)])
    ([(1, 2), (2, 0)], [(1, 0), (1, 2)])
    """
    _, tangled = without_circles(edges)
    newer_of: defaultdict[int, list[int]] = defaultdict(list)
    latest: list[Edge] = []
    for older, newer in reversed(edges):
        if {older, newer} <= tangled:
            after, waiting = {newer}, [newer]
            while waiting:
                reached = set(newer_of[waiting.pop()]) - after
                after |= reached
                waiting += reached
            if older in after:
                continue
            newer_of[older].append(newer)
        latest.append((older, newer))
    return latest[::-1]


def _peeled(edges: Iterable[Edge], side: int) -> set[Edge]:
    """Remove, repeatedly, the edges that no other edge enters (side 0) or continues (side 1)."""
    remaining = set(edges)
    count: defaultdict[int, int] = defaultdict(int)
    edges_at: defaultdict[int, list[Edge]] = defaultdict(list)
    for edge in remaining:
        count[edge[1 - side]] += 1
        edges_at[edge[side]].append(edge)
    free = [node for node in list(edges_at) if not count[node]]
    while free:
        for edge in edges_at[free.pop()]:
            remaining.discard(edge)
            far = edge[1 - side]
            count[far] -= 1
            if not count[far]:
                free.append(far)
    return remaining
