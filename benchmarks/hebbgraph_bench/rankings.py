"""Dump every ranking and score, to compare two versions of the code.

``python -m hebbgraph_bench.rankings SET... --to before.jsonl`` writes one line for each set,
embedder, state of learning, strategy and question. Run it again after a change; then
``--compare before.jsonl after.jsonl`` lists the lines that differ in chunks, in order, or in scores
to nine decimals.

It uses public names only, so it runs with any version.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hebbgraph import HebbianIndex
from hebbgraph.recall import StrategyName

from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import LazyEmbedder, caching

__all__ = ["compare", "dump", "main"]

STRATEGIES: tuple[StrategyName, ...] = ("spreading", "neighbourhood", "breadth_first")
_DECIMALS = 9
_CITED = 0.5  # share of the questions whose gold is cited for learning


def dump(
    dataset: Dataset,
    embedder: Any = None,
    *,
    k: int = 10,
    strategies: Sequence[StrategyName] = STRATEGIES,
) -> Iterator[dict[str, Any]]:
    """Yield one record for each state, strategy and question of a set.

    Parameters
    ----------
    dataset : Dataset
        Shuffle it first.
    embedder : Embedder, optional
    k : int
    strategies : sequence of str

    Yields
    ------
    dict
        ``key`` names the case; ``hits`` holds pairs of chunk id and score, rounded to nine
        decimals; ``cues`` and ``paths`` explain them.
    """
    with TemporaryDirectory(prefix="hebbgraph-rankings-") as directory:
        options = {} if embedder is None else {"embedder": embedder}
        with HebbianIndex.open(f"{directory}/index", **options) as index:
            index.add(dataset.corpus)
            yield from _records(index, dataset, "unlearned", embedder, k, strategies)
            half = dataset.queries[: max(1, int(len(dataset.queries) * _CITED))]
            for query in half:
                recall = index.recall(query.text, k=k)
                cited = [hit.chunk.id for hit in recall.hits if hit.chunk.id in query.relevant]
                if cited:
                    index.reinforce(recall, cited=cited)
            yield from _records(index, dataset, "learned", embedder, k, ("spreading",))


def _records(
    index: HebbianIndex,
    dataset: Dataset,
    state: str,
    embedder: Any,
    k: int,
    strategies: Sequence[StrategyName],
) -> Iterator[dict[str, Any]]:
    mode = "embedder" if embedder is not None else "plain"
    for strategy in strategies:
        for query in dataset.queries:
            recall = index.recall(query.text, k=k, strategy=strategy)
            yield {
                "key": [dataset.name, mode, state, strategy, query.id],
                "hits": [[hit.chunk.id, round(hit.score, _DECIMALS)] for hit in recall.hits],
                "cues": [cue.tag for cue in recall.cues],
                "paths": [hit.path_text for hit in recall.hits],
            }


def compare(before: Path, after: Path) -> list[str]:
    """Return a line for each case that differs between two dumps.

    Scores may be up to 1e-9 apart; equal scores may not change places.
    """
    rows_before, rows_after = _read(before), _read(after)
    lines = [f"only in {before}: {key}" for key in rows_before.keys() - rows_after.keys()]
    lines += [f"only in {after}: {key}" for key in rows_after.keys() - rows_before.keys()]
    for key in rows_before.keys() & rows_after.keys():
        lines += _differences(key, rows_before[key], rows_after[key])
    return sorted(lines)


def _differences(
    key: str, row_before: Mapping[str, Any], row_after: Mapping[str, Any]
) -> list[str]:
    if [id_ for id_, _ in row_before["hits"]] != [id_ for id_, _ in row_after["hits"]]:
        return [f"{key}: other chunks or another order"]
    pairs = zip(row_before["hits"], row_after["hits"], strict=True)
    widest = max((abs(a - b) for (_, a), (_, b) in pairs), default=0.0)
    if widest > 1.5 * 10**-_DECIMALS:
        return [f"{key}: scores up to {widest:.1e} apart"]
    return [
        f"{key}: other {name}" for name in ("cues", "paths") if row_before[name] != row_after[name]
    ]


def _read(path: Path) -> dict[str, dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return {" / ".join(row["key"]): row for row in map(json.loads, lines)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.rankings")
    parser.add_argument("sets", nargs="*", type=Path, help="directories of evaluation sets")
    parser.add_argument("--to", type=Path, help="write the dump to this file")
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument("--vectors", type=Path, help="keep its vectors in this directory")
    parser.add_argument(
        "--queries", type=int, default=None, help="sample at most this many per set"
    )
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args(arguments)
    if options.compare:
        differences = compare(*options.compare)
        print("\n".join(differences) or "equal")  # noqa: T201
        return int(bool(differences))
    if not options.sets or options.to is None:
        parser.error("name sets and --to FILE, or --compare BEFORE AFTER")
    with options.to.open("w", encoding="utf-8") as file:
        for path in options.sets:
            dataset = load(path).shuffled(seed=0)
            if options.queries:
                dataset = dataset.sampled(options.queries, seed=0)
            model = LazyEmbedder(options.embedder) if options.embedder else None
            with caching(model, options.vectors) as embedder:
                for row in dump(dataset, embedder):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(f"{dataset.name}: done", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
