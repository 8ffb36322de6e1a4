"""What shards behind ``hebbgraph serve --shard`` cost: time and messages of a recall.

Each set is indexed three times: in one index, over two directories, and over two servers of this
machine, each a process of its own. The same questions go to all three, before and after half of
them were cited. A ranking over servers that differs from that of one index in a chunk, or in a
score by more than 1e-9, counts. Run it with ``python -m hebbgraph_bench.served_shards SET...``.

Times are those of a clock, as servers work in other processes: medians, the three asked in turn.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hebbgraph import HebbianIndex, ShardedIndex
from hebbgraph.wire import Wire
from rich.console import Console

from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import CachingEmbedder, LazyEmbedder, caching
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["main", "measure_served"]

_K = 10
_SAME = 1e-9
_ACTORS = 5
_WAIT_SECONDS = 60.0
_HEADINGS = (
    "set",
    "shards",
    "questions",
    "differ",
    "learned, differ",
    "one, ms",
    "directories, ms",
    "served, ms",
    "served / one",
    "served / directories",
    "messages a shard",
    "bytes a shard",
)


def measure_served(
    dataset: Dataset, shards: int, *, embedder: CachingEmbedder | None = None
) -> tuple[str, ...]:
    """Compare one index, one over so many directories, and one over so many servers."""
    texts = [query.text for query in dataset.queries]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_:
        root = Path(folder)
        plan = root / "served" / "shards.toml"
        plan.parent.mkdir()
        entries = []
        for number in range(shards):
            url = open_.enter_context(_server(root / f"elsewhere-{number}"))
            entries.append(f'[[shard]]\nname = "shard-{number}"\nurl = "{url}"\n')
        plan.write_text("\n".join(entries))
        one = open_.enter_context(HebbianIndex.open(root / "one", embedder=embedder))
        local = root / "local" / "shards.toml"
        directories = open_.enter_context(ShardedIndex.create(local, shards, embedder=embedder))
        served = open_.enter_context(ShardedIndex.open(plan, embedder=embedder))
        indexes = (one, directories, served)
        for index in indexes:
            index.add(dataset.corpus)
        differ = _differ(one, served, texts)
        ms = _milliseconds(indexes, texts)
        messages, size = _messages(served, texts)
        for number, query in enumerate(dataset.queries[::2]):
            for index in indexes:
                recall = index.recall(query.text, k=_K)
                cited = [hit.chunk.id for hit in recall.hits if hit.chunk.id in query.relevant]
                if cited:
                    index.reinforce(recall, cited=cited, actor=f"reader-{number % _ACTORS}")
        learned = _differ(one, served, texts)
    medians = np.median(ms, axis=0)
    return (
        dataset.name,
        str(shards),
        str(len(texts)),
        str(differ),
        str(learned),
        *(f"{one:.2f}" for one in medians),
        f"{np.median(ms[:, 2] / ms[:, 0]):.2f}",
        f"{np.median(ms[:, 2] / ms[:, 1]):.2f}",
        f"{messages / shards:.1f}",
        f"{size / shards:.0f}",
    )


@contextmanager
def _server(directory: Path) -> Iterator[str]:
    """Serve a directory as a shard, and yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "hebbgraph", "serve", "--shard"]
    process = subprocess.Popen(
        [*command, f"--db={directory}", f"--port={port}"], stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + _WAIT_SECONDS
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/v1/health").close()
                break
            except OSError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the server of a shard did not start") from error
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def _differ(one: HebbianIndex, served: HebbianIndex, texts: Sequence[str]) -> int:
    differ = 0
    for text in texts:
        expected, found = one.recall(text, k=_K).hits, served.recall(text, k=_K).hits
        same = [hit.chunk.id for hit in expected] == [hit.chunk.id for hit in found]
        apart = [abs(a.score - b.score) for a, b in zip(expected, found, strict=False)]
        differ += not same or max(apart, default=0.0) > _SAME
    return differ


def _milliseconds(indexes: Sequence[HebbianIndex], texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return how long each question took each index, shape (questions, indexes)."""
    taken = np.empty((len(texts), len(indexes)))
    for turn, text in enumerate(texts):
        for at in np.roll(np.arange(len(indexes)), turn).tolist():
            started = time.perf_counter()
            indexes[at].recall(text, k=_K)
            taken[turn, at] = 1000 * (time.perf_counter() - started)
    return taken


def _messages(served: ShardedIndex, texts: Sequence[str]) -> tuple[float, float]:
    """Return messages of a recall, and their bytes there and back, on average."""
    sizes: list[int] = []
    plain = Wire.send

    def counted(self: Wire, name: str, content: bytes, **more: Any) -> bytes:
        answer = plain(self, name, content, **more)
        sizes.append(len(content) + len(answer))
        return answer

    with patch.object(Wire, "send", counted):
        for text in texts:
            served.recall(text, k=_K)
    return len(sizes) / len(texts), sum(sizes) / len(texts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(
        description="Compare one index, its shards in directories, and its shards behind servers.",
        prog="hebbgraph_bench.served_shards",
    )
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument("--cache", type=Path, help="where its vectors are kept")
    parser.add_argument("--queries", type=int, default=200, help="of a set, at most")
    parser.add_argument("--shards", type=int, nargs="+", default=[2])
    parser.add_argument("--json", type=Path, help="where the figures go, as JSON and Markdown")
    given = parser.parse_args(arguments)
    model = LazyEmbedder(given.embedder) if given.embedder else None
    output = Output(given.json, Console())
    rows = []
    with caching(model, given.cache) as embedder:
        for path in given.sets:
            dataset = load(path).shuffled(seed=0).sampled(given.queries, seed=0)
            rows += [measure_served(dataset, shards, embedder=embedder) for shards in given.shards]
            output.show([Grid(dataset.name, ("",) * len(_HEADINGS), rows[-len(given.shards) :])])
    grid = Grid("One index, its directories, its servers", _HEADINGS, rows)
    output.show([grid])
    output.write([grid], {"rows": grid.rows})


if __name__ == "__main__":
    main()
