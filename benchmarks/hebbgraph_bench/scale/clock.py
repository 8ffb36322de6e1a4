"""Clocks for functions of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

__all__ = ["clocked", "reference_us"]


@contextmanager
def clocked(
    owner: Any, name: str, clock: Callable[[], float] = perf_counter
) -> Iterator[list[float]]:
    """Clock every call of a function of a module, or a method of a class, while this is open."""
    inner = getattr(owner, name)
    seconds: list[float] = []

    def outer(*args: Any, **kwargs: Any) -> Any:
        began = clock()
        try:
            return inner(*args, **kwargs)
        finally:
            seconds.append(clock() - began)

    setattr(owner, name, outer)
    try:
        yield seconds
    finally:
        setattr(owner, name, inner)


def reference_us() -> float:
    """Return the microseconds of ``sum(range(100))``, a measure of the machine's speed."""
    times = []
    for _ in range(5):
        began = perf_counter()
        for _ in range(1000):
            sum(range(100))
        times.append(perf_counter() - began)
    return min(times) * 1e3
