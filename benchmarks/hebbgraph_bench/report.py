"""Show figures as a table in the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph._version import __version__

from hebbgraph_bench.results import SetResult, SystemResult, compare, mean_defined
from hebbgraph_bench.tables import Grid

__all__ = [
    "as_dict",
    "budget_table",
    "difference_table",
    "environment",
    "markdown",
    "quality_table",
    "type_table",
    "write_json",
]

_PACKAGES = ("numpy", "tantivy", "bm25s", "sentence-transformers")
_HEADINGS = {"tokens": "tokens", "answer": "answer in context"}
_Row = tuple[str, float | None, str]  # heading, figure, format


def quality_table(result: SetResult) -> Grid:
    """Lay out one row per system; the best value of each metric stands out."""
    rows = [_figures(system) for system in result.systems]
    tops = [max(_rounded(figure) for figure in column) for column in zip(*rows, strict=True)]
    best = frozenset(
        (row_number, column + 1)
        for row_number, row in enumerate(rows)
        for column, (figure, top) in enumerate(zip(row, tops, strict=True))
        if figure[2] == "%" and _rounded(figure) == top
    )
    return Grid(
        _title(result),
        ("system", *(heading for heading, _, _ in rows[0])),
        _rows(result, rows),
        best,
    )


def type_table(result: SetResult) -> Grid:
    """Lay out the recall of each system by type of question."""
    metrics = _recalls(result.k)
    parts = result.by_type()
    headings = [
        f"{type_} ({len(part.query_ids)}) {metric}"
        for type_, part in parts.items()
        for metric in metrics
    ]
    rows = [
        (
            system.name,
            *(
                _show_share(part.system(system.name).mean(metric))
                for part in parts.values()
                for metric in metrics
            ),
        )
        for system in result.systems
    ]
    return Grid("by type of question", ("system", *headings), rows)


def difference_table(
    result: SetResult, ours: str, metrics: Sequence[str], *, seed: int = 0
) -> Grid:
    """Lay out ours minus each other system with its 95 % interval, wins and losses."""
    headings = [heading for metric in metrics for heading in (metric, "won/lost")]
    rows = []
    for system in result.systems:
        if system.name == ours:
            continue
        cells = []
        for metric in metrics:
            difference = compare(result, ours, system.name, metric, seed=seed)
            cells.append(f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]")
            cells.append(f"{difference.wins}/{difference.losses}")
        rows.append((system.name, *cells))
    return Grid(f"{ours} minus …", ("system", *headings), rows)


def budget_table(result: SetResult) -> Grid:
    """Lay out quality at equal context tokens."""
    metrics = ("recall", "all-gold", "answer")
    headings = [
        f"{name} @{budget.tokens}" for budget in result.systems[0].at_tokens for name in metrics
    ]
    rows = [
        (
            system.name,
            *(
                _show_share(mean_defined(budget.values[name]))
                for budget in system.at_tokens
                for name in metrics
            ),
        )
        for system in result.systems
    ]
    return Grid("at equal context tokens", ("system", *headings), rows)


def markdown(result: SetResult) -> str:
    """Format the table of one set as Markdown, without its title."""
    return quality_table(result).markdown()


def environment() -> dict[str, Any]:
    """Return when, where and with which versions the figures were made."""
    versions: dict[str, str | None] = {"hebbgraph": __version__}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def as_dict(
    results: Sequence[SetResult],
    *,
    seed: int,
    ours: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all figures as JSON-serialisable data, without single questions.

    Parameters
    ----------
    results : sequence of SetResult
        Results of one run.
    seed : int
        Seed of the bootstrap; recorded.
    ours : str, optional
        Compare this system with each other one on every metric.
    settings : mapping, optional
        Settings of the run; recorded.
    """
    return {
        "seed": seed,
        "settings": dict(settings or {}),
        "environment": environment(),
        "sets": [_set_as_dict(result, seed=seed, ours=ours) for result in results],
    }


