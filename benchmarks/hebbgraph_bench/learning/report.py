"""The learning figures as tables and as what JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from hebbgraph.formulas.bootstrap import paired_bootstrap

from hebbgraph_bench.learning.arms import NONE, OURS
from hebbgraph_bench.learning.experiment import LearningResult
from hebbgraph_bench.learning.splits import SHARED, UNTOUCHED
from hebbgraph_bench.tables import Grid

__all__ = ["as_dict", "difference_grid", "gain_grid", "pooled_grid", "strata_grid"]

#: Strata that no arm was taught, but that share what was taught.
_UNSEEN = ("paraphrase_heavy", "follow_up", SHARED)
#: What is pooled over sets: one column each, and one for all that is unseen.
_POOLED = {
    "paraphrase_light": ("paraphrase_light",),
    "paraphrase_heavy": ("paraphrase_heavy",),
    "keywords": ("keywords",),
    "follow_up": ("follow_up",),
    SHARED: (SHARED,),
    "heavy, follow-up, shared": _UNSEEN,
    UNTOUCHED: (UNTOUCHED,),
}


def strata_grid(result: LearningResult, metric: str = "R@5", *, seed: int = 0) -> Grid:
    """Lay out one row an arm, one column a stratum: the mean of a metric.

    An asterisk marks a mean whose difference from ``none`` has a 95 % interval that
    excludes 0.
    """
    rows = []
    for arm in result.arms:
        cells = []
        for stratum in result.strata:
            cell = f"{arm.values[stratum][metric].mean():.3f}"
            if arm.name != NONE:
                found = result.difference(arm.name, NONE, stratum, metric, seed=seed)
                cell += "*" if found.low > 0 or found.high < 0 else ""
            cells.append(cell)
        rows.append((arm.name, f"{arm.cited:.0f}", *cells))
    headings = [f"{name} ({len(ids)})" for name, ids in result.strata.items()]
    title = f"{result.name}: {metric} after one pass over {result.learned} questions"
    return Grid(title, ("arm", "feedbacks", *headings), rows)


def difference_grid(result: LearningResult, metric: str = "R@5", *, seed: int = 0) -> Grid:
    """Lay out ours minus each other arm by stratum: interval, wins and losses."""
    rows = []
    for arm in result.arms:
        if arm.name == OURS:
            continue
        cells = []
        for stratum in result.strata:
            found = result.difference(OURS, arm.name, stratum, metric, seed=seed)
            cells.append(
                f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
                f" {found.wins}/{found.losses}"
            )
        rows.append((arm.name, *cells))
    title = f"{result.name}: {metric}, ours minus each arm, won/lost"
    return Grid(title, ("arm", *result.strata), rows)


def gain_grid(result: LearningResult, metric: str = "R@5") -> Grid:
    """Lay out which share of our gain each other arm keeps, by stratum; – where ours is none."""
    none, ours = result.arm(NONE), result.arm(OURS)
    rows = []
    for arm in result.arms:
        if arm.name in (NONE, OURS):
            continue
        cells = []
        for stratum in result.strata:
            start = none.values[stratum][metric].mean()
            gain = ours.values[stratum][metric].mean() - start
            kept = arm.values[stratum][metric].mean() - start
            cells.append(f"{kept / gain:.0%}" if gain > 1e-9 else "–")
        rows.append((arm.name, *cells))
    title = f"{result.name}: share of our gain in {metric}"
    return Grid(title, ("arm", *result.strata), rows)


def pooled_grid(results: Sequence[LearningResult], metric: str = "R@5", *, seed: int = 0) -> Grid:
    """Lay out ours minus each arm over the questions of all sets together.

    One column a stratum, one for all that was not taught but shares what was (strong
    rewordings, follow-ups, shared evidence). Arms that did not run on each set are left
    out.
    """
    columns = {
        name: strata
        for name, strata in _POOLED.items()
        if any(stratum in result.strata for result in results for stratum in strata)
    }
    names = [
        arm.name
        for arm in results[0].arms
        if arm.name != OURS
        and all(arm.name in (other.name for other in result.arms) for result in results)
    ]
    rows = []
    for name in names:
        cells = []
        for strata in columns.values():
            ours, theirs = (
                np.concatenate(
                    [
                        result.arm(which).values[stratum][metric]
                        for result in results
                        for stratum in strata
                        if stratum in result.strata
                    ]
                )
                for which in (OURS, name)
            )
            found = paired_bootstrap(ours, theirs, seed=seed)
            cells.append(
                f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
                f" {found.wins}/{found.losses} of {ours.size}"
            )
        rows.append((name, *cells))
    sets = ", ".join(result.name for result in results)
    return Grid(f"{metric}, ours minus each arm, pooled over {sets}", ("arm", *columns), rows)


def as_dict(results: Sequence[LearningResult], *, seed: int = 0) -> dict[str, Any]:
    """Gather means, differences from ``none`` and of ours, curves, and single losses."""
    return {"sets": [_set(result, seed) for result in results]}


def _set(result: LearningResult, seed: int) -> dict[str, Any]:
    return {
        "name": result.name,
        "k": result.k,
        "learned": result.learned,
        "strata": {name: len(ids) for name, ids in result.strata.items()},
        "exposed": dict(result.exposed),
        "arms": [
            {
                "name": arm.name,
                "feedbacks": arm.cited,
                "strata": {
                    stratum: {
                        metric: {"mean": float(values.mean())}
                        | {
                            f"minus_{other}": asdict(
                                result.difference(arm.name, other, stratum, metric, seed=seed)
                            )
                            for other in (NONE, OURS)
                            if arm.name != other
                        }
                        for metric, values in metrics.items()
                    }
                    for stratum, metrics in arm.values.items()
                },
                "curve": [{"asked": point.asked, "R@5": dict(point.recall)} for point in arm.curve],
            }
            for arm in result.arms
        ],
        "changed_by_ours": {
            stratum: _changed(result, stratum, ids) for stratum, ids in result.strata.items()
        },
    }


def _changed(result: LearningResult, stratum: str, ids: Sequence[str]) -> dict[str, list[str]]:
    """Name the questions that ours won and lost against ``none``."""
    metric = "R@5" if "R@5" in result.arms[0].values[stratum] else "MRR"
    ours = result.arm(OURS).values[stratum][metric]
    change = ours - result.arm(NONE).values[stratum][metric]
    return {
        "won": [id_ for id_, one in zip(ids, change, strict=True) if one > 1e-9],
        "lost": [id_ for id_, one in zip(ids, change, strict=True) if one < -1e-9],
    }
