"""One question to an index, from its arguments and its request to a recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hebbgraph import Embedder, HebbianIndex, Ranking, RankStep, Recall, Request
from hebbgraph.access import Fields, Namespaces, joined, ruled
from hebbgraph.errors import FilterError, ParameterError, check_share
from hebbgraph.recall.hits import where_callable
from hebbgraph.recall.pipeline import Where
from hebbgraph.records.base import MAX_K
from hebbgraph.text.query import usable_question
from langchain_hebbgraph.documents import Filter, chunk_filter
from langchain_hebbgraph.request import Recalled, announce, configured

if TYPE_CHECKING:
    from langchain_hebbgraph.retriever import HebbianRetriever

__all__ = ["AT_CALL", "DEFAULT_K", "Question", "check_index", "check_names"]

#: LangChain's own.
DEFAULT_K = 4
#: What a call may set.
AT_CALL = ("k", "filter", "score_threshold", "strategy", "score_key")
_HINTS = {
    **dict.fromkeys(("top_k", "n_results", "similarity_top_k"), "write k=3, for example"),
    **dict.fromkeys(("embeddings", "embedder", "embedding_function"), "write embedding="),
    **dict.fromkeys(("location", "persist_directory"), "write path="),
}


@dataclass(frozen=True)
class _Passing(RankStep):
    """Cuts what functions do not pass."""

    functions: list[Callable[[Any], bool]]
    k: int

    def depth(self, k: int) -> int:
        return MAX_K

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        def passes(chunk: Any) -> bool:
            return all(function(chunk) for function in self.functions)

        return where_callable(request, ranking, passes, self.k)


class Question:
    """A question with all that restricts it: by the application, its request, and the call."""

    def __init__(
        self,
        rules: HebbianRetriever,
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
        parts = [configured(fields), {"filter": fields.get("hebbgraph_filters")}, nested, direct]
        chosen = {name: getattr(rules, name) for name in AT_CALL}
        for part in parts:
            chosen |= {name: value for name, value in part.items() if value is not None}
        self.text = text
        self.k = chosen["k"]
        self.score_key: str | None = chosen["score_key"]
        check_share(chosen["score_threshold"], "score_threshold")
        self._options = {"strategy": chosen["strategy"], "min_score": chosen["score_threshold"]}
        filters: list[Filter] = [rules.filter, *(part.get("filter") for part in parts)]
        if rules.filter_by is not None:
            filters.append(ruled(rules.filter_by, fields, "filter_by"))
        self.filters: list[Where] = [chunk_filter(w) for w in filters if w not in (None, {})]
        for where in self.filters:
            if not isinstance(where, Mapping) and not callable(where):
                raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
        self._rules, self._fields, self._run = rules, fields, run

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not usable_question(self.text)[0].strip()

    def recall(
        self,
        seeds: Iterable[tuple[str, float]] | None = None,
        *,
        vector: Sequence[float] | None = None,
        margin: int = 0,
    ) -> Recall:
        """Ask the index of the request's namespace for k hits, and a margin for losses."""
        rules, k = self._rules, min(self.k + margin, MAX_K) if margin else self.k
        functions = [where for where in self.filters if callable(where)]
        cuts = [_Passing(functions, k)] if functions else []
        namespace = rules.index.namespace
        if rules.namespace_by is not None:
            namespace = ruled(rules.namespace_by, self._fields, "namespace_by")
        return self._namespaces.recall(
            namespace,
            self.text,
            k,
            where=joined(where for where in self.filters if isinstance(where, Mapping)),
            seeds=seeds,
            vector=vector,
            steps=(*cuts, *rules.steps),
            recall_id=None if self._run is None else str(self._run.run_id),
            **self._options,
        )

    def announce(self, recall: Recall) -> None:
        """Tell learners of what is returned."""
        if recall.hits:
            announce(Recalled(recall, self._namespaces, self._fields), self._run)

    @property
    def _namespaces(self) -> Namespaces:
        assert self._rules.namespaces is not None
        return self._rules.namespaces


def check_index(index: object, embedding: object) -> None:
    """Raise ParameterError unless these are an index and an embedding, or None."""
    if not isinstance(index, HebbianIndex | None):
        raise ParameterError(f"index is a HebbianIndex, got {type(index).__name__}; or write path=")
    if not isinstance(embedding, Embedder | None):
        kind = type(embedding).__name__
        raise ParameterError(f"embedding has embed_query and embed_documents, got {kind}")


def check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ParameterError for an argument that nobody would read."""
    for name in sorted(set(given) - set(known)):
        hint = _HINTS.get(name, f"known are {', '.join(sorted(known))}")
        raise ParameterError(f"{where} takes no {name!r}; {hint}")
