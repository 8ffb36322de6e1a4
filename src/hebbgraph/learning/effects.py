"""Which feedback moved a chunk's score, and by how much.

Learning changes a score by one amount; it is shared out over the learned edges that
brought activation to the chunk, in proportion to what each brought, and of each edge
over the lessons that shaped it, in proportion to their credit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hebbgraph.graph.plastic import GateOf
from hebbgraph.learning.lessons import Family
from hebbgraph.learning.memory import Event, family_name
from hebbgraph.learning.overlay import Overlay, Recollection
from hebbgraph.learning.weights import RawWeights
from hebbgraph.recall.paths import Layer
from hebbgraph.recall.spreading import Activation
from hebbgraph.records import LearnedEffect
from hebbgraph.tagging import display

__all__ = ["learned_effects"]

_MAX_EFFECTS = 100
_TO_CHUNK = (Family.CUE, Family.ARRIVAL)


@dataclass(frozen=True)
class _Way:
    """Learned edges over which activation came, all from one source."""

    family: Family
    source: int
    amount: float


def learned_effects(
    recollection: Recollection,
    found: Activation,
    slot: int,
    change: float,
    *,
    evidence: GateOf,
    weights: RawWeights,
    events: Sequence[Event],
) -> tuple[LearnedEffect, ...]:
    """Share a change of score out over the feedback that made it.

    Parameters
    ----------
    recollection : Recollection
        What the question brought back.
    found : Activation
    slot : int
        The chunk.
    change : float
        Its score less the score without learning.
    evidence : callable
        Direct evidence of chunks.
    weights : RawWeights
    events : sequence of Event
        Where each lesson came from.

    Returns
    -------
    tuple of LearnedEffect
        The largest first. Effects add up to ``change``, unless there are more than 100.
    """
    if not change:
        return ()
    recollection = recollection.recognised(recollection.seen(evidence))
    overlay = recollection.overlay
    only = overlay.node_of_slot.get(slot)
    ways = [] if only is None else _ways(recollection, found, slot, evidence)
    ways = [way for way in ways if way.amount * change > 0]
    if not ways:  # what was learned about other chunks reached this one over static edges
        only, ways = None, _anywhere(recollection, found)
    shares: dict[tuple[int, Family, int], float] = {}
    total = sum(abs(way.amount) for way in ways)
    for way in ways:
        rows = weights.rows(way.family, way.source)
        edges = rows.edge if only is None else rows.edge[rows.target == only]
        _, by, credit = weights.teachers(edges)
        fitting = credit * change > 0
        if not fitting.any():
            continue
        by, credit = by[fitting], np.abs(credit[fitting])
        part = change * abs(way.amount) / total * credit / credit.sum()
        for event, effect in zip(by.tolist(), part.tolist(), strict=True):
            key = (event, way.family, way.source)
            shares[key] = shares.get(key, 0.0) + effect
    ranked = sorted(shares.items(), key=lambda item: (-abs(item[1]), item[0]))
    return tuple(
        LearnedEffect(
            feedback_id=events[event].feedback_id,
            recall_id=events[event].recall_id,
            actor=events[event].actor,
            family=family_name(family),
            source=_source_text(weights.nodes[source]),
            effect=effect,
        )
        for (event, family, source), effect in ranked[:_MAX_EFFECTS]
    )


def _source_text(node: str) -> str:
    if node[0] == "t":
        return display(node[2:])
    return node[19:] if node[0] == "c" else node[2:]


def _ways(recollection: Recollection, found: Activation, slot: int, evidence: GateOf) -> list[_Way]:
    overlay = recollection.overlay
    pull = float(evidence(np.array([slot]))[0])
    cues = set(found.cues.tolist())
    ways = _episodes(recollection, slot, evidence)
    for depth, layer in enumerate(found.layers):
        on_tag = _mass_on_tags(found, layer, depth)
        for tag, mass in on_tag.items():
            node = overlay.node_of_tag.get(tag)
            if node is None:
                continue
            for family in _TO_CHUNK if tag in cues else _TO_CHUNK[1:]:
                weight = overlay.row(family, node).get(slot, 0.0)
                amount = mass * weight * overlay.settings.cue_gain * pull
                ways.append(_Way(family, node, amount))
        for source, target, mass in zip(*(one.tolist() for one in layer.leaps), strict=True):
            if target == slot and (node := overlay.node_of_slot.get(source)) is not None:
                ways.append(_Way(Family.PAIR, node, mass))
        ways += _hops(overlay, layer, slot, on_tag)
    return ways


def _episodes(recollection: Recollection, slot: int, evidence: GateOf) -> list[_Way]:
    seeds = recollection.seeds(recollection.seen(evidence))
    mass = 0.0 if seeds is None else float(seeds[1][seeds[0] == slot].sum())
    found = recollection.of(slot)
    total = sum(max(amount, 0.0) for _, amount in found) or 1.0
    ways = []
    for episode, amount in found:
        for node in episode.nodes:
            number = recollection.overlay.number_of(node)
            if number is not None:
                share = amount / total * mass if amount > 0 else amount
                ways.append(_Way(Family.EPISODE, number, share / len(episode.nodes)))
    return ways


def _mass_on_tags(found: Activation, layer: Layer, depth: int) -> dict[int, float]:
    on_tag: dict[int, float] = {}
    if depth == 0:
        on_tag.update(zip(found.cues.tolist(), found.cue_mass.tolist(), strict=True))
    for tags, mass in ((layer.sources[1], layer.sources[2]), (layer.hops[1], layer.hops[2])):
        for tag, amount in zip(tags.tolist(), mass.tolist(), strict=True):
            on_tag[tag] = on_tag.get(tag, 0.0) + amount
    return on_tag


def _hops(overlay: Overlay, layer: Layer, slot: int, on_tag: dict[int, float]) -> list[_Way]:
    tags, chunks, passed = layer.flows
    into = {
        int(tag): float(mass)
        for tag, mass in zip(tags[chunks == slot], passed[chunks == slot], strict=True)
    }
    return [
        _Way(Family.HOP, node, into[tag] * mass / on_tag[tag])
        for source, tag, mass in zip(*(one.tolist() for one in layer.hops), strict=True)
        if tag in into
        and on_tag.get(tag)
        and mass
        # An alias leads on too, and was never taught.
        and (node := overlay.node_of_tag.get(source)) is not None
    ]


def _anywhere(recollection: Recollection, found: Activation) -> list[_Way]:
    overlay = recollection.overlay
    ways = []
    for episode, row, like in zip(
        recollection.active, recollection.opinions, recollection.likeness, strict=True
    ):
        amount = like * sum(map(abs, row.values()))
        numbers = map(overlay.number_of, episode.nodes)
        ways += [_Way(Family.EPISODE, number, amount) for number in numbers if number is not None]
    for depth, layer in enumerate(found.layers):
        for source, _, mass in zip(*(one.tolist() for one in layer.leaps), strict=True):
            if (node := overlay.node_of_slot.get(source)) is not None:
                ways.append(_Way(Family.PAIR, node, mass))
        for tag, mass in _mass_on_tags(found, layer, depth).items():
            node = overlay.node_of_tag.get(tag)
            if node is not None:
                ways += [_Way(family, node, mass) for family in Family if mass]
    return [way for way in ways if overlay.has_edges(way.family, way.source)]
