"""The constants of spreading activation."""

from __future__ import annotations

from dataclasses import dataclass, field

from hebbgraph.formulas.links import LinkParameters

__all__ = ["SpreadingParameters"]


@dataclass(frozen=True, kw_only=True)
class SpreadingParameters:
    """Constants of spreading, the same for every corpus and query.

    Parameters
    ----------
    n_seeds : int, at least 1
        Number of chunks where activation starts, the best by direct evidence.
    sharpness : float, positive
        A seed starts with mass proportional to evidence ** sharpness. With low values,
        many seeds share the mass and the ranking collapses to that of plain search.
    cue_share : float, in [0, 1]
        Share of the mass that starts on the query's tags, if it names any; seeds get the rest.
    inhibition : float, in [0, 1]
        Weight of tags that the query already names; below 1, mass flows to new tags
        (lateral inhibition).
    n_steps : int, at least 0
        Number of steps chunk → tag → chunk: how many hops an answer may lie from the seeds.
    title_salience : float, at least 0
        Weight of a title, in mentions, when a tag passes mass on: larger values rank chunks
        titled by a tag above those that mention it.
    leak : float, positive
        Weight of "none of these chunks", in mentions: a tag of irrelevant chunks loses its mass.
    mention_credit : float, in [0, 1]
        Share of the mass arriving by co-mention that counts for the score; all of it flows on.
    unnamed_credit : float, in [0, 1]
        Share of the arriving mass that counts for the score if the question names no
        chunk's title: then direct search alone chose where to start.
    hub_share, hub_floor, hub_cap
        Tags of more than ``clip(hub_share * n_chunks, hub_floor, hub_cap)`` chunks are
        hubs and pass nothing.
    tags_per_chunk : int, at least 1
        A chunk passes mass to this many of its tags, the rarest.
    beam : int, at least 1
        This many chunks, the most active, pass mass on in a step.
    evidence_power : float, positive
        ``a`` in the score: larger values rank by strong direct evidence first, and leave the
        order below it to the graph.
    half_saturation : float, positive
        ``kappa`` in the score: the activation that counts one half; smaller values rank
        connected chunks higher.
    doubt : float, in [0, 1]
        Share of its score that direct evidence loses if the question names a title and the best
        chunk holds nothing else of it.
    graph_weight : float, in [0, 1]
        Factor on activation in the score; see
        :attr:`hebbgraph.Settings.graph`.
    links : LinkParameters
        Constants of following explicit links.
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
    evidence_power: float = 4.0
    half_saturation: float = 0.04
    doubt: float = 0.3
    graph_weight: float = 1.0
    links: LinkParameters = field(default_factory=LinkParameters)

    def hub_cut(self, n_chunks: int) -> int:
        """Return the largest document frequency of a tag that is not a hub."""
        return int(min(max(self.hub_share * n_chunks, self.hub_floor), self.hub_cap))
