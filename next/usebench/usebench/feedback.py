"""The feedback after a question: right, partial, wrong, or hostile.

Each kind turns the citations of a perfect reader into those that are made. Hostile actors
(:func:`with_intruders`) repeat questions and cite wrong passages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from usebench.errors import ParameterError
from usebench.records import Event, Feedback

__all__ = ["INTRUDER", "KINDS", "partial", "right", "say", "stream", "with_intruders", "wrong"]

INTRUDER = "intruder"
_WRONG, _MISSING, _INTRUDERS = 0.2, 0.5, 0.1

#: Maps right citations, the other passages shown and a random generator to actual citations.
Reader = Callable[[Sequence[str], Sequence[str], random.Random], Sequence[str]]


def right(cited: Sequence[str], others: Sequence[str], rng: random.Random) -> Sequence[str]:
    """Cite the right passages."""
    return cited


def wrong(cited: Sequence[str], others: Sequence[str], rng: random.Random) -> Sequence[str]:
    """In one feedback of five, replace a right citation by another passage shown.

    Examples
    --------
    >>> sum(wrong(["a"], ["x"], random.Random(seed)) == ["x"] for seed in range(1000)) / 1000
    0.2...
    """
    if not cited or not others or rng.random() >= _WRONG:
        return cited
    place = rng.randrange(len(cited))
    return [*cited[:place], rng.choice(list(others)), *cited[place + 1 :]]


def partial(cited: Sequence[str], others: Sequence[str], rng: random.Random) -> Sequence[str]:
    """Drop half of the citations; without any, there is no feedback."""
    return [id_ for id_ in cited if rng.random() >= _MISSING]


#: The kinds of feedback by name. ``hostile`` is right feedback with liars among the actors;
#: ``gold`` cites all right passages, even those that were not shown.
KINDS: dict[str, Reader] = {
    "right": right,
    "wrong": wrong,
    "partial": partial,
    "hostile": right,
    "gold": right,
}


def stream(events: Sequence[Event], kind: str, *, seed: int = 0) -> Sequence[Event]:
    """Return the events under a kind of feedback."""
    if kind not in KINDS:
        raise ParameterError(f"feedback is one of {', '.join(KINDS)}; got {kind!r}")
    return with_intruders(events, seed=seed) if kind == "hostile" else events


def with_intruders(
    events: Sequence[Event], *, share: float = _INTRUDERS, seed: int = 0
) -> Sequence[Event]:
    """Insert lies, so that they make up a ``share`` of all feedback.

    A liar repeats an earlier question, and cites the lowest passage shown that does not answer it.
    The liars share two names.

    Examples
    --------
    >>> asked = [Event(str(n), "where?", {"a": 1}, when=n) for n in range(9)]
    >>> [event.actor for event in with_intruders(asked) if event.hostile]
    ['intruder-0']
    """
    rng = random.Random(seed)
    mixed: list[Event] = []
    repeatable: list[Event] = []
    due, lies = 0.0, 0
    for event in events:
        mixed.append(event)
        if not event.taught:
            continue
        if repeatable and repeatable[-1].memory != event.memory:
            repeatable.clear()
        repeatable.append(event)
        due += share / (1 - share)
        while due >= 1 - 1e-9:
            due -= 1
            mixed.append(
                replace(
                    rng.choice(repeatable),
                    id=f"{event.id} {INTRUDER}",
                    when=event.when,
                    actor=f"{INTRUDER}-{lies % 2}",
                    scored=False,
                    recorded=None,
                    hostile=True,
                )
            )
            lies += 1
    return mixed


def say(event: Event, shown: Sequence[str], kind: str, *, seed: int = 0) -> Feedback | None:
    """Return the feedback of an event's actor on the passages shown; None if there is none.

    The same event and seed give the same random choices, whatever was shown before.
    """
    if not event.taught:
        return None
    if event.hostile:
        lies = [id_ for id_ in shown if id_ not in event.gold][-1:]
        return _feedback(event, shown, lies) if lies else None
    rng = random.Random(f"{seed} {event.id}")
    recorded = event.recorded
    seen = recorded.shown if recorded is not None and recorded.shown else tuple(shown)
    if recorded is not None:
        right_ids: Sequence[str] = recorded.cited
    elif kind == "gold":
        right_ids = sorted(event.gold)
    else:
        right_ids = [id_ for id_ in seen if id_ in event.gold]
    others = [id_ for id_ in seen if id_ not in right_ids]
    cited = KINDS[kind](list(right_ids), others, rng)
    if not cited and not (recorded is not None and recorded.rejected):
        return None
    return _feedback(event, seen, cited)


def _feedback(event: Event, shown: Sequence[str], cited: Sequence[str]) -> Feedback:
    recorded = None if event.hostile else event.recorded
    unchanged = recorded is not None and tuple(cited) == recorded.cited
    return Feedback(
        question=event.question,
        shown=tuple(shown),
        cited=tuple(cited),
        rejected=tuple(id_ for id_ in recorded.rejected if id_ not in cited) if recorded else (),
        ratings=recorded.ratings if recorded and unchanged else {},
        actor=event.actor,
        when=event.when,
    )
