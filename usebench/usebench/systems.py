"""Systems by name: built in, from other distributions, or your own.

A distribution offers systems in the entry point group ``usebench.systems``: callables without
arguments that return a :class:`~usebench.protocol.Retriever`. ``module:Name`` also names one.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points

from usebench.arms.cache import QueryCache, SharedTerms, SharedVectors
from usebench.arms.expansion import DocumentExpansion, RelevanceModel
from usebench.arms.vectors import ErmVectors, Rocchio
from usebench.arms.weighted import WeightedSum
from usebench.embedders import Embedder, Lsa, Model
from usebench.errors import MissingError, ParameterError
from usebench.protocol import Retriever, close
from usebench.searches import Bm25, Dense, Fusion

__all__ = ["BUILT_IN", "System", "available", "systems"]

GROUP = "usebench.systems"

#: Four searches that learn nothing, and seven simple ways to learn.
BUILT_IN = (
    "bm25",
    "dense",
    "fusion",
    "weighted",
    "cache",
    "expansion",
    "rm3",
    "erm",
    "rocchio",
    "weighted+expansion",
    "weighted+expansion+erm",
)

_METHODS = ("reset", "add", "search", "feedback")
_KEYWORDS = ("question", "shown", "cited", "rejected", "ratings", "actor", "when")


@dataclass(frozen=True, slots=True)
class System:
    """A name, and a factory of the retriever."""

    name: str
    make: Callable[[], Retriever]


#: The name of a sentence-transformers model, or a factory of an embedder.
ModelLike = str | Callable[[], Embedder] | None


def systems(names: Iterable[str], *, model: ModelLike = None) -> list[System]:
    """Look systems up.

    Parameters
    ----------
    names : iterable of str
        Of :func:`available`, or ``module:Name``.
    model : str or callable, optional
        A sentence-transformers model, or a factory of an embedder; by default latent semantic
        analysis.

    Raises
    ------
    ParameterError
        If a name is unknown, or its class lacks a method of a retriever.
    MissingError
        If a system needs a package that is not installed.
    """
    chosen = []
    for name in dict.fromkeys(names):
        make: Callable[[], Retriever]
        if name in BUILT_IN:
            make = partial(_built_in, name, model)
        elif ":" in name:
            make = _own(name)
        else:
            make = _entry_point(name)
        retriever = make()  # fail now, not after hours of other systems
        _check(name, retriever)
        close(retriever)
        chosen.append(System(name, make))
    return chosen


def available() -> dict[str, str]:
    """Return what each named system lacks to run here; "" if nothing."""
    states = dict.fromkeys(BUILT_IN, "")
    for point in entry_points(group=GROUP):
        try:
            systems([point.name])
            states[point.name] = ""
        except (MissingError, ImportError) as error:
            states[point.name] = str(error)
    return states


def _built_in(name: str, model: ModelLike) -> Retriever:
    """Make a system that is built in."""
    if name == "cache" and model is None:
        return QueryCache(Bm25(), SharedTerms, threshold=0.3)
    if name in _WITHOUT_MODEL:
        return _WITHOUT_MODEL[name]()
    embedder = model() if callable(model) else Model(model) if model else Lsa()
    if name == "cache":
        return QueryCache(Bm25(), partial(SharedVectors, embedder), threshold=0.5)
    if name == "fusion":
        return Fusion([Bm25(), Dense(embedder)])
    if name.startswith("weighted"):
        return WeightedSum(embedder, expand="expansion" in name, move="erm" in name)
    return _ON_VECTORS[name](embedder)


_ON_VECTORS: dict[str, Callable[[Embedder], Retriever]] = {
    "dense": Dense,
    "erm": ErmVectors,
    "rocchio": Rocchio,
}
_WITHOUT_MODEL: dict[str, Callable[[], Retriever]] = {
    "bm25": Bm25,
    "expansion": DocumentExpansion,
    "rm3": RelevanceModel,
}


def _own(name: str) -> Callable[[], Retriever]:
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        make: Callable[[], Retriever] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"{name!r} names nothing that can be imported: {error}") from error
    return make


def _check(name: str, retriever: object) -> None:
    """Raise ParameterError without all methods, or if ``feedback`` lacks keywords."""
    missing = [method for method in _METHODS if not callable(getattr(retriever, method, None))]
    if missing:
        raise ParameterError(
            f"{name}: a retriever has the methods {', '.join(_METHODS)}; add {', '.join(missing)},"
            " with an empty body if there is nothing to do"
        )
    try:
        keywords = dict.fromkeys(_KEYWORDS)
        inspect.signature(retriever.feedback).bind(**keywords)  # type: ignore[attr-defined]
    except TypeError as error:
        raise ParameterError(
            f"{name}: feedback is called with the keywords {', '.join(_KEYWORDS)}, and {error}; end"
            " its parameters with **details"
        ) from error


def _entry_point(name: str) -> Callable[[], Retriever]:
    for point in entry_points(group=GROUP):
        if point.name == name:
            make: Callable[[], Retriever] = point.load()
            return make
    raise ParameterError(
        f"no system is called {name!r}; `usebench systems` lists them, and module:Name names a"
        " class of your own"
    )
