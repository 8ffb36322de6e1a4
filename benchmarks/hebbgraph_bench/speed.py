"""What an index costs: building, opening, asking, adding one, deleting one, memory.

    build CORPUS.jsonl INDEX [--vectors N]
    ask INDEX QUESTIONS.json [--vectors N]
    change INDEX CORPUS.jsonl [--vectors N]     works on a copy
    beside INDEX QUESTIONS.json CORPUS.jsonl    recalls next to a busy writer
    words INDEX QUESTIONS.json CORPUS.jsonl     BM25, Tantivy and bm25s

CORPUS has a line {"id", "title", "text"} for each chunk, QUESTIONS is a list of str. INDEX of build
and ask may be the URL of a PostgreSQL database, empty or built. Each call prints one line of JSON.
Times are milliseconds of processor time (wall time where it says so); server_mean is that of
PostgreSQL's process, if it runs on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError

#: How many paths each measurement takes.
_PATHS = {"build": 2, "ask": 2, "change": 2, "beside": 3, "words": 3}


class RandomVectors:
    """Vectors that follow from the text alone; their cosines mean nothing."""

    def __init__(self, dimension: int) -> None:
        self.model_name = f"random-{dimension}"
        self._dimension = dimension

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._vector(text).tolist()
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(text).tolist() for text in texts]

    def _vector(self, text: str) -> Any:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
        vector = np.random.default_rng(seed).standard_normal(self._dimension)
        return vector / np.linalg.norm(vector)


def embedder(dimension: int) -> dict[str, Any]:
    return {"embedder": RandomVectors(dimension)} if dimension else {}


def chunks(path: str, start: int = 0, stop: int | None = None) -> Iterator[dict[str, Any]]:
    with Path(path).open(encoding="utf-8") as file:
        for line in itertools.islice(file, start, stop):
            row = json.loads(line)
            yield {"id": row["id"], "title": row.get("title") or "", "text": row["text"]}


def private_mb() -> float:
    """Memory that is this process's alone; mapped files do not count."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1024


def milliseconds(call: Callable[[Any], object], arguments: Sequence[Any]) -> list[float]:
    taken = []
    for argument in arguments:
        began = time.process_time()
        call(argument)
        taken.append(1e3 * (time.process_time() - began))
    return taken


def shown(taken: Sequence[float], prefix: str) -> dict[str, float]:
    return {
        f"{prefix}_median": round(float(np.median(taken)), 2),
        f"{prefix}_p95": round(float(np.percentile(taken, 95)), 2),
        f"{prefix}_p99": round(float(np.percentile(taken, 99)), 2),
    }


def _queried(url: str, sql: str) -> Any:
    import psycopg

    with psycopg.connect(url) as connection:
        return connection.execute(sql.encode()).fetchall()


def stored_mb(path: str) -> float:
    if "://" in path:
        return float(_queried(path, "SELECT pg_database_size(current_database())")[0][0]) / 1e6
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file()) / 1e6


