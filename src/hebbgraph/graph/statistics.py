"""What a graph looks like, in numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict

from hebbgraph.graph.cooccurrence import cooccurrence_edges
from hebbgraph.graph.tag_graph import TagGraph

__all__ = ["Stats", "graph_stats"]

_PERCENTILES = (0, 50, 90, 99, 100)


class Stats(BaseModel):
    """The shape of an index.

    Attributes
    ----------
    chunks, tags : int
    postings : int
        Chunk – tag edges.
    edges : int
        Tag – tag co-occurrence edges.
    density : float, in [0, 1]
        Share of all possible tag – tag edges that exist (Bio-RAG's failed at 0.125).
    tags_per_chunk : float
    untagged_share : float, in [0, 1]
        Share of chunks without any tag; only direct search finds them.
    degrees : dict
        Percentiles of the number of neighbours of a tag.
    generation : int
    neural : dict
        Of the trained neural layer, if there is one: ``chunks`` that it knows, ``edges``
        between them, and the ``generation`` that it was trained on.
    colonies : int
        Communities of chunks; 0 if none were ever asked for.
    """

    model_config = ConfigDict(frozen=True)

    chunks: int
    tags: int
    postings: int
    edges: int
    density: float
    tags_per_chunk: float
    untagged_share: float
    degrees: dict[str, float]
    generation: int
    neural: dict[str, int] = {}
    colonies: int = 0


def graph_stats(
    graph: TagGraph, neural: Mapping[str, int] | None = None, *, colonies: int = 0
) -> Stats:
    """Count a graph, whose colonies were counted elsewhere."""
    live = np.flatnonzero(graph.alive)
    indptr, tags, _ = graph.incidence.postings(live)
    per_chunk = np.diff(indptr)
    used = np.unique(tags)
    joined = cooccurrence_edges(graph.incidence, live)
    degrees = np.bincount(
        np.searchsorted(used, np.concatenate((joined.source, joined.target))), minlength=len(used)
    )
    possible = len(used) * (len(used) - 1) / 2
    percentiles = np.percentile(degrees, _PERCENTILES) if len(used) else [0.0] * len(_PERCENTILES)
    return Stats(
        chunks=len(live),
        tags=len(used),
        postings=len(tags),
        edges=len(joined.weight),
        density=len(joined.weight) / possible if possible else 0.0,
        tags_per_chunk=len(tags) / len(live) if len(live) else 0.0,
        untagged_share=float(np.mean(per_chunk == 0)) if len(live) else 0.0,
        degrees={f"p{p}": float(v) for p, v in zip(_PERCENTILES, percentiles, strict=True)},
        generation=graph.generation,
        neural=dict(neural or {}),
        colonies=colonies,
    )
