"""Spreading on the whole graph at once, and the transitions of an endless walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, IntArray, top_n
from hebbgraph.graph.tag_graph import TagGraph
from numpy.typing import NDArray

from hebbgraph_bench.walks.questions import Question

__all__ = ["DAMPING", "Transitions", "dense_scores", "transitions"]

#: Damping of PageRank; spreading itself has none.
DAMPING = 0.8


class Transitions(NamedTuple):
    """A walk over chunks (nodes from 0) and tags (after them): edges and reset."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    reset: NDArray[np.float64]


class _Start(NamedTuple):
    cues: IntArray
    cue_mass: NDArray[np.float64]
    seeds: IntArray
    seed_mass: NDArray[np.float64]


class _Edges(NamedTuple):
    """All postings of live chunks, and everything independent of the question."""

    chunk: NDArray[np.int64]
    tag: NDArray[np.int64]
    is_title: NDArray[np.bool_]
    df: NDArray[np.int64]
    n_chunks: int
    n_tags: int


def _edges(graph: TagGraph) -> _Edges:
    live = np.flatnonzero(graph.alive)
    owner, tags, is_title = graph.tags_of(live)
    n_tags = len(graph.phrases)
    df = np.bincount(tags, minlength=n_tags)
    return _Edges(live[owner], tags.astype(np.int64), is_title, df, graph.n_slots, n_tags)


def _specificity(question: Question, edges: _Edges, cues: IntArray) -> NDArray[np.float64]:
    """The weight of each tag when a chunk passes mass on; hubs and lone tags have none."""
    p, n_chunks = question.parameters, question.graph.n_chunks
    weight: NDArray[np.float64] = np.log1p(n_chunks / np.maximum(edges.df, 1)) ** 2
    weight[(edges.df <= 1) | (edges.df > p.hub_cut(n_chunks))] = 0.0
    weight[cues] *= p.inhibition
    return weight


def _total_specificity(question: Question, edges: _Edges, cues: IntArray) -> NDArray[np.float64]:
    """The weights of all that a chunk mentions, summed; incidental phrases take their share."""
    p, graph = question.parameters, question.graph
    live = np.flatnonzero(graph.alive)
    owner, tags, _, df, _ = graph.mentions_of(live)
    weight = np.log1p(graph.n_chunks / df) ** 2
    weight[(df <= 1) | (df > p.hub_cut(graph.n_chunks))] = 0.0
    weight[np.isin(tags, cues)] *= p.inhibition
    total = np.bincount(live[owner], weights=weight, minlength=edges.n_chunks).astype(np.float64)
    total[total == 0] = 1.0
    return total


def _start(question: Question, edges: _Edges) -> _Start:
    p, n = question.parameters, question.graph.n_chunks
    cues = np.unique(question.cues)
    df = edges.df[cues]
    cues = cues[(df > 0) & (df <= p.hub_cut(n))]
    weight = np.log1p(n / edges.df[cues]) ** 2
    share = p.cue_share if len(cues) else 0.0
    candidates, f = question.evidence.chunks, question.evidence.values
    best = top_n(f, p.n_seeds)  # includes ties with the last, like spreading
    if not f[best].max(initial=0.0) > 0:
        seeds, mass = candidates[:0], f[:0]
    else:
        seeds, mass = candidates[best], (f[best] / f[best].max()) ** p.sharpness
        mass = (1 - share) * mass / mass.sum()
    return _Start(cues, share * weight / (weight.sum() or 1.0), seeds, mass)


