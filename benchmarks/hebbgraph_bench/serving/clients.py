"""Many clients at once, while chunks are added."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from hebbgraph.errors import HebbgraphError
from hebbgraph_server.client import HebbianClient

from hebbgraph_bench.serving.process import Serving, serving
from hebbgraph_bench.tables import Grid

__all__ = ["lag_at_most", "measure_clients"]

_TAUGHT = 0.05
_CHUNKS = 100


def measure_clients(
    db: Path, questions: Sequence[str], *, clients: int = 50, seconds: float = 300.0, k: int = 10
) -> Grid:
    """Ask, teach and add for a while; return recall times and errors."""
    took: list[float] = []
    added = [0]
    run = uuid.uuid4().hex[:8]  # a kept index contains the chunks of earlier runs
    errors: Counter[str] = Counter()

    def asking(number: int, client: HebbianClient) -> None:
        drawn = random.Random(number)
        began = time.perf_counter()
        recall = client.recall(drawn.choice(questions), k=k)
        took.append(time.perf_counter() - began)
        if recall.hits and drawn.random() < _TAUGHT:
            client.reinforce(recall, cited=[recall.hits[0].chunk.id], actor=f"client {number}")

    def adding(number: int, client: HebbianClient) -> None:
        batch = added[0] // _CHUNKS
        added[0] += client.add(
            {
                "id": f"added-{run}-{batch}-{place}",
                "title": f"Note {batch} {place}",
                "text": f"A note of the {place}th day about flow and its layers, number {batch}.",
            }
            for place in range(_CHUNKS)
        ).added

    def going(number: int, work: Callable[[int, HebbianClient], None], server: Serving) -> None:
        with server.client() as client:
            while time.monotonic() < end:
                try:
                    work(number, client)
                except HebbgraphError as error:
                    errors[f"{type(error).__name__}: {error}"[:200]] += 1

    with serving(db) as server:
        end = time.monotonic() + seconds
        threads = [
            threading.Thread(target=going, args=(number, asking, server))
            for number in range(clients)
        ]
        threads.append(threading.Thread(target=going, args=(clients, adding, server)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lags = server.samples("hebbgraph_event_loop_lag_seconds_bucket")
    half, most, worst = np.percentile(took, (50, 95, 99)) * 1e3
    return Grid(
        f"{clients} clients for {seconds:g} s",
        ("", ""),
        [
            ("recalls", f"{len(took):,}"),
            ("chunks added meanwhile", f"{added[0]:,}"),
            ("errors", f"{sum(errors.values())}"),
            *((name, f"{count}") for name, count in errors.most_common(5)),
            ("recall, median and p95 and p99", f"{half:.0f}, {most:.0f}, {worst:.0f} ms"),
            *(
                (f"event loop late, p{share * 100:g}", f"< {lag_at_most(lags, share) * 1e3:g} ms")
                for share in (0.5, 0.99, 0.999)
            ),
        ],
    )


def lag_at_most(buckets: dict[str, float], share: float) -> float:
    """Return the smallest bound of a histogram that covers a share of its samples.

    >>> lag_at_most({'le="0.01"': 90.0, 'le="0.05"': 99.0, 'le="+Inf"': 100.0}, 0.95)
    0.05
    """
    counts = sorted((float(label[4:-1]), count) for label, count in buckets.items())
    return next(bound for bound, count in counts if count >= share * counts[-1][1])
