r"""Following explicit links: from the best chunks to what they refer to.

An author who links says where to read on, so a link needs no tag that the question names. But
every page links somewhere, and most links lead away from the question. So only the few best
chunks, by direct evidence and activation together, pass mass over their links, each to the two
linked chunks that answer best by themselves.

A chunk :math:`c` with mass :math:`m_c` passes to chunk :math:`c'`, in each direction,

.. math:: m_c\, \sigma\, \frac{a(c, c')^2}{\lambda + \sum_{c''} a(c, c'')^2}

where :math:`a` is the direct evidence of :math:`c'` plus the share of the question's words, by
rarity, that :math:`c'` holds and :math:`c` lacks: what the question still asks for. Forwards,
``sentence`` times the share that the linking sentence holds is added: an author who speaks of the
matter links there. The sum runs over the chunks that :math:`c` leads to, :math:`\lambda` is a
leak, and the share :math:`\sigma` depends on the direction:

- forwards, to what the chunk refers to;
- backwards, to what refers to the chunk, divided by the number of those. So a message reaches its
  reply, and a page that everybody links to reaches nothing;
- sideways, along an edge by metadata, which the user vouches for.

Chunks that share an address share the link. A reference leads to its page at large only if it
leads to no particular chunk of that page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import Allowed, BoolArray, FloatArray, IntArray, sum_by, top_n_per_owner
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.terms import IncidenceView, TermKind


@dataclass(frozen=True, kw_only=True)
class LinkParameters:
    """Constants of following links, the same for every corpus and query."""

    #: Number of chunks whose links are followed, the best by score.
    n_sources: int = 5
    #: A source starts with mass proportional to score ** sharpness: larger values follow the links
    #: of the best hit almost alone.
    sharpness: float = 4.0
    #: Share of that mass that flows to what a chunk refers to, to what refers to it, and along
    #: edges by metadata.
    forward: float = 0.4
    backward: float = 0.05
    sideways: float = 0.2
    #: Each source leads to this many chunks in each direction, and to those that tie with them.
    fan_out: int = 2
    #: Weight of "none of these chunks": larger values let links raise good answers only.
    leak: float = 0.05
    #: Weight of what the linking sentence holds of the question, in direct evidence.
    sentence: float = 2.0
    #: A source follows this many of its links, those that the fewest chunks have.
    tags_per_chunk: int = 64


class LinkFlows(NamedTuple):
    """Flows over links: from ``sources`` over ``tags`` to ``targets``, all of one length."""

    sources: IntArray
    tags: IntArray
    targets: IntArray
    mass: FloatArray


class _Links(NamedTuple):
    """Edges from sources (by position) over tags to chunks; ``shared`` counts a tag's targets."""

    source: IntArray
    tag: IntArray
    target: IntArray
    shared: FloatArray

    def where(self, keep: BoolArray | IntArray) -> _Links:
        return _Links._make(column[keep] for column in self)


def follow_links(
    view: IncidenceView,
    sources: IntArray,
    mass: FloatArray,
    evidence: Evidence,
    p: LinkParameters,
    *,
    cut: int,
    allowed: Allowed | None = None,
) -> LinkFlows | None:
    """Pass mass, shape (n,), over the links of n distinct chunks; None if nothing flows.

    ``allowed`` returns which of some chunks take part; all if omitted. Links that more chunks have
    than ``cut`` lead nowhere.
    """
    owner, tags, entitled, mentions, _ = view.mentions_of(sources)
    at = np.flatnonzero(mentions == 0)
    df = view.df(tags[at])
    keep = (df > 1) & (df <= cut)
    if not keep.any():
        return None
    at, rarity = at[keep], -df[keep].astype(np.float64)
    at = at[top_n_per_owner(owner[at], rarity, len(sources), p.tags_per_chunk)]
    owner, tags, entitled = owner[at], tags[at], entitled[at]
    reached, position = np.unique(tags, return_inverse=True)
    holder, chunks, is_address = view.chunks_of(reached)
    if allowed is not None:
        keep = allowed(chunks)
        holder, chunks, is_address = holder[keep], chunks[keep], is_address[keep]
    kind = view.link_kinds(reached)
    leaves, arrives = kind[position], kind[holder]
    flows = []
    for share, leaving, arriving, is_backward in (
        (p.forward, ~entitled & (leaves != TermKind.EDGE), is_address, False),
        (p.backward, entitled & (leaves == TermKind.ADDRESS), ~is_address, True),
        (p.sideways, leaves == TermKind.EDGE, arrives == TermKind.EDGE, False),
    ):
        rows = np.flatnonzero(leaving)
        links = _joined(owner[rows], position[rows], holder[arriving], chunks[arriving], len(kind))
        links = links.where(links.target != sources[links.source])
        links = _most_particular(links, kind)
        if not len(links.source):
            continue
        answer = _answer(links, sources, evidence)
        if evidence.sentences is not None and not is_backward:
            said = evidence.sentences(sources[links.source], reached[links.tag])
            answer = answer + p.sentence * said
        pull = answer**2 / links.shared if is_backward else answer**2
        # Dozens of chunks may link to a page with equal evidence; no order among them is right.
        keep = top_n_per_owner(links.source, pull, len(sources), p.fan_out, all_ties=True)
        links, pull = links.where(keep), pull[keep]
        total = sum_by(links.source, pull, len(sources))
        flow = share * mass[links.source] * pull / (p.leak + total[links.source])
        flows.append(LinkFlows(sources[links.source], reached[links.tag], links.target, flow))
    if not flows:
        return None
    return LinkFlows(*(np.concatenate(column) for column in zip(*flows, strict=True)))


def _joined(
    source: IntArray, tag: IntArray, holder: IntArray, chunks: IntArray, n_tags: int
) -> _Links:
    """Join (source, tag) with (holder, chunk), both ascending, where tag and holder agree."""
    counts = np.bincount(holder, minlength=n_tags)
    starts, shared = (np.cumsum(counts) - counts)[tag], counts[tag]
    row = np.repeat(np.arange(len(tag)), shared)
    at = (starts - np.cumsum(shared) + shared)[row] + np.arange(len(row))
    return _Links(source[row], tag[row], chunks[at], shared[row].astype(np.float64))


def _answer(links: _Links, sources: IntArray, evidence: Evidence) -> FloatArray:
    """Return a(c, c') of each link: how well the target answers what the source leaves open."""
    answer = evidence.values_of(links.target)
    if evidence.words is None:
        return answer
    weights = evidence.words(np.concatenate((sources, links.target)))
    lacking = np.maximum(weights[len(sources) :] - weights[links.source], 0.0)
    total: FloatArray = answer + lacking.sum(axis=1)
    return total


def _most_particular(links: _Links, kind: IntArray) -> _Links:
    """Keep one link to each target, and pages only if no address leads to one of their chunks."""
    is_page = kind[links.tag] == TermKind.PAGE
    target = links.source * (int(links.target.max(initial=0)) + 1) + links.target
    named = is_page & np.isin(target, target[~is_page])
    page = links.source * len(kind) + links.tag
    links = links.where(~np.isin(page, page[named]))
    links = links.where(np.lexsort((links.shared, links.target, links.source)))
    first = np.ones(len(links.source), np.bool_)
    first[1:] = (np.diff(links.source) != 0) | (np.diff(links.target) != 0)
    return links.where(first)
