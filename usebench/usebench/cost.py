"""What a system takes: time, space, calls of a model."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

from usebench.protocol import Retriever, Sized

__all__ = ["Cost", "size_of"]


@dataclass(slots=True)
class Cost:
    """Counters of one run.

    Wall time is kept of each call, and processor time of all calls together, which a busy machine
    does not lengthen. Time in a model that a cache hid is added to both.
    """

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    processor_seconds: float = 0.0
    model_calls: dict[str, int] = field(default_factory=dict)
    bytes_before: int | None = None
    bytes_after: int | None = None

    @contextmanager
    def clock(self, what: str, system: Retriever) -> Iterator[None]:
        """Measure what one call takes, under the name of the method."""
        calls, hidden = _model(system)
        wall, processor = perf_counter(), process_time()
        yield
        wall, processor = perf_counter() - wall, process_time() - processor
        calls_after, hidden_after = _model(system)
        extra = hidden_after - hidden
        self.milliseconds.setdefault(what, []).append((wall + extra) * 1e3)
        self.processor_seconds += processor + extra
        self.model_calls[what] = self.model_calls.get(what, 0) + calls_after - calls

    def as_dict(self) -> dict[str, Any]:
        """Sum up: medians and 95th percentiles of calls, totals of the rest."""
        return {
            "milliseconds": {
                what: {
                    "calls": len(times),
                    "median": round(float(np.median(times)), 4),
                    "p95": round(float(np.quantile(times, 0.95)), 4),
                    "total": round(sum(times), 1),
                }
                for what, times in self.milliseconds.items()
            },
            "processor_seconds": round(self.processor_seconds, 2),
            "model_calls": self.model_calls,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }


def size_of(system: Retriever) -> int | None:
    """Weigh what a system keeps: by its own word, or by its pickle; None if neither works."""
    if isinstance(system, Sized):
        return system.nbytes()
    try:
        return len(pickle.dumps(system))
    except Exception:  # whatever a stranger's class raises: then its size is not known
        return None


def _model(system: Retriever) -> tuple[int, float]:
    return getattr(system, "model_calls", 0), getattr(system, "model_seconds", 0.0)
