"""Options of a search that few retrievers need, shared by the adapters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from hebbgraph.adapters.seed_vectors import SeedVectors, check_seed_vectors
from hebbgraph.arguments import check_names
from hebbgraph.errors import FilterError, ParameterError
from hebbgraph.recall.options import RecallOptions
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import Strategy, StrategyName, check_strategy

__all__ = ["CommonSearchOptions"]


@dataclass(frozen=True, kw_only=True)
class CommonSearchOptions:
    """Options of a search that frameworks have no argument for.

    Parameters
    ----------
    strategy : str or Strategy
        ``"spreading"``, a published rival of hebbgraph-papers, or an object of your own.
    seed_vectors : callable or "embed", optional
        From ids to a wrapped store's vectors, which rank chunks that its search did not return.
        Not needed for FAISS, Chroma and stores in memory. ``"embed"`` embeds some 300 texts a
        question with the store's model, and keeps their vectors in memory.
    filter_by : callable, optional
        An access rule: from the fields of a request to the filter for it. It applies in chains,
        engines, tools and agents alike, in addition to all other filters. An error in it ends the
        request, and so does a field that the request lacks; returning None is an error.
    per_colony, steps, min_score
        As for ``HebbianIndex.recall``: the most hits of one colony, rank steps of your own, the
        least score of a hit.
    """

    strategy: StrategyName | Strategy = "spreading"
    seed_vectors: SeedVectors = None
    filter_by: Callable[[Mapping[str, Any]], Any] | None = None
    per_colony: int | None = None
    steps: Sequence[RankStep] = ()
    min_score: float | None = None
    #: How a rule spells "everything may be seen".
    everything: ClassVar[str] = "{}"

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Raise ParameterError for an unknown option; the dataclass sets the known ones."""
        check_names(options, cls.names(), of="SearchOptions")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        RecallOptions(**self.for_recall)
        check_strategy(self.strategy)
        check_seed_vectors(self.seed_vectors)
        if not (self.filter_by is None or callable(self.filter_by)):
            raise ParameterError(
                "filter_by is a callable from what a request says to a filter, "
                f"got {self.filter_by!r:.80}; a filter for all requests is an argument of its own"
            )

    @property
    def for_recall(self) -> dict[str, Any]:
        """The options that are keywords of ``recall``; adapters pass them on."""
        keywords = {field.name for field in fields(RecallOptions)}
        return {name: getattr(self, name) for name in self.names() if name in keywords}

    def rule_for(self, request: Mapping[str, Any]) -> Any:
        """Return the filter that ``filter_by`` sets for a request; None without ``filter_by``.

        Raises
        ------
        ParameterError
            If the rule needs a field that the request lacks.
        FilterError
            If the rule returns None: to let everything pass, it must return ``everything``.
        """
        if self.filter_by is None:
            return None
        try:
            rule = self.filter_by(request)
        except KeyError as error:
            names = ", ".join(repr(name) for name in request)
            fields = f"only {names:.400}" if names else "no fields at all"
            raise ParameterError(
                f"filter_by finds no {', '.join(map(repr, error.args)):.200}; the request has "
                f"{fields}. Name it in the request, or have filter_by use request.get()"
            ) from error
        if rule is None:
            raise FilterError(
                f"filter_by returned None; return {self.everything} where everything may be seen"
            )
        return rule

    @classmethod
    def of(cls, options: Any) -> Self:
        """Return options unchanged, made from a mapping, or the default ones for None."""
        if isinstance(options, Mapping):
            return cls(**options)
        if not (options is None or isinstance(options, cls)):
            raise ParameterError(f"options is a SearchOptions, got {options!r:.80}")
        return options or cls()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def taken_from(cls, arguments: dict[str, Any], *, stacklevel: int) -> Self:
        """Pop ``options``, and options in their deprecated form, out of a call's arguments."""
        options = cls.of(arguments.pop("options", None))
        old = {name: arguments.pop(name) for name in cls.names() if name in arguments}
        if not old:
            return options
        warnings.warn(
            f"write options=SearchOptions({', '.join(f'{name}=...' for name in old)}); "
            f"{', '.join(old)} as an argument of its own is removed in 0.3",
            DeprecationWarning,
            stacklevel=stacklevel + 1,
        )
        return replace(options, **old)
