"""What is told of lessons as a whole: which are in force, and what many people reject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.actors import TRUSTED, Voice, believed, voice_of
from hebbgraph.learning.kinds import UNKNOWN
from hebbgraph.learning.lessons import CITED, named_by
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.weighing import MIN_WEIGHT
from hebbgraph.records import Feedback, LearnedParameter, LessonRecord, PruneReport

__all__ = ["deeds_of", "disbelieved", "lessons_of", "present", "proposed", "rejected", "survey"]

#: The name of the one family of links, for people: from a question to a chunk.
QUESTION = "question"
#: Whose lessons weigh less counts little; several of them are worth a word.
_LITTLE, _SEVERAL = 0.1, 3


def rejected(memory: Memory) -> dict[str, int]:
    """Return for how many questions each chunk is rejected, by several who are believed.

    One is enough if the application vouches for him.
    """
    with memory.lock.held():
        lessons, amount = memory.lessons, memory.amounts()
        owner = lessons.link_lesson
        is_said = (amount[owner] > 0) & (lessons.kind[owner] == CITED)
        links = np.flatnonzero((lessons.link_credit < 0) & is_said)
        by_node: dict[int, tuple[set[int], set[int]]] = {}
        for link in links.tolist():
            asked, by = by_node.setdefault(int(lessons.link_node[link]), (set(), set()))
            asked.add(int(lessons.question[owner[link]]))
            by.add(int(lessons.voice[owner[link]]))
        named = {named_by(lessons.names[node]): said for node, said in by_node.items()}
        present = memory.resolve(id_ for id_, _ in named)
        return {
            id_: len(asked)
            for (id_, text_hash), (asked, by) in named.items()
            if id_ in present and present[id_][1] == text_hash and (len(by) > 1 or TRUSTED in by)
        }


def proposed(memory: Memory) -> dict[tuple[str, str], int]:
    """Return what is said to be outdated, with what holds now: by how many who are believed.

    Only of chunks that are there, unless the application vouches for it already.
    """
    with memory.lock.held():
        said = memory.outdated(trusted=False)
        in_force = memory.outdated(trusted=True)
        return {
            (old, new): len(said[old, text_hash, new])
            for (old, text_hash, new), _ in present(memory, said)
            if (old, text_hash, new) not in in_force
        }


def deeds_of(memory: Memory) -> list[LearnedParameter]:
    """Return what each kind of deed counts here, by how many lessons."""
    with memory.lock.held():
        lessons, told = memory.lessons, []
        for name, value in memory.believed().items():
            own = lessons.kind == lessons.kinds.index(name)
            many = {"lessons": int(own.sum()), "actors": len(np.unique(lessons.voice[own]))}
            told.append(LearnedParameter(name=name, value=value, default=UNKNOWN, **many))
        return [one for one in told if one.lessons]


def present(
    memory: Memory, said: Iterable[tuple[str, str, str]]
) -> list[tuple[tuple[str, str, str], tuple[int, int]]]:
    """Return what was said to be outdated of chunks that are there, and the rows of these."""
    said = list(said)
    present = memory.resolve({id_ for old, _, new in said for id_ in (old, new)})
    return [
        (one, (present[one[0]][0], present[one[2]][0]))
        for one in said
        if one[2] in present and present.get(one[0], (0, ""))[1] == one[1]
    ]


def disbelieved(memory: Memory) -> list[tuple[Voice, int, float, bool]]:
    """Return who gave several lessons that count next to nothing, and most of them first.

    Whose word they are, how many, what one counts at most, and whether that is because others
    who are believed more say otherwise.
    """
    with memory.lock.held():
        lessons, judgement, names = memory.lessons, memory.judgement(), list(memory.voices)
        counts = believed(lessons, judgement)
        voice, is_said = lessons.voice[: len(counts)], lessons.kind[: len(counts)] == CITED
        little = (counts < _LITTLE) & is_said & (voice != TRUSTED)
        n, most = np.bincount(voice[little], minlength=len(names)), np.zeros(len(names))
        np.maximum.at(most, voice[little], counts[little])
        disputed = np.bincount(voice[little & (judgement.worth < 0.5)], minlength=len(names))
        return [
            (names[at], int(n[at]), float(most[at]), bool(2 * disputed[at] > n[at]))
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


def lessons_of(memory: Memory, graph: TagGraph, feedback: Sequence[Feedback]) -> list[LessonRecord]:
    """Return what each feedback taught: how many links, how many of them are in force.

    The caller holds the lock on the graph.
    """
    with memory.lock.held():
        masked, weight = _state_of_links(memory, graph)
        owner, n = memory.lessons.link_lesson, len(memory.lessons)
        taught = np.bincount(owner, minlength=n).tolist()
        active = np.bincount(owner[~masked & (weight >= MIN_WEIGHT)], minlength=n).tolist()
        at = {memory.lessons.event(number).feedback_id: number for number in range(n)}
        whose = {(voice_of(one), one.kind) for one in feedback}
        weights = {one: memory.weight_of(*one) for one in whose}
    return [
        LessonRecord(
            feedback_id=one.id,
            recall_id=one.recall_id,
            created_at=one.created_at,
            actor=one.actor,
            origin=one.origin,
            question=one.query,
            cited=one.cited,
            rejected=one.rejected,
            ratings=one.ratings,
            reasons=one.reasons,
            outdated=one.outdated,
            trusted=one.trusted,
            shown=tuple(shown.chunk_id for shown in one.shown),
            edges=taught[at[one.id]] if one.id in at else 0,
            active=active[at[one.id]] if one.id in at else 0,
            kind=one.kind,
            weight=weights[voice_of(one), one.kind],
        )
        for one in feedback
    ]


def _state_of_links(
    memory: Memory, graph: TagGraph
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether each link leads to what is gone, and what it weighs."""
    lessons = memory.lessons
    nothing = np.empty(0, np.uint64), np.empty(0, np.float32)
    recollection = memory.recollect(graph, nothing, None, None)
    weight = memory.amounts()[lessons.link_lesson] * np.abs(lessons.link_credit)
    if recollection is None:
        return np.zeros(0, np.bool_), weight
    live = recollection.slots.of_node >= 0
    rejections = np.flatnonzero(lessons.rejects >= 0)
    live[rejections] = live[lessons.rejects[rejections]]
    masked: NDArray[np.bool_] = ~live[lessons.link_node]
    return masked, weight
