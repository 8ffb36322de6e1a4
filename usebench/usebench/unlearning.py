"""Does ``forget`` undo a lesson exactly?

Two questions are put to a system that can forget, at the end of a stream with liars in it:

- **liars forgotten**: ``forget(actor)`` of each liar, against a fresh system that was given the
  other feedbacks alone, in their order.
- **all forgotten**: ``forget()``, against a fresh system that was given none.

Each is answered by the share of questions that get the same ranking, and by the mean change of
R@5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from usebench.feedback import INTRUDER
from usebench.metrics import recall_at_k
from usebench.prequential import Run, run_stream
from usebench.protocol import Forgetful, Retriever
from usebench.records import Event, Feedback, UseSet

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
        Mean of R@5 after forgetting less that of the system that was never taught it.
    questions : int
    """

    same: float
    change: float
    questions: int


def measure_unlearning(
    make: Callable[[], Retriever], uses: UseSet, *, k: int = 10, seed: int = 0
) -> dict[str, Unlearning] | None:
    """Teach, forget, and compare with systems that were never taught.

    Returns
    -------
    dict of str to Unlearning, or None
        None if the system has no ``forget``.
    """
    system = make()
    if not isinstance(system, Forgetful):
        return None
    pairs: dict[str, list[tuple[list[str], list[str], Event]]] = {"liars": [], "all": []}

    def compare(memory: str, run: Run) -> None:
        asked = _sample([event for event in uses.events if event.memory == memory and event.scored])
        log = [said for where, said in run.log if where == memory]
        liars = sorted({said.actor for said in log if said.actor and _lies(said)})
        for actor in liars:
            system.forget(actor)
        honest = [said for said in log if not _lies(said)]
        for name, lessons in (("liars", honest), ("all", [])):
            if name == "all":
                system.forget()
            fresh = _taught(make(), uses, memory, lessons)
            for event in asked:
                rankings = [list(each.search(event.question, k)) for each in (system, fresh)]
                pairs[name].append((rankings[0], rankings[1], event))
            _close(fresh)

    run_stream(system, uses, kind="hostile", k=k, seed=seed, at_end=compare)
    _close(system)
    return {name: _summed(found) for name, found in pairs.items() if found}


def _taught(system: Retriever, uses: UseSet, memory: str, lessons: Sequence[Feedback]) -> Retriever:
    system.reset()
    system.add([passage for passage in uses.passages if passage.memory == memory])
    for said in lessons:
        system.feedback(**asdict(said))
    return system


def _summed(pairs: Sequence[tuple[list[str], list[str], Event]]) -> Unlearning:
    changes = [
        recall_at_k(after, event.relevant, 5) - recall_at_k(never, event.relevant, 5)
        for after, never, event in pairs
    ]
    return Unlearning(
        same=sum(after == never for after, never, _ in pairs) / len(pairs),
        change=sum(changes) / len(pairs),
        questions=len(pairs),
    )


def _sample(events: Sequence[Event]) -> Sequence[Event]:
    step = max(1, -(-len(events) // _ASKED))
    return events[::step]


def _lies(said: Feedback) -> bool:
    return bool(said.actor and said.actor.startswith(INTRUDER))


def _close(system: Retriever) -> None:
    close = getattr(system, "close", None)
    if close is not None:
        close()
