"""One question to an index, from its arguments and its request to a recall."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from hebbgraph import HebbianIndex, Recall, Settings, Tagger
from hebbgraph.access import Fields, Namespaces, narrowed
from hebbgraph.errors import FilterError, ParameterError
from hebbgraph.limits import MAX_K
from hebbgraph.text.query import usable_question
from langchain_hebbgraph.documents import Filter, chunk_filter
from langchain_hebbgraph.request import Recalled, announce, configured

if TYPE_CHECKING:
    from langchain_hebbgraph.retriever import HebbianRetriever

__all__ = ["DEFAULT_K", "OpenOptions", "Question", "check_names", "is_empty"]

#: LangChain's own.
DEFAULT_K = 4
#: What a call may set.
AT_CALL = ("k", "filter", "score_threshold", "strategy", "score_key")
_HINTS = {
    **dict.fromkeys(("top_k", "n_results", "similarity_top_k"), "write k=3, for example"),
    **dict.fromkeys(("embeddings", "embedder", "embedding_function"), "write embedding="),
    **dict.fromkeys(("location", "persist_directory"), "write path="),
}


class OpenOptions(TypedDict, total=False):
    """What :meth:`hebbgraph.HebbianIndex.open` takes beside path and embedder."""

    namespace: str
    tagger: Tagger | None
    settings: Settings | None
    cache_dir: str | Path | None
    read_only: bool


class Question:
    """A question with all that restricts it: by the application, its request, and the call."""

    def __init__(
        self,
        retriever: HebbianRetriever,
        text: str,
        fields: Fields,
        options: Mapping[str, Any],
        run: Any = None,
    ) -> None:
        if not isinstance(text, str):
            hint = "take the text out of it: itemgetter('question') | retriever, or message.text"
            raise ParameterError(f"a query is a str, got {type(text).__name__}; {hint}")
        nested = options.get("search_kwargs") or {}
        direct = {name: value for name, value in options.items() if name != "search_kwargs"}
        check_names({**nested, **direct}, AT_CALL, "a search")
        parts = [configured(fields), nested, direct]
        chosen = {name: getattr(retriever, name) for name in AT_CALL}
        for part in parts:
            chosen |= {name: value for name, value in part.items() if value is not None}
        self.text = text
        self.k = chosen["k"]
        self.score_key: str | None = chosen["score_key"]
        self._options = {"strategy": chosen["strategy"], "min_score": chosen["score_threshold"]}
        rule = retriever.filter_by
        made = {} if rule is None else _applied(rule, fields, "filter_by")
        if made is None:
            raise FilterError("filter_by returned None; return a filter, {} lets everything pass")
        filters: list[Filter] = [retriever.filter, made, *(part.get("filter") for part in parts)]
        self.filters = [chunk_filter(where) for where in filters if where not in (None, {})]
        self._retriever, self._fields, self._run = retriever, fields, run

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not usable_question(self.text)[0].strip()

    def recall(
        self,
        seeds: Callable[[HebbianIndex], Iterable[tuple[str, float]]] | None = None,
        *,
        vector: Sequence[float] | None = None,
        margin: int = 0,
    ) -> Recall:
        """Ask the index of the request's namespace for k hits, and a margin for losses."""
        name = self._namespace()
        k = min(self.k + margin, MAX_K) if margin else self.k
        where, cuts = narrowed(self.filters, k)
        with self._namespaces.opened(name) as index:
            if index is None:
                _warn(f"there is no namespace {name!r}")
                return Recall(id="", namespace=name, question="")
            recall = index.recall(
                self.text,
                k,
                where=where,
                seeds=None if seeds is None else seeds(index),
                vector=vector,
                steps=(*cuts, *self._retriever.steps),
                recall_id=None if self._run is None else str(self._run.run_id),
                **self._options,
            )
            if not recall and is_empty(index):
                _warn(f"{index!r} is empty")
        return recall

    def announce(self, recall: Recall) -> None:
        """Tell learners of what is returned."""
        if recall.hits:
            announce(Recalled(recall, self._namespaces, self._fields), self._run)

    @property
    def _namespaces(self) -> Namespaces:
        assert self._retriever.namespaces is not None
        return self._retriever.namespaces

    def _namespace(self) -> str:
        if (rule := self._retriever.namespace_by) is None:
            return self._retriever.index.namespace
        name = _applied(rule, self._fields, "namespace_by")
        if not isinstance(name, str):
            raise ParameterError(f"namespace_by returned {name!r:.80}; return a namespace's name")
        return name


def _applied(rule: Callable[[Fields], Any], fields: Fields, name: str) -> Any:
    try:
        return rule(fields)
    except KeyError as error:
        raise ParameterError(
            f"{name} finds no {error.args[0]!r:.80} in the request; set it in the run's context or "
            "in configurable"
        ) from error


def is_empty(index: HebbianIndex) -> bool:
    """Return whether an index has no chunk."""
    # Hits are filled up to k, and seeds keep the embedder from being asked.
    return not index.recall("?", 1, seeds=())


def _warn(message: str) -> None:
    hint = "add documents first, or check path and namespace"
    warnings.warn(f"{message}, so nothing can be found; {hint}", UserWarning, stacklevel=3)


def check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ParameterError for an argument that nobody would read."""
    for name in sorted(set(given) - set(known)):
        hint = _HINTS.get(name, f"known are {', '.join(sorted(known))}")
        raise ParameterError(f"{where} takes no {name!r}; {hint}")
