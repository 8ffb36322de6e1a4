"""Arguments of retrievers, for type checkers and at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from hebbgraph import HebbianIndex, IndexPool, ParameterError
from hebbgraph.adapters.search_options import CommonSearchOptions
from hebbgraph.arguments import check_k, check_names
from hebbgraph.moments import check_moment
from hebbgraph.protocols import Embedder
from hebbgraph.recall.strategies import check_strategy
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStore

from langchain_hebbgraph.conversion import Filter, check_filter

__all__ = [
    "AT_CALL",
    "CONFIGURABLE",
    "FETCH_K",
    "FIELDS_AT_CALL",
    "HINTS",
    "HINTS_OVER_STORES",
    "RECALL_OPTIONS",
    "Fields",
    "NewOptions",
    "OpeningOptions",
    "RetrieverOptions",
    "SearchOptions",
    "SearchType",
    "check_query",
    "check_search",
    "checked",
    "diversity_of",
    "open_index",
    "retriever_in",
]

SearchType: TypeAlias = Literal["similarity", "mmr", "similarity_score_threshold"]

AT_CALL = (
    "k",
    "filter",
    "strategy",
    "history",
    "as_of",
    "namespace",
    "search_type",
    "score_threshold",
    "lambda_mult",
    "fetch_k",
    "score_key",
    "include_path",
)
#: Those of them that are fields of the retriever, and those that go to the recall unchanged.
FIELDS_AT_CALL = tuple(name for name in AT_CALL if name not in ("filter", "strategy", "namespace"))
#: Those that a request may set in its ``configurable``, as well as a filter.
CONFIGURABLE = tuple(name for name in FIELDS_AT_CALL if name != "history")
RECALL_OPTIONS = ("history", "as_of", "strategy")
#: Of how many hits MMR chooses k, as in LangChain's own stores.
FETCH_K = 20
HINTS = dict.fromkeys(("top_k", "similarity_top_k", "n_results"), "write k=3, for example")
HINTS_OVER_STORES = HINTS | dict.fromkeys(
    ("embedder", "embedding", "embeddings"),
    "the store embeds, and nothing is embedded a second time",
)


@dataclass(frozen=True, kw_only=True)
class SearchOptions(CommonSearchOptions):
    """Rare options of a retriever: ``HebbianRetriever(..., options=SearchOptions(seed_k=50))``.

    Parameters
    ----------
    strategy, seed_vectors, filter_by, per_colony, steps, min_score
        As for :class:`~hebbgraph.adapters.search_options.CommonSearchOptions`. A request is its
        ``configurable``, its metadata and the context of a LangGraph runtime, as one dict:
        ``filter_by=lambda request: {"owner": request["user_id"]}``. ``{}`` lets everything pass.
    seed_k : int
        How many seeds to ask a wrapped vector store for; a wrapped retriever decides by itself.
    seed_kwargs : mapping
        Passed to the wrapped store's search, such as its own form of a filter.
    grow : bool
        Whether to add documents that the wrapped store finds and the index lacks, or has in an
        older version.
    namespace : str, optional
        The namespace to open; of a pool, the one to search if a request names none.
    seed_source : VectorStore or BaseRetriever, optional
        The wrapped store, searched for seeds in place of the index's own dense search. Set by
        ``from_vectorstore``.
    namespaces : IndexPool, optional
        Set by ``from_pool``.
    """

    seed_k: int = 100
    seed_kwargs: Mapping[str, Any] = field(default_factory=dict)
    filter_by: Callable[[Mapping[str, Any]], Filter] | None = None
    grow: bool = True
    namespace: str | None = None
    seed_source: VectorStore | BaseRetriever | None = field(default=None, repr=False)
    namespaces: IndexPool | None = field(default=None, repr=False)


class RetrieverOptions(TypedDict, total=False):
    """Fields that every constructor of a :class:`HebbianRetriever` takes."""

    k: int
    filter: Filter
    score_key: str | None
    history: Sequence[Any]
    as_of: datetime | date | str | None
    options: SearchOptions | Mapping[str, Any] | None
    search_type: SearchType
    score_threshold: float | None
    lambda_mult: float | None
    fetch_k: int | None
    include_path: bool
    search_kwargs: dict[str, Any]
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class OpeningOptions(RetrieverOptions, total=False):
    """Arguments that open an index and make a retriever over it, beside ``embedding``."""

    location: str | Path
    embedder: Embedder | None
    embeddings: Embedder | None
    open_options: dict[str, Any] | None


class NewOptions(OpeningOptions, total=False):
    """All arguments that open an index and make a retriever over it."""

    embedding: Embedder | None


class Fields(NewOptions, total=False):
    """Arguments of ``HebbianRetriever()``."""

    index: HebbianIndex


def checked(
    options: Mapping[str, Any], *, known: Iterable[str], hints: Mapping[str, str] = HINTS
) -> dict[str, Any]:
    """Return a retriever's fields, including those of ``search_kwargs``.

    Raises
    ------
    ParameterError, FilterError
        For unknown names, and for values that every search would refuse.
    """
    fields = dict(options)
    nested = fields.pop("search_kwargs", None) or {}
    if not isinstance(nested, Mapping):
        raise ParameterError(f'search_kwargs is a dict, such as {{"k": 3}}; got {nested!r:.80}')
    check_names(nested, AT_CALL, of="search_kwargs", instead=hints)
    check_names(fields, (*known, *SearchOptions.names()), of="HebbianRetriever", instead=hints)
    if twice := sorted(nested.keys() & fields.keys()):
        raise ParameterError(f"{twice[0]} is in search_kwargs too; give it once")
    fields |= nested
    fields["options"] = SearchOptions.taken_from(fields, stacklevel=3)
    check_search(fields)
    return fields


def check_query(query: Any) -> None:
    """Raise ParameterError unless a query is a str, with a hint for what chains often pass."""
    if isinstance(query, Mapping):
        names = [str(name) for name in query]
        raise ParameterError(
            f"a query is a str, got a dict with {', '.join(map(repr, names))!s:.200}; in a chain, "
            f"take the question from it: itemgetter({(names or ['question'])[0]!r:.80}) | retriever"
        )
    if not isinstance(query, str):
        hint = "; pass its text, message.text" if isinstance(query, BaseMessage) else ""
        raise ParameterError(f"a query is a str, got {type(query).__name__}{hint}")


def check_search(options: Mapping[str, Any], search_type: str = "similarity") -> None:
    """Raise ParameterError or FilterError for values that a search would refuse or ignore.

    ``search_type`` is that of options that name none.
    """
    for name in ("k", "fetch_k"):
        if options.get(name) is not None:
            check_k(options[name], name)
    check_strategy(options.get("strategy", "spreading"))
    check_filter(options.get("filter"))
    if options.get("as_of") is not None:
        check_moment("as_of", options["as_of"])
    if not (options.get("score_key") is None or isinstance(options["score_key"], str)):
        raise ParameterError(
            f"score_key is a name for the score in metadata, got {options['score_key']!r:.80}"
        )
    for name in ("score_threshold", "lambda_mult"):
        value = options.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (value is None or (is_number and 0 <= value <= 1)):
            raise ParameterError(f"{name} is a number from 0 to 1, got {value!r}")
    search_type = options.get("search_type", search_type)
    if search_type not in get_args(SearchType):
        known = ", ".join(get_args(SearchType))
        raise ParameterError(f"search_type is one of {known}; got {search_type!r}")
    needs_threshold = options.get("search_type") == "similarity_score_threshold"
    if needs_threshold and options.get("score_threshold") is None:
        raise ParameterError(
            "a search by score threshold needs the threshold: score_threshold=0.3, for example"
        )
    for name in ("lambda_mult", "fetch_k"):
        if options.get(name) is not None and search_type != "mmr":
            raise ParameterError(f'{name} goes with search_type="mmr"; other searches ignore it')


def diversity_of(lambda_mult: float | None) -> float:
    """Return the diversity for LangChain's ``lambda_mult``, which is 0.5 if left out."""
    return 1.0 - (0.5 if lambda_mult is None else lambda_mult)


