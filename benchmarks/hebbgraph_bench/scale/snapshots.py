"""Start a replica from a published snapshot, and from scratch.

``python -m hebbgraph_bench.scale.snapshots FOLDER SET... --chunks N [--chunks N] [--to FILE]``

Texts are recombined, without vectors, in SQLite; snapshots are in a folder. Each start has a new
folder of derived parts and lasts until the first answer, in wall and processor time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from hebbgraph.artifacts import remove
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph_scale import fetch, publish

from hebbgraph_bench.datasets import load
from hebbgraph_bench.scale.corpus import Recombined

__all__ = ["main"]


def _time(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    began, used = perf_counter(), process_time()
    result = work()
    return result, {
        "wall_s": round(perf_counter() - began, 2),
        "cpu_s": round(process_time() - used, 2),
    }


def _start(folder: Path, n: int, question: str, url: str | None) -> dict[str, Any]:
    """Start with a new folder of derived parts; with a URL, from the snapshot published there."""
    cache = folder / f"replica-{n}"
    remove(cache)

    def start() -> tuple[int, list[tuple[str, float]]]:
        with HebbianIndex.open(folder / f"index-{n}", cache_dir=cache) as index:
            read = 0 if url is None else fetch(index, url).bytes
            hits = index.recall(question).hits
            return read, [(hit.chunk.id, round(hit.score, 9)) for hit in hits]

    (read, answer), spent = _time(start)
    remove(cache)
    return {**spent, "bytes_read": read, "answer": answer}


def _measure(folder: Path, corpus: Recombined, n: int, question: str) -> dict[str, Any]:
    url = str(folder / f"published-{n}")
    with HebbianIndex.open(folder / f"index-{n}") as index:
        chunks = iter(corpus.chunks(0, n))
        while batch := list(islice(chunks, 100_000)):
            index.add(batch)
        first, sending = _time(lambda: publish(index, url))
        index.add([{"id": "one more", "text": "The Petrel sailed to Skarra."}])
        again, sending_again = _time(lambda: publish(index, url))
    from_snapshot, from_log = (_start(folder, n, question, source) for source in (url, None))
    same = from_snapshot.pop("answer") == from_log.pop("answer")
    return {
        "chunks": n,
        "publishing": {**sending, **first._asdict()},
        "again, one chunk later": {**sending_again, **again._asdict()},
        "start from the snapshot": from_snapshot,
        "start by building": from_log,
        "same answer": same,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write a JSON list with an object for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--chunks", type=int, action="append", required=True)
    parser.add_argument("--to", type=Path)
    options = parser.parse_args(arguments)
    sets = [load(path) for path in options.sets]
    corpus = Recombined(sets, max(options.chunks))
    question = corpus.questions(1)[0]
    rows: list[dict[str, Any]] = []
    for n in options.chunks:
        rows.append(_measure(options.folder, corpus, n, question))
        if options.to is not None:  # a million takes long: write each result at once
            options.to.write_text(f"{json.dumps(rows, indent=2)}\n", "utf-8")
    sys.stdout.write(f"{json.dumps(rows, indent=2)}\n")
    return int(not all(row["same answer"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
