"""The figures of a result as Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from usebench.prequential import SHARES, UNTAUGHT
from usebench.systems import ARMS

__all__ = ["all_tables", "cost", "depth", "gains", "regrets", "robustness", "unlearned"]


def all_tables(results: Sequence[dict[str, Any]]) -> str:
    """Return all tables of every set."""
    blocks = []
    for result in results:
        scored = result["scored"]
        memories = f", {result['memories']} memories" if result["memories"] > 1 else ""
        blocks.append(
            f"## {result['name']}\n\n{result['passages']} passages{memories}, {result['events']}"
            f" events ({result['order']}), {scored['all']} questions scored"
            f" ({', '.join(f'{part}: {scored[part]}' for part in _parts(result))})."
        )
        tables = [gains, depth, regrets, robustness, unlearned, cost]
        blocks += [text for table in tables if (text := table(result))]
    return "\n\n".join(blocks) + "\n"


def gains(result: dict[str, Any]) -> str:
    """Return the metric untaught and in use, and the differences with intervals."""
    kind, metric = _kind(result), result["metric"]
    rows = []
    for system in result["systems"]:
        run = system["runs"].get(kind, system["runs"][UNTAUGHT])
        means, before = run["means"][metric], system["runs"][UNTAUGHT]["means"][metric]
        by = run.get("minus_untaught", {}).get(metric, {})
        cells = [_number(before.get("all")), _number(means.get("all")), _signed(by.get("all"))]
        for part in _parts(result):
            cells += [_number(means.get(part)), _signed(by.get(part))]
        rows.append([system["name"], *cells])
    heads = ["system", "untaught", "in use", "by use"]
    heads += [head for part in _parts(result) for head in (part, "by use")]
    if not any(system["learns"] for system in result["systems"]):
        heads, rows = heads[:2], [row[:2] for row in rows]
    return _table(f"{metric}, asked before taught", heads, rows)


def depth(result: dict[str, Any]) -> str:
    """Return every metric in use, over all scored questions."""
    kind = _kind(result)
    rows = []
    for system in result["systems"]:
        means = system["runs"].get(kind, system["runs"][UNTAUGHT])["means"]
        rows.append([system["name"], *(_number(values.get("all")) for values in means.values())])
    return _table("All metrics", ["system", *means], rows)


def regrets(result: dict[str, Any]) -> str:
    """Return the regret at the end against untaught and each simple arm; below 0 is ahead."""
    systems = [system for system in result["systems"] if system["learns"]]
    among = {name for system in systems for name in system["regret"]}
    names = [name for name in ("untaught", *ARMS) if name in among]
    rows = []
    for system in systems:
        cells = []
        for name in names:
            regret = system["regret"].get(name)
            cells.append(f"{regret['curve'][-1]:+.1f} {_mark(regret)}" if regret else "–")
        rows.append([system["name"], *cells])
    title = (
        f"Regret: questions' worth of {result['metric']} lost against each, below 0 is ahead"
        " (* the interval of the mean leaves out 0)"
    )
    return _table(title, ["system", *(f"against {name}" for name in names)], rows)


def robustness(result: dict[str, Any]) -> str:
    """Return the gains under each kind of feedback, over the questions that share."""
    kinds = [kind for kind in _runs(result) if kind != UNTAUGHT]
    metric, part = result["metric"], _parts(result)[0]
    rows = [
        [
            system["name"],
            *(_signed(system["runs"][kind]["minus_untaught"][metric].get(part)) for kind in kinds),
        ]
        for system in result["systems"]
        if system["learns"]
    ]
    if len(kinds) < 2:
        return ""
    return _table(f"{metric} by use, on {part}, by who says what", ["system", *kinds], rows)


def unlearned(result: dict[str, Any]) -> str:
    """Return how exactly lessons were undone."""
    rows = []
    for system in result["systems"]:
        if "unlearning" not in system:
            continue
        exact = system["unlearning"]
        cells = [_exactness(exact.get(name)) for name in ("liars", "all")] if exact else ["–", "–"]
        rows.append([system["name"], *cells])
    heads = ["system", "liars forgotten", "all forgotten"]
    return _table(
        "Unlearning: rankings equal to those before the lessons (change of R@5)", heads, rows
    )


def cost(result: dict[str, Any]) -> str:
    """Return time, space and calls of a model."""
    kind = _kind(result)
    rows = []
    for system in result["systems"]:
        figures = system["runs"].get(kind, system["runs"][UNTAUGHT])["cost"]
        times, calls = figures["milliseconds"], figures["model_calls"]
        before, after = figures["bytes_before"], figures["bytes_after"]
        searches = times.get("search", {"calls": 0, "median": 0.0, "p95": 0.0})
        lessons = times.get("feedback")
        rows.append(
            [
                system["name"],
                f"{times['add']['total'] / result['passages']:.2f}",
                f"{searches['median']:.2f}",
                f"{searches['p95']:.2f}",
                f"{lessons['median']:.2f}" if lessons else "–",
                f"{before / result['passages']:.0f}" if before is not None else "–",
                f"{(after - before) / lessons['calls']:.0f}" if lessons and after else "–",
                f"{calls.get('search', 0) / (searches['calls'] or 1):.1f}",
                f"{figures['processor_seconds']:.1f}",
            ]
        )
    heads = ["system", "ms to add a passage", "ms to search", "p95", "ms to learn"]
    heads += ["bytes a passage", "bytes a lesson", "model calls a search", "processor seconds"]
    return _table("Cost", heads, rows)


def _runs(result: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(kind for system in result["systems"] for kind in system["runs"]))


def _parts(result: dict[str, Any]) -> list[str]:
    """Return the parts that hold questions, or the first if none does."""
    scored = result["scored"]
    return [part for part in scored if part != "all" and scored[part]] or [SHARES]


def _kind(result: dict[str, Any]) -> str:
    """Return the first kind of feedback that ran."""
    return next((kind for kind in _runs(result) if kind != UNTAUGHT), UNTAUGHT)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def _signed(by: dict[str, float] | None) -> str:
    if by is None:
        return "–"
    text = f"{by['mean']:+.3f} [{by['low']:+.3f}, {by['high']:+.3f}]"
    return text.replace("+0.", "+.").replace("-0.", "−.").replace("-", "−")


def _mark(regret: dict[str, Any]) -> str:
    by = regret["minus"]["all"]
    return "*" if by["low"] > 0 or by["high"] < 0 else ""


def _exactness(exact: dict[str, float] | None) -> str:
    if exact is None:
        return "–"
    return f"{exact['same']:.0%} ({exact['change']:+.3f})"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    lines += [f"| {' | '.join(cell.strip() for cell in row)} |" for row in rows]
    return f"**{title}**\n\n" + "\n".join(lines)
