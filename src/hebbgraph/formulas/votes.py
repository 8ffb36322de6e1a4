"""Who is believed, where several lessons are about one question.

One rule, local to the question. On one question, distinct actors who say the same of the same
chunk count 1, ½, ⅓, …, and so do repetitions by one actor. An actor's latest statement replaces
the earlier ones. Lessons without an actor are separate statements, damped like repetitions by one
actor.

Actors disagree where one rejects what another cites, or where they cite different chunks only.
Then each side counts by its share: the cube of the number of its actors over the sum of the cubes,
so an honest majority wins clearly. Across questions everything counts in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: A side counts by its actors to this power.
_POWER = 3.0


class Statement(NamedTuple):
    """What one lesson says of one question.

    ``actor`` is None for lessons that name nobody. ``weight``, in (0, 1], is a rating's height, 1
    for a citation. The application's or an editor's word is ``trusted``, and counts at once.
    """

    actor: str | None
    cited: frozenset[str]
    rejected: frozenset[str]
    weight: float = 1.0
    trusted: bool = False

    @property
    def claim(self) -> tuple[frozenset[str], frozenset[str]]:
        return self.cited, self.rejected


class Belief(NamedTuple):
    """How far a chunk is believed to answer a question, and how far not to.

    ``answers``, in [-1, 1], ignores repetition: no side weighs more than 1.
    """

    cited: float
    rejected: float
    answers: float = 0.0


class _Voice(NamedTuple):
    """An actor's current statement, and its strength with repetitions."""

    said: Statement
    strength: float


def beliefs(statements: Sequence[Statement], *, quorum: int = 1) -> dict[str, Belief]:
    """Return what is believed of each chunk that statements on one question are about.

    Statements are sorted, oldest first. ``quorum`` actors must say the same before it counts; all
    lessons without an actor count as one actor.

    >>> def cites(actor, chunk):
    ...     return Statement(actor, frozenset([chunk]), frozenset())
    >>> beliefs([cites("ada", "a"), cites("ben", "a")])["a"].cited
    1.5

    Three honest actors and one liar:

    >>> found = beliefs([cites(actor, "a") for actor in "xyz"] + [cites("eve", "b")])
    >>> round(found["a"].cited, 2), round(found["b"].cited, 2)
    (1.77, 0.04)
    """
    voices = _voices(statements)
    found = {}
    for chunk in sorted({c for voice in voices for c in voice.said.cited | voice.said.rejected}):
        citing = [voice for voice in voices if chunk in voice.said.cited]
        rejecting = [voice for voice in voices if chunk in voice.said.rejected]
        # To cite any chunk that supporters of this one also cite is to agree with them.
        beside = {other for voice in citing for other in voice.said.cited}
        rivals = [
            voice
            for voice in voices
            if voice.said.cited and not (voice.said.cited & beside or chunk in voice.said.rejected)
        ]
        support, against = _support(citing, quorum), _support(rejecting, quorum)
        share = _share(citing, [*rejecting, *rivals], quorum)
        denied = _share(rejecting, citing, quorum)
        answers = min(support, 1.0) * share - min(against, 1.0) * denied
        found[chunk] = Belief(support * share, against * denied, answers)
    return found


def _voices(statements: Sequence[Statement]) -> list[_Voice]:
    """Return each named actor's latest statement, and the distinct anonymous ones."""
    latest: dict[object, list[Statement]] = {}
    for statement in statements:
        speaker = statement.actor or (statement.claim, statement.trusted)
        said = latest.setdefault(speaker, [])
        if said and said[-1].claim != statement.claim:
            said.clear()  # another statement, not a repetition
        said.append(statement)
    return [
        _Voice(said[-1], sum(s.weight / rank for rank, s in enumerate(said, start=1)))
        for said in latest.values()
    ]


def _support(voices: Sequence[_Voice], quorum: int) -> float:
    """Return what voices that say the same are worth together."""
    actors = {voice.said.actor for voice in voices}
    if len(actors) < quorum and not any(voice.said.trusted for voice in voices):
        return 0.0
    strengths = sorted((voice.strength for voice in voices), reverse=True)
    return float(sum(strength / rank for rank, strength in enumerate(strengths, start=1)))


def _share(side: Sequence[_Voice], others: Sequence[_Voice], quorum: int) -> float:
    """Return the share of a side; without support it is 0. No repetition outvotes a named actor."""
    is_named = any(voice.said.actor is not None for voice in (*side, *others))

    def size(voices: Sequence[_Voice]) -> float:
        if not _support(voices, quorum):
            return 0.0
        nameless = sum(voice.strength for voice in voices if voice.said.actor is None)
        named = sum(min(voice.strength, 1.0) for voice in voices if voice.said.actor is not None)
        total: float = (named + (min(nameless, 1.0) if is_named else nameless)) ** _POWER
        return total

    own = size(side)
    return own / (own + size(others)) if own else 0.0
