"""What a recall is asked for beside its question: one record, from the face to the recaller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
        For values that no recall can use.
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
        limit = self.per_colony
        if limit is not None and (
            not isinstance(limit, int) or isinstance(limit, bool) or limit < 1
        ):
            raise ParameterError(f"per_colony is a whole number from 1, got {limit!r}")
        least = self.min_score
        if least is not None and (
            not isinstance(least, int | float) or isinstance(least, bool) or not 0 <= least <= 1
        ):
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
        """Whether a caller's own code runs while the index is locked."""
        return callable(self.where) or bool(self.steps) or not isinstance(self.strategy, str)

    @property
    def mask(self) -> Mapping[str, object] | None:
        """The filter, if it is a dict: a callable is asked about chunks instead."""
        return None if callable(self.where) else self.where

    @property
    def recorded_filter(self) -> dict[str, JsonValue] | Literal["callable"] | None:
        """The filter as a recall keeps it."""
        if self.where is None or callable(self.where):
            return None if self.where is None else "callable"
        try:
            recorded: dict[str, JsonValue] = from_json(to_json(plain(self.where)))
        except ValueError:  # values that are no JSON
            return "callable"
        return recorded


def check_query(query: str) -> None:
    """Raise ParameterError for a question that is none."""
    if not isinstance(query, str):
        raise ParameterError(f"a query is a str, got {type(query).__name__}")
    if not usable_question(query)[0].strip():
        raise ParameterError("the query is empty; ask something")


def check_filter(where: Where) -> None:
    """Raise FilterError for what is neither a dict nor a callable."""
    if where is not None and not callable(where) and not isinstance(where, Mapping):
        raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
