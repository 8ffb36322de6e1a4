"""The graph as networkx sees it."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np

from hebbgraph.graph.cooccurrence import edges
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.tagging import display

__all__ = ["incidence_graph", "tag_graph"]


def tag_graph(graph: TagGraph) -> nx.Graph[str]:
    """Return tags joined by how many chunks hold both (edge attribute ``weight``).

    Nodes carry ``df``, the number of chunks that hold the tag.
    """
    live = np.flatnonzero(graph.alive)
    result: nx.Graph[str] = nx.Graph(generation=graph.generation)
    keys = graph.phrases.keys
    used = np.unique(graph.incidence.postings(live).tags)
    for tag, df in zip(used.tolist(), graph.df(used).tolist(), strict=True):
        result.add_node(display(keys[tag]), df=df)
    for source, target, weight in zip(*edges(graph.incidence, live), strict=True):
        result.add_edge(display(keys[source]), display(keys[target]), weight=int(weight))
    return result


def incidence_graph(graph: TagGraph, ids: Mapping[int, str]) -> nx.Graph[str]:
    """Return chunks and tags, joined where a chunk holds a tag.

    Nodes are named ``chunk:<id>`` and ``tag:<phrase>``, with attributes ``bipartite``
    (0 for chunks, 1 for tags) and ``label``; edges carry ``is_title``.

    Parameters
    ----------
    graph : TagGraph
    ids : mapping of row to chunk id
    """
    result: nx.Graph[str] = nx.Graph(generation=graph.generation)
    live = np.flatnonzero(graph.alive)
    indptr, tags, is_title = graph.incidence.postings(live)
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
