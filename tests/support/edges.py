"""The edges of tags of an index, to be compared before and after."""

from __future__ import annotations

from hebbgraph import HebbianIndex

__all__ = ["edges"]


def edges(index: HebbianIndex) -> dict[frozenset[str], tuple[int, float]]:
    """Return weight and what lessons added, by the two tags."""
    graph = index.to_networkx()
    return {
        frozenset((first, second)): (values["weight"], values["learned"])
        for first, second, values in graph.edges(data=True)
    }
