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

from collections.abc import Iterator
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
    """Links from sources over tags to chunks; all arrays have shape (n_links,)."""

    source: IntArray  #: position in ``sources``
    tag: IntArray
    target: IntArray
    shared: FloatArray  #: how many chunks the tag leads to

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
    flows = []
    for share, links, is_backward in _directions(view, sources, p, cut, allowed):
        answer = _answer(links, sources, evidence, 0.0 if is_backward else p.sentence)
        pull = answer**2 / links.shared if is_backward else answer**2
        # Dozens of chunks may link to a page with equal evidence; no order among them is right.
        keep = top_n_per_owner(links.source, pull, len(sources), p.fan_out, all_ties=True)
        links, pull = links.where(keep), pull[keep]
        total = sum_by(links.source, pull, len(sources))
        flow = share * mass[links.source] * pull / (p.leak + total[links.source])
        flows.append(LinkFlows(sources[links.source], links.tag, links.target, flow))
    columns = zip(*flows, strict=True)
    return LinkFlows._make(map(np.concatenate, columns)) if flows else None


def _directions(
    view: IncidenceView, sources: IntArray, p: LinkParameters, cut: int, allowed: Allowed | None
) -> Iterator[tuple[float, _Links, bool]]:
    """Yield the share of each direction, the links, if there are any, and if it is backwards."""
    owner, tags, is_own = _references(view, sources, p.tags_per_chunk, cut)
    if not len(tags):
        return
    distinct, tag = np.unique(tags, return_inverse=True)  # tags are positions from here on
    kind = view.link_kinds(distinct)
    holder, chunks, is_address = view.chunks_of(distinct)
    if allowed is not None:
        keep = allowed(chunks)
        holder, chunks, is_address = holder[keep], chunks[keep], is_address[keep]
    is_edge, is_place = kind == TermKind.EDGE, kind == TermKind.ADDRESS
    for share, leaves, arrives, is_backward in (
        (p.forward, ~is_own & ~is_edge[tag], is_address, False),
        (p.backward, is_own & is_place[tag], ~is_address, True),
        (p.sideways, is_edge[tag], is_edge[holder], False),
    ):
        links = _joined(owner[leaves], tag[leaves], holder[arrives], chunks[arrives], len(kind))
        links = links.where(links.target != sources[links.source])
        links = _most_particular(links, kind)
        if len(links.source):
            yield share, links._replace(tag=distinct[links.tag]), is_backward


def _references(
    view: IncidenceView, sources: IntArray, most: int, cut: int
) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the rarest references of each source, ``most`` at most, that other chunks have, too.

    They are (position in ``sources``, tag, whether it is the source's own address), by source.
    """
    owner, tags, is_own, mentions, _ = view.mentions_of(sources)
    at = np.flatnonzero(mentions == 0)
    df = view.df(tags[at])
    is_shared = (df > 1) & (df <= cut)
    at, df = at[is_shared], df[is_shared]
    at = at[top_n_per_owner(owner[at], -df.astype(np.float64), len(sources), most)]
    return owner[at], tags[at], is_own[at]


def _joined(
    source: IntArray, tag: IntArray, holder: IntArray, chunks: IntArray, n_tags: int
) -> _Links:
    """Join (source, tag) with (holder, chunk), both ascending, where tag and holder agree."""
    n_chunks = np.bincount(holder, minlength=n_tags)
    first, shared = (np.cumsum(n_chunks) - n_chunks)[tag], n_chunks[tag]
    row = np.repeat(np.arange(len(tag)), shared)
    nth = np.arange(len(row)) - (np.cumsum(shared) - shared)[row]  # of the chunks of its tag
    return _Links(source[row], tag[row], chunks[first[row] + nth], shared[row].astype(np.float64))


def _answer(links: _Links, sources: IntArray, evidence: Evidence, sentence: float) -> FloatArray:
    """Return a(c, c') of each link: how well the target answers what the source leaves open."""
    answer = evidence.values_of(links.target)
    if evidence.words is not None:
        weights = evidence.words(np.concatenate((sources, links.target)))  # a row for each chunk
        lacking = np.maximum(weights[len(sources) :] - weights[links.source], 0.0)
        answer = answer + lacking.sum(axis=1)
    if evidence.sentences is not None and sentence:
        answer = answer + sentence * evidence.sentences(sources[links.source], links.tag)
    return answer


def _most_particular(links: _Links, kind: IntArray) -> _Links:
    """Keep one link to each target, and pages only if no address leads to one of their chunks."""
    pair = links.source * (int(links.target.max(initial=0)) + 1) + links.target
    page = links.source * len(kind) + links.tag
    is_page = kind[links.tag] == TermKind.PAGE
    has_address = is_page & np.isin(pair, pair[~is_page])
    at = np.flatnonzero(~np.isin(page, page[has_address]))
    at = at[np.lexsort((links.shared[at], pair[at]))]
    return links.where(at[np.unique(pair[at], return_index=True)[1]])