def write_json(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write ``content``; NaN and infinity become null."""
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def _recalls(k: int) -> list[str]:
    return [f"R@{cut}" for cut in sorted({min(5, k), k})]


def _rows(result: SetResult, figures: Sequence[Sequence[_Row]]) -> list[tuple[str, ...]]:
    return [
        (system.name, *map(_show, row)) for system, row in zip(result.systems, figures, strict=True)
    ]


def _set_as_dict(result: SetResult, *, seed: int, ours: str | None) -> dict[str, Any]:
    content: dict[str, Any] = {
        "name": result.name,
        "k": result.k,
        "chunks": result.chunks,
        "queries": len(result.query_ids),
        "skipped": dict(result.skipped),
        "megabytes": result.megabytes,
        "systems": [_system_as_dict(system) for system in result.systems],
    }
    if result.embedding is not None:
        content["embedding"] = {
            "passages_seconds": result.embedding.passages_seconds,
            "read_from_cache": result.embedding.read,
            **_latency(result.embedding.query_ms),
        }
    if types := result.by_type():
        content["types"] = {
            type_: {
                "queries": len(part.query_ids),
                "systems": {
                    system.name: {metric: system.mean(metric) for metric in _recalls(result.k)}
                    for system in part.systems
                },
            }
            for type_, part in types.items()
        }
    if ours is not None:
        content["differences"] = [
            {"ours": ours, "theirs": system.name, "metric": metric}
            | _difference_as_dict(result, ours, system.name, metric, seed)
            for system in result.systems
            if system.name != ours
            for metric, values in system.values.items()
            if metric != "tokens" and not np.isnan(values).all()
        ]
    return content


def _difference_as_dict(
    result: SetResult, ours: str, theirs: str, metric: str, seed: int
) -> dict[str, float]:
    difference = compare(result, ours, theirs, metric, seed=seed)
    return {
        name: getattr(difference, name)
        for name in ("mean", "low", "high", "wins", "losses", "ties")
    }


def _system_as_dict(system: SystemResult) -> dict[str, Any]:
    return {
        "name": system.name,
        "settings": dict(system.settings),
        "metrics": {metric: system.mean(metric) for metric in system.values},
        **_latency(system.query_ms),
        "index_seconds": system.index_seconds,
        "index_mb_per_second": system.index_mb_per_second,
        "peak_memory_mb": system.peak_memory_mb,
        "at_tokens": {
            str(budget.tokens): {name: mean_defined(v) for name, v in budget.values.items()}
            for budget in system.at_tokens
        },
    }


def _latency(milliseconds: Any) -> dict[str, float]:
    return {
        "query_ms_median": float(np.median(milliseconds)),
        "query_ms_p95": float(np.percentile(milliseconds, 95)),
    }


def _figures(system: SystemResult) -> list[_Row]:
    latency = _latency(system.query_ms)
    return [
        *(
            (_HEADINGS.get(metric, metric), system.mean(metric), "0" if metric == "tokens" else "%")
            for metric in system.values
        ),
        ("ms p50", latency["query_ms_median"], "2"),
        ("ms p95", latency["query_ms_p95"], "2"),
        ("MB/s", system.index_mb_per_second, "1"),
        ("peak MB", system.peak_memory_mb, "0"),
    ]


def _show(row: _Row) -> str:
    _, figure, digits = row
    if figure is None or math.isnan(figure):
        return "–"
    return _show_share(figure) if digits == "%" else f"{figure:.{digits}f}"


def _show_share(figure: float) -> str:
    return "–" if math.isnan(figure) else f"{figure:.3f}".removeprefix("0")


def _rounded(row: _Row) -> float:
    figure = row[1]
    return -math.inf if figure is None or math.isnan(figure) else round(figure, 3)


def _title(result: SetResult) -> str:
    title = f"{result.name}: {result.chunks} chunks, {len(result.query_ids)} questions"
    if result.skipped:
        why = ", ".join(f"{count} {reason}" for reason, count in result.skipped.items())
        title += f" (left out: {why})"
    if result.embedding is not None and not result.embedding.read:
        median = _latency(result.embedding.query_ms)["query_ms_median"]
        title += f"; embedding a question takes another {median:.1f} ms"
    return title


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
