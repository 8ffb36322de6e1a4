"""One step of spreading activation: from chunks to their tags, and from tags to chunks.

The formulas are in :mod:`hebbgraph.formulas.activation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    all_of,
    flatnonzero,
    is_in,
    sum_by,
    top_n,
    top_n_per_owner,
    unique_inverse,
)
from hebbgraph.formulas.adjacency import EdgeSet, IncidenceView, LinkKind
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.links import follow_links
from hebbgraph.formulas.paths import EdgeFlow, Flows, Layer
from hebbgraph.formulas.spreading_parameters import SpreadingParameters

if TYPE_CHECKING:
    from hebbgraph.formulas.activation import Activation

__all__ = ["RowMask", "Step", "masked"]

RowMask: TypeAlias = Callable[[IntArray], BoolArray] | BoolArray
"""Which chunks take part: a mask indexed by chunk, or a function of chunk numbers."""

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)
_NO_FLOWS = Flows(_NO_INTS, _NO_INTS, _NO_FLOATS, _NO_FLOATS, _NO_FLOATS)


class Step:
    """One step chunk → tag → chunk for a given query.

    Mass on tags is an array of shape (2, 2, n_tags): trusted and plain mass, each of it
    that which came from mentions, which continues along links and co-mentions, and that
    which came from the chunks whose title the tag is, which continues along backlinks.
    """

    def __init__(
        self,
        view: IncidenceView,
        cues: IntArray,
        evidence: Evidence,
        parameters: SpreadingParameters,
        allowed: RowMask | None,
        aliases: EdgeSet | None,
        cue_weights: FloatArray | None = None,
        cue_trust: FloatArray | None = None,
    ) -> None:
        self.view = view
        self.evidence = evidence
        self.parameters = parameters
        self.cut = parameters.hub_cut(view.n_chunks)
        self.allowed = allowed
        self.aliases = aliases
        self.named = 0.0  # the highest trust in a cue that is a chunk's title
        order = cues.argsort(kind="stable")
        cues = cues[order].astype(np.int64)
        distinct = np.ones(len(cues), np.bool_)
        np.not_equal(cues[1:], cues[:-1], out=distinct[1:])
        cues, first = cues[distinct], order[distinct]
        df = view.df(cues)
        keep = (df > 0) & (df <= self.cut)
        self.cues = cues[keep]
        self.cue_weight = self.specificity(df[keep])
        self.cue_share = parameters.cue_share if len(self.cues) else 0.0
        if cue_weights is not None and len(self.cues):
            factors = cue_weights[first[keep]]
            self.cue_weight = self.cue_weight * factors
            self.cue_share *= float(factors.max())
        self.cue_trust = np.ones(len(self.cues)) if cue_trust is None else cue_trust[first[keep]]

    def specificity(self, df: IntArray) -> FloatArray:
        """Return the specificity of tags with document frequency ``df``."""
        weight: FloatArray = np.log1p(self.view.n_chunks / df) ** 2
        return weight

    def trust(self, seeds: IntArray) -> FloatArray:
        """Return the trusted share of each seed's mass: of those whose title a cue is."""
        owner, tags, is_title = self.view.tags_of(seeds)
        trust = np.zeros(len(seeds))
        named = is_title & is_in(tags, self.cues) & (self.view.link_kinds(tags) == LinkKind.PHRASE)
        shares = self.cue_trust[self.cues.searchsorted(tags[named])].tolist()
        for seed, share in zip(owner[named].tolist(), shares, strict=True):  # a handful
            trust[seed] = max(trust[seed], share)
        return trust

    def advance(self, before: Layer, depth: int) -> Layer | None:
        """Pass on the mass of a layer; None if there is none."""
        p = self.parameters
        sources, trusted, plain = before.strongest(p.beam)
        if not len(sources):
            return None
        owner, tags, is_title, df, is_tag = self.view.mentions_of(sources)
        # A tag of a single chunk leads nowhere; links are followed at the end.
        leads = flatnonzero(
            (df > 1) & (df <= self.cut) & (self.view.link_kinds(tags) == LinkKind.PHRASE)
        )
        owner, tags, df = owner[leads], tags[leads], df[leads]
        weight = self.specificity(df)
        weight[is_in(tags, self.cues)] *= p.inhibition
        best = top_n_per_owner(owner, weight, len(sources), p.tags_per_chunk)
        weight *= best
        total = sum_by(owner, weight, len(sources))
        total[total == 0] = 1.0
        # Mentions that say little take their share and pass nothing on. Without them the few
        # tags of a text of plain words would carry all of its mass.
        at = flatnonzero(best & is_tag[leads])
        owner, tags, is_title, weight = owner[at], tags[at], is_title[leads[at]], weight[at]
        share = weight / total[owner]
        out_trusted, out_plain = trusted[owner] * share, plain[owner] * share
        reached, position = unique_inverse(tags)
        if len(reached) > p.tag_beam:
            kept = top_n(sum_by(position, out_trusted + out_plain, len(reached)), p.tag_beam)
            renumbered = np.full(len(reached), -1)
            renumbered[kept] = np.arange(len(kept))
            position = renumbered[position]
            at = flatnonzero(position >= 0)
            owner, tags, is_title, position = owner[at], tags[at], is_title[at], position[at]
            out_trusted, out_plain = out_trusted[at], out_plain[at]
            reached = reached[kept]
        n = len(reached)
        position = position + n * is_title
        on_tags = np.stack(
            (sum_by(position, out_trusted, 2 * n), sum_by(position, out_plain, 2 * n))
        )
        layer = self.from_tags(reached, on_tags.reshape(2, 2, n), depth=depth)
        layer.sources = (sources[owner], tags, out_trusted + out_plain)
        return layer

    def from_tags(self, tags: IntArray, mass: FloatArray, *, depth: int) -> Layer:
        """Pass mass from tags to their aliases, then to chunks.

        Parameters
        ----------
        tags : ndarray of int, shape (n,)
            Distinct tags.
        mass : ndarray of float64, shape (2, 2, n)
            Their mass.
        depth : int
            Number of steps from the query. At 0, from the cues, mass uses no co-mentions,
            since lexical search has already found the chunks that mention them.
        """
        p = self.parameters
        hops = None
        if self.aliases is not None:
            tags, mass, hops = self._hop(self.aliases, tags, mass)
        owner, chunks, is_title = self.view.chunks_of(tags)
        keep = masked(self.allowed, chunks)
        if not all_of(keep):
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        reached, position = unique_inverse(chunks)
        pull = self.evidence.of(reached)[position]
        n = len(tags)
        edge = owner + n * is_title  # the mentions of each tag, then the chunks it entitles
        namesakes = np.bincount(edge, minlength=2 * n)[n:]
        total = sum_by(edge, pull, 2 * n).reshape(2, n)
        if depth == 0:  # the cues are the first of the tags, and their aliases follow
            factor = np.ones(n)
            factor[: len(self.cue_trust)] = self.cue_trust
            self.named = float(factor[namesakes > 0].max(initial=0.0))
            passed = _passed_on(mass, total, namesakes, p, trust=factor)
        else:
            passed = _passed_on(mass, total, namesakes, p, mentioning=True)
            passed[2] *= self.named + (1.0 - self.named) * p.unnamed_credit
        trusted, plain, credit = passed.reshape(3, 2 * n).take(edge, axis=1) * pull
        flows = Flows(tags[owner], chunks, trusted, plain, credit)
        return Layer.gather(reached, position, flows, hops=hops)

    def follow_links(self, found: Activation, share: float) -> list[Layer]:
        """Return the step over links, from a layer where the best chunks start; or nothing."""
        p = self.parameters.links
        if not self.view.has_links:
            return []
        best = top_n(found.scores, p.n_sources) if p.n_sources else _NO_INTS
        best = best[found.scores[best] > 0]
        if not len(best):
            return []
        weight = (found.scores[best] / found.scores[best].max()) ** p.sharpness
        share *= self.named + (1.0 - self.named) * self.parameters.unnamed_credit
        mass = share * weight / weight.sum()
        flows = follow_links(
            self.view,
            found.chunks[best].astype(np.int64),
            mass,
            self.evidence.of,
            p,
            cut=self.cut,
            allowed=lambda chunks: masked(self.allowed, chunks),
            words=self.evidence.words,
        )
        if flows is None:
            return []
        nothing = np.zeros(len(flows.mass))
        reached, position = unique_inverse(flows.targets)
        step = Flows(flows.tags, flows.targets, flows.mass, nothing, flows.mass)
        layer = Layer.gather(reached, position, step)
        layer.sources = (flows.sources, flows.tags, flows.mass)
        start = Layer.gather(_NO_INTS, _NO_INTS, _NO_FLOWS)
        start.start([(found.chunks[best], mass, np.zeros(len(best)))])
        return [start, layer]

    def _hop(
        self, aliases: EdgeSet, tags: IntArray, mass: FloatArray
    ) -> tuple[IntArray, FloatArray, EdgeFlow | None]:
        """Add the flows over alias edges, as trusted mass from mentions."""
        owner, targets, weight = aliases.of(tags)
        if not len(owner):
            return tags, mass, None
        df = self.view.df(targets)
        keep = (df > 0) & (df <= self.cut)
        if not keep.all():
            owner, targets, weight = owner[keep], targets[keep], weight[keep]
        hopped = (mass[0, 0] + mass[0, 1] + mass[1, 0] + mass[1, 1])[owner] * weight
        # Append new tags: there are few, and their order does not matter.
        at = {tag: number for number, tag in enumerate(tags.tolist())}
        position = [at.setdefault(target, len(at)) for target in targets.tolist()]
        mass = np.concatenate((mass, np.zeros((2, 2, len(at) - len(tags)))), axis=2)
        np.add.at(mass[0, 0], position, hopped)
        return np.array(list(at)), mass, (tags[owner], targets, hopped)


