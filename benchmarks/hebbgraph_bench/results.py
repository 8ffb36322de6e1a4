"""The figures of a run per system and question, and their comparison."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap

__all__ = ["AtTokens", "EmbeddingCost", "SetResult", "SystemResult", "compare", "mean_defined"]


@dataclass(frozen=True, slots=True)
class AtTokens:
    """Quality per question when every system fills the same context.

    Hits are taken in order until the next one would exceed ``tokens``. ``values`` has
    ``recall``, ``all-gold``, ``answer`` and ``chunks`` (the number that fits).
    """

    tokens: int
    values: Mapping[str, FloatArray]

    def only(self, mask: BoolArray) -> AtTokens:
        """Return the figures of the selected questions."""
        return replace(self, values=_only(self.values, mask))


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system on one set.

    ``values`` holds each metric per question, in the order of the set's questions, NaN
    where it is not defined; ``rankings`` the ids behind it. 1 MB is 10**6 bytes.
    """

    name: str
    settings: Mapping[str, str | float | bool | None]
    values: Mapping[str, FloatArray]
    rankings: tuple[tuple[str, ...], ...]
    query_ms: FloatArray
    index_seconds: float
    index_mb_per_second: float
    peak_memory_mb: float | None
    at_tokens: tuple[AtTokens, ...] = ()

    def mean(self, metric: str) -> float:
        """Mean over the questions for which the metric is defined; NaN if there are none."""
        return mean_defined(self.values[metric])

    def only(self, mask: BoolArray) -> SystemResult:
        """Return the figures of the selected questions."""
        return replace(
            self,
            values=_only(self.values, mask),
            rankings=tuple(itertools.compress(self.rankings, mask.tolist())),
            query_ms=self.query_ms[mask],
            at_tokens=tuple(budget.only(mask) for budget in self.at_tokens),
        )


@dataclass(frozen=True, slots=True)
class EmbeddingCost:
    """Cost of embedding, apart from all systems: passages together, questions one by one.

    ``read`` texts were not embedded but read from a cache on disk, which took less time.
    """

    passages_seconds: float
    query_ms: FloatArray
    read: int = 0


@dataclass(frozen=True, slots=True)
class SetResult:
    """All systems on one set.

    ``types`` and ``variants`` hold those fields of each :class:`~hebbgraph_bench.datasets.Query`;
    leave them out if the set has neither.
    """

    name: str
    k: int
    chunks: int
    query_ids: tuple[str, ...]
    skipped: Mapping[str, int]
    megabytes: float
    systems: tuple[SystemResult, ...]
    embedding: EmbeddingCost | None = None
    types: tuple[str | None, ...] = ()
    variants: tuple[str | None, ...] = ()

    def by_variant(self) -> list[SetResult]:
        """Return the questions themselves, then each kind of variant as a set of its own."""
        return [
            replace(part, name=f"{self.name}, {variant}") if variant else part
            for variant, part in self._parts(self.variants).items()
        ] or [self]

    def by_type(self) -> dict[str, SetResult]:
        """Return the figures of each type of question; empty if there is only one type."""
        parts = {type_ or "other": part for type_, part in self._parts(self.types).items()}
        return parts if len(parts) > 1 else {}

    def _parts(self, kinds: Sequence[str | None]) -> dict[str | None, SetResult]:
        return {
            kind: self._only(np.array([value == kind for value in kinds]))
            for kind in dict.fromkeys(kinds)
        }

    def _only(self, mask: BoolArray) -> SetResult:
        flags = mask.tolist()
        cost = self.embedding
        return replace(
            self,
            query_ids=tuple(itertools.compress(self.query_ids, flags)),
            types=tuple(itertools.compress(self.types, flags)),
            variants=tuple(itertools.compress(self.variants, flags)),
            systems=tuple(system.only(mask) for system in self.systems),
            embedding=cost and replace(cost, query_ms=cost.query_ms[mask]),
        )

    def system(self, name: str) -> SystemResult:
        """Return the result of one system.

        Raises
        ------
        ParameterError
            If there is none of that name.
        """
        for system in self.systems:
            if system.name == name:
                return system
        names = ", ".join(system.name for system in self.systems)
        raise ParameterError(f"no system is called {name!r}; there are: {names}")


def compare(result: SetResult, ours: str, theirs: str, metric: str, *, seed: int = 0) -> Difference:
    """Compare two systems on the questions for which the metric is defined.

    Raises
    ------
    ParameterError
        If a system or metric is unknown, or the metric is nowhere defined.
    """
    first, second = result.system(ours), result.system(theirs)
    if metric not in first.values:
        raise ParameterError(f"no metric is called {metric!r}; there are: {list(first.values)}")
    both = ~np.isnan(first.values[metric])
    return paired_bootstrap(first.values[metric][both], second.values[metric][both], seed=seed)


def _only(values: Mapping[str, FloatArray], asked: BoolArray) -> dict[str, FloatArray]:
    return {name: figures[asked] for name, figures in values.items()}


def mean_defined(values: FloatArray) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
