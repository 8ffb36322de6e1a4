"""One step of spreading activation, from chunks to their tags and on to chunks; its constants.

The formulas are in :mod:`hebbgraph.formulas.activation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hebbgraph.arrays import (
    Allowed,
    BoolArray,
    FloatArray,
    IntArray,
    is_in_sorted,
    sum_by,
    sum_rows_by,
    top_n,
    top_n_per_owner,
)
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.links import LinkParameters, follow_links
from hebbgraph.formulas.paths import CREDIT, PLAIN, TRUSTED, Layer
from hebbgraph.terms import IncidenceView

#: It comes from, or goes to, chunks that mention a tag, or those whose title the tag is.
MENTIONED, TITLED = range(2)


@dataclass(frozen=True, kw_only=True)
class SpreadingParameters:
    """Constants of spreading, the same for every corpus and query."""

    #: Number of chunks where activation starts, the best by direct evidence.
    n_seeds: int = 5
    #: A seed starts with mass proportional to evidence ** sharpness. With low values, many seeds
    #: share the mass and the ranking collapses to that of plain search.
    sharpness: float = 16.0
    #: Share of the mass that starts on the query's tags, if it names any; seeds get the rest.
    cue_share: float = 0.4
    #: Weight of tags that the query already names; below 1, mass flows to new tags (lateral
    #: inhibition).
    inhibition: float = 0.1
    #: Number of steps chunk → tag → chunk: how many hops an answer may lie from the seeds.
    n_steps: int = 2
    #: Weight of a title, in mentions, when a tag passes mass on: larger values rank chunks titled
    #: by a tag above those that mention it.
    title_salience: float = 32.0
    #: Weight of "none of these chunks", in mentions: a tag of irrelevant chunks loses its mass.
    leak: float = 1.0
    #: Share of the mass arriving by co-mention that counts for the score; all of it flows on.
    mention_credit: float = 0.6
    #: Share of the arriving mass that counts for the score if the question names no chunk's title:
    #: then direct search alone chose where to start, and may be unsure.
    unnamed_credit: float = 0.6
    #: Tags of more than ``clip(hub_share * n_chunks, hub_floor, hub_cap)`` chunks are hubs and pass
    #: nothing.
    hub_share: float = 0.01
    hub_floor: int = 20
    hub_cap: int = 100
    #: A chunk passes mass to this many of its tags, the rarest.
    tags_per_chunk: int = 16
    #: This many chunks, the most active, pass mass on in a step.
    beam: int = 16
    #: ``a`` in the score: larger values rank by strong direct evidence first, and leave the order
    #: below it to the graph.
    evidence_power: float = 4.0
    #: ``kappa`` in the score: the activation that counts one half; smaller values rank connected
    #: chunks higher.
    half_saturation: float = 0.04
    #: Share of its score that direct evidence loses if the question names a title and the best
    #: chunk holds nothing else of it.
    doubt: float = 0.3
    #: Factor on activation in the score; see :attr:`hebbgraph.Settings.graph`.
    graph_weight: float = 1.0
    #: Constants of following explicit links.
    links: LinkParameters = field(default_factory=LinkParameters)

    def hub_cut(self, n_chunks: int) -> int:
        """Return the largest document frequency of a tag that is not a hub."""
        return int(min(max(self.hub_share * n_chunks, self.hub_floor), self.hub_cap))


class SpreadingStep:
    """The step chunk → tag → chunk for one query.

    Mass on tags has shape (2, 2, n_tags): TRUSTED or PLAIN, and from MENTIONED or TITLED. What came
    from mentions continues along links and co-mentions, what came from titles along backlinks.

    ``cues`` ascend, without hubs and tags that no chunk has; ``named`` is the highest trust in a
    cue that is some chunk's title, known after :meth:`from_cues`.
    """

    def __init__(
        self,
        view: IncidenceView,
        cues: IntArray,
        evidence: Evidence,
        parameters: SpreadingParameters,
        allowed: Allowed | None,
        cue_trust: FloatArray | None,
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
        return np.log1p(self.view.n_chunks / df) ** 2

    def trust(self, seeds: IntArray, titled: IntArray) -> FloatArray:
        """Return the trusted share of each seed's mass: the trust in a cue that is its title."""
        # The chunks titled by cues pass mass on beside the seeds, so they are read with them.
        both = np.concatenate((seeds, titled[: self.parameters.beam])).astype(np.int64)
        owner, tags, is_title, _, _ = self.view.mentions_of(both)
        trust = np.zeros(len(seeds))
        named = is_title & is_in_sorted(tags, self.cues) & (owner < len(seeds))
        np.maximum.at(trust, owner[named], self.cue_trust[self.cues.searchsorted(tags[named])])
        return trust

    def from_cues(self, mass: FloatArray) -> Layer:
        """Pass mass from the cues to the chunks whose titles they are; word search found others."""
        on_cues = np.zeros((2, 2, len(mass)))
        on_cues[TRUSTED, MENTIONED] = mass
        return self._from_tags(self.cues, on_cues, are_cues=True)

    def advance(self, before: Layer) -> Layer | None:
        """Pass on the mass of a layer; None if it has no mass."""
        p = self.parameters
        sources, mass = before.strongest(p.beam)
        if not len(sources):
            return None
        owner, tags, is_title, share = self._shares_of_tags(sources)
        flow = mass[:, owner] * share
        reached, position = np.unique(tags, return_inverse=True)
        n = len(reached)
        position = position + n * is_title  # MENTIONED, then TITLED
        layer = self._from_tags(reached, sum_rows_by(position, flow, 2 * n).reshape(2, 2, n))
        layer.sources = (sources[owner], tags, flow[TRUSTED] + flow[PLAIN])
        return layer

    def _shares_of_tags(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray, FloatArray]:
        """Return (position in ``chunks``, tag, is title, share of the chunk's mass)."""
        # Incidental phrases take a share and pass nothing on: the few tags of plain words would
        # carry all the mass.
        p = self.parameters
        owner, tags, is_title, df, is_tag = self.view.mentions_of(chunks)
        leads = np.flatnonzero((df > 1) & (df <= self.cut))  # a tag of a single chunk does not
        owner, tags, df = owner[leads], tags[leads], df[leads]
        weight = self.specificity(df)
        weight[is_in_sorted(tags, self.cues)] *= p.inhibition
        best = top_n_per_owner(owner, weight, len(chunks), p.tags_per_chunk)
        weight *= best
        total = sum_by(owner, weight, len(chunks))
        total[total == 0] = 1.0
        at = np.flatnonzero(best & is_tag[leads])
        owner = owner[at]
        return owner, tags[at], is_title[leads[at]], weight[at] / total[owner]

    def _from_tags(self, tags: IntArray, mass: FloatArray, *, are_cues: bool = False) -> Layer:
        """Pass the mass of distinct tags, shape (2, 2, n), to chunks."""
        p = self.parameters
        owner, chunks, is_title = self.view.chunks_of(tags)
        if self.allowed is not None:
            keep = self.allowed(chunks)
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        reached, position = np.unique(chunks, return_inverse=True)
        pull = self.evidence.values_of(reached)[position]
        n = len(tags)
        edge = owner + n * is_title  # MENTIONED, then TITLED
        namesakes = np.bincount(edge, minlength=2 * n)[n:]
        total = sum_by(edge, pull, 2 * n).reshape(2, n)
        if are_cues:
            self.named = float(self.cue_trust[namesakes > 0].max(initial=0.0))
            passed = _passed_on(mass, total, namesakes, p, trust=self.cue_trust)
        else:
            trust = self.view.keyphraseness(tags)
            passed = _passed_on(mass, total, namesakes, p, trust=trust, co_mentions=True)
            passed[CREDIT] *= self._credit(self.evidence.confidence)
        flow = passed.reshape(3, 2 * n).take(edge, axis=1) * pull
        return Layer.gather(reached, position, tags[owner], flow)

    def _credit(self, confidence: float = 1.0) -> float:
        """Share of arriving mass that counts for the score; 1 if the query surely names a title."""
        unnamed = self.parameters.unnamed_credit * confidence
        return self.named + (1.0 - self.named) * unnamed

    def follow_links(self, chunks: IntArray, scores: FloatArray) -> list[Layer]:
        """Return the layers where the best chunks start and where links lead; none without flow."""
        p = self.parameters.links
        best = top_n(scores, p.n_sources)
        best = best[scores[best] > 0]
        if not len(best):
            return []
        sources = chunks[best].astype(np.int64)
        weight = (scores[best] / scores[best].max()) ** p.sharpness
        mass = self.evidence.confidence * self._credit() * weight / weight.sum()
        flows = follow_links(
            self.view, sources, mass, self.evidence, p, cut=self.cut, allowed=self.allowed
        )
        if flows is None:
            return []
        start = Layer()
        start.start(sources, np.stack((mass, 0.0 * mass)))
        reached, position = np.unique(flows.targets, return_inverse=True)
        moved = np.stack((flows.mass, 0.0 * flows.mass, flows.mass))
        layer = Layer.gather(reached, position, flows.tags, moved)
        layer.sources = (flows.sources, flows.tags, flows.mass)
        return [start, layer]


def _passed_on(
    mass: FloatArray,
    total: FloatArray,
    namesakes: IntArray,
    p: SpreadingParameters,
    *,
    trust: FloatArray,
    co_mentions: bool = False,
) -> FloatArray:
    """Return what each tag passes on per unit of evidence, shape (3, 2, n): to where on axis 1.

    ``total``, shape (2, n), is the evidence of the chunks where each tag is MENTIONED, and TITLED.
    """
    ahead = total[MENTIONED] + p.title_salience * total[TITLED] + p.leak
    link = p.title_salience * trust / (ahead * np.maximum(namesakes, 1))
    passed = np.empty((3, 2, mass.shape[2]))
    passed[:CREDIT, MENTIONED] = mass[:, TITLED] * (1.0 / (total[MENTIONED] + p.leak))
    passed[:CREDIT, TITLED] = mass[:, MENTIONED] * link
    passed[CREDIT] = passed[TRUSTED] + passed[PLAIN]
    if co_mentions:
        mention = mass[TRUSTED, MENTIONED] / ahead
        passed[TRUSTED, MENTIONED] += mention
        passed[CREDIT, MENTIONED] += p.mention_credit * mention
    return passed
