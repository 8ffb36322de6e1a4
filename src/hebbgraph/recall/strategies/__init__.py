"""The built-in strategies by name. Each is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Literal, NamedTuple, TypeAlias, get_args

from hebbgraph.errors import ParameterError
from hebbgraph.namespace import Namespace
from hebbgraph.recall.strategies.base import Ranking, Request, Strategy

__all__ = [
    "Ranking",
    "Request",
    "Strategy",
    "StrategyName",
    "built_in_strategy",
    "check_strategy",
]

StrategyName: TypeAlias = Literal["spreading", "neighbourhood", "breadth_first", "neural"]


class _BuiltIn(NamedTuple):
    """The module of a strategy, and the class in it, which is given a Namespace."""

    module: str
    name: str


_BUILT_IN: dict[StrategyName, _BuiltIn] = {
    "spreading": _BuiltIn("hebbgraph.recall.strategies.spreading", "Spreading"),
    "neighbourhood": _BuiltIn("hebbgraph.recall.strategies.neighbourhood", "Neighbourhood"),
    "breadth_first": _BuiltIn("hebbgraph.recall.strategies.breadth_first", "BreadthFirst"),
    "neural": _BuiltIn("hebbgraph.recall.strategies.neural", "Neural"),
}


def check_strategy(strategy: StrategyName | Strategy) -> None:
    """Raise ParameterError unless this is a built-in strategy's name, or a strategy."""
    if isinstance(strategy, str):
        if strategy in _BUILT_IN:
            return
    elif isinstance(strategy, Strategy) and not isinstance(strategy, type):
        return
    raise ParameterError(
        f"strategy is one of {', '.join(get_args(StrategyName))}, or an object with name, pads "
        f"and rank(request); got {strategy!r}"
    )


def built_in_strategy(name: StrategyName, namespace: Namespace) -> Strategy:
    """Make a built-in strategy for one namespace."""
    entry = _BUILT_IN[name]
    made: Strategy = getattr(import_module(entry.module), entry.name)(namespace)
    return made
