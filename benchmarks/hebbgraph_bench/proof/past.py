"""What past questions do for new ones, on a set whose authors split it so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.protocols import Embedder

from hebbgraph_bench.datasets import load
from hebbgraph_bench.embedding import caching
from hebbgraph_bench.learning.arms import NONE, OURS
from hebbgraph_bench.learning.experiment import run_learning
from hebbgraph_bench.learning.splits import SHARED, UNTOUCHED
from hebbgraph_bench.proof.measuring import K, Measured

__all__ = ["PARTS", "STRATA", "measure_past"]

#: Arms beside ``none`` and ``ours``.
PARTS = ("baselines", "rivals")
STRATA = (SHARED, UNTOUCHED)
_METRICS = ("R@2", "R@5", "R@10", "nDCG@10", "MRR")


def measure_past(path: Path, *, model: Embedder | None, cache: Path | None) -> Measured:
    """Learn once from the questions of the past, cited as well as can be; then ask the others.

    Figures hold, for each kind of question asked afterwards, the means of each arm, and for each
    arm its difference to none and ours to it.
    """
    dataset = load(path)
    with caching(model, cache) as embedder:
        result = run_learning(dataset, embedder=embedder, k=K, parts=PARTS, curves=False)
    strata: dict[str, Any] = {}
    for stratum, asked in result.strata.items():
        arms: dict[str, Any] = {}
        for arm in result.arms:
            arms[arm.name] = {
                **{metric: float(arm.values[stratum][metric].mean()) for metric in _METRICS},
                "to none": _difference(result.difference(arm.name, NONE, stratum, "R@5")),
                "ours to it": _difference(result.difference(OURS, arm.name, stratum, "R@5")),
                "each": np.round(arm.values[stratum]["R@5"], 4),
            }
        strata[stratum] = {
            "questions": len(asked),
            "exposed": result.exposed[stratum],
            "arms": arms,
        }
    cited = {arm.name: arm.cited for arm in result.arms}
    return Measured(
        {"chunks": len(dataset.corpus), "learned": result.learned, "cited": cited, "strata": strata}
    )


def _difference(found: Any) -> dict[str, float]:
    return {name: getattr(found, name) for name in ("mean", "low", "high", "wins", "losses")}
