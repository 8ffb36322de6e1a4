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

from usebench.arms.cache import MostCited, QueryCache, SharedTerms, SharedVectors
from usebench.arms.expansion import DocumentExpansion, RelevanceModel
from usebench.arms.vectors import ErmVectors, LinearAdapter, MovedQuestions, Rocchio
from usebench.arms.weighted import WeightedSum
from usebench.drivers.memories import HelaMem, LangGraphStore, Mem0
from usebench.drivers.static import Bm25, Dense, Fusion, Recent
from usebench.embedders import Embedder, Lsa, Model
from usebench.errors import MissingError, ParameterError
from usebench.protocol import Retriever

__all__ = ["ARMS", "DEFAULT", "System", "available", "systems"]

GROUP = "usebench.systems"

#: The simple arms that regret compares with.
ARMS = (
    "cache",
    "expansion",
    "rm3",
    "erm",
    "rocchio",
    "weighted+expansion",
    "weighted+expansion+erm",
)
#: The systems that run by default.
DEFAULT = ("bm25", "dense", "fusion", "weighted", *ARMS)

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
    known = _built_in(model)
    chosen = []
    for name in dict.fromkeys(names):
        if name in known:
            make = known[name]
        elif ":" in name:
            make = _own(name)
        else:
            make = _entry_point(name)
        retriever = make()  # fail now, not after hours of other systems
        _check(name, retriever)
        close = getattr(retriever, "close", None)
        if close is not None:
            close()
        chosen.append(System(name, make))
    return chosen


def available(model: str | None = None) -> dict[str, str]:
    """Return what each named system lacks to run here; "" if nothing."""
    states = {}
    for name in [*_built_in(model), *sorted(point.name for point in entry_points(group=GROUP))]:
        try:
            systems([name], model=model)
            states[name] = ""
        except (MissingError, ImportError) as error:
            states[name] = str(error)
    return states


def _built_in(model: ModelLike) -> dict[str, Callable[[], Retriever]]:
    def embedder() -> Embedder:
        if callable(model):
            return model()
        return Model(model) if model else Lsa()

    def cached() -> Retriever:
        if model is None:
            return QueryCache(Bm25(), SharedTerms, threshold=0.3)
        return QueryCache(Bm25(), partial(SharedVectors.of, embedder()), threshold=0.5)

    def dense() -> Retriever:
        return Dense(embedder())

    return {
        "bm25": Bm25,
        "dense": dense,
        "fusion": lambda: Fusion([Bm25, dense]),
        "weighted": lambda: WeightedSum(embedder()),
        "recent": Recent,
        "cache": cached,
        "most-cited": lambda: MostCited(Bm25()),
        "expansion": DocumentExpansion,
        "weighted+expansion": lambda: WeightedSum(embedder(), expand=True),
        "weighted+expansion+erm": lambda: WeightedSum(embedder(), expand=True, move=True),
        "rm3": RelevanceModel,
        "erm": lambda: ErmVectors(embedder()),
        "rocchio": lambda: MovedQuestions(embedder(), Rocchio),
        "adapter": lambda: MovedQuestions(embedder(), LinearAdapter),
        "langmem": lambda: LangGraphStore(embedder()),
        "mem0": lambda: Mem0(embedder()),
        "hela-mem": lambda: HelaMem(embedder()),
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
