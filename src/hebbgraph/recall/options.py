"""The keywords of ``recall``, checked, in one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import UnionType
from typing import Literal

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from hebbgraph.arguments import check_ids, check_k
from hebbgraph.errors import FilterError, ParameterError
from hebbgraph.moments import Moment, check_moment
from hebbgraph.plain_values import plain
from hebbgraph.protocols import VectorSource
from hebbgraph.recall.masks import Where
from hebbgraph.recall.steps import RankStep, check_steps
from hebbgraph.recall.strategies import Strategy, StrategyName
from hebbgraph.text.query import usable_question

__all__ = ["RecallOptions", "check_filter", "check_query"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecallOptions:
    """The keywords of :meth:`hebbgraph.HebbianIndex.recall`, checked.

    Raises
    ------
    ParameterError, FilterError
        For a value out of range or of the wrong type.
    """

    k: int = 10
    where: Where = None
    strategy: StrategyName | Strategy = "spreading"
    id: str | None = None
    seeds: Iterable[tuple[str, float]] | None = None
    vector: Sequence[float] | None = None
    vectors: VectorSource | None = None
    per_colony: int | None = None
    history: Iterable[str] = ()
    as_of: Moment | None = None
    steps: Sequence[RankStep] = ()
    min_score: float | None = None

    def __post_init__(self) -> None:
        if self.id is not None:
            check_ids([self.id], "a recall id")
        check_k(self.k)
        check_filter(self.where)
        limit, least = self.per_colony, self.min_score
        if limit is not None and not (_is_number(limit, int) and limit >= 1):
            raise ParameterError(f"per_colony is a whole number from 1, got {limit!r}")
        if least is not None and not (_is_number(least, int | float) and 0 <= least <= 1):
            raise ParameterError(f"min_score is a number from 0 to 1, got {least!r}")
        check_steps(self.steps)
        if self.as_of is not None:
            check_moment("as_of", self.as_of)

    @property
    def moment(self) -> datetime | None:
        """The instant that ``as_of`` names."""
        return None if self.as_of is None else check_moment("as_of", self.as_of)

    @property
    def calls_back(self) -> bool:
        """Whether the caller's code runs while the index is locked."""
        return callable(self.where) or bool(self.steps) or not isinstance(self.strategy, str)

    @property
    def mask(self) -> Mapping[str, object] | None:
        """The filter if it is a dict; a callable is called for chunks instead."""
        return None if callable(self.where) else self.where

    @property
    def recorded_filter(self) -> dict[str, JsonValue] | Literal["callable"] | None:
        """The filter as :attr:`Recall.where` records it."""
        if self.where is None or callable(self.where):
            return None if self.where is None else "callable"
        try:
            recorded: dict[str, JsonValue] = from_json(to_json(plain(self.where)))
        except ValueError:  # it has values that JSON cannot hold
            return "callable"
        return recorded


def _is_number(value: object, types: type | UnionType) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def check_query(query: str) -> None:
    """Raise ParameterError unless the question is a str with something to ask."""
    if not isinstance(query, str):
        raise ParameterError(f"a query is a str, got {type(query).__name__}")
    if not usable_question(query)[0].strip():
        raise ParameterError("the query is empty; ask something")


def check_filter(where: Where) -> None:
    """Raise FilterError unless the filter is a dict, a callable or None."""
    if where is not None and not callable(where) and not isinstance(where, Mapping):
        raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
