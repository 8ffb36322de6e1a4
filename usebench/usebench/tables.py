"""The figures of a result as Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from usebench.prequential import SHARES, UNTAUGHT

__all__ = ["all_tables", "cost", "gains", "markdown", "number", "robustness", "signed", "unlearned"]


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
        blocks += [
            text for table in (gains, robustness, unlearned, cost) if (text := table(result))
        ]
    return "\n\n".join(blocks) + "\n"


def gains(result: dict[str, Any]) -> str:
    """Return the metric untaught and in use, and the differences with intervals."""
    kind, metric = _kind(result), result["metric"]
    rows = []
    for system in result["systems"]:
        run = _run(system, kind)
        means, before = run["means"][metric], system["runs"][UNTAUGHT]["means"][metric]
        by = run.get("minus_untaught", {}).get(metric, {})
        cells = [number(before.get("all")), number(means.get("all")), signed(by.get("all"))]
        for part in _parts(result):
            cells += [number(means.get(part)), signed(by.get(part))]
        rows.append([system["name"], *cells])
    heads = ["system", "untaught", "in use", "by use"]
    heads += [head for part in _parts(result) for head in (part, "by use")]
    if not any(system["learns"] for system in result["systems"]):
        heads, rows = heads[:2], [row[:2] for row in rows]
    return markdown(f"{metric}, asked before taught", heads, rows)


def robustness(result: dict[str, Any]) -> str:
    """Return the gains under each kind of feedback, over the questions that share."""
    kinds = [kind for kind in _kinds(result) if kind != UNTAUGHT]
    metric, part = result["metric"], _parts(result)[0]
    rows = [
        [
            system["name"],
            *(signed(system["runs"][kind]["minus_untaught"][metric].get(part)) for kind in kinds),
        ]
        for system in result["systems"]
        if system["learns"]
    ]
    if len(kinds) < 2:
        return ""
    return markdown(f"{metric} by use, on {part}, by who says what", ["system", *kinds], rows)


def unlearned(result: dict[str, Any]) -> str:
    """Return how exactly lessons were undone."""
    rows = []
    for system in result["systems"]:
        if "unlearning" in system:
            exact = system["unlearning"] or {}
            cells = [_exactness(exact.get(name)) for name in ("liars", "all")]
            rows.append([system["name"], *cells])
    heads = ["system", "liars forgotten", "all forgotten"]
    title = "Unlearning: rankings equal to those before the lessons (change of R@5)"
    return markdown(title, heads, rows)


def cost(result: dict[str, Any]) -> str:
    """Return the wall time of each call."""
    kind = _kind(result)
    rows = []
    for system in result["systems"]:
        times = _run(system, kind)["milliseconds"]
        passage = times["add"]["total"] / result["passages"]
        medians = [f"{times[what]['median']:.2f}" if what in times else "–" for what in _CALLS]
        rows.append([system["name"], f"{passage:.2f}", *medians])
    heads = ["system", "to add a passage", "to search (median)", "to learn (median)"]
    return markdown("Milliseconds", heads, rows)


_CALLS = ("search", "feedback")


def markdown(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, or an empty text without rows."""
    if not rows:
        return ""
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return f"**{title}**\n\n" + "\n".join(lines)


def number(value: float | None) -> str:
    """Return a value in [0, 1] with three digits.

    Examples
    --------
    >>> number(0.25), number(1.0), number(None)
    ('.250', '1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def signed(by: dict[str, float] | None) -> str:
    """Return a difference and its interval.

    Examples
    --------
    >>> signed({"mean": 0.25, "low": -0.125, "high": 0.5})
    '+.250 [−.125, +.500]'
    """
    if by is None:
        return "–"
    text = f"{by['mean']:+.3f} [{by['low']:+.3f}, {by['high']:+.3f}]"
    return text.replace("+0.", "+.").replace("-0.", "−.").replace("-", "−")


def _kinds(result: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(kind for system in result["systems"] for kind in system["runs"]))


def _run(system: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the run under a kind of feedback; of a system that learns nothing, its only run."""
    runs: dict[str, dict[str, Any]] = system["runs"]
    return runs.get(kind, runs[UNTAUGHT])


def _parts(result: dict[str, Any]) -> list[str]:
    """Return the parts that hold questions, or the first if none does."""
    scored = result["scored"]
    return [part for part in scored if part != "all" and scored[part]] or [SHARES]


def _kind(result: dict[str, Any]) -> str:
    """Return the first kind of feedback that ran."""
    return next((kind for kind in _kinds(result) if kind != UNTAUGHT), UNTAUGHT)


def _exactness(exact: dict[str, float] | None) -> str:
    return "–" if exact is None else f"{exact['same']:.0%} ({exact['change']:+.3f})"
