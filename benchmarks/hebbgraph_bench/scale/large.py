"""Index and search millions of chunks, in stages that can be resumed.

``python -m hebbgraph_bench.scale.large FOLDER SET... --chunks N [--workers N] [--vectors ivf]``

The folder contains the chunk files (250,000 chunks each), the index, and ``measured.json``. Run it
again after a kill: existing files are not rewritten, ``hebbgraph build`` continues, and stored
measurements are not repeated. With ``--vectors``, the finished index is embedded (simulated vectors
of 384 numbers) and asked again.

Recalls are measured in wall time and in processor time of the asking thread, which other work on
the machine disturbs less. Questions are asked twice: the first time, an index larger than memory is
read from disk. Memory is that of a fresh process, without mapped files.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import VectorSearchName
from hebbgraph.settings import Settings
from hebbgraph_scale.build.building import build
from hebbgraph_scale.build.driver import BuildProgress
from hebbgraph_scale.build.engines import engine_named
from hebbgraph_scale.build.sources import partitions_of

from hebbgraph_bench.building import write_records
from hebbgraph_bench.datasets import load
from hebbgraph_bench.scale.changing import measure_changes
from hebbgraph_bench.scale.clock import reference_us
from hebbgraph_bench.scale.corpus import ClusteredEmbedder, Recombined
from hebbgraph_bench.scale.measure import ask, resident

__all__ = ["main"]

_CHUNKS_PER_FILE = 250_000
_REPORT_EVERY = 30.0  # seconds
_K = 10
_BATCH = 4_000  # chunks per embedded and written batch


class _Stages:
    """Measurements by stage, each stored as soon as it is known."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.done: dict[str, Any] = json.loads(file.read_bytes()) if file.exists() else {}

    def once(self, stage: str, measure: Callable[[], dict[str, Any]]) -> None:
        """Measure a stage unless it is stored."""
        if stage not in self.done:
            _say(f"{stage} …")
            self.done[stage] = {**measure(), "reference_us": reference_us()}
            self._file.write_text(json.dumps(self.done, indent=2))
        _say(f"{stage}: {json.dumps(self.done[stage])}")


def _write(corpus: Recombined, n: int, folder: Path) -> list[str]:
    """Write missing chunk files; return all of them."""
    files = []
    for start in range(0, n, _CHUNKS_PER_FILE):
        file = folder / f"chunks-{start // _CHUNKS_PER_FILE:03}.jsonl"
        if not file.exists():
            partial = file.with_suffix(".partial")
            write_records(corpus.chunks(start, min(start + _CHUNKS_PER_FILE, n)), partial)
            partial.rename(file)
            _say(f"wrote {file.name}")
        files.append(str(file))
    return files


def _build(files: Sequence[str], index: Path, workers: int) -> dict[str, Any]:
    began, last_report = perf_counter(), [0.0]

    def report_progress(progress: BuildProgress) -> None:
        if (passed := perf_counter() - began) > last_report[0] + _REPORT_EVERY:
            last_report[0] = passed
            _say(f"{passed:.0f} s: {progress.step}, {progress.done:.0%}, {progress.chunks} chunks")

    with HebbianIndex.open(index) as store:
        engine = engine_named("processes", workers)
        try:
            report = build(store.parts, partitions_of(files), engine, on_progress=report_progress)
        finally:
            engine.close()
    usages = [
        resource.getrusage(process) for process in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return {
        "workers": workers,
        "megabytes": report.megabytes,
        "partitions": report.partitions,
        "reused": report.reused,
        "wall_seconds": perf_counter() - began,
        "cpu_seconds": [usage.ru_utime + usage.ru_stime for usage in usages],
        "largest_mb": [usage.ru_maxrss / 1024 for usage in usages],
        "steps": report.seconds,
    }


def _embed(index: Path, settings: Settings) -> dict[str, Any]:
    embedder = ClusteredEmbedder()
    began, began_cpu = perf_counter(), process_time()
    with HebbianIndex.open(index, settings=settings) as store:
        n_embedded = store.maintenance.reembed(embedder)
    return {
        "chunks": n_embedded,
        "wall_seconds": perf_counter() - began,
        "cpu_seconds": process_time() - began_cpu,
        "simulating_seconds": embedder.seconds,
    }


def _recall(
    index: Path, questions: Sequence[str], vectors: VectorSearchName | None
) -> dict[str, Any]:
    embedder = None if vectors is None else ClusteredEmbedder()
    settings = Settings(vector_search=vectors or "exact")
    began = perf_counter()
    with HebbianIndex.open(index, embedder=embedder, settings=settings) as store:
        opened = perf_counter() - began
        store.recall(questions[0], k=_K)
        first = perf_counter() - began - opened
        times = ask(store, questions, embedder, _K)
        again = ask(store, questions, embedder, _K)
        chunks = store.parts.derived.graph.n_chunks  # stats() counts all pairs of tags
    resident_mb = resident(str(index), questions, vectors, _K)
    disk = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
    return {
        "chunks": chunks,
        "open_seconds": opened,
        "first_recall_seconds": first,
        **{f"{name}_ms": float(np.median(values)) for name, values in times.items()},
        **{f"{name}_p95_ms": float(np.percentile(values, 95)) for name, values in times.items()},
        **{f"{name}_again_ms": float(np.median(again[name])) for name in ("recall", "recall CPU")},
        "resident_bytes_a_chunk": None if resident_mb is None else resident_mb / chunks,
        "disk_bytes_a_chunk": disk / chunks,
    }


def _change(index: Path, corpus: Recombined, n: int, questions: Sequence[str]) -> dict[str, Any]:
    with HebbianIndex.open(index) as store:
        return asdict(measure_changes(store, corpus, questions, first=n, compact=False))


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.scale.large")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument("--chunks", type=int, default=10_000_000)
    parser.add_argument(
        "--population",
        type=int,
        help="size of the corpus that names are drawn for [default: --chunks]",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--vectors", choices=("exact", "quantized", "ivf"))
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args(arguments)
    folder, n = options.folder, options.chunks
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Recombined([load(path) for path in options.sets], options.population or n)
    questions = corpus.questions(options.queries)
    index, stages = folder / "index", _Stages(folder / "measured.json")
    stages.once("build", lambda: _build(_write(corpus, n, folder), index, options.workers))
    stages.once("recall", lambda: _recall(index, questions, None))
    stages.once("changes", lambda: _change(index, corpus, n, questions))
    if options.vectors is not None:
        settings = Settings(vector_search=options.vectors, batch_size=_BATCH)
        stages.once("embedding", lambda: _embed(index, settings))
        stages.once("recall with vectors", lambda: _recall(index, questions, options.vectors))
    return 0


if __name__ == "__main__":
    sys.exit(main())
