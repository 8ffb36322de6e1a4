"""One step of spreading activation: from chunks to their tags, and from tags to chunks.

The formulas are in :mod:`hebbgraph.formulas.activation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    flatnonzero,
    is_in_sorted,
    sum_by,
    top_n,
    top_n_per_owner,
    unique_inverse,
)
from hebbgraph.formulas.adjacency import IncidenceView
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.links import follow_links
from hebbgraph.formulas.paths import Flows, Layer
from hebbgraph.formulas.spreading_parameters import SpreadingParameters
from hebbgraph.terms import TermKind

__all__ = ["Allowed", "SpreadingStep"]

Allowed: TypeAlias = Callable[[IntArray], BoolArray]
"""Returns which of some chunks take part."""


class SpreadingStep:
    """The step chunk → tag → chunk for one query.

    Mass on tags has shape (2, 2, n_tags). The first axis separates trusted from plain mass. The
    second separates mass that came from mentions, which continues along links and co-mentions, from
    mass that came from the chunks whose title the tag is, which continues along backlinks. For the
    parameters see :func:`hebbgraph.formulas.activation.spread`.

    Attributes
    ----------
    cues : ndarray of int64, ascending
        Without hubs, and without tags that no chunk has.
    cue_weight, cue_trust : ndarray of float64, same shape
    cue_share : float
        Share of the mass that starts on the cues.
    named : float, in [0, 1]
        The highest trust in a cue that is some chunk's title; known after :meth:`from_cues`.
    """

    def __init__(
        self,
        view: IncidenceView,
        cues: IntArray,
        evidence: Evidence,
        parameters: SpreadingParameters,
        allowed: Allowed | None,
        cue_trust: FloatArray | None = None,
    ) -> None:
        self.view = view
        self.evidence = evidence
        self.parameters = parameters
        self.cut = parameters.hub_cut(view.n_chunks)
        self.allowed = allowed
        self.named = 0.0
        order = cues.argsort(kind="stable")
        df = view.df(cues[order])
        keep = (df > 0) & (df <= self.cut)
        order = order[keep]
        self.cues = cues[order].astype(np.int64)
        self.cue_weight = self.specificity(df[keep])
        self.cue_share = parameters.cue_share if len(order) else 0.0
        self.cue_trust = np.ones(len(order)) if cue_trust is None else cue_trust[order]

    def specificity(self, df: IntArray) -> FloatArray:
        """Return the specificity of tags with document frequency ``df``."""
        weight: FloatArray = np.log1p(self.view.n_chunks / df) ** 2
        return weight

    def trust(self, seeds: IntArray) -> FloatArray:
        """Return the trusted share of each seed's mass: the trust in a cue that is its title."""
        owner, tags, is_title = self.view.tags_of(seeds)
        trust = np.zeros(len(seeds))
        named = (
            is_title & is_in_sorted(tags, self.cues) & (self.view.link_kinds(tags) == TermKind.TAG)
        )
        shares = self.cue_trust[self.cues.searchsorted(tags[named])].tolist()
        for seed, share in zip(owner[named].tolist(), shares, strict=True):  # a handful
            trust[seed] = max(trust[seed], share)
        return trust

    def from_cues(self, mass: FloatArray) -> Layer:
        """Pass mass from the cues to the chunks whose titles they are.

        This mass uses no co-mentions: lexical search has already found the chunks that mention
        the cues.
        """
        on_cues = np.zeros((2, 2, len(mass)))
        on_cues[0, 0] = mass
        return self._from_tags(self.cues, on_cues, are_cues=True)

    def advance(self, before: Layer) -> Layer | None:
        """Pass on the mass of a layer; None if it has no mass."""
        p = self.parameters
        sources, trusted, plain = before.strongest(p.beam)
        if not len(sources):
            return None
        owner, tags, is_title, share = self._shares_of_tags(sources)
        out_trusted, out_plain = trusted[owner] * share, plain[owner] * share
        reached, position = unique_inverse(tags)
        n = len(reached)
        position = position + n * is_title
        on_tags = np.stack(
            (sum_by(position, out_trusted, 2 * n), sum_by(position, out_plain, 2 * n))
        )
        layer = self._from_tags(reached, on_tags.reshape(2, 2, n))
        layer.sources = (sources[owner], tags, out_trusted + out_plain)
        return layer

    def _shares_of_tags(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray, FloatArray]:
        """Return (position in ``chunks``, tag, is title, share of the chunk's mass).

        Incidental phrases take their share and pass nothing on. Without them, the few tags of
        a text of plain words would carry all of its mass.
        """
        p = self.parameters
        owner, tags, is_title, df, is_tag = self.view.mentions_of(chunks)
        # A tag of a single chunk leads nowhere; links are followed at the end.
        leads = flatnonzero(
            (df > 1) & (df <= self.cut) & (self.view.link_kinds(tags) == TermKind.TAG)
        )
        owner, tags, df = owner[leads], tags[leads], df[leads]
        weight = self.specificity(df)
        weight[is_in_sorted(tags, self.cues)] *= p.inhibition
        best = top_n_per_owner(owner, weight, len(chunks), p.tags_per_chunk)
        weight *= best
        total = sum_by(owner, weight, len(chunks))
        total[total == 0] = 1.0
        at = flatnonzero(best & is_tag[leads])
        owner = owner[at]
        return owner, tags[at], is_title[leads[at]], weight[at] / total[owner]

    def _from_tags(self, tags: IntArray, mass: FloatArray, *, are_cues: bool = False) -> Layer:
        """Pass the mass of distinct tags, shape (2, 2, n), to chunks."""
        p = self.parameters
        owner, chunks, is_title = self.view.chunks_of(tags)
        if self.allowed is not None:
            keep = self.allowed(chunks)
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        reached, position = unique_inverse(chunks)
        pull = self.evidence.values_of(reached)[position]
        n = len(tags)
        edge = owner + n * is_title  # the mentions of each tag, then the chunks it entitles
        namesakes = np.bincount(edge, minlength=2 * n)[n:]
        total = sum_by(edge, pull, 2 * n).reshape(2, n)
        if are_cues:
            self.named = float(self.cue_trust[namesakes > 0].max(initial=0.0))
            passed = _passed_on(mass, total, namesakes, p, trust=self.cue_trust)
        else:
            passed = _passed_on(mass, total, namesakes, p, co_mentions=True)
            passed[2] *= self._credit
        trusted, plain, credit = passed.reshape(3, 2 * n).take(edge, axis=1) * pull
        flows = Flows(tags[owner], chunks, trusted, plain, credit)
        return Layer.gather(reached, position, flows)

    @property
    def _credit(self) -> float:
        """Share of arriving mass that counts for the score; 1 if the query surely names a title."""
        return self.named + (1.0 - self.named) * self.parameters.unnamed_credit

    def follow_links(self, chunks: IntArray, scores: FloatArray, confidence: float) -> list[Layer]:
        """Return a layer where the best of these chunks start, and the layer their links reach.

        The list is empty if nothing flows.
        """
        p = self.parameters.links
        if not self.view.has_links or not p.n_sources:
            return []
        best = top_n(scores, p.n_sources)
        best = best[scores[best] > 0]
        if not len(best):
            return []
        sources = chunks[best].astype(np.int64)
        weight = (scores[best] / scores[best].max()) ** p.sharpness
        mass = confidence * self._credit * weight / weight.sum()
        flows = follow_links(
            self.view, sources, mass, self.evidence, p, cut=self.cut, allowed=self.allowed
        )
        if flows is None:
            return []
        reached, position = unique_inverse(flows.targets)
        nothing = np.zeros(len(flows.mass))
        layer = Layer.gather(
            reached, position, Flows(flows.tags, flows.targets, flows.mass, nothing, flows.mass)
        )
        layer.sources = (flows.sources, flows.tags, flows.mass)
        start = Layer.empty()
        start.start(sources, mass, np.zeros(len(mass)))
        return [start, layer]


