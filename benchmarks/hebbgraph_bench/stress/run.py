"""Several processes on one index for a while, then a look at what is there."""

from __future__ import annotations

import multiprocessing
import random
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hebbgraph.errors import ParameterError
from hebbgraph.index import HebbianIndex
from hebbgraph.settings import Settings

from hebbgraph_bench.stress.report import LoadReport, measured, memory
from hebbgraph_bench.stress.worker import Account, Plan, make_text, work

__all__ = ["run_load"]

_START_CHUNKS = 500


def run_load(
    location: str | Path,
    *,
    processes: int = 8,
    writers: int = 2,
    seconds: float = 60.0,
    chunks: int = 4000,
    cache_dir: Path | None = None,
    seed: int = 0,
    wait_seconds: float = 30.0,
) -> LoadReport:
    """Put a load of recalls, feedback, adds and deletes on an index.

    It works in a namespace of its own, which stays.

    Parameters
    ----------
    location : str or Path
        As for :meth:`hebbgraph.HebbianIndex.open`; not ``":memory:"``.
    processes, writers : int
        How many in all, and how many of them add and delete.
    seconds : float
    chunks : int
        About how many there are, once there are so many.
    cache_dir : Path, optional
        With a URL: below it, every process keeps derived parts of its own.
    seed : int
    wait_seconds : float
        How long a writer waits for another one.
    """
    if str(location) == ":memory:":
        raise ParameterError("a load needs an index that several processes can open")
    if not 0 < writers <= processes:
        raise ParameterError(f"of {processes} processes, 1 to all can write, got {writers}")
    namespace = f"load-{uuid.uuid4().hex[:12]}"
    is_url = "://" in str(location)
    settings = Settings(write_wait_seconds=wait_seconds)

    def cache(name: str) -> Path | None:
        return cache_dir / name if is_url and cache_dir is not None else None

    rng = random.Random(seed)
    start = {f"start-{n}": make_text(rng) for n in range(min(_START_CHUNKS, chunks))}
    with HebbianIndex.open(
        str(location), namespace=namespace, cache_dir=cache("check"), settings=settings
    ) as index:
        index.add([{"id": id_, "text": text} for id_, text in start.items()])
    plans = [
        Plan(
            location=str(location),
            cache_dir=cache(f"process{number}"),
            namespace=namespace,
            number=number,
            is_writer=number < writers,
            seconds=seconds,
            chunks=max(1, (chunks - len(start)) // writers),
            seed=seed,
            wait_seconds=wait_seconds,
        )
        for number in range(processes)
    ]
    # Spawned, for a fork would share what must not be shared.
    context = multiprocessing.get_context("spawn")
    started = time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        accounts = list(pool.map(work, plans))
    took = time.monotonic() - started
    with HebbianIndex.open(
        str(location), namespace=namespace, cache_dir=cache("check"), settings=settings
    ) as index:
        faults = tuple(_faults(index, start, accounts))
        chunk_count, feedback_count = index.parts.truth.count(), index.parts.log.count()
    return LoadReport(
        processes=processes,
        writers=writers,
        seconds=round(took, 1),
        operations=measured(accounts, seconds),
        waits=sum(account.waits for account in accounts),
        errors=dict(Counter(error for account in accounts for error in account.errors)),
        chunks=chunk_count,
        feedbacks=feedback_count,
        memory=memory(accounts),
        faults=faults,
    )


def _faults(
    index: HebbianIndex, start: dict[str, str], accounts: Sequence[Account]
) -> Iterator[str]:
    """Name what is not as the processes were told."""
    expected = dict(start)
    unsure: set[str] = set()
    feedbacks: set[str] = set()
    for account in accounts:
        expected |= account.held
        unsure |= account.unsure
        feedbacks |= account.feedbacks
    held = {c.id: c.text for c in index.parts.truth.fetch(index.parts.truth.rows_by_id()).values()}
    sure = {id_ for id_ in held.keys() | expected.keys() if id_ not in unsure}
    if lost := sorted(id_ for id_ in sure if id_ not in held):
        yield f"{len(lost)} chunks are lost, e.g. {lost[0]}"
    if more := sorted(id_ for id_ in sure if id_ not in expected):
        yield f"{len(more)} chunks ought to be gone, e.g. {more[0]}"
    if other := sorted(
        id_ for id_ in sure if id_ in held and held[id_] != expected.get(id_, held[id_])
    ):
        yield f"{len(other)} chunks have another text, e.g. {other[0]}"
    there = [feedback.id for _, feedback in index.parts.log.after(0)]
    if lost := sorted(feedbacks - set(there)):
        yield f"{len(lost)} feedbacks are lost"
    # A process that was told of an error may have been heard all the same.
    if len(there) > len(feedbacks) and not any(account.errors for account in accounts):
        yield f"{len(there) - len(feedbacks)} feedbacks too many"
    yield from (f"{finding.part}: {finding.problem}" for finding in index.doctor().findings)
