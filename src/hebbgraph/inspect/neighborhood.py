"""Tags by name, and the neighbours of a tag; work is bounded however large the graph is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray, top_n
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.cooccurrence import edges_between
from hebbgraph.records.neighborhood import Neighborhood, TagChunk, TagCount, TagEdge, TagNode
from hebbgraph.text import display, phrase_key

__all__ = ["neighborhood", "tags_named", "tags_of_chunk"]

#: Sample at most this many chunks of a tag, evenly spaced.
_MOST_READ = 20_000
#: Chunks and hubs that are listed.
_MOST_CHUNKS, _MOST_HUBS = 200, 20
#: Count pairs among at most this many postings.
_MOST_PAIRED = 80_000
#: Match this many of the most frequent names before searching all.
_MOST_TRIED = 5_000
_EDGES_PER_NODE = 4

Titles = Callable[[list[int]], Mapping[int, tuple[str, str]]]
"""Maps rows to ids and titles."""


class _Neighbors(NamedTuple):
    """Tags, and how many of the sampled chunks each shares with the tag asked for."""

    tags: IntArray
    weights: IntArray


class _Sample(NamedTuple):
    """Sampled chunks by slot, and their postings: position of the chunk, and tag."""

    chunks: IntArray
    owner: IntArray
    tags: IntArray

    def positions(self, nodes: IntArray) -> IntArray:
        """Return the position of each posting's tag in ``nodes``, -1 if it is not there."""
        position = np.full(int(max(self.tags.max(initial=0), nodes.max())) + 1, -1)
        position[nodes] = np.arange(len(nodes))
        positions: IntArray = position[self.tags]
        return positions


def tags_named(graph: TagGraph, containing: str, limit: int) -> list[TagCount]:
    """Return the tags whose names contain a text, the most frequent first."""
    part = phrase_key(containing) or " ".join(containing.casefold().split())
    keys = graph.phrases.keys
    if not part:
        return _counted(graph, np.arange(len(keys)), limit)
    exact = graph.phrases.number(part)
    # A letter or two usually match enough of the most frequent tags.
    matches = [tag for tag in _most_frequent(graph).tolist() if part in keys[tag]]
    if len(matches) < limit:
        return _counted(graph, keys.holding(part), limit, exact)
    if exact is not None and exact not in matches:
        matches.append(exact)
    return _counted(graph, np.array(matches), limit, exact)