def _passed_on(
    mass: FloatArray,
    total: FloatArray,
    namesakes: IntArray,
    p: SpreadingParameters,
    *,
    trust: FloatArray | float = 1.0,
    co_mentions: bool = False,
) -> FloatArray:
    """Return what each tag passes to a chunk, per unit of the chunk's evidence.

    A flow is linear in the evidence of the chunk that it reaches, so everything else is computed
    once per tag rather than once per edge.

    Parameters
    ----------
    mass : ndarray of float64, shape (2, 2, n)
        On the tags; see :class:`SpreadingStep`.
    total : ndarray of float64, shape (2, n)
        Evidence of the chunks that mention each tag, and of those that it entitles, summed.
    namesakes : ndarray of int, shape (n,)
        Number of chunks that each tag entitles.
    trust : ndarray of float64, shape (n,), or float, in [0, 1]
        Factor on the mass that goes to entitled chunks.

    Returns
    -------
    ndarray of float64, shape (3, 2, n)
        Trusted mass, plain mass, and credit for the score; to chunks that mention the
        tag, and to those that it entitles. Trusted mass may use co-mentions.
    """
    ahead = total[0] + p.title_salience * total[1] + p.leak
    link = p.title_salience * trust / (ahead * np.maximum(namesakes, 1))
    passed = np.empty((3, 2, mass.shape[2]))
    np.multiply(mass[:, 1], 1.0 / (total[0] + p.leak), out=passed[:2, 0])
    np.multiply(mass[:, 0], link, out=passed[:2, 1])
    np.add(passed[0], passed[1], out=passed[2])
    if co_mentions:
        mention = mass[0, 0] / ahead
        passed[0, 0] += mention
        passed[2, 0] += p.mention_credit * mention
    return passed
