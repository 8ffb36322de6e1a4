"""The graph in numbers: sizes, density, degrees."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict

from hebbgraph.arrays import evenly_chosen
from hebbgraph.formulas.dense_share import EvidenceWeights, Likeness
from hebbgraph.formulas.length import LengthTrial
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.cooccurrence import degrees

__all__ = ["Stats", "graph_stats"]

_PERCENTILES = (0, 50, 90, 99, 100)
#: Sample beyond this many pairs of tags and this many chunks, since other readers wait meanwhile.
_MOST_PAIRS, _MOST_CHUNKS = 20_000_000, 1_000_000

_REPEATS_WORDS = (
    "the embedder mostly repeats words: most chunks are not alike at all, and few very much; it is "
    "trusted little, and opening without it, or reembed() with another one, may find more"
)


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
    estimated : bool
        Whether ``edges``, ``density``, ``untagged_share`` and ``degrees`` come from a sample, as
        in an index of more than some hundred thousand chunks.
    generation : int
    colonies : int
        Communities of chunks; 0 if they were never computed.
    lessons : int
        Feedback in the log.
    answers : dict
        The latest answers that learners have read, by outcome: ``"learned"``, or why nothing was
        learned (:class:`hebbgraph.citations.Reason`).
    vectors : dict
        How alike the vectors are (:func:`hebbgraph.formulas.dense_share.likeness`): ``"kurtosis"``
        of the cosines between chunks, its interval from ``"low"`` to ``"high"``, and the
        ``"share"`` of dense search that follows before a question is asked. Empty without vectors.
    lengths : dict
        How strongly lexical search penalises long passages (:mod:`hebbgraph.formulas.length`):
        BM25's ``"b"``, the ``"gain"`` of 1 over .75 on questions made from the corpus, and its
        interval from ``"low"`` to ``"high"``. Empty below 100 passages.
    notes : tuple of str
        Problems worth fixing.
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
    estimated: bool = False
    generation: int
    colonies: int = 0
    lessons: int = 0
    answers: dict[str, int] = {}
    vectors: dict[str, float] = {}
    lengths: dict[str, float] = {}
    notes: tuple[str, ...] = ()


def graph_stats(
    graph: TagGraph,
    *,
    colonies: int = 0,
    lessons: int = 0,
    answers: Mapping[str, int] | None = None,
    alike: Likeness | None = None,
    weights: EvidenceWeights | None = None,
    lengths: LengthTrial | None = None,
) -> Stats:
    """Return the statistics of a graph; a large one is sampled, which takes some seconds."""
    n_chunks, known = graph.n_chunks, np.arange(len(graph.phrases))
    df = graph.df(known).astype(np.int64)
    used = known[df > 0]
    used = used[np.argsort(-df[used], kind="stable")]  # so every nth tag covers all frequencies
    postings = int(df.sum())
    tags_per_chunk = postings / n_chunks if n_chunks else 0.0
    pairs = np.ceil(df[used] * tags_per_chunk)
    step = -(-int(pairs.sum()) // _MOST_PAIRS) or 1
    degree = degrees(graph, used[step // 2 :: step], pairs[step // 2 :: step])
    edges = round(float(degree.mean()) * len(used) / 2) if len(used) else 0
    possible = len(used) * (len(used) - 1) / 2
    percentiles = np.percentile(degree, _PERCENTILES) if len(used) else [0.0] * len(_PERCENTILES)
    if step > 1:  # the sample rarely contains the most frequent tag
        percentiles[-1] = max(percentiles[-1], degrees(graph, used[:1], pairs[:1])[0])
    some = evenly_chosen(graph.alive, _MOST_CHUNKS)
    tagged = len(np.unique(graph.tags_of(some)[0]))
    return Stats(
        chunks=n_chunks,
        tags=len(used),
        postings=postings,
        edges=edges,
        density=edges / possible if possible else 0.0,
        tags_per_chunk=tags_per_chunk,
        untagged_share=1.0 - tagged / len(some) if len(some) else 0.0,
        degrees={f"p{p}": float(v) for p, v in zip(_PERCENTILES, percentiles, strict=True)},
        estimated=step > 1 or len(some) < n_chunks,
        generation=graph.generation,
        colonies=colonies,
        lessons=lessons,
        answers=dict(answers or {}),
        vectors={} if alike is None else _vectors(alike, weights or EvidenceWeights()),
        lengths={} if lengths is None or not lengths.n else _lengths(lengths),
        notes=(_REPEATS_WORDS,) if alike is not None and alike.repeats_words else (),
    )


def _lengths(trial: LengthTrial) -> dict[str, float]:
    low, high = (round(trial.gain + 1.96 * sign * trial.error, 4) for sign in (-1, 1))
    return {"b": trial.b, "gain": trial.gain, "low": low, "high": high}


def _vectors(alike: Likeness, weights: EvidenceWeights) -> dict[str, float]:
    within = 1.96 * alike.error if alike.n > 1 else math.inf
    return {
        "kurtosis": round(math.exp(alike.tails), 2),
        "low": round(math.exp(alike.tails - within), 2),
        "high": round(math.exp(min(alike.tails + within, 99.0)), 2),
        "share": alike.share(weights),
    }
