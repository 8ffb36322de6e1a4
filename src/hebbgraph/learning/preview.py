"""What forgetting would change: the log is folded without it, and weights are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hebbgraph.learning.lessons import Node, named_by
from hebbgraph.learning.memory import Memory
from hebbgraph.records import EdgeChange, Feedback, ForgetPreview

__all__ = ["links", "preview"]

_MOST_CHANGES = 100
_TOLERANCE = 1e-9


def links(memory: Memory, ids: Iterable[str] | None = None) -> dict[tuple[int, Node], float]:
    """Return what was taught of each chunk for each question, by everyone together.

    Parameters
    ----------
    memory : Memory
    ids : iterable of str, optional
        Of questions that these feedbacks are about; all by default.
    """
    with memory.lock.held():
        lessons = memory.lessons
        wanted: NDArray[np.bool_] = np.ones(len(lessons), np.bool_)
        if ids is not None:
            known = set(ids)
            events = (lessons.event(at).feedback_id for at in range(len(lessons)))
            about = np.array([id_ in known for id_ in events], np.bool_)
            wanted = np.isin(lessons.question, lessons.question[about])
        owner = lessons.link_lesson
        amount = memory.amounts()[owner] * lessons.link_credit
        kept = np.flatnonzero(wanted[owner])
        found: dict[tuple[int, Node], float] = {}
        for question, node, value in zip(
            lessons.question[owner[kept]].tolist(),
            lessons.link_node[kept].tolist(),
            amount[kept].tolist(),
            strict=True,
        ):
            link = question, lessons.names[node]
            found[link] = found.get(link, 0.0) + value
        return found


def preview(
    learned: Memory, touched: Sequence[Feedback], rest: Mapping[str, Feedback | None]
) -> ForgetPreview:
    """Compare what was learned with what would have been.

    Parameters
    ----------
    learned : Memory
        Up to date with the log.
    touched : sequence of Feedback
        What would be removed or changed.
    rest : mapping of id to Feedback or None
        What would remain of each.
    """
    ids = [one.id for one in touched]
    with learned.lock.held():
        # Others change too, by as much as the clock of decay goes back.
        before = links(learned, ids)
        after = links(learned.with_log_as(rest))
    changes = [
        EdgeChange(
            family="question",
            source=f"{question:016x}",
            target=named_by(node)[0],
            before=weight,
            after=after.get((question, node), 0.0),
        )
        for (question, node), weight in before.items()
        if abs(weight - after.get((question, node), 0.0)) > _TOLERANCE
    ]
    changes.sort(key=lambda one: (-abs(one.before - one.after), one.source, one.target))
    removed = len(before.keys() - after.keys())
    return ForgetPreview(
        feedback=tuple(ids),
        actors=dict(sorted(Counter(one.actor or "" for one in touched).items())),
        removed=removed,
        changed=len(changes) - removed,
        changes=tuple(changes[:_MOST_CHANGES]),
    )
