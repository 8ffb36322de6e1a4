"""Which feedback moved a chunk's score, and by how much.

The change of score is divided among what memory brought by words, vectors and pairs, in proportion,
and each part among the lessons, by the product of each one's question with this one.
"""

from __future__ import annotations

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, flatnonzero
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.trust import KINDS
from hebbgraph.learning.lessons import Lessons, named_by
from hebbgraph.learning.recollection import Recollection
from hebbgraph.records.explanations import LearnedEffect

__all__ = ["learned_effects"]

_MAX_EFFECTS = 100


def learned_effects(
    memory: Recollection, plain: Activation, slot: int, change: float, amounts: FloatArray
) -> tuple[LearnedEffect, ...]:
    """Divide a change of score among the feedback that made it.

    Parameters
    ----------
    memory : Recollection
        What the question brought back.
    plain : Activation
        Without it.
    slot : int
        The chunk.
    change : float
        Its score minus its score without learning.
    amounts : ndarray of float
        What each lesson weighs.

    Returns
    -------
    tuple of LearnedEffect
        The largest first. They add up to ``change`` unless there are more than 100.
    """
    if not change:
        return ()
    nodes, brought = memory.brought(plain)
    node = int(memory.slots.nodes_at(np.array([slot]))[0])
    at = flatnonzero(nodes == node)
    shares = _shares(memory, node, brought[at[0]], amounts) if len(at) else {}
    total = sum(shares.values())
    if total * change <= 0:
        total = sum(map(abs, shares.values()))
    if not total:
        return ()
    scale = change / total
    ranked = sorted(shares.items(), key=lambda item: (-abs(item[1]), item[0]))
    return tuple(
        _effect(memory.lessons, lesson, family, scale * share)
        for (lesson, family), share in ranked[:_MAX_EFFECTS]
        if share
    )


def _shares(
    memory: Recollection, node: int, brought: FloatArray, amounts: FloatArray
) -> dict[tuple[int, str], float]:
    """Divide what memory brought for a chunk among lessons, each by its kinds."""
    lessons = memory.lessons
    by_family = {"words": 0.0, "vectors": 0.0, "pairs": 0.0}
    for kind, amount in zip(KINDS, brought.tolist(), strict=True):
        by_family[kind.split()[-1]] += amount
    nodes = np.append(flatnonzero(lessons.rejects == node), node)
    links = flatnonzero(np.isin(lessons.link_node, nodes))
    owner = lessons.link_lesson[links]
    given = amounts[owner] * lessons.link_credit[links]
    shares: dict[tuple[int, str], float] = {}
    for family, amount in by_family.items():
        part = given * _products(memory, owner, family)
        if amount and (total := float(np.abs(part).sum())) > 0:
            for lesson, value in zip(owner.tolist(), (part / total).tolist(), strict=True):
                shares[lesson, family] = shares.get((lesson, family), 0.0) + abs(amount) * value
    if not shares:  # it pays for what was taught of it for other questions
        shares = {(lesson, "words"): float(amounts[lesson]) for lesson in owner.tolist()}
    return shares


def _products(memory: Recollection, owner: IntArray, family: str) -> FloatArray:
    """Return how alike the questions of some lessons are to this one."""
    asked, rarity = memory.asked, memory.associations.rarity
    if family == "pairs":
        return np.ones(len(owner))
    found = np.zeros(len(owner))
    if family == "words":
        own = dict(zip(asked.keys.tolist(), asked.weights.tolist(), strict=True))
        for at, lesson in enumerate(owner.tolist()):
            keys, weights = memory.lessons.cues(lesson)
            weighed = rarity.weigh(keys, weights)
            length = float(np.sqrt(weighed @ weighed)) or 1.0
            common = (own.get(key, 0.0) for key in keys.tolist())
            found[at] = np.fromiter(common, np.float64, len(keys)) @ weighed / length
        return found
    vectors = memory.lessons.vectors.get(asked.embedder)
    if vectors is None or asked.vector is None or not len(vectors.whose):
        return found
    whose = vectors.whose.view
    places = np.minimum(whose.searchsorted(owner), len(whose) - 1)
    known = whose[places] == owner
    rows = vectors.rows.view[places[known]].astype(np.float32)
    found[known] = np.maximum(rarity.center(rows, asked.embedder) @ asked.vector, 0.0)
    return found


def _effect(lessons: Lessons, lesson: int, family: str, effect: float) -> LearnedEffect:
    event = lessons.event(lesson)
    source = event.recall_id
    if family == "pairs":
        nodes = lessons.link_node[lessons.links_of([lesson])].tolist()
        source = ", ".join(sorted(named_by(lessons.names[node])[0] for node in nodes))
    return LearnedEffect.model_validate(
        {
            "feedback_id": event.feedback_id,
            "recall_id": event.recall_id,
            "actor": event.actor,
            "family": family,
            "source": source,
            "effect": effect,
        }
    )
