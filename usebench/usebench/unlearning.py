"""Does ``forget`` undo a lesson exactly?

A system that can forget is taught by honest people over the whole stream, then lied to. Two
rankings of each question are compared:

- **liars**: after ``forget(actor)`` of each liar, with those before the first lie;
- **all**: after ``forget()``, with those before the first lesson.

Told are the share of questions whose rankings are equal, and the mean change of R@5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from usebench.feedback import say, with_intruders
from usebench.metrics import recall_at_k
from usebench.protocol import Forgetful, Retriever
from usebench.records import Event, UseSet

__all__ = ["Unlearning", "measure_unlearning"]

#: Questions that are asked again in each memory, evenly over its stream.
_ASKED = 100


@dataclass(frozen=True, slots=True)
class Unlearning:
    """How exactly lessons were taken back.

    Parameters
    ----------
    same : float, in [0, 1]
        Share of questions whose rankings are equal.
    change : float
        Mean of R@5 after forgetting, less that before the lessons that were forgotten.
    questions : int
    """

    same: float
    change: float
    questions: int


def measure_unlearning(
    make: Callable[[], Retriever], uses: UseSet, *, k: int = 10, seed: int = 0
) -> dict[str, Unlearning] | None:
    """Teach, forget, and compare with what was before.

    Returns
    -------
    dict of str to Unlearning, or None
        None if the system has no ``forget``.
    """
    system = make()
    if not isinstance(system, Forgetful):
        return None
    found: dict[str, list[tuple[list[str], list[str], Event]]] = {"liars": [], "all": []}
    for memory in uses.memories:
        events = [event for event in uses.events if event.memory == memory]
        asked = _sample([event for event in events if event.scored])
        lies = [event for event in with_intruders(events, seed=seed) if event.hostile]
        system.reset()
        system.add([passage for passage in uses.passages if passage.memory == memory])
        never = _rankings(system, asked, k)
        _teach(system, events, k, seed)
        honest = _rankings(system, asked, k)
        _teach(system, lies, k, seed)
        for actor in sorted({event.actor for event in lies if event.actor}):
            system.forget(actor)
        found["liars"] += zip(_rankings(system, asked, k), honest, asked, strict=True)
        system.forget()
        found["all"] += zip(_rankings(system, asked, k), never, asked, strict=True)
    close = getattr(system, "close", None)
    if close is not None:
        close()
    return {name: _summed(pairs) for name, pairs in found.items() if pairs}


def _teach(system: Retriever, events: Sequence[Event], k: int, seed: int) -> None:
    for event in events:
        if event.taught:
            shown = list(system.search(event.question, k)) if event.shows else []
            said = say(event, shown, "right", seed=seed)
            if said is not None:
                system.feedback(**asdict(said))


def _rankings(system: Retriever, asked: Sequence[Event], k: int) -> list[list[str]]:
    return [list(system.search(event.question, k)) for event in asked]


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
    step = max(1, -(-len(events) // _ASKED))
    return events[::step]
