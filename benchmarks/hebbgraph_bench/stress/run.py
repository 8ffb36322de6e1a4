"""Run several processes on one index, kill some of them, then check the result."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from hebbgraph.errors import ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.settings import Settings

from hebbgraph_bench.stress.account import Account
from hebbgraph_bench.stress.checks import faults_of_answers, faults_of_content, faults_of_doctor
from hebbgraph_bench.stress.embedder import HashEmbedder
from hebbgraph_bench.stress.report import LoadReport, measured, memory
from hebbgraph_bench.stress.worker import Plan, make_text, work

__all__ = ["run_load"]

_START_CHUNKS = 500
#: Odd and even processes stand for two machines: with a URL, the processes of each share a
#: cache directory.
_MACHINES = 2
#: Added to the wait for a writer: time to finish an operation and close.
_PATIENCE_SECONDS = 60.0


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
    kills_per_minute: float = 12.0,
) -> LoadReport:
    """Put a load of recalls, feedback, adds and deletes on an index, with vectors.

    It runs in a new namespace, which is left in place.

    Parameters
    ----------
    location : str or Path
        As for :meth:`hebbgraph.HebbianIndex.open`; not ``":memory:"``.
    processes, writers : int
        Number of processes, and how many of them add and delete.
    seconds : float
    chunks : int
        About how many chunks to keep.
    cache_dir : Path, optional
        With a URL: parent of two caches, each shared by half of the processes.
    seed : int
    wait_seconds : float
        How long a writer waits for another.
    kills_per_minute : float
        Average rate of kills, each at a random time; a new process takes over.
    """
    if str(location) == ":memory:":
        raise ParameterError("a load needs an index that several processes can open")
    if not 0 < writers <= processes:
        raise ParameterError(f"of {processes} processes, 1 to all can write, got {writers}")
    if not kills_per_minute >= 0:
        raise ParameterError(f"kills_per_minute is not negative, got {kills_per_minute!r}")
    namespace = f"load-{uuid.uuid4().hex[:12]}"
    settings = Settings(write_wait_seconds=wait_seconds)

    def cache(number: int) -> Path | None:
        if "://" not in str(location) or cache_dir is None:
            return None
        return cache_dir / f"machine{number % _MACHINES}"

    def opened(*, with_embedder: bool = True) -> HebbianIndex:
        return HebbianIndex.open(
            str(location),
            namespace=namespace,
            cache_dir=cache(0),
            settings=settings,
            embedder=HashEmbedder() if with_embedder else None,
        )

    rng = random.Random(seed)
    start = {f"start-{n}": make_text(rng) for n in range(min(_START_CHUNKS, chunks))}
    with opened() as index:
        index.add([{"id": id_, "text": text} for id_, text in start.items()])
    with tempfile.TemporaryDirectory(prefix="hebbgraph-load-") as journals:
        plans = [
            Plan(
                location=str(location),
                cache_dir=cache(number),
                journal=Path(journals) / f"{number}.jsonl",
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
        started = time.monotonic()
        kills, errors = _run(plans, rng, kills_per_minute / 60)
        took = time.monotonic() - started
        accounts = [Account.read(plan.number, plan.journal) for plan in plans]
    with opened() as index:
        faults = [*faults_of_content(index, start, accounts), *faults_of_answers(index)]
        chunk_count, feedback_count = index.parts.truth.count(), index.parts.log.count()
    faults += faults_of_doctor(opened)
    errors += Counter(error for account in accounts for error in account.errors)
    return LoadReport(
        processes=processes,
        writers=writers,
        seconds=round(took, 1),
        operations=measured(accounts, seconds),
        kills=kills,
        waits=sum(account.waits for account in accounts),
        errors=dict(errors),
        repairs=dict(Counter(repair for account in accounts for repair in account.repairs)),
        chunks=chunk_count,
        feedbacks=feedback_count,
        memory=memory(accounts),
        faults=tuple(faults),
    )


def _run(
    plans: Sequence[Plan], rng: random.Random, kills_a_second: float
) -> tuple[int, Counter[str]]:
    """Run all processes to their end; return the number of kills, and the errors."""
    # Spawn: a fork would share connections and locks.
    context = multiprocessing.get_context("spawn")

    def begun(plan: Plan) -> BaseProcess:
        process = context.Process(target=work, args=(plan,), daemon=True)
        process.start()
        return process

    deadline = time.monotonic() + plans[0].seconds
    running = [begun(plan) for plan in plans]
    kills, errors = 0, Counter[str]()
    try:
        while kills_a_second and (pause := rng.expovariate(kills_a_second)) >= 0:
            if (remaining := deadline - time.monotonic()) <= pause:
                break
            time.sleep(pause)  # a random time
            number = rng.randrange(len(plans))
            running[number].kill()
            running[number].join()
            kills += 1
            running[number] = begun(replace(plans[number], seconds=max(remaining - pause, 0.0)))
        for plan, process in zip(plans, running, strict=True):
            remaining = max(deadline - time.monotonic(), 0.0)
            process.join(remaining + plan.wait_seconds + _PATIENCE_SECONDS)
            if process.exitcode != 0:
                errors[f"a process ended with exit code {process.exitcode}"] += 1
    finally:
        for process in running:
            process.kill()
    return kills, errors
