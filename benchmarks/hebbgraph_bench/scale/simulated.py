"""A graph of any size without text, as spreading and snapshots see a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hebbgraph.arrays import IntArray, transpose
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.graph.phrases import PhraseTable, StagedPhrases
from hebbgraph.graph.tag_graph import GraphArrays, TagGraph
from hebbgraph.text import phrase_key

from hebbgraph_bench.scale.corpus import Population

__all__ = ["simulated_graph", "simulated_questions"]

_MENTIONS = 8
_CHUNKS_OF_ONE = 2
_CANDIDATES = 200
_TITLE, _OTHER = 0, 2


def simulated_graph(n: int, *, seed: int = 0) -> TagGraph:
    """Return ``n`` chunks, each with one tag as its title and eight more by Zipf's law.

    There are half as many tags as chunks. The r-th tag is mentioned with a probability proportional
    to 1/r; all tags are equally likely as titles. This matches the tags of
    :class:`~hebbgraph_bench.scale.Recombined` chunks.
    """
    rng = np.random.default_rng(seed)
    population = Population(max(n // _CHUNKS_OF_ONE, 1))
    size = population.size
    titles = rng.integers(0, size, n)
    mentions = np.exp(rng.random((n, _MENTIONS)) * np.log(size + 1)).astype(np.int64) - 1
    both = np.column_stack((titles, np.minimum(mentions, size - 1)))
    pairs = np.unique((np.arange(n)[:, None] * size + both).ravel())
    chunks, tags = pairs // size, (pairs % size).astype(np.int32)
    is_title = tags == titles[chunks]
    indptr = np.searchsorted(chunks, np.arange(n + 1))

    phrases = PhraseTable()
    phrases.intern([phrase_key(population.name(number)) for number in range(size)])
    nothing = np.empty(0, dtype=np.int64)
    enough = np.full(len(tags), len(tags))
    proposed = StagedPhrases(tags, tags[is_title], nothing, tags, enough)
    phrases.count(proposed, StagedPhrases(nothing, nothing, nothing, nothing, nothing))
    column_indptr, column_chunks, order = transpose(indptr, tags, size)
    arrays = GraphArrays(
        rows=np.arange(1, n + 1),
        id_prefixes=np.arange(n).astype(np.uint64),
        candidate_indptr=indptr,
        candidates=tags,
        candidate_kinds=np.where(is_title, _TITLE, _OTHER).astype(np.int8),
        posting_indptr=indptr,
        posting_tags=tags,
        posting_is_title=is_title,
        column_indptr=column_indptr,
        column_chunks=column_chunks,
        column_is_title=is_title[order],
    )
    return TagGraph(1, arrays, phrases.arrays(np.ones(size, dtype=np.bool_)))


def simulated_questions(
    graph: TagGraph, count: int, *, seed: int = 0
) -> Iterator[tuple[IntArray, Evidence]]:
    """Yield cues and direct evidence of questions, each about one chunk.

    A question names the chunk's title and one more of its tags. Its 200 candidates are the chunk,
    the chunks with either tag, and random ones, with evidence that falls with the rank.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        chunk = int(rng.integers(graph.n_slots))
        tags, is_title = graph.incidence.row(chunk)
        cues = np.unique(np.concatenate((tags[is_title], rng.choice(tags, 1)))).astype(np.int64)
        _, holding, _ = graph.chunks_of(cues)
        candidates = rng.integers(0, graph.n_slots, _CANDIDATES)
        near = rng.permutation(np.unique(holding))[: _CANDIDATES // 4]
        ranked = np.array(list(dict.fromkeys([chunk, *near.tolist(), *candidates.tolist()])))
        ranked = ranked[:_CANDIDATES]
        values = 1.0 / (1.0 + np.arange(len(ranked)) / 5)
        order = np.argsort(ranked)
        yield cues, Evidence(ranked[order], values[order])
