"""Does ``forget`` undo lessons exactly?

Honest actors teach a system over the whole stream, then liars do. Two comparisons follow:

- **liars**: rankings after ``forget(actor)`` of each liar, with those before the first lie;
- **all**: rankings after ``forget()``, with those before the first lesson.

The figures are the share of questions with equal rankings, and the mean change of R@5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from usebench.feedback import say, with_intruders
from usebench.metrics import recall_at_k
from usebench.protocol import Forgetful, Retriever, close
from usebench.records import Event, UseSet

__all__ = ["Unlearning", "measure_unlearning"]

#: Questions to compare in each memory, evenly over its stream.
_COMPARED = 100


@dataclass(frozen=True, slots=True)
class Unlearning:
    """How exactly lessons were undone.

    Parameters
    ----------
    same : float, in [0, 1]
        Share of questions whose rankings are equal.
    change : float
        Mean R@5 after forgetting, minus that before the forgotten lessons.
    questions : int
    """

    same: float
    change: float
    questions: int


def measure_unlearning(
    make: Callable[[], Retriever], uses: UseSet, *, k: int = 10, seed: int = 0
) -> dict[str, Unlearning] | None:
    """Teach, forget, and compare with the rankings before.

    Returns
    -------
    dict of str to Unlearning, or None
        None if the system has no ``forget``.
    """
    system = make()
    if not isinstance(system, Forgetful):
        return None
    pairs: dict[str, list[tuple[list[str], list[str], Event]]] = {"liars": [], "all": []}
    for memory in uses.memories:
        events = [event for event in uses.events if event.memory == memory]
        compared = _sample([event for event in events if event.scored])
        lies = [event for event in with_intruders(events, seed=seed) if event.hostile]
        system.reset()
        system.add([passage for passage in uses.passages if passage.memory == memory])
        untaught = _rankings(system, compared, k)
        _teach(system, events, k, seed)
        honest = _rankings(system, compared, k)
        _teach(system, lies, k, seed)
        for actor in sorted({event.actor for event in lies if event.actor}):
            system.forget(actor)
        pairs["liars"] += zip(_rankings(system, compared, k), honest, compared, strict=True)
        system.forget()
        pairs["all"] += zip(_rankings(system, compared, k), untaught, compared, strict=True)
    close(system)
    return {name: _summed(compared) for name, compared in pairs.items() if compared}


def _teach(system: Retriever, events: Sequence[Event], k: int, seed: int) -> None:
    for event in events:
        if event.taught:
            shown = list(system.search(event.question, k)) if event.shows else []
            if (feedback := say(event, shown, "right", seed=seed)) is not None:
                system.feedback(**asdict(feedback))


def _rankings(system: Retriever, events: Sequence[Event], k: int) -> list[list[str]]:
    return [list(system.search(event.question, k)) for event in events]


def _summed(pairs: Sequence[tuple[list[str], list[str], Event]]) -> Unlearning:
    changes = [
        recall_at_k(after, event.relevant, 5) - recall_at_k(before, event.relevant, 5)
        for after, before, event in pairs
    ]
    return Unlearning(
        same=sum(after == before for after, before, _ in pairs) / len(pairs),
        change=sum(changes) / len(pairs),
        questions=len(pairs),
    )


def _sample(events: Sequence[Event]) -> Sequence[Event]:
    step = max(1, -(-len(events) // _COMPARED))
    return events[::step]
