"""Speed and size on many chunks, made by recombining the sentences of evaluation sets.

What is measured, in one process, on one disk:

- **indexing**: UTF-8 text over the wall time of one ``add``, embedding left out; beside it
  Tantivy's own, in one thread with English stemming.
- **recall**: time of one ``recall`` a question, embedding left out; beside it, in turns in
  the same run, Tantivy's own search of the same terms for as many hits, and the time
  inside spreading alone. *CPU* is the processor time of the calling thread, which other
  processes on the machine disturb less.
- **reopening**: ``open`` and the first recall, after a ``close``.
- **resident memory**: how far a fresh process grows by opening and asking all questions.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray

from hebbgraph import recalling
from hebbgraph.embedders import passage_text
from hebbgraph.errors import ParameterError
from hebbgraph.evaluation.datasets import Dataset
from hebbgraph.evaluation.tables import Grid
from hebbgraph.index import HebbianIndex
from hebbgraph.records import Chunk
from hebbgraph.seeding.lexical import query_terms
from hebbgraph.tagging import tokenize

__all__ = ["RandomEmbedder", "ScaleResult", "grid", "measure_scale", "recombine"]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
_WORDS = (60, 100)
_WARM_UP = 5
_CHILD = """
import json, sys
from hebbgraph.evaluation.scale import RandomEmbedder, resident_bytes
path, vectors, k = sys.argv[1], sys.argv[2] == "1", int(sys.argv[3])
print(resident_bytes(path, json.load(sys.stdin), vectors, k))
"""


class RandomEmbedder:
    """Random unit vectors: they cost what real ones cost, and mean nothing.

    Attributes
    ----------
    seconds : float
        Spent here so far.
    """

    def __init__(self, dimension: int = 384, *, seed: int = 0) -> None:
        self.model_name = f"random-{dimension}"
        self.dimension = dimension
        self.seconds = 0.0
        self._rng = np.random.default_rng(seed)

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Draw one vector a text."""
        began = perf_counter()
        vectors = self._rng.standard_normal((len(texts), self.dimension), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.seconds += perf_counter() - began
        return vectors

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Draw a vector."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """Figures for one size; times of single calls are medians and 95th percentiles."""

    chunks: int
    megabytes: float
    dimension: int | None
    questions: int
    index_seconds: float
    index_mb_per_second: float
    tantivy_index_mb_per_second: float
    recall_ms: float
    recall_ms_p95: float
    tantivy_ms: float
    tantivy_ms_p95: float
    recall_to_tantivy: float
    recall_cpu_ms: float
    tantivy_cpu_ms: float
    spreading_ms: float
    spreading_ms_p95: float
    reopen_seconds: float
    first_recall_ms: float
    resident_bytes_per_chunk: float | None
    disk_bytes_per_chunk: float


def recombine(datasets: Sequence[Dataset], n: int, *, seed: int = 0) -> Iterator[Chunk]:
    """Yield ``n`` chunks of 60 to 100 words, sentences drawn from all chunks of the sets.

    A chunk has the title of the chunk that its first sentence comes from.

    Raises
    ------
    ParameterError
        If there is no sentence to draw, or ``n`` is not positive.
    """
    pool = [
        (chunk.title, sentence, len(sentence.split()))
        for dataset in datasets
        for chunk in dataset.corpus
        for sentence in _SENTENCE_END.split(chunk.text)
        if 3 <= len(sentence.split()) <= _WORDS[1] - _WORDS[0]
    ]
    if not pool or n < 1:
        raise ParameterError(
            f"recombining takes sets with sentences of 3 to {_WORDS[1] - _WORDS[0]} words and"
            f" n of at least 1, got {len(pool)} sentences and n={n!r}"
        )
    rng = random.Random(seed)
    for number in range(n):
        title, sentence, words = rng.choice(pool)
        sentences = [sentence]
        while words < _WORDS[0]:
            _, sentence, more = rng.choice(pool)
            sentences.append(sentence)
            words += more
        yield Chunk(id=f"s{number:07}", title=title, text=" ".join(sentences))


def measure_scale(
    datasets: Sequence[Dataset],
    n: int,
    *,
    vectors: bool = False,
    k: int = 10,
    questions: int = 200,
    seed: int = 0,
    on_step: Callable[[str], object] | None = None,
) -> ScaleResult:
    """Index ``n`` recombined chunks in a temporary directory and measure.

    Parameters
    ----------
    datasets : sequence of Dataset
        Where sentences and questions come from.
    n : int
    vectors : bool
        Whether chunks and questions get random vectors of 384 numbers.
    k : int
    questions : int
        At most so many of the sets' questions are asked, drawn at random.
    seed : int
    on_step : callable, optional
        Told what comes next.

    Returns
    -------
    ScaleResult
    """
    tell = on_step or (lambda _: None)
    tell("recombining")
    chunks = list(recombine(datasets, n, seed=seed))
    size = sum(len(f"{chunk.title}\n{chunk.text}".encode()) for chunk in chunks) / 1e6
    asked = [query.text for dataset in datasets for query in dataset.queries]
    asked = random.Random(seed).sample(asked, min(questions, len(asked)))
    embedder = RandomEmbedder(seed=seed) if vectors else None
    with TemporaryDirectory(prefix="hebbgraph-scale-") as directory:
        path = f"{directory}/index"
        tell(f"indexing {n} chunks")
        with HebbianIndex.open(path, embedder=embedder) as index:
            began = perf_counter()
            index.add(chunks)
            seconds = perf_counter() - began - (embedder.seconds if embedder else 0.0)
        tell("indexing by Tantivy alone")
        tantivy_seconds = _index_by_tantivy(chunks, Path(directory) / "tantivy")
        del chunks
        tell("reopening")
        began = perf_counter()
        with HebbianIndex.open(path, embedder=embedder) as index:
            reopened = perf_counter() - began
            index.recall(asked[0], k=k)
            first = perf_counter() - began - reopened
            tell(f"asking {len(asked)} questions")
            times = _ask(index, asked, embedder, k)
        tell("measuring memory")
        resident = _resident(path, asked, vectors, k)
        disk = sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
    medians = {name: float(np.median(one)) for name, one in times.items()}
    slow = {name: float(np.percentile(one, 95)) for name, one in times.items()}
    return ScaleResult(
        chunks=n,
        megabytes=size,
        dimension=embedder.dimension if embedder else None,
        questions=len(asked),
        index_seconds=seconds,
        index_mb_per_second=size / seconds,
        tantivy_index_mb_per_second=size / tantivy_seconds,
        recall_ms=medians["recall"],
        recall_ms_p95=slow["recall"],
        tantivy_ms=medians["tantivy"],
        tantivy_ms_p95=slow["tantivy"],
        recall_to_tantivy=medians["recall"] / medians["tantivy"],
        recall_cpu_ms=medians["recall CPU"],
        tantivy_cpu_ms=medians["tantivy CPU"],
        spreading_ms=medians["spreading"],
        spreading_ms_p95=slow["spreading"],
        reopen_seconds=reopened,
        first_recall_ms=first * 1e3,
        resident_bytes_per_chunk=None if resident is None else resident / n,
        disk_bytes_per_chunk=disk / n,
    )


def grid(results: Sequence[ScaleResult]) -> Grid:
    """Lay out one row a figure, one column a size."""
    rows = {
        "text, MB": ("megabytes", ".1f"),
        "indexing, MB/s": ("index_mb_per_second", ".2f"),
        "Tantivy's indexing, MB/s": ("tantivy_index_mb_per_second", ".2f"),
        "recall, ms median": ("recall_ms", ".2f"),
        "recall, ms p95": ("recall_ms_p95", ".2f"),
        "Tantivy alone, ms median": ("tantivy_ms", ".2f"),
        "Tantivy alone, ms p95": ("tantivy_ms_p95", ".2f"),
        "recall / Tantivy": ("recall_to_tantivy", ".1f"),
        "recall, CPU ms median": ("recall_cpu_ms", ".2f"),
        "Tantivy alone, CPU ms median": ("tantivy_cpu_ms", ".2f"),
        "spreading alone, ms median": ("spreading_ms", ".2f"),
        "spreading alone, ms p95": ("spreading_ms_p95", ".2f"),
        "reopening, s": ("reopen_seconds", ".2f"),
        "first recall, ms": ("first_recall_ms", ".1f"),
        "resident, bytes a chunk": ("resident_bytes_per_chunk", ".0f"),
        "on disk, bytes a chunk": ("disk_bytes_per_chunk", ".0f"),
    }
    fields = [asdict(result) for result in results]
    headings = [
        f"{result.chunks} chunks" + (f", {result.dimension} dims" if result.dimension else "")
        for result in results
    ]
    return Grid(
        "speed and size",
        ("", *headings),
        [
            (name, *("–" if row[field] is None else f"{row[field]:{form}}" for row in fields))
            for name, (field, form) in rows.items()
        ],
    )


def resident_bytes(path: str, questions: Sequence[str], vectors: bool, k: int) -> float:
    """Return how far this process grows by opening an index and asking; see ``_resident``."""
    from hebbgraph.evaluation.memory import PeakMemory

    embedder = RandomEmbedder() if vectors else None
    with PeakMemory() as peak, HebbianIndex.open(path, embedder=embedder) as index:
        for question in questions:
            index.recall(question, k=k)
    return -1.0 if peak.megabytes is None else peak.megabytes * 1e6


def _ask(
    index: HebbianIndex, questions: Sequence[str], embedder: RandomEmbedder | None, k: int
) -> dict[str, list[float]]:
    """Return milliseconds a question, by what took them."""
    times: dict[str, list[float]] = {}
    language = index.settings.language
    with _clocked(recalling, "spread") as spread_seconds:
        for number, question in enumerate([*questions[:_WARM_UP], *questions]):
            vector = None if embedder is None else embedder.embed_query(question).tolist()
            terms = query_terms(tokenize(question), language)
            spread_seconds.clear()
            began, began_cpu = perf_counter(), thread_time()
            index.recall(question, k=k, vector=vector)
            then, then_cpu = perf_counter(), thread_time()
            index._derived.lexical.search(terms, k)
            done, done_cpu = perf_counter(), thread_time()
            if number < _WARM_UP:
                continue
            for name, seconds in (
                ("recall", then - began),
                ("recall CPU", then_cpu - began_cpu),
                ("tantivy", done - then),
                ("tantivy CPU", done_cpu - then_cpu),
                ("spreading", sum(spread_seconds)),
            ):
                times.setdefault(name, []).append(seconds * 1e3)
    return times


def _index_by_tantivy(chunks: Sequence[Chunk], directory: Path) -> float:
    """Return the seconds that Tantivy takes for title and text, stemmed, in one thread."""
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


@contextmanager
def _clocked(module: Any, name: str) -> Iterator[list[float]]:
    """Clock every call of a function of a module while this is open."""
    inner = getattr(module, name)
    seconds: list[float] = []

    def outer(*args: Any, **kwargs: Any) -> Any:
        began = perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            seconds.append(perf_counter() - began)

    setattr(module, name, outer)
    try:
        yield seconds
    finally:
        setattr(module, name, inner)


def _resident(path: str, questions: Sequence[str], vectors: bool, k: int) -> float | None:
    """Ask in a fresh process, so that nothing that indexing left is counted."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, path, str(int(vectors)), str(k)],
        input=json.dumps(list(questions)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    found = float(done.stdout)
    return None if found < 0 else found