def dense_scores(question: Question) -> NDArray[np.float64]:
    """Return the score of every slot by spreading over the whole graph at once."""
    p, graph, edges = question.parameters, question.graph, _edges(question.graph)
    start = _start(question, edges)
    f = np.asarray(question.evidence.values_of(np.arange(edges.n_chunks)), dtype=np.float64)
    chunk, tag, title = edges.chunk, edges.tag, edges.is_title

    def to_tags(values: FloatArray, chosen: BoolArray) -> FloatArray:
        summed = np.bincount(tag, weights=values * chosen, minlength=edges.n_tags)
        return summed.astype(np.float64)

    def to_chunks(values: FloatArray) -> FloatArray:
        summed = np.bincount(chunk, weights=values, minlength=edges.n_chunks)
        return summed.astype(np.float64)

    # Share of its mass that a tag passes on to each of its chunks.
    mentions, entitled = to_tags(f[chunk], ~title), to_tags(f[chunk], title)
    ahead = f[chunk] / (mentions + p.title_salience * entitled + p.leak)[tag]
    back = np.where(title, 0.0, f[chunk] / (mentions + p.leak)[tag])
    namesakes = np.maximum(to_tags(np.ones(len(tag)), title), 1.0)
    link = np.where(title, p.title_salience * ahead / namesakes[tag], 0.0)
    mention = np.where(title, 0.0, ahead)
    # Mass that a chunk passes on to each of its tags.
    weight = _specificity(question, edges, start.cues)
    total = _total_specificity(question, edges, start.cues)
    share = weight[tag] / total[chunk]

    names = np.zeros(edges.n_tags, np.bool_)
    names[start.cues] = True
    in_title = to_chunks((title & names[tag]).astype(np.float64)) > 0
    any_named = float((title & names[tag]).any())
    trust = in_title.astype(np.float64)
    counts = any_named + (1.0 - any_named) * p.unnamed_credit

    trusted: FloatArray = np.zeros(edges.n_chunks)
    plain: FloatArray = np.zeros(edges.n_chunks)
    trusted[start.seeds] = trust[start.seeds] * start.seed_mass
    plain[start.seeds] = (1 - trust[start.seeds]) * start.seed_mass
    cue_mass = np.zeros(edges.n_tags)
    cue_mass[start.cues] = start.cue_mass
    lit = to_chunks(link * cue_mass[tag])
    x = lit.copy()
    trusted = trusted + lit
    for _ in range(p.n_steps):
        by_trust = []
        for mass in (trusted, plain):
            sent = share * mass[chunk]
            by_trust.append((to_tags(sent, ~title)[tag], to_tags(sent, title)[tag]))
        (from_mention, from_title), (plain_mention, plain_title) = by_trust
        crossing = mention * from_mention
        flow_trusted = link * from_mention + back * from_title
        flow_plain = link * plain_mention + back * plain_title
        x += counts * to_chunks(flow_trusted + flow_plain + p.mention_credit * crossing)
        trusted = to_chunks(flow_trusted + crossing)
        plain = to_chunks(flow_plain)
    evidence = question.evidence
    share_held = 1.0 if evidence.confidence is None else evidence.share_held
    direct = (1 - p.doubt * any_named * (1 - share_held)) * f**p.evidence_power
    scores: NDArray[np.float64] = direct + (1 - direct) * x / (x + p.half_saturation)
    scores[~graph.alive] = -1.0
    return scores


def transitions(question: Question) -> Transitions:
    """Return the walk that spreading would take without trust and without an end."""
    p, edges = question.parameters, _edges(question.graph)
    start = _start(question, edges)
    f = question.evidence.values_of(np.arange(edges.n_chunks))
    weight = _specificity(question, edges, start.cues)
    used = np.flatnonzero(weight[edges.tag] > 0)
    chunk, tag, title = edges.chunk[used], edges.tag[used], edges.is_title[used]
    pull = np.where(title, p.title_salience, 1.0) * f[chunk]
    tag_nodes = edges.n_chunks + tag
    reset = np.zeros(edges.n_chunks + edges.n_tags)
    reset[edges.n_chunks + start.cues] = start.cue_mass
    reset[start.seeds] = start.seed_mass
    return Transitions(
        np.concatenate((chunk, tag_nodes)),
        np.concatenate((tag_nodes, chunk)),
        np.concatenate((weight[tag], pull)),
        reset,
    )
