r"""Spreading activation over the incidence graph: the default strategy.

Direct evidence (:mod:`hebbgraph.formulas.evidence`) measures how well a chunk by itself
answers the query; activation measures how well the chunk is connected to what the query names.
The two combine like independent causes (noisy-or), so neither needs rescaling, and the graph
never outvotes good direct evidence:

.. math:: score(c) = 1 - \bigl(1 - \delta f(c)^a\bigr)(1 - \frac{\gamma x(c)}{x(c) + \kappa})

where :math:`f` is the direct evidence and :math:`x` the activation credited to the chunk. Direct
evidence is scaled so that the best chunk has 1, even if that chunk holds only part of the
question. If the query names a title and no chunk holds all of its words, the answer is probably
spread over several chunks. Then :math:`\delta` falls below 1: by ``doubt`` times the trust in that
title, times the share of the question that the best chunk lacks.

How far the graph is trusted depends on the kind of edge and on the history of the mass;
of its constants only the weight :math:`\gamma` of the graph is fitted, by lessons.

*Edges.* A tag that is a chunk's title (or, without one, the name that the chunk opens by defining)
says what the chunk is about; a mentioned tag says little. Mass crosses a tag in three ways: along a
**link**, to the chunk whose title the tag is; along a **backlink**, from that chunk to the chunks
that mention the tag; and along a **co-mention**, from one mention to another. It never crosses from
title to title, since chunks under one heading are no evidence for each other. If n chunks share a
title, a link passes 1/n of the mass to each; if the title is an ordinary word ("Print"), only the
share of the mass that its keyphraseness says (:class:`hebbgraph.recall.snapshot.Snapshot`).

*Mass.* Mass is **trusted** once it has been on a chunk whose title the query names. Only
trusted mass uses co-mentions; for other mass they would count again what word search has counted,
and drown direct evidence. So if a query names what some chunk is about, its activation travels
freely; otherwise it follows links only, and without links the direct ranking stands. A title is
trusted as far as its words are rare in the query. If the query names no title, arriving mass
counts less for the score, and the less the less sure search is that the texts speak of the query.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    DECIMALS,
    Allowed,
    FloatArray,
    IntArray,
    highest,
    place_in,
    sum_by,
    top_n,
)
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.paths import CREDIT, Layer, Path, strongest_path
from hebbgraph.formulas.spreading_step import SpreadingParameters, SpreadingStep
from hebbgraph.terms import IncidenceView


@dataclass(frozen=True)
class Activation:
    """The result of spreading.

    ``chunks`` ascend: all candidates, and all that activation reached. ``direct`` and ``arrived``
    are the two causes of their scores.
    """

    chunks: IntArray
    scores: FloatArray
    direct: FloatArray
    arrived: FloatArray
    layers: tuple[Layer, ...]

    def top(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best chunks, best first, and all that tie with the last one."""
        best = highest(self.scores.round(DECIMALS), k)
        return self.chunks[best].astype(np.int64), self.scores[best].astype(np.float64)

    def at(self, chunk: int, values: FloatArray) -> float:
        """Return a chunk's value of one of these arrays; 0 if it was not reached."""
        at = place_in(self.chunks, chunk)
        return 0.0 if at is None else float(values[at])

    def active_tags(self, n: int) -> tuple[IntArray, FloatArray]:
        """Return the n tags, and all equal to the last, that the first chunks pass most mass to."""
        _, tags, mass = self.layers[1].sources if len(self.layers) > 1 else self.layers[0].sources
        distinct, position = np.unique(tags, return_inverse=True)
        total = sum_by(position, mass, len(distinct))
        at = top_n(total, n)
        return distinct[at], total[at]

    def path(self, chunk: int) -> Path:
        """Return the strongest path from the query to a chunk that was reached."""
        direct, arrived = self.at(chunk, self.direct), self.at(chunk, self.arrived)
        return strongest_path(self.layers, chunk, direct=direct, arrived=arrived)


def spread(
    view: IncidenceView,
    cues: IntArray,
    evidence: Evidence,
    *,
    parameters: SpreadingParameters | None = None,
    allowed: Allowed | None = None,
    cue_trust: FloatArray | None = None,
) -> Activation:
    """Spread activation from the cues, distinct tags that the query names, and the best candidates.

    Chunks that are not ``allowed`` neither receive nor pass mass, and are in no path. ``cue_trust``
    says how likely each cue names what the query is about (1 if omitted): a chunk that has a cue
    for its title receives, and may pass on, that share of its mass. Explicit links carry the share
    ``evidence.confidence``, how likely the best direct hits are about the query.
    """
    p = parameters or SpreadingParameters()
    candidates, f = evidence.chunks, evidence.values
    if allowed is not None:
        keep = allowed(candidates)
        candidates, f = candidates[keep], f[keep]
    step = SpreadingStep(view, cues, evidence, p, allowed, cue_trust)

    # Layer 0: cues pass mass to the chunks whose titles they are, and the seeds start.
    cue_mass = step.cue_share * step.cue_weight / (step.cue_weight.sum() or 1.0)
    layer = step.from_cues(cue_mass)
    certainty = 1.0 - p.doubt * step.named * (1.0 - evidence.share_held)
    seeds, mass = _seeds(candidates, f, p)
    mass = (1.0 - step.cue_share) * mass
    trust = step.trust(seeds, layer.receivers)
    layer.start(seeds, np.stack((trust * mass, (1.0 - trust) * mass)))
    layers = [layer]
    for _ in range(p.n_steps):
        following = step.advance(layers[-1])
        if following is None:
            break
        layers.append(following)

    activation = _scored(step, candidates, layers, certainty)
    if linked := step.follow_links(activation.chunks, activation.scores):
        activation = _scored(step, candidates, layers + linked, certainty)
    return activation


def _scored(
    step: SpreadingStep, candidates: IntArray, layers: Sequence[Layer], certainty: float
) -> Activation:
    """Score the candidates, and all chunks where mass arrived."""
    p, n = step.parameters, len(candidates)
    chunks, position = np.unique(
        np.concatenate([candidates, *(layer.receivers for layer in layers)]), return_inverse=True
    )
    credit = np.concatenate([layer.mass[CREDIT] for layer in layers])
    x = sum_by(position[n:], credit, len(chunks))
    direct = certainty * step.evidence.values_of(chunks) ** p.evidence_power
    arrived = p.graph_weight * x / (x + p.half_saturation)
    direct_of_candidates = np.zeros(len(chunks))
    direct_of_candidates[position[:n]] = direct[position[:n]]
    return Activation(
        chunks=chunks,
        scores=direct + (1.0 - direct) * arrived,
        direct=direct_of_candidates,
        arrived=arrived,
        layers=tuple(layers),
    )


def _seeds(
    candidates: IntArray, f: FloatArray, p: SpreadingParameters
) -> tuple[IntArray, FloatArray]:
    """Return the best candidates and their shares of the initial mass."""
    at = top_n(f, p.n_seeds)
    highest = float(f[at].max(initial=0.0))
    if highest <= 0:
        return candidates[:0], f[:0]
    weight = (f[at] / highest) ** p.sharpness
    return candidates[at], weight / weight.sum()