def retriever_in(runnable: Any, user: str) -> BaseRetriever:
    """Return the retriever within ``with_config``, ``bind`` or ``configurable_fields``.

    Raises
    ------
    ParameterError
        If there is none.
    """
    inner = runnable
    while isinstance(inner, RunnableBindingBase | DynamicRunnable):
        inner = inner.bound if isinstance(inner, RunnableBindingBase) else inner.default
    if isinstance(inner, BaseRetriever):
        return inner
    hint = "; write store.as_retriever()" if isinstance(inner, VectorStore) else ""
    if isinstance(inner, HebbianIndex):
        hint = "; write HebbianRetriever.from_index(index)"
    raise ParameterError(f"{user} needs a retriever, got {type(inner).__name__}{hint}")


def open_index(
    location: str | Path,
    embedder: Any,
    options: dict[str, Any] | None,
    namespace: str | None = None,
) -> HebbianIndex:
    """Open an index, with an embedder and a namespace if there are."""
    options = dict(options or {})
    check_names(options, signature(HebbianIndex.open).parameters, of="open_options")
    if embedder is not None:
        options["embedder"] = embedder
    if namespace is not None and (other := options.setdefault("namespace", namespace)) != namespace:
        raise ParameterError(f"namespace is {namespace!r}, and in open_options {other!r}")
    return HebbianIndex.open(location, **options)
