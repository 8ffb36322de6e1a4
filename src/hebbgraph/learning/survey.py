"""The lessons as a whole: which are in force, who is not believed, what many people reject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.actors import TRUSTED, ActorKey, actor_key, lesson_beliefs
from hebbgraph.learning.kinds import UNKNOWN
from hebbgraph.learning.lessons import CITED, chunk_of
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.weighing import MIN_WEIGHT
from hebbgraph.records import Feedback, LearnedParameter, LessonRecord, PruneReport

__all__ = [
    "disbelieved",
    "learned_kinds",
    "lessons_of",
    "present",
    "proposed",
    "rejected",
    "survey",
]

#: The name of the only family of links: from a question to a chunk.
QUESTION = "question"
#: What a record of a lesson copies from the feedback.
_SAME_FIELDS = Feedback.model_fields.keys() & LessonRecord.model_fields.keys() - {"shown"}
#: An actor is disbelieved if several lessons weigh less than this.
_LITTLE, _SEVERAL = 0.1, 3


def rejected(memory: Memory) -> dict[str, int]:
    """Return for how many questions each chunk is rejected by several believed actors.

    One is enough if the application vouches for the feedback.
    """
    with memory.lock.held():
        lessons, amount = memory.lessons, memory.amounts()
        owner = lessons.link_lesson
        counts = (amount[owner] > 0) & (lessons.kind[owner] == CITED)
        links = np.flatnonzero((lessons.link_credit < 0) & counts)
        by_node: dict[int, tuple[set[int], set[int]]] = {}
        for link in links.tolist():
            questions, actors = by_node.setdefault(int(lessons.link_node[link]), (set(), set()))
            questions.add(int(lessons.question[owner[link]]))
            actors.add(int(lessons.actor[owner[link]]))
        by_chunk = {chunk_of(lessons.nodes[node]): by for node, by in by_node.items()}
        known = memory.resolve(id_ for id_, _ in by_chunk)
        return {
            id_: len(questions)
            for (id_, text_hash), (questions, actors) in by_chunk.items()
            if id_ in known
            and known[id_][1] == text_hash
            and (len(actors) > 1 or TRUSTED in actors)
        }


def proposed(memory: Memory) -> dict[tuple[str, str], int]:
    """Return which chunk is outdated by which, and how many believed actors say so.

    Only chunks that exist, and nothing that the application vouches for already.
    """
    with memory.lock.held():
        proposals = memory.outdated(trusted=False)
        in_force = memory.outdated(trusted=True)
        return {
            (old, new): len(proposals[old, text_hash, new])
            for (old, text_hash, new), _ in present(memory, proposals)
            if (old, text_hash, new) not in in_force
        }


def present(
    memory: Memory, outdated: Iterable[tuple[str, str, str]]
) -> list[tuple[tuple[str, str, str], tuple[int, int]]]:
    """Return the rows of both chunks for each (id, text hash, id of what holds now).

    Without those whose old chunk has another text, or one of whose chunks is gone.
    """
    outdated = list(outdated)
    known = memory.resolve({id_ for old, _, new in outdated for id_ in (old, new)})
    return [
        ((old, text_hash, new), (known[old][0], known[new][0]))
        for old, text_hash, new in outdated
        if new in known and known.get(old, (0, ""))[1] == text_hash
    ]


def learned_kinds(memory: Memory) -> list[LearnedParameter]:
    """Return what each kind of implicit feedback weighs here, and how many lessons it has."""
    with memory.lock.held():
        lessons, parameters = memory.lessons, []
        for name, value in memory.kind_weights().items():
            actor = lessons.actor[lessons.kind == lessons.kinds.index(name)]
            counts = {"lessons": len(actor), "actors": len(np.unique(actor))}
            parameters.append(LearnedParameter(name=name, value=value, default=UNKNOWN, **counts))
        return [parameter for parameter in parameters if parameter.lessons]


def disbelieved(memory: Memory) -> list[tuple[ActorKey, int, float, bool]]:
    """Return the actors with several lessons that count next to nothing, most lessons first.

    For each actor: how many such lessons, what one counts at most, and whether that is mostly
    because others who are believed more say otherwise.
    """
    with memory.lock.held():
        lessons, credibility = memory.lessons, memory.credibility()
        belief = lesson_beliefs(lessons, credibility)
        names = list(memory.actors)
        actor = lessons.actor
        little = (belief < _LITTLE) & (lessons.kind == CITED) & (actor != TRUSTED)
        n, most = np.bincount(actor[little], minlength=len(names)), np.zeros(len(names))
        np.maximum.at(most, actor[little], belief[little])
        is_disputed = little & (credibility.shares < 0.5)
        n_disputed = np.bincount(actor[is_disputed], minlength=len(names))
        return [
            (names[at], int(n[at]), float(most[at]), bool(2 * n_disputed[at] > n[at]))
            for at in np.argsort(-n, kind="stable").tolist()
            if n[at] >= _SEVERAL
        ]


def survey(memory: Memory, graph: TagGraph, min_weight: float) -> tuple[PruneReport, list[str]]:
    """Count weak and masked links, and list the feedback that has no other.

    The caller holds the lock on the graph.
    """
    with memory.lock.held():
        masked, weight = _state_of_links(memory, graph)
        weak = weight < min_weight
        owner = memory.lessons.link_lesson
        useful = np.zeros(len(memory.lessons), np.bool_)
        useful[owner[~(weak | masked)]] = True
        idle = [memory.lessons.event(at).feedback_id for at in np.flatnonzero(~useful).tolist()]
        report = PruneReport(
            min_weight=min_weight,
            edges={QUESTION: len(owner)},
            weak={QUESTION: int((weak & ~masked).sum())},
            masked={QUESTION: int(masked.sum())},
            feedback=len(idle),
        )
        return report, idle


def lessons_of(memory: Memory, graph: TagGraph, log: Sequence[Feedback]) -> list[LessonRecord]:
    """Return what each feedback taught: how many links, and how many are in force.

    The caller holds the lock on the graph.
    """
    with memory.lock.held():
        masked, weight = _state_of_links(memory, graph)
        owner, n = memory.lessons.link_lesson, len(memory.lessons)
        taught = np.bincount(owner, minlength=n).tolist()
        active = np.bincount(owner[~masked & (weight >= MIN_WEIGHT)], minlength=n).tolist()
        at = {memory.lessons.event(number).feedback_id: number for number in range(n)}
        sources = {(actor_key(feedback), feedback.kind) for feedback in log}
        weights = {source: memory.weight_of(*source) for source in sources}
    return [
        LessonRecord(
            **{name: getattr(feedback, name) for name in _SAME_FIELDS},
            feedback_id=feedback.id,
            question=feedback.query,
            shown=tuple(chunk.chunk_id for chunk in feedback.shown),
            edges=taught[at[feedback.id]] if feedback.id in at else 0,
            active=active[at[feedback.id]] if feedback.id in at else 0,
            weight=weights[actor_key(feedback), feedback.kind],
        )
        for feedback in log
    ]


def _state_of_links(
    memory: Memory, graph: TagGraph
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether each link leads to a chunk that is gone or changed, and what it weighs."""
    lessons = memory.lessons
    no_cues = np.empty(0, np.uint64), np.empty(0, np.float32)
    recollection = memory.recollect(graph, no_cues, None, None)
    weight = memory.amounts()[lessons.link_lesson] * np.abs(lessons.link_credit)
    if recollection is None:
        return np.zeros(0, np.bool_), weight
    live = recollection.slots.of_node >= 0
    rejections = np.flatnonzero(lessons.rejects >= 0)
    live[rejections] = live[lessons.rejects[rejections]]
    masked: NDArray[np.bool_] = ~live[lessons.link_node]
    return masked, weight
