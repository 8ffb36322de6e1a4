"""The requests of the page, on a large index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from hebbgraph.hebbian_index import HebbianIndex

from hebbgraph_bench.serving.process import serving
from hebbgraph_bench.tables import Grid

__all__ = ["measure_views"]


def measure_views(db: Path, questions: Sequence[str], *, lessons: int = 100) -> Grid:
    """Ask, replay, look at tags; return the server's own time for each.

    Parameters
    ----------
    db : Path
        Lessons are added to it.
    questions : sequence of str
    lessons : int
        Number of lessons to teach first, which the page shows.
    """
    took: dict[str, list[float]] = {}
    with serving(db) as server, server.client() as client:

        def ask(view: str, route: str, work: Callable[[HebbianIndex], object]) -> object:
            before = server.request_seconds(route)
            found = work(client)
            took.setdefault(view, []).append((server.request_seconds(route) - before) * 1e3)
            return found

        for question in questions[:lessons]:
            recall = client.recall(question, k=10)
            if recall.hits:
                client.reinforce(recall, cited=[recall.hits[-1].chunk.id], actor="bench")
        common = [info.tag for info in client.tags(limit=len(questions))]
        for question, tag in zip(questions, common, strict=False):
            recall = client.recall(question, k=10)
            ask("ask", "recall", lambda index, text=question: index.recall(text, k=10))  # type: ignore[misc]
            ask("replay", "trace", lambda index, of=recall: index.trace(of))  # type: ignore[misc]
            tags_of_hit = [info.tag for info in client.tags(chunk=recall.hits[0].chunk.id)]
            for name, near in (("common", tag), ("rare", tags_of_hit[-1] if tags_of_hit else tag)):
                ask(
                    f"map, a {name} tag",
                    "neighborhood",
                    lambda index, of=near: index.neighborhood(of, limit=500),  # type: ignore[misc]
                )
            for length in (1, 2, 4):
                ask(
                    f"map, search by {length} letters",
                    "tags",
                    lambda index, text=tag[:length]: index.tags(text, limit=20),  # type: ignore[misc]
                )
            ask("map, most frequent tags", "tags", lambda index: index.tags(limit=48))
        chunks = len(client.ids())
    return Grid(
        f"Views on {chunks:,} chunks: time of the server",
        ("view", "requests", "median ms", "p95 ms", "longest ms"),
        [
            (view, f"{len(ms)}", *(f"{value:.0f}" for value in np.percentile(ms, (50, 95, 100))))
            for view, ms in took.items()
        ],
    )
