"""The arms of the experiment: each a learner, a teacher, and what it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import get_args

from hebbgraph.errors import ParameterError
from hebbgraph.settings import FamilyName, LearningSettings
from usebench.arms.cache import MostCited
from usebench.arms.vectors import LinearAdapter, Mover, Rocchio

from hebbgraph_bench.learning.learners import (
    ArmLearner,
    IndexLearner,
    Lab,
    Learner,
    Nothing,
    query_cache,
)
from hebbgraph_bench.learning.rivals import ElementWeights, MovedLearner
from hebbgraph_bench.learning.splits import Question
from hebbgraph_bench.learning.teachers import (
    CoRetrieval,
    Gold,
    Hostile,
    Teacher,
    WrongCitations,
)

__all__ = ["NONE", "OURS", "PARTS", "Arm", "arms"]

NONE = "none"
OURS = "ours"
#: Groups of arms that can be asked for; ``none`` and ``ours`` always run.
PARTS = ("families", "baselines", "rivals", "wrong", "hostile")

_WRONG_SHARES = (0.1, 0.2, 0.3)
_HOSTILE_SHARES = (0.05, 0.1)
#: From which nearness on a past question's citations are used: (cosine, overlap of terms).
_CACHES = {"query cache": (0.5, 0.3), "query cache, strict": (0.7, 0.5)}
#: How much cognee's weights count beside the score; the best of these on the development sets.
_INFLUENCE = 0.4


@dataclass(frozen=True)
class Arm:
    """One way to learn.

    Parameters
    ----------
    name : str
    learner : callable
        Given a lab, opens the learner, which has learned nothing yet.
    teachers : sequence of Teacher
        One run each, of which the mean counts.
    curve : bool
        Whether it is tested along the way too, not only after the first pass.
    """

    name: str
    learner: Callable[[Lab], AbstractContextManager[Learner]]
    teachers: Sequence[Teacher]
    curve: bool = False


def arms(
    protected: Sequence[Question],
    *,
    settings: LearningSettings | None = None,
    parts: Sequence[str] = PARTS,
    seeds: int = 5,
) -> list[Arm]:
    """List the arms.

    Parameters
    ----------
    protected : sequence of Question
        All that will be asked; what hostile actors promote answers none of them.
    settings : LearningSettings, optional
        Of ``ours``, from which the others are varied.
    parts : sequence of str
        Of :data:`PARTS`.
    seeds : int
        Runs of each arm that draws at random.

    Raises
    ------
    ParameterError
        If a part is unknown.
    """
    if unknown := set(parts) - set(PARTS):
        raise ParameterError(f"arms come in the parts {PARTS}, got {sorted(unknown)}")
    ours = settings or LearningSettings()
    found = [
        Arm(NONE, _static, [Gold()], curve=True),
        Arm(OURS, _opening(ours), [Gold()], curve=True),
    ]
    if "families" in parts:
        found += _families(ours)
    if "baselines" in parts:
        found += [
            Arm(name, _caching(*thresholds), [Gold()], curve=name == "query cache")
            for name, thresholds in _CACHES.items()
        ]
        found.append(Arm("most cited first", _counting, [Gold()], curve=True))
        found.append(Arm("co-retrieval, no citations", _opening(ours), [CoRetrieval()], curve=True))
    if "rivals" in parts:
        found += [
            Arm("cognee's weights", _weighing, [Gold()]),
            Arm("Rocchio", _moving(Rocchio), [Gold()]),
            Arm("linear adapter", _moving(LinearAdapter), [Gold()]),
        ]
    if "wrong" in parts:
        for share in _WRONG_SHARES:
            teachers = [WrongCitations(share, seed=seed) for seed in range(seeds)]
            found.append(Arm(f"{share:.0%} of citations wrong", _opening(ours), teachers))
    if "hostile" in parts:
        for share in _HOSTILE_SHARES:
            found.append(
                Arm(
                    f"{share:.0%} of actors promote one chunk",
                    _opening(ours),
                    [Hostile(share, "promote", protected, seed=seed) for seed in range(seeds)],
                )
            )
            found.append(
                Arm(
                    f"{share:.0%} of actors cite the lowest",
                    _opening(ours),
                    [Hostile(share, "lowest", protected, seed=seed) for seed in range(seeds)],
                )
            )
    return found


def _families(ours: LearningSettings) -> list[Arm]:
    found = []
    for family in get_args(FamilyName):
        rest = tuple(other for other in ours.families if other != family)
        for name, families in (
            (f"{family} alone", (family,)),
            (f"without {family}", rest),
        ):
            varied = ours.model_copy(update={"families": families})
            found.append(Arm(name, _opening(varied), [Gold()]))
    return found


def _opening(settings: LearningSettings) -> Callable[[Lab], AbstractContextManager[Learner]]:
    @contextmanager
    def opened(lab: Lab) -> Iterator[Learner]:
        with lab.fresh(settings) as index:
            yield IndexLearner(index)

    return opened


def _caching(cosine: float, overlap: float) -> Callable[[Lab], AbstractContextManager[Learner]]:
    @contextmanager
    def opened(lab: Lab) -> Iterator[Learner]:
        threshold = cosine if lab.embedder is not None else overlap
        with lab.unlearned() as ask:
            yield query_cache(ask, lab.embedder, threshold=threshold)

    return opened


@contextmanager
def _weighing(lab: Lab) -> Iterator[Learner]:
    with lab.unlearned() as ask:
        yield ElementWeights(ask, influence=_INFLUENCE)


def _moving(mover: Callable[[], Mover]) -> Callable[[Lab], AbstractContextManager[Learner]]:
    @contextmanager
    def opened(lab: Lab) -> Iterator[Learner]:
        if lab.embedder is None:  # nothing to move
            with lab.unlearned() as ask:
                yield Nothing(ask)
        else:
            with lab.fresh() as index:
                yield MovedLearner(index, lab.embedder, mover())

    return opened


@contextmanager
def _static(lab: Lab) -> Iterator[Learner]:
    with lab.unlearned() as ask:
        yield Nothing(ask)


@contextmanager
def _counting(lab: Lab) -> Iterator[Learner]:
    with lab.unlearned() as ask:
        yield ArmLearner(MostCited, ask)
