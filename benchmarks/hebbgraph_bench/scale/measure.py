"""Time indexing, asking, closing and reopening."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time

import numpy as np
import tantivy
from hebbgraph.derived.parts import Derived
from hebbgraph.embedders import passage_text
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import VectorSearchName
from hebbgraph.recall.strategies import spreading
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings
from hebbgraph.text.query import query_terms

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.memory import allocated_bytes
from hebbgraph_bench.scale.changing import measure_changes
from hebbgraph_bench.scale.clock import clocked, reference_us
from hebbgraph_bench.scale.corpus import ClusteredEmbedder, Recombined
from hebbgraph_bench.scale.filtered import measure_filters
from hebbgraph_bench.scale.report import ScaleResult

__all__ = ["ask", "measure_scale", "resident", "resident_bytes"]

_WARM_UP = 5
_CHILD = """
import json, sys
from hebbgraph_bench.scale.measure import resident_bytes
path, search, k = sys.argv[1], sys.argv[2] or None, int(sys.argv[3])
print(resident_bytes(path, json.load(sys.stdin), search, k))
"""


def measure_scale(
    datasets: Sequence[Dataset],
    n: int,
    *,
    vectors: VectorSearchName | None = None,
    k: int = 10,
    questions: int = 200,
    seed: int = 0,
    keep: Path | None = None,
    on_step: Callable[[str], object] | None = None,
) -> ScaleResult:
    """Index ``n`` recombined chunks in a temporary directory and measure.

    Parameters
    ----------
    datasets : sequence of Dataset
        Where sentences and questions come from.
    n : int
    vectors : {"exact", "quantized", "ivf"}, optional
        Give chunks and questions simulated vectors of 384 numbers, searched in this way.
    k : int
    questions : int
        Ask this many of the sets' questions, sampled and renamed.
    seed : int
    keep : Path, optional
        Work in this directory and leave the index there, compacted, as ``index``.
    on_step : callable, optional
        Called with the name of each step.

    Returns
    -------
    ScaleResult
    """
    report = on_step or (lambda _: None)
    report("recombining")
    corpus = Recombined(datasets, n, seed=seed)
    chunks = list(corpus.chunks())
    sample = corpus.questions(questions)
    embedder = ClusteredEmbedder(seed=seed) if vectors else None
    settings = Settings(vector_search=vectors or "exact")
    temporary = TemporaryDirectory(prefix="hebbgraph-scale-")
    with nullcontext(keep) if keep is not None else temporary as directory:
        path = Path(directory) / "index"
        report(f"indexing {n} chunks")
        with HebbianIndex.open(path, embedder=embedder, settings=settings) as index:
            indexing = _index(index, chunks, embedder)
        report("indexing by Tantivy alone")
        with TemporaryDirectory() as folder:
            tantivy_seconds = _index_by_tantivy(chunks, Path(folder) / "tantivy")
        del chunks
        report("reopening")
        began = perf_counter()
        with HebbianIndex.open(path, embedder=embedder, settings=settings) as index:
            before = perf_counter()
            index.recall(sample[0], k=k)
            reopened, first = perf_counter() - began, perf_counter() - before
            report(f"asking {len(sample)} questions")
            times = ask(index, sample, embedder, k)
        report("asking with filters")
        filters = measure_filters(path, sample, embedder=embedder, settings=settings, k=k)
        report("measuring memory")
        allocated = resident(str(path), sample, vectors, k)
        disk = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        report("adding, learning, deleting, compacting")
        with HebbianIndex.open(path, embedder=embedder, settings=settings) as index:
            changes = measure_changes(index, corpus, sample, embedder=embedder)
    medians = {name: float(np.median(values)) for name, values in times.items()}
    slow = {name: float(np.percentile(values, 95)) for name, values in times.items()}
    return ScaleResult(
        chunks=n,
        dimension=embedder.dimension if embedder else None,
        vector_search=vectors,
        questions=len(sample),
        reference_us=reference_us(),
        **indexing,
        tantivy_index_mb_per_second=indexing["megabytes"] / tantivy_seconds,
        recall_ms=medians["recall"],
        recall_ms_p95=slow["recall"],
        tantivy_ms=medians["tantivy"],
        tantivy_ms_p95=slow["tantivy"],
        recall_to_tantivy=medians["recall"] / medians["tantivy"],
        recall_cpu_ms=medians["recall CPU"],
        tantivy_cpu_ms=medians["tantivy CPU"],
        spreading_ms=medians["spreading"],
        spreading_ms_p95=slow["spreading"],
        spreading_cpu_ms=medians["spreading CPU"],
        reopen_seconds=reopened,
        first_recall_ms=first * 1e3,
        resident_bytes_per_chunk=None if allocated is None else allocated / n,
        disk_bytes_per_chunk=disk / n,
        **asdict(filters),
        **asdict(changes),
    )


def _index(
    index: HebbianIndex, chunks: Sequence[Chunk], embedder: ClusteredEmbedder | None
) -> dict[str, float]:
    """Add all chunks in one call, and time its first and last tenth of writing."""
    sizes = np.array([len(f"{chunk.title}\n{chunk.text}".encode()) for chunk in chunks]) / 1e6
    marks: list[tuple[int, float]] = []

    def embedding() -> float:
        return embedder.seconds if embedder else 0.0

    def note(counts: int, total: int | None) -> None:
        marks.append((counts, process_time() - embedding()))

    began, began_cpu = perf_counter(), process_time()
    note(0, None)
    with clocked(Derived, "refresh", process_time) as deriving:
        index.add(chunks, on_progress=note)
    seconds, cpu = perf_counter() - began - embedding(), process_time() - began_cpu - embedding()
    counts = np.array([count for count, _ in marks])
    tenth = len(chunks) // 10
    first = int(np.searchsorted(counts, tenth))
    last = int(np.searchsorted(counts, len(chunks) - tenth, "right")) - 1

    def rate(start: int, stop: int) -> float:
        (low, from_), (high, to) = marks[start], marks[stop]
        return float(sizes[low:high].sum() / max(to - from_, 1e-9))

    size = float(sizes.sum())
    return {
        "megabytes": size,
        "index_seconds": seconds,
        "index_mb_per_second": size / seconds,
        "index_mb_per_cpu_second": size / cpu,
        "first_tenth_mb_per_cpu_second": rate(0, max(first, 1)),
        "last_tenth_mb_per_cpu_second": rate(min(last, len(marks) - 2), len(marks) - 1),
        "derive_mb_per_cpu_second": size / max(sum(deriving), 1e-9),
    }


def resident_bytes(
    path: str, questions: Sequence[str], vectors: VectorSearchName | None, k: int
) -> float:
    """Return how far this process grows by opening an index and asking; see :func:`resident`.

    Counts allocated memory (``RssAnon``); pages of mapped files belong to the page cache.
    """
    embedder = ClusteredEmbedder() if vectors else None
    settings = Settings(vector_search=vectors or "exact")
    before = allocated_bytes()
    with HebbianIndex.open(path, embedder=embedder, settings=settings) as index:
        for question in questions:
            index.recall(question, k=k)
        after = allocated_bytes()
    return -1.0 if before is None or after is None else float(after - before)


def ask(
    index: HebbianIndex, questions: Sequence[str], embedder: ClusteredEmbedder | None, k: int
) -> dict[str, list[float]]:
    """Return the milliseconds of each question, by kind of time."""
    times: dict[str, list[float]] = {}
    language = index.settings.language
    with (
        clocked(spreading, "spread", thread_time) as spread_cpu,
        clocked(spreading, "spread") as spread_seconds,
    ):
        for number, question in enumerate([*questions[:_WARM_UP], *questions]):
            vector = None if embedder is None else embedder.embed_query(question).tolist()
            terms = query_terms(question, language)
            spread_seconds.clear()
            spread_cpu.clear()
            began, began_cpu = perf_counter(), thread_time()
            index.recall(question, k=k, vector=vector)
            then, then_cpu = perf_counter(), thread_time()
            index.parts.derived.lexical.search(terms, k)
            wall, cpu = perf_counter(), thread_time()
            if number < _WARM_UP:
                continue
            for name, seconds in (
                ("recall", then - began),
                ("recall CPU", then_cpu - began_cpu),
                ("tantivy", wall - then),
                ("tantivy CPU", cpu - then_cpu),
                ("spreading", sum(spread_seconds)),
                ("spreading CPU", sum(spread_cpu)),
            ):
                times.setdefault(name, []).append(seconds * 1e3)
    return times


def _index_by_tantivy(chunks: Sequence[Chunk], directory: Path) -> float:
    """Return Tantivy's seconds for title and text, stemmed, in one thread."""
    directory.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="en_stem", index_option="position")
    began = perf_counter()
    index = tantivy.Index(builder.build(), path=str(directory))
    writer = index.writer(64_000_000, 1)
    for chunk in chunks:
        document = tantivy.Document()
        document.add_text("text", passage_text(chunk))
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    return perf_counter() - began


def resident(
    path: str, questions: Sequence[str], vectors: VectorSearchName | None, k: int
) -> float | None:
    """Ask in a fresh process, so memory left from indexing does not count."""
    completed = subprocess.run(
        [sys.executable, "-c", _CHILD, path, vectors or "", str(k)],
        input=json.dumps(list(questions)),
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        return None
    megabytes = float(completed.stdout)
    return None if megabytes < 0 else megabytes
