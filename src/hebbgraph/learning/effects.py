"""Which feedback moved a chunk's score, and by how much.

The change of the score is divided among words, vectors and pairs in proportion to what each
brought, and each part among lessons by the product of their question with this one.
"""

from __future__ import annotations

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, flatnonzero
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.trust import KINDS
from hebbgraph.learning.lessons import Lessons, chunk_of
from hebbgraph.learning.recollection import Recollection
from hebbgraph.records.explanations import LearnedEffect

__all__ = ["learned_effects"]

_MAX_EFFECTS = 100


def learned_effects(
    recollection: Recollection, plain: Activation, slot: int, change: float, amounts: FloatArray
) -> tuple[LearnedEffect, ...]:
    """Divide a change of the score of a chunk among the feedback that made it.

    ``plain`` is the activation without memory, and ``amounts`` is what each lesson weighs. The
    largest effect comes first; all add up to ``change`` unless there are more than 100.
    """
    if not change:
        return ()
    nodes, contributions = recollection.contributions(plain)
    node = int(recollection.slots.nodes_at(np.array([slot]))[0])
    at = flatnonzero(nodes == node)
    shares = _shares(recollection, node, contributions[at[0]], amounts) if len(at) else {}
    total = sum(shares.values())
    if total * change <= 0:
        total = sum(map(abs, shares.values()))
    if not total:
        return ()
    scale = change / total
    ranked = sorted(shares.items(), key=lambda item: (-abs(item[1]), item[0]))
    return tuple(
        _effect(recollection.lessons, lesson, family, scale * share)
        for (lesson, family), share in ranked[:_MAX_EFFECTS]
        if share
    )


def _shares(
    recollection: Recollection, node: int, contributions: FloatArray, amounts: FloatArray
) -> dict[tuple[int, str], float]:
    """Divide what memory brought for a chunk among lessons and families."""
    lessons = recollection.lessons
    by_family = {"words": 0.0, "vectors": 0.0, "pairs": 0.0}
    for kind, amount in zip(KINDS, contributions.tolist(), strict=True):
        by_family[kind.split()[-1]] += amount
    nodes = np.append(flatnonzero(lessons.rejects == node), node)
    links = flatnonzero(np.isin(lessons.link_node, nodes))
    owner = lessons.link_lesson[links]
    weight = amounts[owner] * lessons.link_credit[links]
    shares: dict[tuple[int, str], float] = {}
    for family, amount in by_family.items():
        part = weight * _similarities(recollection, owner, family)
        if amount and (total := float(np.abs(part).sum())) > 0:
            for lesson, value in zip(owner.tolist(), (part / total).tolist(), strict=True):
                shares[lesson, family] = shares.get((lesson, family), 0.0) + abs(amount) * value
    if not shares:  # it pays the handicap for what other questions taught of it
        shares = {(lesson, "words"): float(amounts[lesson]) for lesson in owner.tolist()}
    return shares


def _similarities(recollection: Recollection, owner: IntArray, family: str) -> FloatArray:
    """Return how similar the questions of some lessons are to this one."""
    query, associations = recollection.query, recollection.associations
    if family == "pairs":
        return np.ones(len(owner))
    similar = np.zeros(len(owner))
    if family == "words":
        weight_of_cue = dict(zip(query.keys.tolist(), query.weights.tolist(), strict=True))
        for at, lesson in enumerate(owner.tolist()):
            lesson_query = associations.query(recollection.lessons.cues(lesson), None, "")
            common = [weight_of_cue.get(key, 0.0) for key in lesson_query.keys.tolist()]
            similar[at] = np.array(common) @ lesson_query.weights
        return similar
    vectors = recollection.lessons.vectors.get(query.embedder)
    if vectors is None or query.vector is None or not len(vectors.lesson):
        return similar
    lesson_at = vectors.lesson.view
    places = np.minimum(lesson_at.searchsorted(owner), len(lesson_at) - 1)
    known = lesson_at[places] == owner
    rows = vectors.rows.view[places[known]].astype(np.float32)
    similar[known] = np.maximum(
        associations.statistics.center(rows, query.embedder) @ query.vector, 0.0
    )
    return similar


def _effect(lessons: Lessons, lesson: int, family: str, effect: float) -> LearnedEffect:
    event = lessons.event(lesson)
    source = event.recall_id
    if family == "pairs":
        nodes = lessons.link_node[lessons.links_of([lesson])].tolist()
        source = ", ".join(sorted(chunk_of(lessons.nodes[node])[0] for node in nodes))
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
