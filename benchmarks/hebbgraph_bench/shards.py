"""Whether an index over shards ranks as one index does, what it costs, and what it loses.

Each set is indexed once, and again over two, three and eight shards. Then the same questions go to
both: as they are, and after half of them were cited by named actors. A ranking that differs in a
chunk, or in a score by more than 1e-9, counts. Run it with ``python -m hebbgraph_bench.shards``.

``ratio`` is the processor time of a recall over shards to that of one index, the median of paired
questions in one process. ``reads`` counts how often a recall reads from a shard, which would be
messages if it were elsewhere. ``down`` says whether every recall without the last shard is
partial, names it, and holds no chunk of it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hebbgraph import HebbianIndex, Recall, ShardedIndex
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.graph.incidence import Incidence
from hebbgraph.shards.plan import number_of
from hebbgraph.shards.shard import Shard
from hebbgraph.vectors.table import VectorTable
from rich.console import Console

from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import CachingEmbedder, LazyEmbedder, caching
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["ShardsResult", "main", "measure_shards"]

_K = 10
_SAME = 1e-9
_ACTORS = 5
_HEADINGS = (
    "set",
    "shards",
    "questions",
    "differ",
    "learned, differ",
    "largest difference",
    "reads",
    "ratio",
    "down",
)


class ShardsResult:
    """What comparing one set over so many shards found."""

    def __init__(self, name: str, shards: int) -> None:
        self.name, self.shards = name, shards
        self.questions = self.differ = self.differ_learned = 0
        self.largest = 0.0
        self.reads = self.ratio = float("nan")
        self.down = False

    def row(self) -> tuple[str, ...]:
        """Lay it out."""
        return (
            self.name,
            str(self.shards),
            str(self.questions),
            str(self.differ),
            str(self.differ_learned),
            f"{self.largest:.0e}",
            f"{self.reads:.1f}",
            f"{self.ratio:.2f}",
            "told" if self.down else "SILENT",
        )


def measure_shards(
    dataset: Dataset, shards: int, *, embedder: CachingEmbedder | None = None
) -> ShardsResult:
    """Compare one index with one over so many shards."""
    result = ShardsResult(dataset.name, shards)
    texts = [query.text for query in dataset.queries]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_:
        one = open_.enter_context(HebbianIndex.open(f"{folder}/one", embedder=embedder))
        plan = Path(folder) / "many" / "shards.toml"
        many = open_.enter_context(ShardedIndex.create(plan, shards, embedder=embedder))
        for index in (one, many):
            index.add(dataset.corpus)
        result.questions = len(texts)
        result.differ = _compare(one, many, texts, result)
        result.reads = _reads(many, texts[:20])
        result.ratio = _ratio(one, many, texts)
        for number, query in enumerate(dataset.queries[::2]):
            for index in (one, many):
                recall = index.recall(query.text, k=_K)
                cited = [hit.chunk.id for hit in recall.hits if hit.chunk.id in query.relevant]
                if cited:
                    index.reinforce(recall, cited=cited, actor=f"reader-{number % _ACTORS}")
        result.differ_learned = _compare(one, many, texts, result)
        result.down = _is_told(many, plan, texts[:20])
    return result


def _compare(
    one: HebbianIndex, many: HebbianIndex, texts: Sequence[str], result: ShardsResult
) -> int:
    differ = 0
    for text in texts:
        expected, found = one.recall(text, k=_K).hits, many.recall(text, k=_K).hits
        same = [hit.chunk.id for hit in expected] == [hit.chunk.id for hit in found]
        apart = [abs(a.score - b.score) for a, b in zip(expected, found, strict=False)]
        result.largest = max(result.largest, *apart, 0.0)
        differ += not same or max(apart, default=0.0) > _SAME
    return differ


def _ratio(one: HebbianIndex, many: HebbianIndex, texts: Sequence[str]) -> float:
    def seconds(index: HebbianIndex, text: str) -> float:
        started = time.process_time()
        index.recall(text, k=_K)
        return time.process_time() - started

    pairs = []
    for turn, text in enumerate(texts):
        first, second = (one, many) if turn % 2 else (many, one)
        a, b = seconds(first, text), seconds(second, text)
        pairs.append((a, b) if turn % 2 else (b, a))
    alone, together = np.array(pairs).T
    return float(np.median(together) / np.median(alone))


def _reads(many: ShardedIndex, texts: Sequence[str]) -> float:
    """Return how often a recall reads from one shard, on average."""
    with _counting() as count:
        for text in texts:
            many.recall(text, k=_K)
    shards = len(many.shards())
    # The lexical index is one here; elsewhere each shard would be asked.
    return (count["shard"] / shards + count["lexical"]) / len(texts)


@contextmanager
def _counting() -> Iterator[dict[str, int]]:
    count = {"shard": 0, "lexical": 0}

    def counted(owner: Any, name: str, kind: str) -> Any:
        plain = getattr(owner, name)

        def wrapper(self: Any, *args: Any, **options: Any) -> Any:
            if type(self) is owner or kind == "lexical":
                count[kind] += 1
            return plain(self, *args, **options)

        return patch.object(owner, name, wrapper)

    with ExitStack() as patches:
        for owner, name, kind in (
            (Incidence, "tags_of", "shard"),
            (Incidence, "chunks_of", "shard"),
            (VectorTable, "nearest", "shard"),
            (Shard, "state", "shard"),
            (Shard, "watched", "shard"),
            (LexicalIndex, "search", "lexical"),
            (LexicalIndex, "document_frequency", "lexical"),
        ):
            patches.enter_context(counted(owner, name, kind))
        yield count


def _is_told(many: ShardedIndex, plan: Path, texts: Sequence[str]) -> bool:
    """Take the last shard away and say whether every recall tells so."""
    last = many.shards()[-1]
    assert last.path is not None  # these are directories
    number = len(many.shards()) - 1
    gone = {
        id_ for id_, row in many.parts.truth.rows_of(many.ids()).items() if number_of(row) == number
    }
    away = last.path.with_name("away")
    last.path.rename(away)
    try:
        return all(_tells(many.recall(text, k=_K), last.name, gone) for text in texts)
    finally:
        away.rename(last.path)


def _tells(recall: Recall, name: str, gone: set[str]) -> bool:
    named = any(name in note for note in recall.notes)
    return recall.partial and named and gone.isdisjoint(hit.chunk.id for hit in recall.hits)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(
        description="Compare an index over shards with one index.", prog="hebbgraph_bench.shards"
    )
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument("--cache", type=Path, help="where its vectors are kept")
    parser.add_argument("--queries", type=int, default=500, help="of a set, at most")
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 3, 8])
    parser.add_argument("--json", type=Path, help="where the figures go, as JSON and Markdown")
    given = parser.parse_args(arguments)
    model = LazyEmbedder(given.embedder) if given.embedder else None
    output = Output(given.json, Console())
    results = []
    with caching(model, given.cache) as embedder:
        for path in given.sets:
            dataset = load(path).shuffled(seed=0).sampled(given.queries, seed=0)
            for shards in given.shards:
                result = measure_shards(dataset, shards, embedder=embedder)
                results.append(result)
                output.show([Grid(dataset.name, ("",) * len(_HEADINGS), [result.row()])])
    grid = Grid("One index and its shards", _HEADINGS, [result.row() for result in results])
    output.show([grid])
    output.write([grid], {"rows": grid.rows})


if __name__ == "__main__":
    main()
