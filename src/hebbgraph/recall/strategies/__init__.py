"""The strategies by name. One is imported when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Literal, TypeAlias

from hebbgraph.derived.parts import Derived
from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.recall.strategies.base import Ranking, Request, Strategy
from hebbgraph.settings import Settings
from hebbgraph.store.truth import Truth

__all__ = ["STRATEGIES", "Entry", "Ranking", "Request", "Strategy", "StrategyName", "make_strategy"]

StrategyName: TypeAlias = Literal["spreading", "neighbourhood", "breadth_first", "neural"]


@dataclass(frozen=True)
class Entry:
    """Where a strategy lies, and which extra its module needs.

    The module has ``make(settings, truth, derived)``, which returns a :class:`Strategy`.
    """

    module: str
    extra: str | None = None


STRATEGIES: dict[StrategyName, Entry] = {
    "spreading": Entry("hebbgraph.recall.strategies.spreading"),
    "neighbourhood": Entry("hebbgraph.recall.strategies.neighbourhood"),
    "breadth_first": Entry("hebbgraph.recall.strategies.breadth_first"),
    "neural": Entry("hebbgraph.recall.strategies.neural", extra="neural"),
}


def make_strategy(
    name: StrategyName, settings: Settings, truth: Truth, derived: Derived
) -> Strategy:
    """Make a strategy for one namespace.

    Raises
    ------
    ParameterError
        If there is none of this name.
    MissingExtraError
        If it needs an extra that is not installed.
    """
    entry = STRATEGIES.get(name)
    if entry is None:
        raise ParameterError(f"strategy is one of {', '.join(STRATEGIES)}, got {name!r}")
    if entry.extra is None:
        module = import_module(entry.module)
    else:
        module = require(entry.module, extra=entry.extra, purpose=f"strategy {name!r}")
    made: Strategy = module.make(settings, truth, derived)
    return made
