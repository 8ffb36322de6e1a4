"""Forgetting: what it would change, and what may be meant where it finds nothing."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from hebbgraph.learning.lessons import Node, chunk_of
from hebbgraph.learning.memory import Memory
from hebbgraph.records import EdgeChange, Feedback, ForgetPreview
from hebbgraph.store.feedback_log import FeedbackLog, Selection

__all__ = ["links", "near_actors", "preview", "unknown_in"]

_MOST_CHANGES, _TOLERANCE = 100, 1e-9


def links(memory: Memory, ids: Iterable[str] | None = None) -> dict[tuple[int, Node], float]:
    """Return what everyone together taught of each chunk for each question.

    With ``ids`` of feedback, only for the questions of these.
    """
    with memory.lock.held():
        lessons = memory.lessons
        is_selected = np.ones(len(lessons), np.bool_)
        if ids is not None:
            known = set(ids)
            events = (lessons.event(at).feedback_id for at in range(len(lessons)))
            is_named = np.array([id_ in known for id_ in events], np.bool_)
            is_selected[:] = np.isin(lessons.question, lessons.question[is_named])
        owner = lessons.link_lesson
        weight = memory.amounts()[owner] * lessons.link_credit
        selected = np.flatnonzero(is_selected[owner])
        weights: dict[tuple[int, Node], float] = {}
        for question, node, value in zip(
            lessons.question[owner[selected]].tolist(),
            lessons.link_node[selected].tolist(),
            weight[selected].tolist(),
            strict=True,
        ):
            link = question, lessons.nodes[node]
            weights[link] = weights.get(link, 0.0) + value
        return weights


def preview(
    memory: Memory, touched: Sequence[Feedback], rest: Mapping[str, Feedback | None]
) -> ForgetPreview:
    """Fold the log as it would be, and compare what was learned.

    ``memory`` is up to date with the log, ``touched`` would be removed or changed, and ``rest``
    says what would remain of each, by id.
    """
    ids = [feedback.id for feedback in touched]
    with memory.lock.held():
        before = links(memory, ids)
        # Other links change too, since lessons that are gone age nothing.
        after = links(memory.with_log_as(rest))
    changes = [
        EdgeChange(
            family="question",
            source=f"{question:016x}",
            target=chunk_of(node)[0],
            before=weight,
            after=after.get((question, node), 0.0),
        )
        for (question, node), weight in before.items()
        if abs(weight - after.get((question, node), 0.0)) > _TOLERANCE
    ]
    changes.sort(key=lambda edge: (-abs(edge.before - edge.after), edge.source, edge.target))
    stay = before.keys() & after.keys()
    return ForgetPreview(
        feedback=tuple(ids),
        actors=dict(sorted(Counter(feedback.actor or "" for feedback in touched).items())),
        removed=len(before) - len(stay),  # those whose weight was 0 too
        changed=sum(abs(before[link] - after[link]) > _TOLERANCE for link in stay),
        changes=tuple(changes[:_MOST_CHANGES]),
    )


def unknown_in(
    log: FeedbackLog, selection: Selection, chunk: str | None, removed: set[str]
) -> Iterator[str]:
    """Yield what a selection names that the log does not hold, and what may be meant."""
    if unknown := sorted({*(selection.ids or ())} - removed):
        actor = next(iter({*unknown} & {*log.actors()}), None)
        hint = actor and f"; what an actor said is forgotten by forget(actor={actor!r:.200})"
        yield f"no such feedback is known by {reprlib.repr(unknown)}{hint or ''}"
    if not removed and selection.actor is not None:
        near = near_actors(selection.actor, log.actors())
        yield f"there is no such feedback by {selection.actor!r:.200}{near}"
    if not removed and chunk is not None:
        yield f"no such feedback speaks of a chunk {chunk!r:.200}"


def near_actors(actor: str, known: Iterable[str | None]) -> str:
    """Return which names are nearly that of an actor, as a question; empty if none is.

    >>> near_actors("Ida.", ["bo", "ida", None]), near_actors("bo", ["ida"])
    ("; did you mean 'ida'?", '')
    """
    names = {name.casefold(): name for name in known if name and name != actor}
    near = [names[match] for match in get_close_matches(actor.casefold(), names)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
