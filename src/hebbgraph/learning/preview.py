"""What forgetting would change: the log is folded without it, and weights are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hebbgraph.learning.lessons import named_by
from hebbgraph.learning.memory import Memory
from hebbgraph.records import EdgeChange, Feedback, ForgetPreview

__all__ = ["preview"]

_MOST_CHANGES = 100
_TOLERANCE = 1e-9


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
        before = learned.links(ids)
        after = learned.with_log_as(rest).links()
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
