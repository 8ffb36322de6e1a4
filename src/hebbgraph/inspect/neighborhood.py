"""Tags by name, and the tags around one: bounded, however large the graph is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray, top_n
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.cooccurrence import edges_between
from hebbgraph.records.neighborhood import Neighborhood, TagChunk, TagCount, TagEdge, TagNode
from hebbgraph.text import display, phrase_key

__all__ = ["neighborhood", "tags_named", "tags_of_chunk"]

#: Of a tag that more chunks hold, this many are read, evenly spaced.
_MOST_READ = 20_000
_MOST_CHUNKS = 200
#: Postings whose pairs are counted.
_MOST_PAIRED = 80_000
_MOST_HUBS = 20
#: Names that are read before all are searched.
_MOST_TRIED = 5_000
_EDGES_PER_NODE = 4

Titles = Callable[[list[int]], Mapping[int, tuple[str, str]]]
"""From rows to ids and titles."""


class _Found(NamedTuple):
    tags: IntArray
    weights: IntArray


class _Read(NamedTuple):
    """The chunks that were read: their slots, and each of their tags with its chunk's place."""

    chunks: IntArray
    owner: IntArray
    tags: IntArray

    def places(self, nodes: IntArray) -> IntArray:
        """Return the place among nodes of each tag, -1 for others."""
        place = np.full(int(max(self.tags.max(initial=0), nodes.max())) + 1, -1)
        place[nodes] = np.arange(len(nodes))
        found: IntArray = place[self.tags]
        return found


def tags_named(graph: TagGraph, containing: str, limit: int) -> list[TagCount]:
    """Return the tags whose names hold a text, the most frequent first."""
    wanted = phrase_key(containing) or " ".join(containing.casefold().split())
    keys = graph.phrases.keys
    itself = graph.phrases.number(wanted)
    if not wanted:
        return _counted(graph, np.arange(len(keys)), limit)
    # Most are asked for by a letter or two, which the most frequent tags hold as well.
    often = _most_frequent(graph)
    found = [tag for tag in often.tolist() if wanted in keys[tag]]
    if len(found) < limit:
        return _counted(graph, keys.holding(wanted), limit, itself)
    if itself is not None and itself not in found:
        found.append(itself)
    return _counted(graph, np.array(found), limit, itself)


def _most_frequent(graph: TagGraph) -> IntArray:
    """Return some thousand tags; no other is as frequent as one of them."""
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
    """Return the strongest neighbours of a tag; see ``index.tags.around``.

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
    slots = chunks[::step].astype(np.int64)
    read = _Read(slots, *graph.tags_of(slots)[:2])
    found = _around(graph, tag, read.tags)
    df = graph.df(found.tags)
    hubs = df > hub_cut
    kept = _strongest(graph, _Found(found.tags[~hubs], found.weights[~hubs]), limit - 1)
    folded = _strongest(graph, _Found(found.tags[hubs], found.weights[hubs]), _MOST_HUBS)
    nodes = np.concatenate((np.array([tag]), kept.tags))
    weights = np.concatenate((np.array([len(slots)]), kept.weights)) * step
    colonies = _colonies(nodes, read, colony)
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
        edges=_edges(nodes, weights, read, step),
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


def _around(graph: TagGraph, tag: int, tags: IntArray) -> _Found:
    tags = tags[(tags != tag) & (graph.link_kinds(tags) == LinkKind.PHRASE)]
    others, weights = np.unique(tags, return_counts=True)
    return _Found(others.astype(np.int64), weights.astype(np.int64))


def _strongest(graph: TagGraph, found: _Found, n: int) -> _Found:
    """Return the n that share most chunks; of equal ones, the rarest elsewhere."""
    n = max(n, 0)
    least = np.sort(found.weights)[-n] if 0 < n < len(found.weights) else 0
    tags, weights = (one[found.weights >= least] for one in found)  # not a sort of all by three
    best = np.lexsort((graph.phrases.order[tags], graph.df(tags), -weights))[:n]
    return _Found(tags[best], weights[best])


def _edges(nodes: IntArray, weights: IntArray, read: _Read, step: int) -> tuple[TagEdge, ...]:
    """Return the edges of the first node, and the strongest between the others."""
    own = tuple(
        TagEdge(source=0, target=at, weight=weight)
        for at, weight in enumerate(weights[1:].tolist(), start=1)
    )
    # Pairs of tags grow with the square: of many, a part is counted.
    stride = -(-len(read.tags) // _MOST_PAIRED) or 1
    at = read.places(nodes)
    keep = (at > 0) & (read.owner % stride == 0)
    indptr = np.searchsorted(read.owner[keep], np.arange(len(read.chunks) + 1))
    joined = edges_between(indptr, read.tags[keep])
    order = np.argsort(nodes)
    one, other = (order[np.searchsorted(nodes[order], ends)] for ends in joined[:2])
    weight = joined.weight
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


def _colonies(nodes: IntArray, read: _Read, colony: IntArray | None) -> list[int | None]:
    """Return for each tag the colony of most of the chunks that it shares."""
    if colony is None:
        return [None] * len(nodes)
    of = colony[read.chunks[read.owner]]
    at = read.places(nodes)
    keep = (at >= 0) & (of >= 0)
    pairs, counts = np.unique(np.stack((at[keep], of[keep])), axis=1, return_counts=True)
    result: list[int | None] = [None] * len(nodes)
    for position in np.lexsort((-pairs[1], counts)).tolist():
        result[int(pairs[0][position])] = int(pairs[1][position])
    return result
