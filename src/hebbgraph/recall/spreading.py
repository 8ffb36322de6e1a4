r"""Spreading activation over the incidence graph: the default way to recall.

Direct evidence (:mod:`hebbgraph.seeding.fusion`) says how well a chunk answers the
query by itself. Activation says how well it is connected with what the query names. The
two are joined like independent causes, so neither has to be scaled to the other and
direct evidence is never taken away:

.. math:: score(c) = 1 - \bigl(1 - f(c)^a\bigr)\bigl(1 - \frac{x(c)}{x(c) + \kappa}\bigr)

where :math:`f` is the direct evidence and :math:`x` the activation that arrived.

How far the graph is trusted follows from two kinds of edge and two kinds of mass.

*Edges.* A tag that is a chunk's title says what the chunk is about; a tag that is
mentioned says little: on text without telling titles, passing activation along mentions
of the query's own words only counts again what lexical search has counted.

*Mass.* Mass is **trusted** once it has stood on a chunk whose title the query names
(or crossed a learned edge): from there on it flows to titles and to mentions alike. All
other mass flows to titles only. So a question that names what some chunk is about
travels freely, and a question that names nothing keeps its direct ranking.

One step, for a chunk :math:`c` with mass :math:`m` and tags that are not its own title:

.. math::

    m_t &= \sum_c \alpha\, m_c\, \frac{idf_t\, g_t}{\sum_{t'} idf_{t'}\, g_{t'}} \\
    m_{c'} &= \sum_t m_t\, \frac{s_{tc'}\, f(c')}{\lambda + \sum_{c''} s_{tc''} f(c'')}

with damping :math:`\alpha`; :math:`g` = ``inhibition`` for tags that the query names,
else 1; :math:`s` = ``title_salience`` for titles, else 1; leak :math:`\lambda`: a tag
that leads to nothing relevant loses its mass.

The cost depends on seeds, beam and fan-out, not on the number of chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from hebbgraph.errors import ParameterError
from hebbgraph.recall.grouping import among, best, best_per_owner, sum_by
from hebbgraph.recall.paths import Layer, Path, strongest_path
from hebbgraph.recall.view import IncidenceView, PlasticEdges
from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = ["Activation", "DirectEvidence", "RowMask", "SpreadingParameters", "spread"]

RowMask: TypeAlias = Callable[[IntArray], BoolArray] | BoolArray
"""Which chunks take part: an array indexed by chunk, or a function of chunk ids."""

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)


class DirectEvidence(Protocol):
    """What spreading needs of :class:`hebbgraph.seeding.fusion.Evidence`."""

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
    damping : float, in (0, 1]
        Share of a chunk's mass that it passes on.
    n_steps : int, at least 0
        Steps chunk → tag → chunk after the seeds.
    title_salience : float, at least 1
        How many mentions a title is worth to a tag that passes mass on.
    leak : float, at least 0
        Weight of "none of these chunks" when a tag passes mass on, in mentions.
    mention_trust : float, in [0, 1]
        Share of untrusted mass that may flow to mentions.
    hub_share, hub_floor, hub_cap
        A tag in more than ``clip(hub_share * n_chunks, hub_floor, hub_cap)`` chunks
        passes nothing.
    tags_per_chunk : int, at least 1
        A chunk passes mass to this many of its tags, the rarest.
    beam : int, at least 1
        This many chunks pass mass on in a step, the most active.
    evidence_power : float, positive
        ``a`` in the score: how sharply direct evidence is read.
    half_saturation : float, positive
        ``kappa`` in the score: the activation that is worth one half.
    """

    n_seeds: int = 5
    sharpness: float = 16.0
    cue_share: float = 0.4
    inhibition: float = 0.1
    damping: float = 0.6
    n_steps: int = 2
    title_salience: float = 16.0
    leak: float = 1.0
    mention_trust: float = 0.0
    hub_share: float = 0.02
    hub_floor: int = 20
    hub_cap: int = 100
    tags_per_chunk: int = 16
    beam: int = 16
    evidence_power: float = 4.0
    half_saturation: float = 0.05

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n_seeds", 1, None),
            ("cue_share", 0, 1),
            ("inhibition", 0, 1),
            ("damping", 0, 1),
            ("n_steps", 0, None),
            ("title_salience", 1, None),
            ("leak", 0, None),
            ("mention_trust", 0, 1),
            ("hub_share", 0, 1),
            ("hub_floor", 1, None),
            ("hub_cap", 1, None),
            ("tags_per_chunk", 1, None),
            ("beam", 1, None),
        ):
            value = getattr(self, name)
            if not (value >= low and (high is None or value <= high)):
                bound = f"[{low}, {high}]" if high is not None else f"at least {low}"
                raise ParameterError(f"{name} must lie in {bound}, got {value!r}")
        for name in ("sharpness", "evidence_power", "half_saturation"):
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

    >>> from hebbgraph.recall.testing import ArrayView
    >>> from hebbgraph.seeding.fusion import Evidence
    >>> view = ArrayView([[0, 1], [1], [2]], titles=[{0}, {1}, {2}])
    >>> found = spread(view, np.array([0]), Evidence(np.array([0, 2]), np.array([1.0, 0.3])))
    >>> chunks, scores = found.top(3)
    >>> chunks.tolist()
    [0, 1, 2]
    >>> [(node.kind, node.id) for node in found.path(1)]
    [('tag', 0), ('chunk', 0), ('tag', 1), ('chunk', 1)]
    """
    p = parameters or SpreadingParameters()
    cut = p.hub_cut(view.n_chunks)
    step = _Step(view, evidence, p, cut, allowed, plastic)

    candidates, f = evidence.chunks, evidence.values
    if allowed is not None:
        keep = _mask(allowed, candidates)
        candidates, f = candidates[keep], f[keep]

    cues = np.unique(cues)
    if len(cues):
        df = view.df(cues)
        cues = cues[(df > 0) & (df <= cut)]
    weight = np.log1p(view.n_chunks / view.df(cues)) if len(cues) else _NO_FLOATS
    share = p.cue_share if len(cues) else 0.0
    cue_mass = share * weight / weight.sum() if len(cues) else _NO_FLOATS
    step.cues = cues

    # Layer 0: cues light up the chunks that they entitle; the seeds start.
    first = step.from_tags(cues, cue_mass, np.zeros(len(cues)), to_mentions=False)
    seeds, mass = _seeds(candidates, f, p)
    mass = (1.0 - share) * mass
    anchored = step.is_entitled(seeds)
    seed_parts = [(seeds, np.where(anchored, mass, 0.0), np.where(anchored, 0.0, mass))]
    layers = [first]
    arrivals: list[tuple[IntArray, FloatArray]] = [(first.receivers, first.trusted + first.plain)]
    if extra_seeds is not None:
        extra, extra_mass = extra_seeds
        if allowed is not None:
            keep = _mask(allowed, extra)
            extra, extra_mass = extra[keep], extra_mass[keep]
        seed_parts.append((extra, extra_mass, np.zeros(len(extra))))
        arrivals.append((extra, extra_mass))
    first.start(seed_parts)

    for _ in range(p.n_steps):
        layer = step.advance(layers[-1])
        if layer is None:
            break
        layers.append(layer)
        arrivals.append((layer.receivers, layer.trusted + layer.plain))

    reached = np.concatenate([chunks for chunks, _ in arrivals])
    amount = np.concatenate([mass for _, mass in arrivals])
    chunks, position = np.unique(np.concatenate([candidates, reached]), return_inverse=True)
    x = sum_by(position[len(candidates) :], amount, len(chunks))
    fs = np.empty(len(chunks))
    fs[position[: len(candidates)]] = f
    is_candidate = np.zeros(len(chunks), np.bool_)
    is_candidate[position[: len(candidates)]] = True
    if not is_candidate.all():
        fs[~is_candidate] = evidence.of(chunks[~is_candidate])
    direct = fs**p.evidence_power
    arrived = x / (x + p.half_saturation)
    return Activation(
        chunks=chunks,
        scores=direct + (1.0 - direct) * arrived,
        direct=np.where(is_candidate, direct, 0.0),
        arrived=arrived,
        cues=cues,
        cue_mass=cue_mass,
        layers=tuple(layers),
    )


class _Step:
    """One step chunk → tag → chunk, and what it needs to know of the query."""

    cues: IntArray

    def __init__(
        self,
        view: IncidenceView,
        evidence: DirectEvidence,
        parameters: SpreadingParameters,
        cut: int,
        allowed: RowMask | None,
        plastic: PlasticEdges | None,
    ) -> None:
        self.view = view
        self.evidence = evidence
        self.parameters = parameters
        self.cut = cut
        self.allowed = allowed
        self.plastic = plastic

    def is_entitled(self, chunks: IntArray) -> BoolArray:
        """Tell which chunks have a title that the query names."""
        entitled = np.zeros(len(chunks), np.bool_)
        if len(chunks) and len(self.cues):
            owner, tags, is_title = self.view.tags_of(chunks)
            entitled[owner[is_title & among(tags, self.cues)]] = True
        return entitled

    def advance(self, before: Layer) -> Layer | None:
        """Pass on the mass that a layer ended with; None if none is left."""
        p = self.parameters
        sources, trusted, plain = before.strongest(p.beam)
        if not len(sources):
            return None
        owner, tags, is_title = self.view.tags_of(sources)
        df = self.view.df(tags)
        keep = ~is_title & (df <= self.cut) & (df > 0)
        owner, tags = owner[keep], tags[keep]
        weight = np.log1p(self.view.n_chunks / df[keep])
        if len(self.cues):
            weight[among(tags, self.cues)] *= p.inhibition
        keep = best_per_owner(owner, weight, len(sources), p.tags_per_chunk)
        owner, tags, weight = owner[keep], tags[keep], weight[keep]
        total = sum_by(owner, weight, len(sources))
        total[total == 0] = 1.0
        share = p.damping * weight / total[owner]
        out_trusted, out_plain = trusted[owner] * share, plain[owner] * share
        reached, position = np.unique(tags, return_inverse=True)
        layer = self.from_tags(
            reached,
            sum_by(position, out_trusted, len(reached)),
            sum_by(position, out_plain, len(reached)),
            to_mentions=True,
            jumps=(sources, trusted + plain),
        )
        layer.came_from(sources[owner], tags, out_trusted + out_plain)
        return layer

    def from_tags(
        self,
        tags: IntArray,
        trusted: FloatArray,
        plain: FloatArray,
        *,
        to_mentions: bool,
        jumps: tuple[IntArray, FloatArray] | None = None,
    ) -> Layer:
        """Pass mass from tags to chunks, and over learned edges."""
        p = self.parameters
        hops: tuple[IntArray, IntArray, FloatArray] | None = None
        if self.plastic is not None and len(self.plastic.tag_to_tag) and len(tags):
            owner, targets, weight = self.plastic.tag_to_tag.of(tags)
            df = self.view.df(targets)
            keep = (df > 0) & (df <= self.cut)
            owner, targets = owner[keep], targets[keep]
            mass = (trusted + plain)[owner] * weight[keep]
            hops = (tags[owner], targets, mass)
            tags, position = np.unique(np.concatenate([tags, targets]), return_inverse=True)
            trusted = sum_by(position, np.concatenate([trusted, mass]), len(tags))
            plain = sum_by(position[: len(plain)], plain, len(tags))

        owner, chunks, is_title = self.view.chunks_of(tags)
        if self.allowed is not None:
            keep = _mask(self.allowed, chunks)
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        reached, position = np.unique(chunks, return_inverse=True)
        pull = self.evidence.of(reached)[position]
        pull = np.where(is_title, p.title_salience * pull, pull)
        total = sum_by(owner, pull, len(tags)) + p.leak
        share = pull / np.maximum(total, 1e-12)[owner]
        mention = 1.0 if to_mentions else 0.0
        untrusted_mention = p.mention_trust * mention
        flow_trusted = trusted[owner] * np.where(is_title, share, mention * share)
        flow_plain = plain[owner] * np.where(is_title, share, untrusted_mention * share)
        flows = [(tags[owner], chunks, flow_trusted, flow_plain)]

        leaps: tuple[IntArray, IntArray, FloatArray] | None = None
        if self.plastic is not None:
            if len(self.plastic.tag_to_chunk) and len(tags):
                owner, targets, weight = self.plastic.tag_to_chunk.of(tags)
                keep = _mask(self.allowed, targets)
                owner, targets = owner[keep], targets[keep]
                learned = (trusted + plain)[owner] * weight[keep]
                flows.append((tags[owner], targets, learned, np.zeros(len(learned))))
            if len(self.plastic.chunk_to_chunk) and jumps is not None:
                sources, held = jumps
                owner, targets, weight = self.plastic.chunk_to_chunk.of(sources)
                keep = _mask(self.allowed, targets)
                owner, targets = owner[keep], targets[keep]
                leaps = (sources[owner], targets, p.damping * held[owner] * weight[keep])
        return Layer.gather(flows, leaps=leaps, hops=hops)


def _seeds(
    candidates: IntArray, f: FloatArray, parameters: SpreadingParameters
) -> tuple[IntArray, FloatArray]:
    """Return the best candidates and their shares of the starting mass."""
    if not len(candidates):
        return _NO_INTS, _NO_FLOATS
    at = best(f, parameters.n_seeds)
    highest = float(f[at].max())
    if highest <= 0:
        return _NO_INTS, _NO_FLOATS
    weight = (f[at] / highest) ** parameters.sharpness
    return candidates[at], weight / weight.sum()


def _mask(allowed: RowMask | None, chunks: IntArray) -> BoolArray:
    if allowed is None:
        return np.ones(len(chunks), np.bool_)
    return allowed(chunks) if callable(allowed) else allowed[chunks]
