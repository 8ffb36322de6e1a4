r"""Spreading activation over the incidence graph: the default strategy.

Direct evidence (:mod:`hebbgraph.formulas.evidence`) measures how well a chunk by itself
answers the query; activation, how well it is connected to what the query names. The two
combine like independent causes (noisy-or), so neither needs rescaling, and good direct
evidence is never outvoted:

.. math:: score(c) = 1 - \bigl(1 - \delta f(c)^a\bigr)\bigl(1 - \frac{x(c)}{x(c) + \kappa}\bigr)

where :math:`f` is the direct evidence and :math:`x` the activation credited to the chunk. Direct
evidence is scaled so that the best chunk has 1, even if it holds only a part of what is asked. So
where the question names a title and no chunk alone holds all of its words, the answer is likely
spread over several chunks, and :math:`\delta` falls below 1: by ``doubt`` times the trust in that
title, times the share of the question that the best chunk lacks.

How far the graph is trusted depends on the kind of edge and on the history of the mass;
no constant is fitted to a corpus.

*Edges.* A tag that is a chunk's title (or, without one, the name that the chunk opens by
defining) says what the chunk is about; a mentioned tag says little. Mass crosses a tag in
three ways: along a **link**, to the chunk whose title the tag is; along a **backlink**,
from that chunk to the chunks that mention the tag; and along a **co-mention**, from one
mention to another. It never crosses from title to title, since chunks under one heading
are no evidence for each other. If n chunks share a title, a link passes 1/n of the mass
to each.

*Mass.* Mass is **trusted** once it has been on a chunk whose title the query names, or
has crossed an alias edge. Only trusted mass uses co-mentions; for other mass they would
count again what lexical search has counted, and drown direct evidence. So if a query
names what some chunk is about, its activation travels freely; otherwise it follows links
only, and without links the direct ranking stands. A title is trusted as far as its words are
rare in the question, and where the query names none, what arrives counts less for the score.

One step, from chunks with mass :math:`m_c` to chunks with mass :math:`m_{c'}`:

.. math::

    m_t &= \sum_c m_c\, \frac{w_t\, g_t}{\sum_{t'} w_{t'}\, g_{t'}} \\
    m_{c'} &= \sum_t m_t\, \frac{s_{tc'}\, f(c')}{\lambda + \sum_{c''} s_{tc''} f(c'')}

with specificity :math:`w_t = \log(1 + N / df_t)^2`;
:math:`g` = ``inhibition`` for tags that the query names, else 1; :math:`s` =
``title_salience`` for links, 1 for mentions (a backlink is shared among mentions
only); leak :math:`\lambda`: a tag that leads to nothing relevant loses its mass.

*Links.* Addresses and edges by metadata take no part in these steps. In a last step, the chunks
with the best scores pass mass over their links; see :mod:`hebbgraph.formulas.links`.

The cost depends on seeds, beam and fan-out, not on the number of chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

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
from hebbgraph.formulas.links import LinkParameters, follow_links
from hebbgraph.formulas.parameters import check_positive, check_range, former_fields
from hebbgraph.formulas.paths import EdgeFlow, Flows, Layer, Path, strongest_path

__all__ = ["Activation", "RowMask", "SpreadingParameters", "spread"]

RowMask: TypeAlias = Callable[[IntArray], BoolArray] | BoolArray
"""Which chunks take part: a mask indexed by chunk, or a function of chunk numbers."""

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)
_NO_FLOWS = Flows(_NO_INTS, _NO_INTS, _NO_FLOATS, _NO_FLOATS, _NO_FLOATS)


@former_fields("untitled_trust")
@dataclass(frozen=True, kw_only=True)
class SpreadingParameters:
    """Constants of spreading, the same for every corpus and query.

    For research; :class:`hebbgraph.settings.RecallSettings` has those that users turn.

    Parameters
    ----------
    n_seeds : int, at least 1
        Number of chunks where activation starts, the best by direct evidence.
    sharpness : float, positive
        A seed starts with mass proportional to evidence ** sharpness. With low values,
        spreading collapses to plain search.
    cue_share : float, in [0, 1]
        Share of the mass that starts on the query's tags, if it names any.
    inhibition : float, in [0, 1]
        Weight of tags that the query already names, so that mass flows to new ones
        (lateral inhibition).
    n_steps : int, at least 0
        Number of steps chunk → tag → chunk.
    title_salience : float, at least 0
        Weight of a title, in mentions, when a tag passes mass on.
    leak : float, positive
        Weight of "none of these chunks", in mentions, when a tag passes mass on.
    mention_credit : float, in [0, 1]
        Share of the mass arriving by co-mention that counts for the score.
    unnamed_credit : float, in [0, 1]
        Share of the arriving mass that counts for the score if the question names no
        chunk's title: then nothing but direct search says where to start.
    hub_share, hub_floor, hub_cap
        Tags of more than ``clip(hub_share * n_chunks, hub_floor, hub_cap)`` chunks are
        hubs and pass nothing.
    tags_per_chunk : int, at least 1
        A chunk passes mass to this many of its tags, the rarest.
    beam : int, at least 1
        This many chunks, the most active, pass mass on in a step.
    tag_beam : int, at least 1
        This many tags, those with most mass, pass mass on in a step.
    evidence_power : float, positive
        ``a`` in the score: larger values favour strong direct evidence.
    half_saturation : float, positive
        ``kappa`` in the score: the activation that counts one half.
    doubt : float, in [0, 1]
        What direct evidence loses in the score if the question names a title and the best
        chunk holds nothing else of it.
    graph_weight : float, in [0, 1]
        Factor on activation in the score;
        :attr:`hebbgraph.formulas.evidence.EvidenceWeights.graph`.
    links : LinkParameters
        Following explicit links.
    """

    n_seeds: int = 5
    sharpness: float = 16.0
    cue_share: float = 0.4
    inhibition: float = 0.1
    n_steps: int = 2
    title_salience: float = 32.0
    leak: float = 1.0
    mention_credit: float = 0.6
    unnamed_credit: float = 0.6
    hub_share: float = 0.01
    hub_floor: int = 20
    hub_cap: int = 100
    tags_per_chunk: int = 16
    beam: int = 16
    tag_beam: int = 48
    evidence_power: float = 4.0
    half_saturation: float = 0.04
    doubt: float = 0.3
    graph_weight: float = 1.0
    links: LinkParameters = field(default_factory=LinkParameters)

    def __post_init__(self) -> None:
        check_range(
            self, ("n_seeds", "hub_floor", "hub_cap", "tags_per_chunk", "beam", "tag_beam"), 1
        )
        check_range(self, ("n_steps", "title_salience"), 0)
        shares = (
            "cue_share",
            "inhibition",
            "mention_credit",
            "hub_share",
            "graph_weight",
            "unnamed_credit",
            "doubt",
        )
        check_range(self, shares, 0, 1)
        check_positive(self, ("sharpness", "leak", "evidence_power", "half_saturation"))

    def hub_cut(self, n_chunks: int) -> int:
        """Return the largest document frequency of a tag that is not a hub."""
        return int(min(max(self.hub_share * n_chunks, self.hub_floor), self.hub_cap))


@dataclass(frozen=True)
class Activation:
    """The result of spreading.

    Parameters
    ----------
    chunks : ndarray of int64, shape (n,), ascending
        All candidates, and all chunks that activation reached.
    scores : ndarray of float64, shape (n,), in [0, 1]
    direct, arrived : ndarray of float64, shape (n,)
        The two causes: ``evidence ** evidence_power``, less what is doubted, and
        ``x / (x + half_saturation)``.
    cues : ndarray of int64
        The query's tags, without hubs.
    cue_mass : ndarray of float64, same shape
    layers : tuple of Layer
        The flows of each step, for :meth:`path`.
    remembered : float, in [0, 1]
        The most that memory adds to a score.
    unlearned : Activation, optional
        The same without what memory adds; this itself if left out.
    """

    chunks: IntArray
    scores: FloatArray
    direct: FloatArray
    arrived: FloatArray
    cues: IntArray
    cue_mass: FloatArray
    layers: tuple[Layer, ...]
    remembered: float = 0.0
    unlearned: Activation | None = None

    def unlearned_score(self, chunk: int) -> float:
        """Return the score of a chunk without what memory adds."""
        plain = self.unlearned or self
        at = int(plain.chunks.searchsorted(chunk))
        known = at < len(plain.chunks) and plain.chunks[at] == chunk
        return float(plain.scores[at]) if known else 0.0

    def top(self, k: int, *, tolerance: float = 1e-9) -> tuple[IntArray, FloatArray]:
        """Return the k best chunks, best first, and all that tie with the last one.

        Scores within ``tolerance`` of the last one tie; the caller breaks ties and cuts
        to k. Equal scores are ordered by chunk number here.
        """
        if k < len(self.chunks):
            last = np.partition(self.scores, len(self.scores) - k)[-k] - tolerance
            kept = flatnonzero(self.scores >= last)
        else:
            kept = np.arange(len(self.chunks))
        kept = kept[np.lexsort((self.chunks[kept], -self.scores[kept]))]
        return self.chunks[kept], self.scores[kept]

    def path(self, chunk: int) -> Path:
        """Return the strongest path from the query to a chunk.

        Raises
        ------
        KeyError
            If the chunk is not a candidate and was not reached.
        """
        at = int(self.chunks.searchsorted(chunk))
        if at == len(self.chunks) or self.chunks[at] != chunk:
            raise KeyError(chunk)
        return strongest_path(
            self.layers, chunk, direct=float(self.direct[at]), arrived=float(self.arrived[at])
        )


def spread(
    view: IncidenceView,
    cues: IntArray,
    evidence: Evidence,
    *,
    parameters: SpreadingParameters | None = None,
    allowed: RowMask | None = None,
    aliases: EdgeSet | None = None,
    cue_weights: FloatArray | None = None,
    cue_trust: FloatArray | None = None,
    confidence: float = 1.0,
    held: float = 1.0,
) -> Activation:
    """Spread activation from the cues and the best candidates.

    Parameters
    ----------
    view : IncidenceView
        The graph.
    cues : ndarray of int, shape (n_cues,)
        Distinct tags that the query names.
    evidence : Evidence
        Candidates and direct evidence.
    parameters : SpreadingParameters, optional
        Default values if omitted.
    allowed : ndarray of bool indexed by chunk, or callable, optional
        Chunks that take part. Others neither receive nor pass mass, and are in no path.
    aliases : EdgeSet, optional
        Edges between tags; see :mod:`hebbgraph.graph.aliases`.
    cue_weights : ndarray of float, shape (n_cues,), optional
        Factors on the weights of the cues, the highest of which is one on what all cues start
        with; 1 if omitted.
    cue_trust : ndarray of float, shape (n_cues,), in [0, 1], optional
        How far each cue is trusted to name what the question is about; 1 if omitted. A
        chunk that has a cue for its title receives, and may pass on, that share of its mass.
    confidence : float, in [0, 1]
        How sure it is that the best direct hits are about the question: explicit links are
        followed from them with that share of the mass.
    held : float, in [0, 1]
        How much of the question the best chunk holds; see
        :func:`hebbgraph.formulas.confidence.share_held`.

    Returns
    -------
    Activation

    Examples
    --------
    Chunk 0 has title 0 and mentions tag 1, which is the title of chunk 1:

    >>> from hebbgraph.testing.array_view import ArrayView
    >>> view = ArrayView([[0, 1], [1], [2]], titles=[{0}, {1}, {2}])
    >>> found = spread(view, np.array([0]), Evidence(np.array([0, 2]), np.array([1.0, 0.3])))
    >>> chunks, scores = found.top(3)
    >>> chunks.tolist()
    [0, 1, 2]
    >>> [(node.kind, node.id) for node in found.path(1)]
    [('tag', 0), ('chunk', 0), ('tag', 1), ('chunk', 1)]
    """
    p = parameters or SpreadingParameters()
    candidates, f = evidence.chunks, evidence.values
    if allowed is not None:
        keep = _mask(allowed, candidates)
        if not all_of(keep):
            candidates, f = candidates[keep], f[keep]
    step = _Step(view, cues, evidence, p, allowed, aliases, cue_weights, cue_trust)

    # Layer 0: cues pass mass to the chunks whose titles they are, and the seeds start.
    share = step.cue_share
    total = step.cue_weight.sum() or 1.0
    cue_mass = share * step.cue_weight / total
    on_cues = np.zeros((2, 2, len(cue_mass)))
    on_cues[0, 0] = cue_mass
    layer = step.from_tags(step.cues, on_cues, depth=0)
    certainty = 1.0 - p.doubt * step.named * (1.0 - held)
    seeds, mass = _seeds(candidates, f, p)
    mass = (1.0 - share) * mass
    trust = step.trust(seeds)
    starts: list[tuple[IntArray, FloatArray, FloatArray]] = [
        (seeds, trust * mass, (1.0 - trust) * mass)
    ]
    arrivals: list[tuple[IntArray, FloatArray]] = [(layer.receivers, layer.credit)]
    layer.start(starts)
    layers = [layer]
    for depth in range(1, p.n_steps + 1):
        following = step.advance(layers[-1], depth)
        if following is None:
            break
        layers.append(following)
        arrivals.append((following.receivers, following.credit))

    found = _scored(step, candidates, arrivals, layers, cue_mass, certainty)
    if linked := step.follow_links(found, confidence):
        layers += linked
        arrivals.append((linked[-1].receivers, linked[-1].credit))
        found = _scored(step, candidates, arrivals, layers, cue_mass, certainty)
    return found


def _scored(
    step: _Step,
    candidates: IntArray,
    arrivals: Sequence[tuple[IntArray, FloatArray]],
    layers: Sequence[Layer],
    cue_mass: FloatArray,
    certainty: float,
) -> Activation:
    """Score the candidates, and all chunks where mass arrived."""
    p, evidence = step.parameters, step.evidence
    n = len(candidates)
    reached = [candidates, *(chunks for chunks, _ in arrivals)]
    chunks, position = unique_inverse(np.concatenate(reached))
    credit = np.concatenate([amount for _, amount in arrivals])
    x = sum_by(position[n:], credit, len(chunks))
    at = position[:n]
    direct = certainty * evidence.of(chunks) ** p.evidence_power
    arrived = p.graph_weight * x / (x + p.half_saturation)
    shown = np.zeros(len(chunks))
    shown[at] = direct[at]
    return Activation(
        chunks=chunks,
        scores=direct + (1.0 - direct) * arrived,
        direct=shown,
        arrived=arrived,
        cues=step.cues,
        cue_mass=cue_mass,
        layers=tuple(layers),
    )


class _Step:
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
        keep = _mask(self.allowed, chunks)
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
            allowed=lambda chunks: _mask(self.allowed, chunks),
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
        On the tags; see :class:`_Step`.
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


def _seeds(
    candidates: IntArray, f: FloatArray, parameters: SpreadingParameters
) -> tuple[IntArray, FloatArray]:
    """Return the best candidates and their shares of the initial mass."""
    if not len(candidates):
        return _NO_INTS, _NO_FLOATS
    at = top_n(f, parameters.n_seeds)
    highest = float(f[at].max())
    if highest <= 0:
        return _NO_INTS, _NO_FLOATS
    weight = (f[at] / highest) ** parameters.sharpness
    return candidates[at], weight / weight.sum()


def _mask(allowed: RowMask | None, chunks: IntArray) -> BoolArray:
    if allowed is None:
        return np.ones(len(chunks), np.bool_)
    return allowed(chunks) if callable(allowed) else allowed[chunks]
