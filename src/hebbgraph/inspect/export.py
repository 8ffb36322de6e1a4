"""The graph as networkx graphs."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.cooccurrence import cooccurrence_edges
from hebbgraph.text import display

__all__ = ["colony_graph", "incidence_graph", "tag_graph"]


def tag_graph(graph: TagGraph) -> nx.Graph[str]:
    """Return the co-occurrence graph of tags.

    The edge attribute ``weight`` counts the chunks that hold both tags, the node
    attribute ``df`` those that hold the tag.
    """
    live = np.flatnonzero(graph.alive)
    result: nx.Graph[str] = nx.Graph(generation=graph.generation)
    keys = graph.phrases.keys
    used = np.unique(graph.postings(live).tags)
    for tag, df in zip(used.tolist(), graph.df(used).tolist(), strict=True):
        result.add_node(display(keys[tag]), df=df)
    for source, target, weight in zip(*cooccurrence_edges(graph, live), strict=True):
        result.add_edge(display(keys[source]), display(keys[target]), weight=int(weight))
    return result


def colony_graph(
    generation: int,
    rows: IntArray,
    colony: IntArray,
    edges: tuple[IntArray, IntArray, FloatArray],
    ids: Mapping[int, str],
    names: Mapping[int, str],
) -> nx.Graph[str]:
    """Return the graph of chunks from which colonies were computed.

    Nodes carry ``colony`` (-1 for none) and ``name``, the colony's name; edges ``weight``.

    Parameters
    ----------
    generation : int
    rows, colony : ndarray of int, shape (n,)
    edges : (sources, targets, weights)
        Sources and targets are positions in ``rows``.
    ids : mapping of row to chunk id
    names : mapping of colony to its name
    """
    result: nx.Graph[str] = nx.Graph(generation=generation)
    chunk_ids = [ids.get(row) for row in rows.tolist()]
    for id_, number in zip(chunk_ids, colony.tolist(), strict=True):
        if id_ is not None:
            result.add_node(id_, colony=number, name=names.get(number, ""))
    for source, target, weight in zip(*(column.tolist() for column in edges), strict=True):
        ends = chunk_ids[source], chunk_ids[target]
        if weight > 0 and None not in ends:
            result.add_edge(*ends, weight=weight)
    return result


def incidence_graph(graph: TagGraph, ids: Mapping[int, str]) -> nx.Graph[str]:
    """Return the bipartite graph of chunks and tags.

    Nodes are named ``chunk:<id>`` and ``tag:<phrase>``, with attributes ``bipartite``
    (0 for chunks, 1 for tags) and ``label``; edges carry ``is_title``.

    Parameters
    ----------
    graph : TagGraph
    ids : mapping of row to chunk id
    """
    result: nx.Graph[str] = nx.Graph(generation=graph.generation)
    live = np.flatnonzero(graph.alive)
    indptr, tags, is_title = graph.postings(live)
    for position, slot in enumerate(live.tolist()):
        id_ = ids.get(int(graph.rows[slot]))
        if id_ is None:
            continue
        result.add_node(f"chunk:{id_}", bipartite=0, label=id_)
        for at in range(indptr[position], indptr[position + 1]):
            phrase = display(graph.phrases.keys[tags[at]])
            result.add_node(f"tag:{phrase}", bipartite=1, label=phrase)
            result.add_edge(f"chunk:{id_}", f"tag:{phrase}", is_title=bool(is_title[at]))
    return result