def _most_frequent(graph: TagGraph) -> IntArray:
    """Return some thousand tags that are more frequent than all others."""
    tags = np.arange(len(graph.phrases.keys))
    df = np.where(graph.link_kinds(tags) == LinkKind.PHRASE, graph.df(tags), 0)
    at_least = np.cumsum(np.bincount(df, minlength=1)[::-1])  # from the highest frequency down
    n_levels = np.searchsorted(at_least, _MOST_TRIED, side="right")
    return np.flatnonzero(df >= len(at_least) - n_levels)


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
    top = top_n(rank, limit)  # there may be millions, too many to sort
    best = tags[top[np.lexsort((graph.phrases.order[tags[top]], -rank[top]))][:limit]]
    return [
        TagCount(tag=display(graph.phrases.keys[tag]), chunks=chunks, titles=titles)
        for tag, chunks, titles in zip(
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
    """Return the strongest neighbours of a tag; see ``index.tags.around``.

    Parameters
    ----------
    graph : TagGraph
        Locked by the caller.
    tag : int
    limit : int
        Of nodes, including the tag itself.
    hub_cut : int
        Tags of more chunks than this are hubs.
    titles : callable
    colony : ndarray of int64, optional
        The colony of each slot, negative for none.
    """
    _, chunks, is_title = graph.chunks_of(np.array([tag]))
    step = -(-len(chunks) // _MOST_READ) or 1
    slots = chunks[::step].astype(np.int64)
    sample = _Sample(slots, *graph.tags_of(slots)[:2])
    others = sample.tags[
        (sample.tags != tag) & (graph.link_kinds(sample.tags) == LinkKind.PHRASE)
    ].astype(np.int64)
    tags, shared = np.unique(others, return_counts=True)
    is_hub = graph.df(tags) > hub_cut
    neighbors = _strongest(graph, _Neighbors(tags[~is_hub], shared[~is_hub]), limit - 1)
    hubs = _strongest(graph, _Neighbors(tags[is_hub], shared[is_hub]), _MOST_HUBS)
    nodes = np.concatenate((np.array([tag]), neighbors.tags))
    weights = np.concatenate((np.array([len(slots)]), neighbors.weights)) * step
    listed = np.argsort(~is_title, kind="stable")[:_MOST_CHUNKS]
    rows = graph.rows[chunks[listed].astype(np.int64)].tolist()
    names = titles(rows)
    return Neighborhood(
        tag=display(graph.phrases.keys[tag]),
        nodes=_nodes(
            graph, nodes, np.minimum(weights, graph.df(nodes)), _colonies(nodes, sample, colony)
        ),
        edges=_edges(nodes, weights, sample, step),
        more=int(np.count_nonzero(~is_hub)) - len(neighbors.tags),
        hubs=_nodes(graph, hubs.tags, hubs.weights * step, [None] * len(hubs.tags)),
        n_hubs=int(np.count_nonzero(is_hub)),
        chunks=tuple(
            TagChunk(chunk_id=names[row][0], title=names[row][1], is_title=titled)
            for row, titled in zip(rows, is_title[listed].tolist(), strict=True)
            if row in names
        ),
        more_chunks=len(chunks) - len(rows),
        sampled=step > 1,
    )


def _strongest(graph: TagGraph, neighbors: _Neighbors, n: int) -> _Neighbors:
    """Return the n that share most chunks; ties go to the rarer tag."""
    tags, weights = neighbors
    n = max(n, 0)
    if 0 < n < len(weights):  # a partial sort first, since sorting all by three keys is slow
        keep = weights >= np.sort(weights)[-n]
        tags, weights = tags[keep], weights[keep]
    best = np.lexsort((graph.phrases.order[tags], graph.df(tags), -weights))[:n]
    return _Neighbors(tags[best], weights[best])


def _nodes(
    graph: TagGraph, tags: IntArray, weights: IntArray, colonies: Iterable[int | None]
) -> tuple[TagNode, ...]:
    columns = tags.tolist(), weights.tolist(), graph.df(tags).tolist()
    return tuple(
        TagNode(tag=display(graph.phrases.keys[tag]), weight=weight, chunks=chunks, colony=colony)
        for tag, weight, chunks, colony in zip(*columns, colonies, strict=True)
    )


def _edges(nodes: IntArray, weights: IntArray, sample: _Sample, step: int) -> tuple[TagEdge, ...]:
    """Return the edges of the first node, and the strongest between the others."""
    to_first = tuple(
        TagEdge(source=0, target=at, weight=weight)
        for at, weight in enumerate(weights[1:].tolist(), start=1)
    )
    # The number of pairs is quadratic, so count them in a part of many chunks.
    stride = -(-len(sample.tags) // _MOST_PAIRED) or 1
    keep = (sample.positions(nodes) > 0) & (sample.owner % stride == 0)
    indptr = np.searchsorted(sample.owner[keep], np.arange(len(sample.chunks) + 1))
    pairs = edges_between(indptr, sample.tags[keep])
    order = np.argsort(nodes)
    source, target = (order[np.searchsorted(nodes[order], ends)] for ends in pairs[:2])
    weight = pairs.weight
    most = _EDGES_PER_NODE * len(nodes)
    best = top_n(weight.astype(np.float64), most)
    best = best[np.lexsort((target[best], source[best], -weight[best]))][:most]
    columns = source[best].tolist(), target[best].tolist(), weight[best].tolist()
    others = (
        TagEdge(source=min(a, b), target=max(a, b), weight=w * step * stride)
        for a, b, w in zip(*columns, strict=True)
    )
    return (*to_first, *others)


def _colonies(nodes: IntArray, sample: _Sample, colony: IntArray | None) -> list[int | None]:
    """Return for each tag the colony of most of the chunks that it shares."""
    colonies: list[int | None] = [None] * len(nodes)
    if colony is None:
        return colonies
    colony_of_posting = colony[sample.chunks[sample.owner]]
    position = sample.positions(nodes)
    keep = (position >= 0) & (colony_of_posting >= 0)
    pairs, counts = np.unique(
        np.stack((position[keep], colony_of_posting[keep])), axis=1, return_counts=True
    )
    for at in np.lexsort((-pairs[1], counts)).tolist():  # the most frequent colony comes last
        colonies[int(pairs[0][at])] = int(pairs[1][at])
    return colonies
