"""Ways to spoil the tags of a graph: only postings change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hebbgraph.graph.incidence import Postings
from hebbgraph.graph.tag_graph import TagGraph

__all__ = ["SPOILT", "Spoil", "generic_added", "randomised", "thinned"]

_N_GENERIC = 5  # generic tags that each chunk gets

Spoil = Callable[[TagGraph, np.random.Generator], Postings]


def randomised(graph: TagGraph, rng: np.random.Generator) -> Postings:
    """Reassign all tags except titles at random, with the same counts per chunk and tag."""
    slots, tags, is_title = _pairs(graph)
    dealt = tags.copy()
    dealt[~is_title] = rng.permutation(tags[~is_title])
    return _postings(graph, slots, dealt, is_title)


def thinned(graph: TagGraph, rng: np.random.Generator, share: float = 0.3) -> Postings:
    """Remove a share of all tags, titles included."""
    slots, tags, is_title = _pairs(graph)
    is_kept = rng.random(len(tags)) >= share
    return _postings(graph, slots[is_kept], tags[is_kept], is_title[is_kept])


def generic_added(
    graph: TagGraph, rng: np.random.Generator, pool: int = 20, count: int = _N_GENERIC
) -> Postings:
    """Give each chunk some tags from a small pool of meaningless ones."""
    slots, tags, is_title = _pairs(graph)
    generic = np.array(graph.phrases.intern([f"generic tag {number}" for number in range(pool)]))
    live = np.flatnonzero(graph.alive)
    drawn = rng.random((len(live), pool)).argsort(axis=1)[:, :count]
    return _postings(
        graph,
        np.concatenate((slots, np.repeat(live, count))),
        np.concatenate((tags, generic[drawn].ravel())),
        np.concatenate((is_title, np.zeros(drawn.size, np.bool_))),
    )


def _pairs(graph: TagGraph) -> tuple[Any, Any, Any]:
    indptr, tags, is_title = graph.postings(np.arange(graph.n_slots))
    slots = np.repeat(np.arange(graph.n_slots), np.diff(indptr))
    return slots, tags.astype(np.int64), is_title


def _postings(graph: TagGraph, slots: Any, tags: Any, is_title: Any) -> Postings:
    n_tags = len(graph.phrases)
    pairs = slots * n_tags + tags
    unique = np.unique(pairs)
    counts = np.bincount(unique // n_tags, minlength=graph.n_slots)
    return Postings(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        (unique % n_tags).astype(np.int32),
        np.isin(unique, pairs[is_title]),
    )


SPOILT: Mapping[str, Spoil] = {
    "random tags, titles kept": randomised,
    "30 % of tags removed": thinned,
    "5 generic tags added, of 20": generic_added,
    "5 generic tags added, of 500": lambda graph, rng: generic_added(graph, rng, pool=500),
}
