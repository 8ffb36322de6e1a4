r"""Spreading activation over the incidence graph: the default way to recall.

Direct evidence (:mod:`hebbgraph.formulas.evidence`) says how well a chunk answers the
query by itself. Activation says how well it is linked with what the query names. The
two are joined like independent causes, so neither has to be scaled to the other, and
good direct evidence is never outvoted:

.. math:: score(c) = 1 - \bigl(1 - f(c)^a\bigr)\bigl(1 - \frac{x(c)}{x(c) + \kappa}\bigr)

where :math:`f` is the direct evidence and :math:`x` the activation credited to the chunk.

How far the graph is trusted follows from the kind of edge and the history of the mass;
no number is fitted to a corpus.

*Edges.* A tag that is a chunk's own title (without one, the name that it opens by
defining) says what the chunk is about; a tag that is mentioned says little.
Mass crosses a tag in three ways: along a **link**, to the chunk
that the tag entitles; along a **backlink**, from the chunk that the tag entitles to
those that mention it; along a **co-mention**, from a mention to a mention. Never from
title to title: chunks under one heading are no evidence for each other; and where n
chunks share a title, it says 1/n as much about each, and a link passes 1/n of the mass.

*Mass.* It is **trusted** once it has stood on a chunk whose title the query names, or
has crossed a learned edge. Only trusted mass uses co-mentions: otherwise they count
again what lexical search has already counted, and drown direct evidence. So a question
that names what some chunk is about travels freely; one that names nothing known follows
links only, and where there are none it keeps its direct ranking.

One step, from chunks with mass :math:`m_c` to chunks with mass :math:`m_{c'}`:

.. math::

    m_t &= \sum_c m_c\, \frac{w_t\, g_t}{\sum_{t'} w_{t'}\, g_{t'}} \\
    m_{c'} &= \sum_t m_t\, \frac{s_{tc'}\, f(c')}{\lambda + \sum_{c''} s_{tc''} f(c'')}

with specificity :math:`w_t = \log(1 + N / df_t)^2`;
:math:`g` = ``inhibition`` for tags that the query names, else 1; :math:`s` =
``title_salience`` for links, 1 for mentions (a backlink is shared among mentions
alone); leak :math:`\lambda`: a tag that leads to nothing relevant loses its mass.

The cost depends on seeds, beam and fan-out, not on the number of chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    is_in,
    is_in_sorted,
    sum_by,
    top_n,
    top_n_per_owner,
    unique_inverse,
)
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.adjacency import IncidenceView, PlasticEdges
from hebbgraph.formulas.paths import EdgeFlow, Flows, Layer, Path, strongest_path

__all__ = ["Activation", "DirectEvidence", "RowMask", "SpreadingParameters", "spread"]

RowMask: TypeAlias = Callable[[IntArray], BoolArray] | BoolArray
"""Which chunks take part: an array indexed by chunk, or a function of chunk ids."""

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)


class DirectEvidence(Protocol):
    """What spreading needs of :class:`hebbgraph.formulas.evidence.Evidence`."""

    @property
    def chunks(self) -> IntArray:
        """The candidates: ascending and different."""
        ...

    @property
    def values(self) -> FloatArray:
        """Their evidence, in [0, 1]."""
        ...

    def of(self, chunks: IntArray, /) -> FloatArray:
        """Return the evidence of any chunks, in [0, 1]."""
        ...


@dataclass(frozen=True, kw_only=True)
class SpreadingParameters:
    """Constants of spreading, the same for every corpus and query.

    Parameters
    ----------
    n_seeds : int, at least 1
        Chunks from which activation starts, the best by direct evidence.
    sharpness : float, positive
        A seed starts with mass proportional to evidence ** sharpness. Wide seeds
        collapse to plain search.
    cue_share : float, in [0, 1]
        Share of the mass that starts on the query's tags, if it names any.
    inhibition : float, in [0, 1]
        Weight of tags that the query already names, so that flow goes to new ones.
    n_steps : int, at least 0
        Steps chunk → tag → chunk after the seeds.
    title_salience : float, at least 0
        How many mentions a title is worth to a tag that passes mass on.
    leak : float, positive
        Weight of "none of these chunks" when a tag passes mass on, in mentions.
    mention_credit : float, in [0, 1]
        Share of the mass arriving by co-mention that counts for the score.
    untitled_trust : float, in [0, 1]
        Share of a seed's mass that is trusted if the seed has no title at all, so that
        nothing can tell whether the query names what it is about.
    hub_share, hub_floor, hub_cap
        A tag in more than ``clip(hub_share * n_chunks, hub_floor, hub_cap)`` chunks
        passes nothing.
    tags_per_chunk : int, at least 1
        A chunk passes mass to this many of its tags, the rarest.
    beam : int, at least 1
        This many chunks pass mass on in a step, the most active.
    tag_beam : int, at least 1
        This many tags pass mass on in a step, those with most of it.
    evidence_power : float, positive
        ``a`` in the score: how sharply direct evidence is read.
    half_saturation : float, positive
        ``kappa`` in the score: the activation that is worth one half.
    """

    n_seeds: int = 5
    sharpness: float = 16.0
    cue_share: float = 0.4
    inhibition: float = 0.1
    n_steps: int = 2
    title_salience: float = 32.0
    leak: float = 1.0
    mention_credit: float = 0.6
    untitled_trust: float = 0.05
    hub_share: float = 0.01
    hub_floor: int = 20
    hub_cap: int = 100
    tags_per_chunk: int = 16
    beam: int = 16
    tag_beam: int = 48
    evidence_power: float = 4.0
    half_saturation: float = 0.04

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n_seeds", 1, None),
            ("cue_share", 0, 1),
            ("inhibition", 0, 1),
            ("n_steps", 0, None),
            ("title_salience", 0, None),
            ("mention_credit", 0, 1),
            ("untitled_trust", 0, 1),
            ("hub_share", 0, 1),
            ("hub_floor", 1, None),
            ("hub_cap", 1, None),
            ("tags_per_chunk", 1, None),
            ("beam", 1, None),
            ("tag_beam", 1, None),
        ):
            value = getattr(self, name)
            if not (value >= low and (high is None or value <= high)):
                bound = f"lie in [{low}, {high}]" if high is not None else f"be at least {low}"
                raise ParameterError(f"{name} must {bound}, got {value!r}")
        for name in ("sharpness", "leak", "evidence_power", "half_saturation"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} must be positive, got {getattr(self, name)!r}")

    def hub_cut(self, n_chunks: int) -> int:
        """Return the largest document frequency at which a tag still passes mass."""
        return int(min(max(self.hub_share * n_chunks, self.hub_floor), self.hub_cap))


@dataclass(frozen=True)
class Activation:
    """What spreading found.

    Parameters
    ----------
    chunks : ndarray of int64, shape (n,), ascending
        All candidates and all chunks that activation reached.
    scores : ndarray of float64, shape (n,), in [0, 1]
    direct, arrived : ndarray of float64, shape (n,)
        The two causes: ``evidence ** evidence_power`` and ``x / (x + half_saturation)``.
    cues : ndarray of int64
        The tags of the query that were not cut as hubs.
    cue_mass : ndarray of float64, same shape
    layers : tuple of Layer
        What flowed where, for :meth:`path`.
    """

    chunks: IntArray
    scores: FloatArray
    direct: FloatArray
    arrived: FloatArray
    cues: IntArray
    cue_mass: FloatArray
    layers: tuple[Layer, ...]

    def top(self, k: int, *, tolerance: float = 1e-9) -> tuple[IntArray, FloatArray]:
        """Return the k best chunks, best first, and all that tie with the last of them.

        The caller breaks ties (scores within ``tolerance``) and cuts to k. Here equal
        scores are ordered by chunk number.
        """
        if k < len(self.chunks):
            last = np.partition(self.scores, len(self.scores) - k)[-k] - tolerance
            kept = np.flatnonzero(self.scores >= last)
        else:
            kept = np.arange(len(self.chunks))
        kept = kept[np.lexsort((self.chunks[kept], -self.scores[kept]))]
        return self.chunks[kept], self.scores[kept]

    def path(self, chunk: int) -> Path:
        """Return the strongest way from the query to a chunk.

        Raises
        ------
        KeyError
            If the chunk was neither a candidate nor reached.
        """
        at = int(np.searchsorted(self.chunks, chunk))
        if at == len(self.chunks) or self.chunks[at] != chunk:
            raise KeyError(chunk)
        return strongest_path(
            self.layers, chunk, direct=float(self.direct[at]), arrived=float(self.arrived[at])
        )


def spread(
    view: IncidenceView,
    cues: IntArray,
    evidence: DirectEvidence,
    *,
    parameters: SpreadingParameters | None = None,
    allowed: RowMask | None = None,
    plastic: PlasticEdges | None = None,
    extra_seeds: tuple[IntArray, FloatArray] | None = None,
) -> Activation:
    """Spread activation from the cues and the best candidates.

    Parameters
    ----------
    view : IncidenceView
        The graph.
    cues : ndarray of int, shape (n_cues,)
        Different tags that the query names.
    evidence : DirectEvidence
        Candidates and direct evidence.
    parameters : SpreadingParameters, optional
        The defaults, if left out.
    allowed : ndarray of bool indexed by chunk, or callable, optional
        Chunks that take part. Others neither receive nor pass mass, and are in no path.
    plastic : PlasticEdges, optional
        Learned edges.
    extra_seeds : (chunks, mass), optional
        Further trusted mass to start with, such as that of remembered episodes; it
        counts as having arrived.

    Returns
    -------
    Activation

    Examples
    --------
    Chunk 0 is entitled 0 and mentions tag 1, which is the title of chunk 1:

    >>> from hebbgraph.testing.array_view import ArrayView
    >>> from hebbgraph.formulas.evidence import Evidence
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
        candidates, f = candidates[keep], f[keep]
    step = _Step(view, cues, evidence, p, allowed, plastic)

    # Layer 0: cues light up the chunks that they entitle; the seeds start.
    share = p.cue_share if len(step.cues) else 0.0
    total = step.cue_weight.sum() or 1.0
    cue_mass = share * step.cue_weight / total
    nothing = np.zeros(len(cue_mass))
    layer = step.from_tags(
        step.cues, np.stack([cue_mass, nothing]), np.stack([nothing, nothing]), depth=0
    )
    seeds, mass = _seeds(candidates, f, p)
    mass = (1.0 - share) * mass
    trust = step.trust(seeds)
    starts: list[tuple[IntArray, FloatArray, FloatArray]] = [
        (seeds, trust * mass, (1.0 - trust) * mass)
    ]
    arrivals: list[tuple[IntArray, FloatArray]] = [(layer.receivers, layer.credit)]
    if extra_seeds is not None:
        extra, extra_mass = extra_seeds
        keep = _mask(allowed, extra)
        extra, extra_mass = extra[keep], extra_mass[keep]
        step.min_mass = 0.0 if plastic is None else plastic.min_mass
        starts.append((extra, extra_mass, np.zeros(len(extra))))
        arrivals.append((extra, extra_mass))
    layer.start(starts)
    layers = [layer]
    for depth in range(1, p.n_steps + 1):
        following = step.advance(layers[-1], depth)
        if following is None:
            break
        layers.append(following)
        arrivals.append((following.receivers, following.credit))

    n = len(candidates)
    reached = [candidates, *(chunks for chunks, _ in arrivals)]
    chunks, position = unique_inverse(np.concatenate(reached))
    credit = np.concatenate([amount for _, amount in arrivals])
    x = sum_by(position[n:], credit, len(chunks))
    is_candidate = np.zeros(len(chunks), np.bool_)
    is_candidate[position[:n]] = True
    known = np.zeros(len(chunks))
    known[position[:n]] = f
    if not is_candidate.all():
        known[~is_candidate] = evidence.of(chunks[~is_candidate])
    direct = known**p.evidence_power
    arrived = x / (x + p.half_saturation)
    return Activation(
        chunks=chunks,
        scores=direct + (1.0 - direct) * arrived,
        direct=np.where(is_candidate, direct, 0.0),
        arrived=arrived,
        cues=step.cues,
        cue_mass=cue_mass,
        layers=tuple(layers),
    )