def _passed_on(
    mass: FloatArray,
    total: FloatArray,
    namesakes: IntArray,
    p: SpreadingParameters,
    *,
    trust: FloatArray | float = 1.0,
    mentioning: bool = False,
) -> FloatArray:
    """Return what each tag passes on to a chunk, for each unit of the chunk's evidence.

    Flows are linear in the evidence of the chunk that they reach, so all else is computed once
    for each tag, not for each edge.

    Parameters
    ----------
    mass : ndarray of float64, shape (2, 2, n)
        On the tags; see :class:`Step`.
    total : ndarray of float64, shape (2, n)
        The evidence of the chunks that mention each tag, and of those that it entitles.
    namesakes : ndarray of int, shape (n,)
        How many it entitles.
    p : SpreadingParameters
    trust : ndarray of float64, shape (n,), or float, in [0, 1]
        A factor on what goes to chunks that the tag entitles.
    mentioning : bool
        Whether trusted mass uses co-mentions.

    Returns
    -------
    ndarray of float64, shape (3, 2, n)
        Trusted mass, plain mass, and what counts for the score; to chunks that mention the
        tag, and to those that it entitles.
    """
    ahead = total[0] + p.title_salience * total[1] + p.leak
    link = p.title_salience * trust / (ahead * np.maximum(namesakes, 1))
    passed = np.empty((3, 2, mass.shape[2]))
    np.multiply(mass[:, 1], 1.0 / (total[0] + p.leak), out=passed[:2, 0])
    np.multiply(mass[:, 0], link, out=passed[:2, 1])
    np.add(passed[0], passed[1], out=passed[2])
    if mentioning:
        mention = mass[0, 0] / ahead
        passed[0, 0] += mention
        passed[2, 0] += p.mention_credit * mention
    return passed


def masked(allowed: RowMask | None, chunks: IntArray) -> BoolArray:
    """Return which chunks take part."""
    if allowed is None:
        return np.ones(len(chunks), np.bool_)
    return allowed(chunks) if callable(allowed) else allowed[chunks]
