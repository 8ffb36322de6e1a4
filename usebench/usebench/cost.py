"""The cost of a system: time, space, calls of a model."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

from usebench.protocol import Retriever, Sized

__all__ = ["Cost", "Counted", "size_of"]


@dataclass(slots=True)
class Cost:
    """Counters of one run.

    Wall time is kept for each call, processor time for all calls together; a busy machine does not
    lengthen the latter. Both include model time that a cache saved.
    """

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    processor_seconds: float = 0.0
    model_calls: dict[str, int] = field(default_factory=dict)
    bytes_before: int | None = None
    bytes_after: int | None = None

    @contextmanager
    def clock(self, what: str, system: Retriever) -> Iterator[None]:
        """Measure one call, under the name of the method."""
        calls, saved = _model(system)
        wall, processor = perf_counter(), process_time()
        yield
        wall, processor = perf_counter() - wall, process_time() - processor
        calls_after, saved_after = _model(system)
        extra = saved_after - saved
        self.milliseconds.setdefault(what, []).append((wall + extra) * 1e3)
        self.processor_seconds += processor + extra
        self.model_calls[what] = self.model_calls.get(what, 0) + calls_after - calls

    def as_dict(self) -> dict[str, Any]:
        """Return medians and 95th percentiles of calls, and totals."""
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


class Counted:
    """Base of systems whose parts call a model: sums the parts' counts."""

    def parts(self) -> Sequence[Any]:
        """Return what calls a model."""
        return ()

    @property
    def model_calls(self) -> int:
        """The number of texts embedded."""
        return sum(getattr(part, "model_calls", 0) for part in self.parts())

    @property
    def model_seconds(self) -> float:
        """The model time that a cache saved, in seconds."""
        return sum(getattr(part, "model_seconds", 0.0) for part in self.parts())


def size_of(system: Retriever) -> int | None:
    """Return a system's size in bytes, by its own figure or its pickle; None if neither works."""
    if isinstance(system, Sized):
        return system.nbytes()
    try:
        return len(pickle.dumps(system))
    except Exception:  # any error of a class that is not ours
        return None


def _model(system: Retriever) -> tuple[int, float]:
    return getattr(system, "model_calls", 0), getattr(system, "model_seconds", 0.0)
