"""Tags by name, and the tags around one: bounded, however large the graph is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray, top_n
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.cooccurrence import cooccurrence_edges
from hebbgraph.inspection import Neighborhood, TagChunk, TagCount, TagEdge, TagNode
from hebbgraph.text import display, phrase_key

__all__ = ["neighborhood", "tags_named", "tags_of_chunk"]

#: Of a tag that more chunks hold, this many are read, evenly spaced.
_MOST_READ = 20_000
_MOST_CHUNKS = 200
#: Postings whose pairs are counted.
_MOST_PAIRED = 80_000
_MOST_HUBS = 20
_EDGES_PER_NODE = 4

Titles = Callable[[list[int]], Mapping[int, tuple[str, str]]]
"""From rows to ids and titles."""


class _Found(NamedTuple):
    tags: IntArray
    weights: IntArray


def tags_named(graph: TagGraph, containing: str, limit: int) -> list[TagCount]:
    """Return the tags whose names hold a text, the most frequent first."""
    wanted = phrase_key(containing) or " ".join(containing.casefold().split())
    keys = graph.phrases.keys
    itself = graph.phrases.number(wanted)
    return _counted(graph, keys.holding(wanted) if wanted else np.arange(len(keys)), limit, itself)


def tags_of_chunk(graph: TagGraph, slot: int, limit: int) -> list[TagCount]:
    """Return the tags of a chunk, the most frequent first."""
    _, tags, _ = graph.tags_of(np.array([slot]))
    return _counted(graph, tags.astype(np.int64), limit)


def _counted(
    graph: TagGraph, tags: IntArray, limit: int, first: int | None = None
) -> list[TagCount]:
    df = graph.df(tags)
    keep = (df > 0) & (graph.link_kinds(tags) == LinkKind.PHRASE)
    tags, df = tags[keep], df[keep]
    rank = df.astype(np.float64)
    if first is not None:
        rank[tags == first] = np.inf
    some = top_n(rank, limit)  # before sorting: there may be millions
    best = tags[some[np.lexsort((graph.phrases.order[tags[some]], -rank[some]))][:limit]]
    return [
        TagCount(tag=display(graph.phrases.keys[tag]), chunks=chunks, titles=entitled)
        for tag, chunks, entitled in zip(
            best.tolist(), graph.df(best).tolist(), graph.title_counts(best).tolist(), strict=True
        )
    ]


def neighborhood(
    graph: TagGraph,
    tag: int,
    limit: int,
    *,
    hub_cut: int,
    titles: Titles,
    colony: IntArray | None = None,
) -> Neighborhood:
    """Return the strongest neighbours of a tag; see :meth:`hebbgraph.HebbianIndex.neighborhood`.

    Parameters
    ----------
    graph : TagGraph
        The caller holds its lock.
    tag : int
    limit : int
        Of nodes, the tag itself included.
    hub_cut : int
        Tags of more chunks than this are hubs.
    titles : callable
    colony : ndarray of int64, optional
        The colony of each slot, negative for none.
    """
    _, chunks, is_title = graph.chunks_of(np.array([tag]))
    n_chunks = len(chunks)
    step = -(-n_chunks // _MOST_READ) if n_chunks else 1
    read = chunks[::step].astype(np.int64)
    found = _around(graph, tag, read)
    df = graph.df(found.tags)
    hubs = df > hub_cut
    kept = _strongest(graph, _Found(found.tags[~hubs], found.weights[~hubs]), limit - 1)
    folded = _strongest(graph, _Found(found.tags[hubs], found.weights[hubs]), _MOST_HUBS)
    nodes = np.concatenate((np.array([tag]), kept.tags))
    weights = np.concatenate((np.array([len(read)]), kept.weights)) * step
    colonies = _colonies(graph, nodes, read, colony)
    order = np.argsort(~is_title, kind="stable")[:_MOST_CHUNKS]
    shown, entitled = chunks[order].astype(np.int64), is_title[order]
    names = titles(graph.rows[shown].tolist())
    keys = graph.phrases.keys
    return Neighborhood(
        tag=display(keys[tag]),
        nodes=tuple(
            TagNode(tag=display(keys[one]), weight=weight, chunks=held, colony=of)
            for one, weight, held, of in zip(
                nodes.tolist(),
                np.minimum(weights, graph.df(nodes)).tolist(),
                graph.df(nodes).tolist(),
                colonies,
                strict=True,
            )
        ),
        edges=_edges(graph, nodes, weights, read, step),
        more=int(np.count_nonzero(~hubs)) - len(kept.tags),
        hubs=tuple(
            TagNode(tag=display(keys[one]), weight=weight * step, chunks=held)
            for one, weight, held in zip(
                folded.tags.tolist(),
                folded.weights.tolist(),
                graph.df(folded.tags).tolist(),
                strict=True,
            )
        ),
        n_hubs=int(np.count_nonzero(hubs)),
        chunks=tuple(
            TagChunk(chunk_id=names[row][0], title=names[row][1], is_title=own)
            for row, own in zip(graph.rows[shown].tolist(), entitled.tolist(), strict=True)
            if row in names
        ),
        more_chunks=n_chunks - len(shown),
        sampled=step > 1,
    )


def _around(graph: TagGraph, tag: int, chunks: IntArray) -> _Found:
    _, tags, _ = graph.tags_of(chunks)
    tags = tags[(tags != tag) & (graph.link_kinds(tags) == LinkKind.PHRASE)]
    others, weights = np.unique(tags, return_counts=True)
    return _Found(others.astype(np.int64), weights.astype(np.int64))


def _strongest(graph: TagGraph, found: _Found, n: int) -> _Found:
    """Return the n that share most chunks; of equal ones, the rarest elsewhere."""
    order = np.lexsort((graph.phrases.order[found.tags], graph.df(found.tags), -found.weights))
    best = order[: max(n, 0)]
    return _Found(found.tags[best], found.weights[best])


def _edges(
    graph: TagGraph, nodes: IntArray, weights: IntArray, chunks: IntArray, step: int
) -> tuple[TagEdge, ...]:
    """Return the edges of the first node, and the strongest between the others."""
    own = tuple(
        TagEdge(source=0, target=at, weight=weight)
        for at, weight in enumerate(weights[1:].tolist(), start=1)
    )
    _, tags, _ = graph.tags_of(chunks)
    # Pairs of tags grow with the square: of many, a part is counted.
    stride = -(-len(tags) // _MOST_PAIRED) or 1
    joined = cooccurrence_edges(graph, chunks[::stride])
    place = np.full(int(max(joined.target.max(initial=0), nodes.max())) + 1, -1)
    place[nodes] = np.arange(len(nodes))
    one, other = place[joined.source], place[joined.target]
    keep = (one > 0) & (other > 0)
    one, other, weight = one[keep], other[keep], joined.weight[keep]
    most = _EDGES_PER_NODE * len(nodes)
    best = top_n(weight.astype(np.float64), most)
    best = best[np.lexsort((other[best], one[best], -weight[best]))][:most]
    others = (
        TagEdge(source=min(a, b), target=max(a, b), weight=w * step * stride)
        for a, b, w in zip(
            one[best].tolist(), other[best].tolist(), weight[best].tolist(), strict=True
        )
    )
    return (*own, *others)


def _colonies(
    graph: TagGraph, nodes: IntArray, chunks: IntArray, colony: IntArray | None
) -> list[int | None]:
    """Return for each tag the colony of most of the chunks that it shares."""
    if colony is None:
        return [None] * len(nodes)
    owner, tags, _ = graph.tags_of(chunks)
    of = colony[chunks[owner]]
    place = np.full(int(max(tags.max(initial=0), nodes.max())) + 1, -1)
    place[nodes] = np.arange(len(nodes))
    at = place[tags]
    keep = (at >= 0) & (of >= 0)
    pairs, counts = np.unique(np.stack((at[keep], of[keep])), axis=1, return_counts=True)
    result: list[int | None] = [None] * len(nodes)
    for position in np.lexsort((-pairs[1], counts)).tolist():
        result[int(pairs[0][position])] = int(pairs[1][position])
    return result
