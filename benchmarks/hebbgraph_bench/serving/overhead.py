"""Ask each question of an index and of a server over it, in turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from hebbgraph.hebbian_index import HebbianIndex

from hebbgraph_bench.serving.process import serving
from hebbgraph_bench.tables import Grid

__all__ = ["measure_overhead"]

_WARM_UP = 50


def measure_overhead(db: Path, questions: Sequence[str], *, k: int = 10) -> Grid:
    """Return the times of local and served recalls."""
    local_ms: list[float] = []
    served_ms: list[float] = []
    local_cpu: list[float] = []
    served_cpu: list[float] = []
    with serving(db) as server, server.client() as client, HebbianIndex.open(db) as index:

        def ask(asked: HebbianIndex, question: str) -> tuple[float, float]:
            elsewhere = server.cpu_seconds() if asked is client else None
            cpu, began = time.process_time(), time.perf_counter()
            asked.recall(question, k=k)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            then = server.cpu_seconds() if elsewhere is not None else None
            return seconds * 1e3, (cpu + (then or 0.0) - (elsewhere or 0.0)) * 1e3

        for question in questions[:_WARM_UP]:
            ask(index, question), ask(client, question)
        for number, question in enumerate(questions):
            pair = (index, client) if number % 2 else (client, index)
            times_of = {id(asked): ask(asked, question) for asked in pair}
            for asked, times, cpus in (
                (index, local_ms, local_cpu),
                (client, served_ms, served_cpu),
            ):
                ms, cpu = times_of[id(asked)]
                times.append(ms)
                cpus.append(cpu)
    rows = [
        ("local", local_ms, local_cpu),
        ("served", served_ms, served_cpu),
        (
            "difference",
            [a - b for a, b in zip(served_ms, local_ms, strict=True)],
            [a - b for a, b in zip(served_cpu, local_cpu, strict=True)],
        ),
    ]
    return Grid(
        f"Served against local recalls ({len(questions)} questions)",
        ("median", "ms", "CPU ms"),
        [(name, f"{median(ms):.2f}", f"{median(cpu):.2f}") for name, ms, cpu in rows],
    )
