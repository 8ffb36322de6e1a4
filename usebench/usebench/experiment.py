"""Many systems under several kinds of feedback on one set; returns figures as JSON."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from usebench._version import __version__
from usebench.bootstrap import paired_bootstrap
from usebench.errors import ParameterError
from usebench.metrics import METRICS
from usebench.prequential import PARTS, UNTAUGHT, Run, parts, run_stream
from usebench.protocol import close
from usebench.records import UseSet
from usebench.systems import System
from usebench.unlearning import measure_unlearning

__all__ = ["MAIN", "run", "versions"]

#: The metric that tables show by default.
MAIN = "R@5"
_PACKAGES = ("bm25s", "numpy", "PyStemmer", "sentence-transformers", "hebbgraph")


def run(
    uses: UseSet,
    chosen: Sequence[System],
    *,
    kinds: Sequence[str] = ("right",),
    k: int = 10,
    seed: int = 0,
    metric: str = MAIN,
    unlearning: bool = True,
    on_system: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Run systems on a set.

    Parameters
    ----------
    uses : UseSet
    chosen : sequence of System
    kinds : sequence of str
        Kinds of feedback. A system that learns runs once under each, and once without feedback.
    k : int
        The number of passages shown.
    seed : int
        Of wrong feedback and of the intervals.
    metric : str
        Of :data:`usebench.metrics.METRICS`, for the tables.
    unlearning : bool
        Whether to measure forgetting, which takes one more run of each system that can forget.
    on_system : callable, optional
        Called with the name of each run before it starts.

    Returns
    -------
    dict
        Input of :mod:`usebench.tables`, with the value of ``metric`` for each question.

    Raises
    ------
    ParameterError
        If the metric is unknown.
    """
    if metric not in METRICS:
        raise ParameterError(f"the metric is one of {', '.join(METRICS)}; got {metric!r}")
    part_of = parts(uses.events)
    teaches = any(event.taught for event in uses.events)
    results = []
    for system in chosen:
        runs = {}
        retriever = system.make()
        learns = teaches and getattr(retriever, "learns", True)
        for kind in [UNTAUGHT, *(kinds if learns else ())]:
            if on_system is not None:
                on_system(f"{uses.name}: {system.name}, feedback: {kind}")
            runs[kind] = run_stream(retriever, uses, kind=kind, k=k, seed=seed)
        close(retriever)
        result = _figures(system.name, runs, part_of, seed, metric)
        if unlearning and learns:
            exact = measure_unlearning(system.make, uses, k=k, seed=seed)
            result["unlearning"] = exact and {name: asdict(each) for name, each in exact.items()}
        results.append(result)
    return {
        "name": uses.name,
        "order": uses.order,
        "passages": len(uses.passages),
        "memories": len(uses.memories),
        "events": len(uses.events),
        "scored": {"all": len(part_of), **{part: part_of.count(part) for part in _named(part_of)}},
        "metric": metric,
        "k": k,
        "seed": seed,
        "parts": part_of,
        "systems": results,
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that figures depend on."""
    installed = {"usebench": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def _figures(
    name: str, runs: dict[str, Run], part_of: Sequence[str], seed: int, metric: str
) -> dict[str, Any]:
    untaught = runs[UNTAUGHT].values
    figures: dict[str, Any] = {}
    for kind, each in runs.items():
        figures[kind] = {
            "feedbacks": len(each.log),
            "means": {metric: _by_part(values, part_of) for metric, values in each.values.items()},
            "values": [round(value, 6) for value in each.values[metric]],
            "milliseconds": {
                what: {"total": round(sum(times), 1), "median": round(float(np.median(times)), 4)}
                for what, times in each.milliseconds.items()
            },
        }
        if kind != UNTAUGHT:
            figures[kind]["minus_untaught"] = {
                metric: _difference(each.values[metric], untaught[metric], part_of, seed)
                for metric in METRICS
            }
    return {"name": name, "learns": len(runs) > 1, "runs": figures}


def _named(part_of: Sequence[str]) -> list[str]:
    """Return the names of the parts: shares, rest, and those of the set."""
    return list(dict.fromkeys([*PARTS, *part_of]))


def _chosen(values: Sequence[float], part_of: Sequence[str], part: str) -> list[float]:
    return [v for v, where in zip(values, part_of, strict=True) if part in ("all", where)]


def _by_part(values: Sequence[float], part_of: Sequence[str]) -> dict[str, float]:
    return {
        part: round(float(np.mean(chosen)), 6)
        for part in ("all", *_named(part_of))
        if (chosen := _chosen(values, part_of, part))
    }


def _difference(
    ours: Sequence[float], theirs: Sequence[float], part_of: Sequence[str], seed: int
) -> dict[str, Any]:
    return {
        part: {
            name: round(value, 6)
            for name, value in asdict(
                paired_bootstrap(first, _chosen(theirs, part_of, part), seed=seed)
            ).items()
        }
        for part in ("all", *_named(part_of))
        if (first := _chosen(ours, part_of, part))
    }
