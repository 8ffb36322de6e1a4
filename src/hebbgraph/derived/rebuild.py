"""Whether what is derived is what follows from the truth: compared with a rebuild."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hebbgraph.derived.parts import Derived
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.store.truth import Truth

__all__ = ["difference_of_graphs", "rebuilt", "sets_apart", "some_phrases"]

_SHOWN = 3


def rebuilt(truth: Truth, language: str) -> Derived:
    """Derive everything from the truth alone, in memory."""
    fresh = Derived(truth, None, language=language, writable=True, wait_seconds=0.0)
    fresh.refresh()
    return fresh


def difference_of_graphs(found: TagGraph, expected: TagGraph) -> str | None:
    """Say how two graphs over the same truth differ; None if they hold the same.

    Their numbers are private, so chunks are compared by row and tags by phrase.
    """
    for name, one, other in (
        ("chunks", set(_live_rows(found)), set(_live_rows(expected))),
        ("phrases of the vocabulary", _vocabulary(found), _vocabulary(expected)),
    ):
        if one != other:
            return f"{name}: {sets_apart(one - other, other - one)}"
    for (row, one), (_, other) in zip(_postings(found), _postings(expected), strict=True):
        if one != other:
            return f"tags of row {row}: {sets_apart(one - other, other - one)}"
    frequencies = [_frequencies(graph) for graph in (found, expected)]
    if frequencies[0] != frequencies[1]:
        return "document frequencies differ"
    return None


def sets_apart(more: set[object], less: set[object]) -> str:
    """Say what one set has that another has not, and the reverse."""
    parts = [
        f"{len(some)} {what}, e.g. {', '.join(map(repr, sorted(some, key=str)[:_SHOWN]))}"
        for some, what in ((more, "too many"), (less, "missing"))
        if some
    ]
    return "; ".join(parts)


def _live_rows(graph: TagGraph) -> list[object]:
    rows: list[object] = graph.rows[graph.alive].tolist()
    return rows


def _vocabulary(graph: TagGraph) -> set[object]:
    return {graph.phrases.keys[n] for n in np.flatnonzero(graph.phrases.in_vocabulary).tolist()}


def _postings(graph: TagGraph) -> Iterator[tuple[int, set[object]]]:
    """Yield (row, its tags and whether each is its title), rows ascending."""
    keys = graph.phrases.keys
    for slot in np.flatnonzero(graph.alive).tolist():
        tags, is_title = graph.incidence.row(slot)
        held: set[object] = {
            (keys[tag], own) for tag, own in zip(tags.tolist(), is_title.tolist(), strict=True)
        }
        yield int(graph.rows[slot]), held


def _frequencies(graph: TagGraph) -> dict[str, int]:
    numbers = np.flatnonzero(graph.phrases.in_vocabulary)
    counts = graph.df(numbers).tolist()
    return {
        graph.phrases.keys[n]: count
        for n, count in zip(numbers.tolist(), counts, strict=True)
        if count
    }


def some_phrases(graph: TagGraph, count: int) -> list[str]:
    """Return phrases of the vocabulary, taken evenly from all of it."""
    numbers = np.flatnonzero(graph.phrases.in_vocabulary)
    step = max(1, len(numbers) // count)
    return [graph.phrases.keys[number] for number in numbers[::step].tolist()]
