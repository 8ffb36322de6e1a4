"""Measurements of a load, and the faults found at its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from hebbgraph_bench.stress.account import Account

__all__ = ["LoadReport", "Operation", "measured"]


class Operation(BaseModel):
    """How often an operation ran, and its milliseconds."""

    model_config = ConfigDict(frozen=True)

    count: int
    per_second: float
    p50: float
    p95: float
    p99: float
    longest: float


class LoadReport(BaseModel):
    """A whole load.

    Attributes
    ----------
    processes, writers : int
    seconds : float
    operations : dict of str to Operation
    kills : int
        Number of processes that were killed and replaced.
    waits : int
        Operations that gave up waiting for another writer, as documented.
    errors : dict of str to int
        All other errors.
    repairs : dict of str to int
        Parts that processes found broken and rebuilt, for example after a kill.
    chunks, feedbacks : int
        At the end.
    memory : dict of str to float
        Resident MB of the processes together: ``first``, ``last``, ``peak``.
    faults : tuple of str
        Inexact results at the end; empty if nothing was lost or counted twice, and graph,
        lexical index, vectors and weights equal a rebuild.
    """

    model_config = ConfigDict(frozen=True)

    processes: int
    writers: int
    seconds: float
    operations: dict[str, Operation]
    kills: int
    waits: int
    errors: dict[str, int]
    repairs: dict[str, int]
    chunks: int
    feedbacks: int
    memory: dict[str, float]
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there was no error and no fault."""
        return not self.errors and not self.faults


def measured(accounts: Sequence[Account], seconds: float) -> dict[str, Operation]:
    """Summarise the operations."""
    operations = {}
    for operation in ("recall", "reinforce", "add", "delete"):
        all_of_it = [took for account in accounts for took in account.seconds.get(operation, [])]
        if all_of_it:
            percentiles = (
                np.percentile(np.array(all_of_it) * 1000, [50, 95, 99, 100]).round(1).tolist()
            )
            operations[operation] = Operation(
                count=len(all_of_it),
                per_second=round(len(all_of_it) / seconds, 2),
                p50=percentiles[0],
                p95=percentiles[1],
                p99=percentiles[2],
                longest=percentiles[3],
            )
    return operations


def memory(accounts: Sequence[Account]) -> dict[str, float]:
    """Sum resident memory, sample by sample."""
    length = min((len(account.memory) for account in accounts), default=0)
    total = [sum(account.memory[n][1] for account in accounts) / 1e6 for n in range(length)]
    if not total:
        return {}
    # Processes of the first samples have read nothing yet.
    settled = total[min(len(total) - 1, 2)]
    return {"first": round(settled), "last": round(total[-1]), "peak": round(max(total))}
