"""The cost of changes to a large index: adding, learning, deleting, compacting."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
from hebbgraph.derived.steps import Steps
from hebbgraph.hebbian_index import HebbianIndex

from hebbgraph_bench.scale.clock import clocked
from hebbgraph_bench.scale.corpus import ClusteredEmbedder, Recombined

__all__ = ["ChangeTimes", "measure_changes"]

_ADDED = 1000
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ChangeTimes:
    """Medians; the first round of adding warms up."""

    add_cpu_ms: float
    rematch_cpu_ms: float
    recall_after_add_ms: float
    reinforce_ms: float
    delete_ms: float
    compact_seconds: float
    longest_recall_ms: float


def measure_changes(
    index: HebbianIndex,
    corpus: Recombined,
    questions: Sequence[str],
    *,
    first: int | None = None,
    embedder: ClusteredEmbedder | None = None,
    compact: bool = True,
) -> ChangeTimes:
    """Add 1,000 chunks a few times, learn, delete them, and compact while recalling.

    Parameters
    ----------
    index : HebbianIndex
        Contains ``corpus.n`` chunks of ``corpus``. It is changed.
    corpus : Recombined
    questions : sequence of str
    first : int, optional
        The number of the first chunk to add. [default: ``corpus.n``]
    embedder : ClusteredEmbedder, optional
        The embedder of the index; its time is excluded.
    compact : bool
    """
    added, rematched, after, learned, deleted = [], [], [], [], []
    first = corpus.n if first is None else first
    for number in range(_ROUNDS + 1):
        start = first + number * _ADDED
        chunks = list(corpus.chunks(start, start + _ADDED))
        embedding = embedder.seconds if embedder else 0.0
        with clocked(Steps, "rematch", process_time) as rematching:
            began = process_time()
            index.add(chunks)
            took = process_time() - began
        if embedder is not None:
            took -= embedder.seconds - embedding
        added.append(took - sum(rematching))
        rematched.append(sum(rematching))
        began = perf_counter()
        recall = index.recall(questions[number % len(questions)])
        after.append(perf_counter() - began)
        began = perf_counter()
        index.reinforce(recall, cited=[recall.hits[0].chunk.id])
        learned.append(perf_counter() - began)
    for number in range(_ROUNDS + 1):
        start = first + number * _ADDED
        began = perf_counter()
        index.delete([f"s{place:08}" for place in range(start, start + _ADDED)])
        deleted.append(perf_counter() - began)
    compacting, longest = _compact(index, questions) if compact else (0.0, 0.0)
    return ChangeTimes(
        add_cpu_ms=float(np.median(added[1:])) * 1e3,
        rematch_cpu_ms=float(np.median(rematched[1:])) * 1e3,
        recall_after_add_ms=float(np.median(after[1:])) * 1e3,
        reinforce_ms=float(np.median(learned[1:])) * 1e3,
        delete_ms=float(np.median(deleted)) * 1e3,
        compact_seconds=compacting,
        longest_recall_ms=longest * 1e3,
    )


def _compact(index: HebbianIndex, questions: Sequence[str]) -> tuple[float, float]:
    """Compact while a thread asks; return the seconds, and the longest recall."""
    times: list[float] = []
    finished = threading.Event()

    def ask() -> None:
        n_asked = 0
        while not finished.is_set():
            began = perf_counter()
            index.recall(questions[n_asked % len(questions)])
            times.append(perf_counter() - began)
            n_asked += 1
            finished.wait(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    began = perf_counter()
    try:
        index.compact()
    finally:
        took = perf_counter() - began
        finished.set()
        thread.join()
    return took, max(times, default=0.0)
