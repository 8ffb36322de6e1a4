"""From a question of LlamaIndex to a recall, with all that restricts it.

What a request says are its instrument tags: ``with instrument_tags({"user_id": "ann"}):``.
:mod:`hebbgraph.access` has the order of precedence: what the application binds always wins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index_instrumentation.dispatcher import active_instrument_tags
from pydantic import Field, SkipValidation

from hebbgraph import HebbianIndex, Recall, Strategy
from hebbgraph.access import Fields, Namespaces, fields_of, narrowed
from hebbgraph.errors import FilterError, ParameterError
from hebbgraph.recall.strategies import RankStep
from hebbgraph.text.query import usable_question
from llama_index.retrievers.hebbgraph.filters import to_where

__all__ = ["Asking", "RecallEvent"]

#: The instrument tag whose MetadataFilters narrow a request.
_FILTERS_TAG = "hebbgraph_filters"
#: A question without a word, for a search by embedding alone.
_NO_WORDS = "?"

_dispatcher = get_dispatcher(__name__)


class RecallEvent(BaseEvent):
    """A recall, told to learners within the span of its retrieval; what is logged has no text."""

    recall: SkipValidation[Recall] = Field(exclude=True, repr=False)
    namespaces: SkipValidation[Any] = Field(exclude=True, repr=False)
    fields: SkipValidation[Any] = Field(exclude=True, repr=False)


@dataclass(frozen=True)
class Asking:
    """What the application binds to all questions of a retriever or store."""

    namespaces: Namespaces
    filter_by: Callable[[Fields], MetadataFilters] | None = None
    namespace_by: Callable[[Fields], str] | None = None
    strategy: str | Strategy = "spreading"
    steps: Sequence[RankStep] = ()
    similarity_cutoff: float | None = None

    def recall(
        self,
        question: str,
        k: int,
        wheres: Iterable[Mapping[str, Any]] = (),
        *,
        vector: Sequence[float] | None = None,
        seeds: Iterable[tuple[str, float]] | None = None,
    ) -> Recall:
        """Return the recall of a question; an empty one if nothing is asked."""
        if not isinstance(question, str):
            raise ParameterError(f"a question is a str, got {type(question).__name__}")
        fields = fields_of(active_instrument_tags.get(), {})
        name = self._namespace(fields)
        where, steps = narrowed([*wheres, *self._ruled(fields)], k)
        is_empty = not usable_question(question)[0].strip()
        recall = Recall(id="", namespace=name, question="")
        if is_empty and vector is None:
            return recall
        with self.namespaces.opened(name) as index:
            if index is not None:
                recall = index.recall(
                    _NO_WORDS if is_empty else question,
                    k,
                    where=where,
                    seeds=seeds,
                    vector=vector,
                    strategy=self.strategy,
                    steps=(*steps, *self.steps),
                    min_score=self.similarity_cutoff,
                )
            if not recall:
                _warn_if_empty(index, name)
        if recall:
            told = RecallEvent(recall=recall, namespaces=self.namespaces, fields=fields)
            _dispatcher.event(told)
        return recall

    def _namespace(self, fields: Fields) -> str:
        if self.namespace_by is None:
            return self.namespaces.index.namespace
        name = _applied(self.namespace_by, fields, "namespace_by")
        if not isinstance(name, str):
            raise ParameterError(f"namespace_by returned {name!r:.80}; return a namespace's name")
        return name

    def _ruled(self, fields: Fields) -> Iterable[Mapping[str, Any]]:
        """Yield the filter of the application, and that of the request, which only narrows it."""
        if self.filter_by is not None:
            rule = _applied(self.filter_by, fields, "filter_by")
            if rule is None:
                raise FilterError("filter_by returned None; return MetadataFilters, [] for all")
            yield to_where(rule)
        yield to_where(fields.get(_FILTERS_TAG))


def _applied(rule: Callable[[Fields], Any], fields: Fields, name: str) -> Any:
    try:
        return rule(fields)
    except KeyError as error:
        raise ParameterError(
            f"{name} finds no {error.args[0]!r:.80} in the request; ask within "
            "instrument_tags({...}) that have it"
        ) from error


def _warn_if_empty(index: HebbianIndex | None, namespace: str) -> None:
    # Hits are filled up to k, and seeds keep the embedder from being asked.
    if index is None or not index.recall(_NO_WORDS, 1, seeds=()):
        what = f"there is no namespace {namespace!r}" if index is None else f"{index!r} is empty"
        warnings.warn(
            f"{what}, so nothing can be found; add nodes first, or check path and namespace",
            UserWarning,
            stacklevel=4,
        )
