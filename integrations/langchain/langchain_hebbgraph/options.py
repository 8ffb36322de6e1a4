"""What the ways to make a retriever take, for type checkers and at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from inspect import signature
from pathlib import Path
from typing import Any, TypedDict, get_args

from hebbgraph import HebbianIndex, IndexPool, ParameterError
from hebbgraph.arguments import check_k, check_names
from hebbgraph.moments import check_moment
from hebbgraph.protocols import Embedder
from hebbgraph.recall.elsewhere import SeedVectors, check_seed_vectors
from hebbgraph.recall.strategies import Strategy, StrategyName, check_strategy
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from langchain_hebbgraph.conversion import Filter, check_filter
from langchain_hebbgraph.recalling import SearchType

__all__ = [
    "AT_CALL",
    "INSTEAD",
    "INSTEAD_OVER_STORES",
    "Fields",
    "IndexOptions",
    "NewOptions",
    "RetrieverOptions",
    "check_query",
    "check_search",
    "checked",
    "open_index",
]

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
INSTEAD = dict.fromkeys(("top_k", "similarity_top_k", "n_results"), "write k=3, for example")
INSTEAD_OVER_STORES = INSTEAD | dict.fromkeys(
    ("embedder", "embedding", "embeddings"),
    "the store embeds, and nothing is embedded a second time",
)


class RetrieverOptions(TypedDict, total=False):
    """Fields of a :class:`HebbianRetriever` that every way to make one takes."""

    k: int
    filter: Filter
    strategy: StrategyName | Strategy
    score_key: str | None
    history: Sequence[Any]
    as_of: datetime | date | str | None
    namespace: str | None
    search_type: SearchType
    score_threshold: float | None
    lambda_mult: float
    fetch_k: int
    include_path: bool
    search_kwargs: dict[str, Any]
    seed_k: int
    seed_kwargs: dict[str, Any]
    seed_vectors: SeedVectors
    grow: bool
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class Fields(RetrieverOptions, total=False):
    """What the constructor takes."""

    index: HebbianIndex
    namespaces: IndexPool | None
    location: str | Path
    embedding: Embedder | None
    open_options: dict[str, Any] | None
    seed_source: VectorStore | BaseRetriever | None


class IndexOptions(TypedDict, total=False):
    """Where documents go, and what embeds them."""

    location: str | Path
    embedder: Embedder | None
    embedding: Embedder | None
    embeddings: Embedder | None
    open_options: dict[str, Any] | None


class NewOptions(RetrieverOptions, IndexOptions, total=False):
    """All that makes an index and a retriever over it."""


def checked(
    options: Mapping[str, Any], *, known: Iterable[str], instead: Mapping[str, str] = INSTEAD
) -> dict[str, Any]:
    """Return a retriever's fields, with those of ``search_kwargs`` among them.

    Raises
    ------
    ParameterError, FilterError
        For names that nothing would read, and values that every search would refuse.
    """
    own = dict(options)
    check_names(own, (*known, "search_kwargs"), of="HebbianRetriever", instead=instead)
    nested = own.pop("search_kwargs", None) or {}
    if not isinstance(nested, Mapping):
        raise ParameterError(f'search_kwargs is a dict, such as {{"k": 3}}; got {nested!r:.80}')
    check_names(nested, AT_CALL, of="search_kwargs", instead=instead)
    if twice := sorted(nested.keys() & own.keys()):
        raise ParameterError(f"{twice[0]} stands in search_kwargs too; give it once")
    own |= nested
    check_search(own)
    return own


def check_query(query: Any) -> None:
    """Raise ParameterError for what chains hand on in place of a question."""
    if isinstance(query, Mapping):
        names = [str(name) for name in query]
        raise ParameterError(
            f"a query is a str, got a dict with {', '.join(map(repr, names))!s:.200}; in a chain, "
            f"take the question from it: itemgetter({(names or ['question'])[0]!r:.80}) | retriever"
        )
    if isinstance(query, BaseMessage):
        raise ParameterError(
            f"a query is a str, got {type(query).__name__}; hand over its text, message.text"
        )
    if not isinstance(query, str):
        raise ParameterError(f"a query is a str, got {type(query).__name__}")


def check_search(options: Mapping[str, Any]) -> None:
    """Raise ParameterError or FilterError for values that every search would refuse."""
    for name in ("k", "fetch_k"):
        if name in options:
            check_k(options[name], name)
    if "strategy" in options:
        check_strategy(options["strategy"])
    check_filter(options.get("filter"))
    check_seed_vectors(options.get("seed_vectors"))
    if options.get("as_of") is not None:
        check_moment("as_of", options["as_of"])
    if "search_type" in options and options["search_type"] not in get_args(SearchType):
        known = ", ".join(get_args(SearchType))
        raise ParameterError(f"search_type is one of {known}; got {options['search_type']!r}")
    for name in ("score_threshold", "lambda_mult"):
        value = options.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise ParameterError(f"{name} is a number from 0 to 1, got {value!r}")
    if options.get("search_type") == "similarity_score_threshold" and (
        options.get("score_threshold") is None
    ):
        raise ParameterError(
            "a search by score threshold needs the threshold: score_threshold=0.2, for example"
        )


def open_index(location: str | Path, embedder: Any, options: dict[str, Any] | None) -> HebbianIndex:
    """Open an index; ``embedder`` only goes along if there is one."""
    options = dict(options or {})
    check_names(options, signature(HebbianIndex.open).parameters, of="open_options")
    if embedder is not None:
        options["embedder"] = embedder
    return HebbianIndex.open(location, **options)