class _Step:
    """One step chunk → tag → chunk, and what it needs to know of the query.

    Mass on tags is a (2, n_tags) array: what came from mentions, and what came from
    chunks that the tag entitles. The former goes on along links and co-mentions, the
    latter along backlinks.
    """

    def __init__(
        self,
        view: IncidenceView,
        cues: IntArray,
        evidence: DirectEvidence,
        parameters: SpreadingParameters,
        allowed: RowMask | None,
        plastic: PlasticEdges | None,
    ) -> None:
        self.view = view
        self.evidence = evidence
        self.parameters = parameters
        self.cut = parameters.hub_cut(view.n_chunks)
        self.allowed = allowed
        self.plastic = plastic
        self.min_mass = 0.0  # until learning has moved any mass
        cues = np.unique(np.asarray(cues, dtype=np.int64))
        df = view.df(cues)
        keep = (df > 0) & (df <= self.cut)
        self.cues = cues[keep]
        self.cue_weight = self.specificity(df[keep])

    def specificity(self, df: IntArray) -> FloatArray:
        """Return how much a tag in ``df`` chunks says."""
        weight: FloatArray = np.log1p(self.view.n_chunks / df) ** 2
        return weight

    def trust(self, seeds: IntArray) -> FloatArray:
        """Return which share of each seed's mass is trusted."""
        p = self.parameters
        owner, tags, is_title = self.view.tags_of(seeds)
        owner, tags = owner[is_title], tags[is_title]
        trust = np.full(len(seeds), p.untitled_trust)
        trust[owner] = 0.0
        trust[owner[is_in(tags, self.cues)]] = 1.0
        return trust

    def advance(self, before: Layer, depth: int) -> Layer | None:
        """Pass on the mass that a layer ended with; None if none is left."""
        p = self.parameters
        sources, trusted, plain = before.strongest(p.beam)
        if not len(sources):
            return None
        owner, tags, is_title = self.view.tags_of(sources)
        df = self.view.df(tags)
        keep = (df > 1) & (df <= self.cut)  # a tag of this chunk alone leads nowhere
        owner, tags, is_title, df = owner[keep], tags[keep], is_title[keep], df[keep]
        weight = self.specificity(df)
        weight[is_in(tags, self.cues)] *= p.inhibition
        keep = top_n_per_owner(owner, weight, len(sources), p.tags_per_chunk)
        owner, tags, is_title, weight = owner[keep], tags[keep], is_title[keep], weight[keep]
        total = sum_by(owner, weight, len(sources))
        total[total == 0] = 1.0
        share = weight / total[owner]
        out_trusted, out_plain = trusted[owner] * share, plain[owner] * share
        reached, position = unique_inverse(tags)
        if len(reached) > p.tag_beam:
            kept = top_n(sum_by(position, out_trusted + out_plain, len(reached)), p.tag_beam)
            keep = is_in_sorted(position, kept)
            owner, tags, is_title = owner[keep], tags[keep], is_title[keep]
            out_trusted, out_plain = out_trusted[keep], out_plain[keep]
            reached, position = unique_inverse(tags)
        n = len(reached)
        position = position + n * is_title
        layer = self.from_tags(
            reached,
            sum_by(position, out_trusted, 2 * n).reshape(2, n),
            sum_by(position, out_plain, 2 * n).reshape(2, n),
            depth=depth,
            leaping=(sources, trusted + plain),
        )
        layer.set_sources(sources[owner], tags, out_trusted + out_plain)
        return layer

    def from_tags(
        self,
        tags: IntArray,
        trusted: FloatArray,
        plain: FloatArray,
        *,
        depth: int,
        leaping: tuple[IntArray, FloatArray] = (_NO_INTS, _NO_FLOATS),
    ) -> Layer:
        """Pass mass from tags to chunks, and over learned edges.

        Parameters
        ----------
        tags : ndarray of int, shape (n,)
            Different tags.
        trusted, plain : ndarray of float64, shape (2, n)
            Their mass: from mentions, and from the chunks that they entitle.
        depth : int
            How many steps it is from the query. From its cues, at 0, trusted mass uses no
            co-mentions, since lexical search has already found the chunks that mention
            them.
        leaping : (chunks, mass), optional
            What learned chunk → chunk edges start from.
        """
        p = self.parameters
        hops = learned = None
        if self.plastic is not None:
            tags, trusted, plain, hops = self._hop(self.plastic, tags, trusted, plain, depth)
            learned = self._learned(self.plastic, tags, trusted + plain, leaping, depth)
            if learned or hops:
                self.min_mass = self.plastic.min_mass
        owner, chunks, is_title = self.view.chunks_of(tags)
        keep = _mask(self.allowed, chunks)
        if not keep.all():
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        reached, every = unique_inverse(
            chunks if learned is None else np.concatenate((chunks, learned[1]))
        )
        position = every[: len(chunks)]
        pull = self.evidence.of(reached)[position]
        n = len(tags)
        total = sum_by(owner + n * is_title, pull, 2 * n).reshape(2, n)
        ahead = pull / (total[0] + p.title_salience * total[1] + p.leak)[owner]
        back = np.where(is_title, 0.0, pull / (total[0] + p.leak)[owner])
        namesakes = np.maximum(sum_by(owner, is_title.astype(np.float64), n), 1.0)
        link = np.where(is_title, p.title_salience * ahead / namesakes[owner], 0.0)
        mention = np.where(is_title, 0.0, ahead * (depth > 0)) * trusted[0][owner]
        flow_trusted = link * trusted[0][owner] + back * trusted[1][owner]
        flow_plain = link * plain[0][owner] + back * plain[1][owner]
        credit = flow_trusted + flow_plain + p.mention_credit * mention
        flows = Flows(tags[owner], chunks, flow_trusted + mention, flow_plain, credit)
        return Layer.gather(reached, every, flows, learned, hops=hops, min_mass=self.min_mass)

    def _hop(
        self,
        plastic: PlasticEdges,
        tags: IntArray,
        trusted: FloatArray,
        plain: FloatArray,
        depth: int,
    ) -> tuple[IntArray, FloatArray, FloatArray, EdgeFlow | None]:
        """Add what learned tag → tag edges pass; it counts as trusted, from mentions."""
        owner, targets, weight = plastic.between_tags(tags, depth)
        if not len(owner):
            return tags, trusted, plain, None
        df = self.view.df(targets)
        keep = (df > 0) & (df <= self.cut)
        if not keep.all():
            owner, targets, weight = owner[keep], targets[keep], weight[keep]
        mass = (trusted[0] + trusted[1] + plain[0] + plain[1])[owner] * weight
        # New tags come behind the others: there are few, and their order does not matter.
        at = {tag: number for number, tag in enumerate(tags.tolist())}
        position = [at.setdefault(target, len(at)) for target in targets.tolist()]
        none = np.zeros((2, len(at) - len(tags)))
        trusted = np.concatenate((trusted, none), axis=1)
        np.add.at(trusted[0], position, mass)
        plain = np.concatenate((plain, none), axis=1)
        return np.array(list(at)), trusted, plain, (tags[owner], targets, mass)

    def _learned(
        self,
        plastic: PlasticEdges,
        tags: IntArray,
        on_tags: FloatArray,
        leaping: tuple[IntArray, FloatArray],
        depth: int,
    ) -> EdgeFlow | None:
        """Return what learned edges pass to chunks that take part; see :attr:`Layer.learned`."""
        passed = plastic.into_chunks(tags, on_tags[0] + on_tags[1], *leaping, depth)
        if not len(passed[0]):
            return None
        keep = _mask(self.allowed, passed[1])
        if keep.all():
            return passed
        sources, targets, mass = passed
        return sources[keep], targets[keep], mass[keep]


def _seeds(
    candidates: IntArray, f: FloatArray, parameters: SpreadingParameters
) -> tuple[IntArray, FloatArray]:
    """Return the best candidates and their shares of the starting mass."""
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
