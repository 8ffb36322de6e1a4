r"""Following explicit links: from the best chunks to what they refer to.

An author who links says where to read on, so a link needs no tag that the question names. But
every page links somewhere, and most links lead away from the question. So links are followed
from the few best chunks alone, by direct evidence and activation together, and each of these
leads to the two chunks that by themselves answer best among all that it links to.

A chunk :math:`c` with mass :math:`m_c` passes to chunk :math:`c'`, in each direction,

.. math:: m_c\, \sigma\, \frac{a(c, c')^2}{\lambda + \sum_{c''} a(c, c'')^2}

where :math:`a` is the direct evidence of :math:`c'`, plus the share of the question's words, by
rarity, that :math:`c'` holds and :math:`c` does not: what the question still asks for. The sum is
over the chunks that :math:`c` leads to, :math:`\lambda` is a leak, and the share :math:`\sigma`
depends on the direction: forwards to what the chunk refers to; backwards to what refers to it,
divided by the number of those, so that a message hears its reply, and a page that everybody links
to hears nobody; sideways along an edge by metadata, which the user vouches for.

If several chunks share an address, they share the link. A reference leads to its page at large
only if it leads to no chunk of it in particular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    concatenated_ranges,
    sum_by,
    top_n_per_owner,
    unique_inverse,
)
from hebbgraph.formulas.adjacency import IncidenceView, LinkKind
from hebbgraph.formulas.parameters import check_positive, check_range

__all__ = ["LinkFlows", "LinkParameters", "follow_links"]


@dataclass(frozen=True, kw_only=True)
class LinkParameters:
    """Constants of following links, the same for every corpus and query.

    Parameters
    ----------
    n_sources : int, at least 0
        Number of chunks whose links are followed, the best by score; 0 follows none.
    sharpness : float, positive
        Such a chunk has mass proportional to score ** sharpness.
    forward, backward, sideways : float, in [0, 1]
        The share of that mass which flows to what a chunk refers to, to what refers to it,
        and along edges by metadata.
    fan_out : int, at least 1
        Each source leads to this many chunks, in each direction, and to those that tie with them.
    leak : float, positive
        Weight of "none of these chunks".
    tags_per_chunk : int, at least 1
        A source follows this many of its links, those that the fewest chunks have.
    """

    n_sources: int = 5
    sharpness: float = 4.0
    forward: float = 0.4
    backward: float = 0.05
    sideways: float = 0.2
    fan_out: int = 2
    leak: float = 0.05
    tags_per_chunk: int = 64

    def __post_init__(self) -> None:
        check_range(self, ("n_sources",), 0)
        check_range(self, ("fan_out", "tags_per_chunk"), 1)
        check_range(self, ("forward", "backward", "sideways"), 0, 1)
        check_positive(self, ("sharpness", "leak"))


class LinkFlows(NamedTuple):
    """Flows over links: from ``sources`` over ``tags`` to ``targets``, all of one length."""

    sources: IntArray
    tags: IntArray
    targets: IntArray
    mass: FloatArray


class _Pairs(NamedTuple):
    """Ways from sources to other chunks; ``shared`` counts the targets of each way's tag."""

    source: IntArray
    tag: IntArray
    target: IntArray
    shared: FloatArray

    def where(self, keep: BoolArray | IntArray) -> _Pairs:
        source, tag, target, shared = self
        return _Pairs(source[keep], tag[keep], target[keep], shared[keep])


