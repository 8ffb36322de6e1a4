"""The graph in numbers: sizes, density, degrees."""

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
        Share of all possible tag – tag edges that exist (Bio-RAG failed at 0.125).
    tags_per_chunk : float
    untagged_share : float, in [0, 1]
        Share of chunks without tags, which only direct search finds.
    degrees : dict
        Percentiles of the degree of a tag.
    generation : int
    neural : dict
        For a trained neural layer: its live ``chunks`` and ``edges``, and the
        ``generation`` it was trained on. Empty without one.
    colonies : int
        Communities of chunks; 0 if they were never computed.
    lessons : int
        Feedback in the log.
    answers : dict
        The latest answers that learners have read, by what became of them: ``"learned"``, or in
        a word why nothing was learned (:class:`hebbgraph.citations.Reason`).
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
    lessons: int = 0
    answers: dict[str, int] = {}


def graph_stats(
    graph: TagGraph,
    neural: Mapping[str, int] | None = None,
    *,
    colonies: int = 0,
    lessons: int = 0,
    answers: Mapping[str, int] | None = None,
) -> Stats:
    """Return the statistics of a graph."""
    live = np.flatnonzero(graph.alive)
    indptr, tags, _ = graph.postings(live)
    per_chunk = np.diff(indptr)
    used = np.flatnonzero(np.bincount(tags))
    joined = cooccurrence_edges(graph, live)
    ends = np.concatenate((joined.source, joined.target))
    degrees = np.bincount(ends, minlength=int(used.max(initial=0)) + 1)[used]
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
        lessons=lessons,
        answers=dict(answers or {}),
    )
