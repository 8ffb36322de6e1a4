"""Speed-up of builds by workers: ``python -m hebbgraph_bench.building SET... [--chunks 200000]``.

Chunks recombined from the sets (:mod:`hebbgraph_bench.scale.corpus`) are written to a JSON Lines
file. In each round they are indexed by ``add``, by a build with one worker and by a build with two,
in turn, each in a fresh process. Times are from opening a new index to closing it, without
embedding. A ratio is the median over rounds.

A model based on the steps of one worker predicts two workers (to compare with the measurement),
eight and 64. It assumes that each worker has a processor, memory and disk of its own: a
prediction, not a measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from hebbgraph import Chunk, HebbianIndex
from hebbgraph_scale.build.building import build
from hebbgraph_scale.build.engines import EngineName, engine_named
from hebbgraph_scale.build.sources import partitions_of

from hebbgraph_bench.datasets import load
from hebbgraph_bench.scale.corpus import Recombined

__all__ = ["main", "predicted", "write_chunks", "write_records"]

_START_SECONDS = 1.2  # start of a worker: Python, NumPy, Arrow
_MOST_SEGMENTS = 8  # of the lexical index


def predicted(one: Mapping[str, float], workers: int) -> float:
    """Predict the seconds of a build from the steps of one worker.

    The driver alone commits while workers propose, and assembles the arrays while workers make
    at most eight segments of the lexical index. The vocabulary is written while all others wait.

    Parameters
    ----------
    one : mapping
        Seconds of one worker: ``propose`` (with ``commit``), ``commit``, ``merge``,
        ``vocabulary``, ``match``, ``lexical``, ``assemble`` and ``whole``.
    workers : int

    Examples
    --------
    >>> steps = {"propose": 90, "commit": 10, "merge": 2, "vocabulary": 1, "match": 8,
    ...     "lexical": 8, "assemble": 1, "whole": 112}
    >>> round(predicted(steps, 1)), round(predicted(steps, 2)), round(predicted(steps, 64))
    (112, 58, 15)
    """
    if workers == 1:
        return one["whole"]
    commits = max(one["propose"] / workers, one["commit"])
    shared = (one["merge"] + one["match"]) / workers
    last = max(one["lexical"] / min(workers, _MOST_SEGMENTS), one["assemble"])
    known = sum(
        one[step] for step in ("propose", "merge", "vocabulary", "match", "lexical", "assemble")
    )
    rest = one["whole"] - known  # opening, closing, the snapshot
    return commits + shared + last + one["vocabulary"] + rest + _START_SECONDS


def _index_once(how: str, source: str, directory: str, engine: EngineName) -> dict[str, Any]:
    """Index a file in this process, and its workers; return the times."""
    began = time.perf_counter()
    steps: dict[str, float] = {}
    with HebbianIndex.open(directory) as index:
        if how == "add":
            index.add(record for part in partitions_of([source]) for record in part.read())
        else:
            running = engine_named(engine, int(how))
            try:
                steps = dict(build(index.parts, partitions_of([source]), running).seconds)
            finally:
                running.close()
        chunks = index.parts.derived.graph.n_chunks
    usages = [
        resource.getrusage(process) for process in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return {
        "how": how,
        "chunks": chunks,
        "whole": time.perf_counter() - began,
        "cpu": sum(usage.ru_utime + usage.ru_stime for usage in usages),
        "largest_mb": [usage.ru_maxrss / 1024 for usage in usages],
        **steps,
    }


def _in_child(how: str, source: str, directory: str, engine: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "hebbgraph_bench.building", "--once", how, source, directory]
    completed = subprocess.run(
        [*command, "--engine", engine], capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise SystemExit(completed.stderr)
    measured: dict[str, Any] = json.loads(completed.stdout.splitlines()[-1])
    return measured


def write_chunks(sets: Sequence[Path], n: int, path: Path) -> float:
    """Write chunks as JSON lines; return megabytes of text."""
    return write_records(Recombined([load(folder) for folder in sets], n).chunks(), path)


def write_records(chunks: Iterable[Chunk], path: Path) -> float:
    """Write chunks as JSON lines; return megabytes of text."""
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for chunk in chunks:
            fields = {"id": chunk.id, "title": chunk.title, "text": chunk.text}
            file.write(json.dumps(fields | {"metadata": chunk.metadata}) + "\n")
            size += len(chunk.text) + len(chunk.title)
    return size / 1e6


def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    source = folder / "chunks.jsonl"
    megabytes = write_chunks(options.sets, options.chunks, source)
    rounds: list[dict[str, dict[str, Any]]] = []
    kinds = [*([] if options.no_add else ["add"]), "1", str(options.workers)]
    for number in range(options.rounds):
        measured = {}
        for how in kinds if number % 2 == 0 else reversed(kinds):
            name = folder / f"{number}-{how}"
            measured[how] = _in_child(how, str(source), str(name), options.engine)
            shutil.rmtree(name)
            _say(f"round {number + 1}, {_named(how)}: {measured[how]['whole']:.1f} s")
        rounds.append(measured)
    one = {
        step: median(float(each["1"][step]) for each in rounds)
        for step in rounds[0]["1"]
        if isinstance(rounds[0]["1"][step], int | float)
    }
    many = str(options.workers)
    return {
        "chunks": options.chunks,
        "megabytes": megabytes,
        "processors": os.cpu_count(),
        "engine": options.engine,
        "rounds": rounds,
        "workers_over_one": median(each["1"]["whole"] / each[many]["whole"] for each in rounds),
        "one_over_add": _over_add(rounds, "whole"),
        "one_over_add_cpu": _over_add(rounds, "cpu"),
        "steps_of_one": one,
        "predicted_seconds": {n: predicted(one, n) for n in (options.workers, 8, 64)},
    }


def _over_add(rounds: Sequence[Mapping[str, Any]], what: str) -> float | None:
    ratios = [each["add"][what] / each["1"][what] for each in rounds if "add" in each]
    return median(ratios) if ratios else None


def _show(figures: Mapping[str, Any], workers: int) -> None:
    steps = figures["steps_of_one"]
    _say(
        f"\n{figures['chunks']:,} chunks, {figures['megabytes']:.1f} MB, {figures['processors']} "
        f"processors, {figures['engine']}\n"
        f"{workers} workers are {figures['workers_over_one']:.2f} times as fast as one\n"
        + (
            f"one is {figures['one_over_add']:.2f} times as fast as add "
            f"({figures['one_over_add_cpu']:.2f} by processor time)\n"
            if figures["one_over_add"]
            else ""
        )
        + "one worker, seconds by step: "
        + ", ".join(f"{name} {value:.1f}" for name, value in steps.items() if name != "chunks")
    )
    for n, seconds in figures["predicted_seconds"].items():
        _say(
            f"predicted, {n} workers on as many processors: {seconds:.1f} s, "
            f"{steps['whole'] / seconds:.2f} times as fast as one"
        )


def _named(how: str) -> str:
    return how if how == "add" else f"{how} workers"


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.building")
    parser.add_argument("sets", nargs="*", type=Path, help="directories of evaluation sets")
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-add", action="store_true", help="compare workers with workers alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", choices=("processes", "ray"), default="processes")
    parser.add_argument("--to", type=Path, help="also write everything as JSON")
    parser.add_argument("--folder", help="where the indexes are made")
    parser.add_argument("--once", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.once:
        how, source, directory = options.once
        _say(json.dumps(_index_once(how, source, directory, options.engine)))
        return 0
    if not options.sets:
        parser.error("name sets")
    with TemporaryDirectory(prefix="hebbgraph-building-", dir=options.folder) as folder:
        figures = _measure(options, Path(folder))
    _show(figures, options.workers)
    if options.to is not None:
        options.to.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
