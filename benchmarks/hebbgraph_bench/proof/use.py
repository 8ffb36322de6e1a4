"""What use teaches, on sets with past questions or statements of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.protocols import Embedder
from usebench.bootstrap import paired_bootstrap
from usebench.prequential import UNTAUGHT

from hebbgraph_bench.embedding import caching
from hebbgraph_bench.learning.use import OURS, measure_use
from hebbgraph_bench.proof.measuring import K, Measured

__all__ = ["PROTOCOLS", "Protocol", "measure_learned"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A stream of a set, its feedback, and its metric.

    Parameters
    ----------
    set : str
    order, feedback, metric : str
        As in usebench. The past teaches; the test is asked and teaches nothing.
    """

    set: str
    order: str
    feedback: str = "right"
    metric: str = "nDCG@10"

    @property
    def stage(self) -> str:
        """Name of the stage, without its model."""
        return f"use/{self.set}/{self.order}"


#: The authors' own split comes first; it was not used for tuning.
PROTOCOLS = (
    Protocol("musique_lag", "split", metric="R@5"),
    Protocol("feedbackqa_half", "mixed", "gold"),
    Protocol("feedbackqa_half", "split", "gold"),
    Protocol("feedbackqa_half", "rated"),
    Protocol("git_scrapy", "when", "gold"),
    Protocol("or_sharc_half", "mixed"),
    Protocol("multihoprag_facts", "mixed"),
    Protocol("covidqa_half", "mixed"),
    Protocol("musique_train100", "reworded", metric="R@5"),
    Protocol("hotpotqa_train100", "reworded", metric="R@5"),
    Protocol("squad_paraphrase", "reworded", metric="R@5"),
)


def measure_learned(
    path: Path,
    protocol: Protocol,
    *,
    model: Embedder | None,
    cache: Path | None,
    queries: int | None = None,
) -> Measured:
    """Learn from the past, then ask the test without learning from it.

    Figures hold, for each part of the test and for all of it, each system's means untaught and
    taught, the change by use, and hebbgraph minus the system.
    """
    metric = protocol.metric
    with caching(model, cache) as embedder:
        result = measure_use(
            path,
            embedder=embedder,
            order=protocol.order,
            frozen=True,
            kinds=(protocol.feedback,),
            k=K,
            metric=metric,
            at_most=queries,
        )
    runs = {system["name"]: _taught(system, protocol.feedback) for system in result["systems"]}
    before = {system["name"]: system["runs"][UNTAUGHT] for system in result["systems"]}
    parts: dict[str, Any] = {}
    for part in [name for name, count in result["scored"].items() if count]:
        among = [place for place, part_of in enumerate(result["parts"]) if part in ("all", part_of)]
        ours = np.take(runs[OURS]["values"], among)
        parts[part] = {
            "questions": len(among),
            "systems": {
                name: {
                    "untaught": before[name]["means"][metric][part],
                    "taught": run["means"][metric][part],
                    "by use": run.get("minus_untaught", {}).get(metric, {}).get(part),
                    "ours minus it": asdict(paired_bootstrap(ours, np.take(run["values"], among))),
                }
                for name, run in runs.items()
            },
        }
    return Measured(
        {
            "chunks": result["passages"],
            "lessons": runs[OURS]["feedbacks"],
            "metric": metric,
            "parts": parts,
        }
    )


def _taught(system: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the taught run; a system that does not learn has only one."""
    run: dict[str, Any] = system["runs"].get(kind) or system["runs"][UNTAUGHT]
    return run