def follow_links(
    view: IncidenceView,
    sources: IntArray,
    mass: FloatArray,
    evidence: Callable[[IntArray], FloatArray],
    parameters: LinkParameters,
    *,
    cut: int,
    allowed: Callable[[IntArray], BoolArray],
    words: Callable[[IntArray], FloatArray] | None = None,
) -> LinkFlows | None:
    """Pass mass over the links of some chunks.

    Parameters
    ----------
    view : IncidenceView
    sources : ndarray of int, shape (n,)
        Distinct chunks.
    mass : ndarray of float64, shape (n,)
    evidence : callable
        Returns the direct evidence of chunks, in [0, 1].
    parameters : LinkParameters
    cut : int
        Links that more chunks have than this lead nowhere.
    allowed : callable
        Returns which chunks take part.
    words : callable, optional
        See :class:`hebbgraph.formulas.evidence.Evidence`.

    Returns
    -------
    LinkFlows, or None if nothing flows

    Examples
    --------
    Chunk 0 links to the address that chunks 1 and 2 share:

    >>> from hebbgraph.testing.array_view import ArrayView
    >>> view = ArrayView([[0], [0], [0]], titles=[set(), {0}, {0}], links={0: LinkKind.ADDRESS})
    >>> flows = follow_links(
    ...     view, np.array([0]), np.ones(1), lambda chunks: 0.2 * chunks, LinkParameters(),
    ...     cut=9, allowed=lambda chunks: chunks >= 0,
    ... )
    >>> flows.targets.tolist(), flows.mass.round(2).tolist()
    ([1, 2], [0.06, 0.26])
    """
    p = parameters
    owner, tags, entitled = view.tags_of(sources)
    df = view.df(tags)
    kind = view.link_kinds(tags)
    keep = (kind != LinkKind.PHRASE) & (df > 1) & (df <= cut)
    if not keep.any():
        return None
    owner, tags, entitled, df = owner[keep], tags[keep], entitled[keep], df[keep]
    keep = top_n_per_owner(owner, -df.astype(np.float64), len(sources), p.tags_per_chunk)
    owner, tags, entitled = owner[keep], tags[keep], entitled[keep]
    reached, position = unique_inverse(tags)
    of, chunks, is_address = view.chunks_of(reached)
    keep = allowed(chunks)
    of, chunks, is_address = of[keep], chunks[keep], is_address[keep]
    kind = view.link_kinds(reached)
    leaves, arrives = kind[position], kind[of]
    found = []
    for share, leaving, arriving, back in (
        (p.forward, ~entitled & (leaves != LinkKind.EDGE), is_address, False),
        (p.backward, entitled & (leaves == LinkKind.ADDRESS), ~is_address, True),
        (p.sideways, leaves == LinkKind.EDGE, arrives == LinkKind.EDGE, False),
    ):
        rows = np.flatnonzero(leaving)
        ways = _joined(owner[rows], position[rows], of[arriving], chunks[arriving], len(reached))
        ways = ways.where(ways.target != sources[ways.source])
        ways = _most_particular(ways, kind)
        if not len(ways.source):
            continue
        answer = evidence(ways.target)
        if words is not None:
            held = words(np.concatenate((sources, ways.target)))
            more = held[len(sources) :] - held[ways.source]
            answer = answer + np.maximum(more, 0.0).sum(axis=1)
        pull = answer**2 / (ways.shared if back else 1.0)
        # Dozens of chunks may link to one with the same evidence; none of them is the first.
        keep = top_n_per_owner(ways.source, pull, len(sources), p.fan_out, all_ties=True)
        ways, pull = ways.where(keep), pull[keep]
        total = sum_by(ways.source, pull, len(sources))
        flow = share * mass[ways.source] * pull / (p.leak + total[ways.source])
        found.append(LinkFlows(sources[ways.source], reached[ways.tag], ways.target, flow))
    if not found:
        return None
    return LinkFlows(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _joined(source: IntArray, tag: IntArray, of: IntArray, chunks: IntArray, n_tags: int) -> _Pairs:
    """Join (source, tag) with (tag, chunk); ``of`` ascends, and so do the sources."""
    counts = np.bincount(of, minlength=n_tags)
    starts = np.cumsum(counts) - counts
    at = concatenated_ranges(starts[tag], counts[tag])
    each = np.repeat(np.arange(len(tag)), counts[tag])
    return _Pairs(source[each], tag[each], chunks[at], counts[tag][each].astype(np.float64))


def _most_particular(ways: _Pairs, kind: IntArray) -> _Pairs:
    """Keep one way to each target, and pages only where no address leads to one of their chunks."""
    is_page = kind[ways.tag] == LinkKind.PAGE
    target = ways.source * (int(ways.target.max(initial=0)) + 1) + ways.target
    named = is_page & np.isin(target, target[~is_page])
    page = ways.source * len(kind) + ways.tag
    ways = ways.where(~np.isin(page, page[named]))
    ways = ways.where(np.lexsort((ways.shared, ways.target, ways.source)))
    first = np.ones(len(ways.source), np.bool_)
    first[1:] = (np.diff(ways.source) != 0) | (np.diff(ways.target) != 0)
    return ways.where(first)