def server_ms(path: str) -> float | None:
    """Return the processor time so far of the processes that serve this one."""
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'hebbgraph'"
    files = [Path(f"/proc/{pid}/stat") for (pid,) in _queried(path, sql)] if "://" in path else []
    if not files or not all(file.exists() for file in files):
        return None
    fields = [file.read_text().rpartition(")")[2].split() for file in files]
    return sum(1e3 * (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK") for f in fields)


def build(corpus: str, path: str, dimension: int) -> dict[str, Any]:
    if "://" not in path:
        shutil.rmtree(path, ignore_errors=True)
    megabytes = sum(len(chunk["text"]) for chunk in chunks(corpus)) / 1e6
    with HebbianIndex.open(path, **embedder(dimension)) as index:
        wall, began = time.perf_counter(), time.process_time()
        index.add(chunks(corpus))
        cpu, wall = time.process_time() - began, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "mb_per_cpu_second": round(megabytes / cpu, 3),
        "wall_seconds": round(wall, 1),
        "index_mb": round(stored_mb(path), 1),
        "peak_mb": round(peak),
    }


def ask(path: str, questions: Sequence[str], dimension: int) -> dict[str, Any]:
    def first_recall(question: str) -> None:
        with HebbianIndex.open(path, **embedder(dimension)) as opened:
            opened.recall(question)

    first_recall(questions[0])  # imports
    opened = milliseconds(first_recall, questions[:20])
    index = HebbianIndex.open(path, **embedder(dimension))
    walls: list[float] = []

    def ask(question: str) -> None:
        began = time.perf_counter()
        index.recall(question)
        walls.append(1e3 * (time.perf_counter() - began))

    rounds = [milliseconds(ask, questions[:150])]
    before = server_ms(path)
    rounds += [milliseconds(ask, questions[:150]) for _ in range(2)]
    after, n = server_ms(path), len(rounds[0])
    best = np.min(rounds, axis=0)
    on_server = {} if after is None else {"server_mean": round((after - (before or 0)) / n / 2, 2)}
    return {
        **shown(walls[:n], "wall_first_round"),
        **shown(np.min(np.reshape(walls, (3, n)), axis=0).tolist(), "wall_best_of_3"),
        **on_server,
        **shown(opened, "open_and_first"),
        **shown(rounds[0], "first_round"),
        **shown(best, "best_of_3"),
        "private_mb": round(private_mb()),
    }


def change(path: str, corpus: str, dimension: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        copy = str(Path(folder) / "index")
        shutil.copytree(path, copy)
        index = HebbianIndex.open(copy, **embedder(dimension))
        old = list(chunks(corpus, 0, 300))
        new = [
            {
                **chunk,
                "id": f"new{at}",
                "text": f"{chunk['text']} Zorba Kell{at}, Moss{at // 2} Tarn.",
            }
            for at, chunk in enumerate(old)
        ]
        index.add(new[:20])
        added = milliseconds(lambda chunk: index.add([chunk]), new[20:220])
        deleted = milliseconds(lambda chunk: index.delete([chunk["id"]]), old[::3])
        index.close()
    return {**shown(added, "add_one"), **shown(deleted, "delete_one")}


def _write_on(path: str, corpus: str, stop: Any) -> None:
    index = HebbianIndex.open(path)
    for at, chunk in enumerate(itertools.cycle(chunks(corpus, 0, 2000))):
        if stop.is_set():
            return
        index.add([{**chunk, "id": f"w{at % 500}", "text": f"{chunk['text']} {at}"}])


def beside(path: str, questions: Sequence[str], corpus: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        copy = str(Path(folder) / "index")
        shutil.copytree(path, copy)
        index = HebbianIndex.open(copy)

        def wall(question: str) -> float:
            began = time.perf_counter()
            index.recall(question)
            return 1e3 * (time.perf_counter() - began)

        index.recall(questions[0])
        quiet = [wall(question) for question in questions]
        stop = multiprocessing.get_context("spawn").Event()
        writer = multiprocessing.get_context("spawn").Process(
            target=_write_on, args=(copy, corpus, stop)
        )
        writer.start()
        time.sleep(3.0)
        busy = [wall(question) for question in questions]
        stop.set()
        writer.join()
        index.close()
    return {**shown(quiet, "wall_quiet"), **shown(busy, "wall_beside_writer")}


def words(path: str, questions: Sequence[str], corpus: str) -> dict[str, Any]:
    import bm25s
    import tantivy

    from hebbgraph.recall.snapshot import Snapshot
    from hebbgraph.recall.words import WordSearch, find_words
    from hebbgraph.store.database import Caches
    from hebbgraph.text.context import text_words, tokenize_texts
    from hebbgraph.text.query import query_terms

    asked = [query_terms(question, "english") for question in questions[:150]]
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("t", tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    engine = tantivy.Index(schema)
    writer = engine.writer(256_000_000, 1)
    texts = []
    for chunk in chunks(corpus):
        tokens = tokenize_texts(chunk["title"], chunk["text"])
        counts, _ = text_words(tokens, f"{chunk['title']}\n\n{chunk['text']}", "english", [])
        texts.append(list(counts.elements()))
        document = tantivy.Document()
        document.add_text("t", " ".join(texts[-1]))
        writer.add_document(document)
    writer.commit()
    engine.reload()
    searcher = engine.searcher()
    other = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    other.index(texts, show_progress=False)

    def by_tantivy(terms: dict[str, float]) -> object:
        parts = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "t", term, "freq"))
            for term in terms
        ]
        return searcher.search(tantivy.Query.boolean_query(parts), 200, count=False).hits

    def by_bm25s(terms: dict[str, float]) -> object:
        return other.retrieve([list(terms)], k=200, show_progress=False)

    index = HebbianIndex.open(path)
    result: dict[str, Any] = {}
    with index._database.read() as session:

        def ours(terms: dict[str, float], caches: Caches) -> object:
            snapshot = Snapshot(session, caches)
            return WordSearch(snapshot, find_words(snapshot, terms, {}), terms).best(200)

        warm = Caches()
        for name, call in (
            ("ours_cold", lambda terms: ours(terms, Caches())),
            ("ours", lambda terms: ours(terms, warm)),
            ("tantivy", by_tantivy),
            ("bm25s", by_bm25s),
        ):
            milliseconds(call, asked)
            result[name] = round(statistics.median(milliseconds(call, asked)), 2)
    index.close()
    return result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=list(_PATHS))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--vectors", type=int, default=0, metavar="N")


def run(options: argparse.Namespace) -> int:
    first, *others = options.paths
    if len(options.paths) != _PATHS[options.what]:
        raise ParameterError(f"{options.what} takes {_PATHS[options.what]} paths")
    if options.what == "build":
        result = build(first, others[0], options.vectors)
    elif options.what == "ask":
        result = ask(first, json.loads(Path(others[0]).read_text()), options.vectors)
    elif options.what == "change":
        result = change(first, others[0], options.vectors)
    else:
        call = beside if options.what == "beside" else words
        result = call(first, json.loads(Path(others[0]).read_text()), others[1])
    print(json.dumps({"what": options.what, "index": os.path.basename(first), **result}))
    return 0
