"""Who taught, and how far each is believed: a left fold of the feedback log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.formulas.credibility import SATURATION, agreement, allowances, credibilities
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings

__all__ = ["TRUSTED", "Actors", "Voice", "standing", "voice_of"]

Voice: TypeAlias = str | None
"""Whose word a lesson is: an actor's name, ``""`` for all that are unnamed, None for those that
the application vouches for."""

#: A chunk whose score is so much higher than its direct evidence, both relative to the best, was
#: brought by the graph: who cites it may well be right, and direct evidence cannot tell.
_BROUGHT = 0.2
#: The number of the voice that is not bounded.
TRUSTED = 0


def voice_of(feedback: Feedback) -> Voice:
    """Return whose word a feedback is."""
    return None if feedback.trusted else feedback.actor or ""


def standing(feedback: Feedback) -> float:
    """Return how far a feedback agrees with direct evidence, in log-odds.

    Cited chunks that the graph brought say nothing for or against it.

    Examples
    --------
    >>> from hebbgraph.records import ShownChunk
    >>> shown = [ShownChunk(chunk_id=str(n), rank=n, text_hash="0" * 16) for n in (1, 2)]
    >>> found = {"namespace": "n", "recall_id": "r", "shown": shown, "evidence": [1.0, 0.5]}
    >>> [round(standing(Feedback(id="f", cited=[one], **found)), 2) for one in "12"]
    [0.04, -2.6]
    """
    ranks = {one.chunk_id: one.rank for one in feedback.shown}
    evidence = np.array(feedback.evidence)
    if not len(evidence):  # of an earlier version, or of a strategy that does not search
        evidence = np.arange(1, max(ranks.values(), default=0) + 1) ** -0.1

    def positions(ids: Sequence[str]) -> list[int]:
        return list({min(ranks[id_], len(evidence)) - 1: None for id_ in ids if id_ in ranks})

    if feedback.cited:
        brought = _brought(feedback, evidence)
        return agreement(evidence, positions([id_ for id_ in feedback.cited if id_ not in brought]))
    # Who only rejects what search finds good may be right, but others cannot tell.
    return -0.5 * max(agreement(evidence, positions(feedback.rejected), telling=False), 0.0)


def _brought(feedback: Feedback, evidence: NDArray[np.float64]) -> set[str]:
    """Return the shown chunks that the graph brought, not direct search."""
    scores = {one.chunk_id: one.score for one in feedback.shown if one.score is not None}
    best_score, best = max(scores.values(), default=0.0), float(evidence.max(initial=0.0))
    if not feedback.evidence or best_score <= 0.0 or best <= 0.0:
        return set()
    return {
        one.chunk_id
        for one in feedback.shown
        if one.rank <= len(evidence)
        and scores.get(one.chunk_id, 0.0) / best_score > evidence[one.rank - 1] / best + _BROUGHT
    }


class Actors:
    """Those who taught, and their records.

    Parameters
    ----------
    settings : LearningSettings
        ``actor_events`` and ``actor_share``.

    Examples
    --------
    >>> actors = Actors(LearningSettings())
    >>> for _ in range(30):
    ...     actors.heard(actors.number("ann"), 1.0)
    ...     actors.heard(actors.number("eve"), -1.0)
    >>> actors.scales().round(2).tolist()
    [1.0, 1.0, 0.01, 0.95]
    """

    def __init__(self, settings: LearningSettings) -> None:
        self._settings = settings
        self.numbers: dict[Voice, int] = {None: TRUSTED}
        self._events = [0]
        self._record = [0.0]
        self._earned = [0]

    def number(self, voice: Voice) -> int:
        """Return the number of a voice; make one for a new one."""
        number = self.numbers.setdefault(voice, len(self._events))
        if number == len(self._events):
            self._events.append(0)
            self._record.append(0.0)
            self._earned.append(0)
        return number

    def heard(self, actor: int, agrees: float) -> None:
        """Count one more lesson of an actor, and how far it agrees."""
        self._events[actor] += 1
        record = self._record[actor] + agrees
        self._record[actor] = min(max(record, -SATURATION), SATURATION)
        self._earned[actor] += agrees > 0.0

    def scales(self) -> NDArray[np.float64]:
        """Return the factor on the weights of each, and last that of whoever comes next."""
        events = np.array([*self._events, 1], dtype=np.float64)
        believed = credibilities(np.array([*self._record, 0.0], dtype=np.float64), events)
        return believed * allowances(
            events,
            np.array([*self._earned, 0], dtype=np.float64),
            at_least=self._settings.actor_events,
            share=self._settings.actor_share,
        )

    # -- as plain data ----------------------------------------------------------------

    def facts(self) -> list[list[Any]]:
        """Return name, lessons, record and lessons that agreed, of each; JSON can hold them."""
        columns = (self.numbers, self._events, self._record, self._earned)
        return [list(row) for row in zip(*columns, strict=True)]

    @classmethod
    def restored(cls, settings: LearningSettings, facts: Iterable[Sequence[Any]]) -> Actors:
        """Make the actors that :meth:`facts` came from."""
        made = cls(settings)
        rows = list(facts)
        made.numbers = {row[0]: number for number, row in enumerate(rows)}
        made._events, made._record, made._earned = (
            [row[column] for row in rows] for column in (1, 2, 3)
        )
        return made
