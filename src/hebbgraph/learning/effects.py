"""Which feedback moved a chunk's score, and by how much.

The change of score is divided among the learned edges that brought activation to the chunk, in
proportion to what each brought, and for each edge among the feedback that shaped it, in
proportion to its credit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.learned_edges import GateOf
from hebbgraph.formulas.paths import Layer
from hebbgraph.learning.memory import FAMILY_NAMES, Event
from hebbgraph.learning.overlay import Overlay, Recollection
from hebbgraph.learning.traces import Family
from hebbgraph.learning.weights import RawWeights
from hebbgraph.records import LearnedEffect
from hebbgraph.text import display

__all__ = ["learned_effects"]

_MAX_EFFECTS = 100
_TO_CHUNK: tuple[Family, ...] = (Family.CUE, Family.ARRIVAL)


@dataclass(frozen=True)
class _Way:
    """Learned edges that carried activation from one node to another, or (None) to any."""

    family: Family
    source: int
    target: int | None
    amount: float


class _Taught(NamedTuple):
    """A way, and the feedback that shaped it, with its credit."""

    way: _Way
    by: NDArray[np.int64]
    credit: NDArray[np.float64]


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
    """Divide a change of score among the feedback that made it.

    Parameters
    ----------
    recollection : Recollection
        What the question brought back.
    found : Activation
    slot : int
        The chunk.
    change : float
        Its score minus its score without learning.
    evidence : callable
        Direct evidence of chunks.
    weights : RawWeights
    events : sequence of Event
        Where each feedback came from.

    Returns
    -------
    tuple of LearnedEffect
        The largest first. They add up to ``change`` unless there are more than 100.
    """
    if not change:
        return ()
    recollection = recollection.recognised(recollection.seen(evidence))
    taught = _taught(_ways(recollection, found, slot, evidence), change, weights)
    if not taught:  # what was learned about other chunks reached this one over static edges
        taught = _taught(_anywhere(recollection, found), change, weights)
    shares: dict[tuple[int, Family, int], float] = {}
    total = sum(abs(way.amount) for way, _, _ in taught)
    for way, by, credit in taught:
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
            family=FAMILY_NAMES[family],
            source=_source_text(weights.nodes[source]),
            effect=effect,
        )
        for (event, family, source), effect in ranked[:_MAX_EFFECTS]
    )


def _source_text(node: str) -> str:
    if node[0] == "t":
        return display(node[2:])
    return node[19:] if node[0] == "c" else node[2:]


def _taught(ways: Sequence[_Way], change: float, weights: RawWeights) -> list[_Taught]:
    """Return the ways that moved the score in this direction, and the feedback behind them."""
    taught = []
    for way in ways:
        edges = weights.edges_from([(way.family, way.source)])
        if way.target is not None:
            edges = edges[weights.ends(edges).target == way.target]
        _, by, credit = weights.teachers(edges)
        fitting = credit * change > 0
        if fitting.any() and (way.target is None or way.amount * change > 0) and way.amount:
            taught.append(_Taught(way, by[fitting], np.abs(credit[fitting])))
    return taught


def _ways(recollection: Recollection, found: Activation, slot: int, evidence: GateOf) -> list[_Way]:
    overlay = recollection.overlay
    if (here := overlay.node_of_slot.get(slot)) is None:
        return []
    ways = _episodes(recollection, slot, here, evidence)
    cues = set(found.cues.tolist())
    for depth, layer in enumerate(found.layers):
        ways += _into_chunks(overlay, layer, cues, slot, here)
        ways += _hops(overlay, layer, slot, _mass_on_tags(found, layer, depth))
    return ways


def _into_chunks(
    overlay: Overlay, layer: Layer, cues: set[int], slot: int | None, here: int | None
) -> list[_Way]:
    """Return what flowed over learned edges into a chunk, or (None) into any."""
    ways = []
    for source, target, mass in zip(*(one.tolist() for one in layer.learned), strict=True):
        if slot is not None and target != slot:
            continue
        families: tuple[Family, ...] = (Family.PAIR,)
        if source < 0:
            node = overlay.node_of_slot.get(~source)
        else:
            # A cue's row holds what was learned of it as a cue, and as a tag on the way.
            node = overlay.node_of_tag.get(source)
            families = _TO_CHUNK if source in cues else _TO_CHUNK[1:]
        if node is not None:
            parts = {family: overlay.row(family, node).get(target, 0.0) for family in families}
            total = sum(parts.values())
            ways += [
                _Way(family, node, here, mass * part / total)
                for family, part in parts.items()
                if part > 0
            ]
    return ways


def _episodes(recollection: Recollection, slot: int, here: int, evidence: GateOf) -> list[_Way]:
    seeds = recollection.seeds(recollection.seen(evidence))
    mass = 0.0 if seeds is None else float(seeds[1][seeds[0] == slot].sum())
    found = recollection.of(slot)
    total = sum(max(amount, 0.0) for _, amount in found) or 1.0
    ways = []
    for past, amount in found:
        nodes = recollection.nodes_of(past)
        share = amount / total * mass if amount > 0 else amount
        ways += [_Way(Family.EPISODE, node, here, share / len(nodes)) for node in nodes]
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
    ways = []
    for source, tag, mass in zip(*(one.tolist() for one in layer.hops), strict=True):
        if tag not in into or not on_tag.get(tag) or not mass:
            continue
        # An alias leads on too, and was never taught.
        node, target = overlay.node_of_tag.get(source), overlay.node_of_tag.get(tag)
        if node is not None and target is not None:
            ways.append(_Way(Family.HOP, node, target, into[tag] * mass / on_tag[tag]))
    return ways


def _anywhere(recollection: Recollection, found: Activation) -> list[_Way]:
    overlay = recollection.overlay
    ways = []
    amounts = [0.0] * len(recollection.active)
    for past, _, wants in recollection.opinions:
        amounts[past] += recollection.likeness[past] * abs(wants)
    for past, amount in enumerate(amounts):
        nodes = recollection.nodes_of(past)
        ways += [_Way(Family.EPISODE, node, None, amount) for node in nodes]
    cues = set(found.cues.tolist())
    for layer in found.layers:
        ways += _into_chunks(overlay, layer, cues, None, None)
        for source, _, mass in zip(*(one.tolist() for one in layer.hops), strict=True):
            if (node := overlay.node_of_tag.get(source)) is not None:
                ways.append(_Way(Family.HOP, node, None, mass))
    return ways
