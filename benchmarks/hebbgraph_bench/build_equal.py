"""Check that a build equals ``add``.

usage: ``python -m hebbgraph_bench.build_equal SET... [--engine ray]``

For each set, workers build an index from 1, 2 and 7 partitions, and from 7 in another order. Each
index is compared with one that ``add`` made of the same chunks in the same order: checksums of the
postings (phrase, chunk id, whether it is the title) and of the vocabulary with its counts, and the
first ten hits of every question with scores to nine decimals. Postings and vocabulary must be the
same in any order. (Rankings may depend on the order in the fifth decimal, with ``add`` too, if the
last candidates of the lexical search tie.) Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from hebbgraph import Chunk, HebbianIndex
from hebbgraph_scale.build.adding import new_recipe
from hebbgraph_scale.build.driver import BuildDriver
from hebbgraph_scale.build.engines import Engine, engine_named
from hebbgraph_scale.build.recipe import ChunkList

from hebbgraph_bench.datasets import Dataset, load

__all__ = ["Content", "content_of", "differences", "main"]

_PARTITIONS = (1, 2, 7)


class Content(NamedTuple):
    """The content that two equal indexes share.

    ``n_postings`` counts postings; ``rankings`` holds (id, score) of each question's hits.
    """

    postings: str
    vocabulary: str
    n_postings: int
    rankings: list[list[tuple[str, float]]]


def content_of(index: HebbianIndex, questions: Sequence[str]) -> Content:
    """Read the content of an index."""
    rankings = [
        [(hit.chunk.id, round(hit.score, 9)) for hit in index.recall(question, k=10).hits]
        for question in questions
    ]
    with index.parts.reading():
        derived = index.parts.derived
        graph = derived.graph
        phrases, live = graph.phrases, np.flatnonzero(graph.alive)
        ids, keys = derived.ids(graph.rows[live]), list(phrases.keys)
        owner, tags, is_title = graph.incidence.tags_of(live)
        postings = sorted(
            (keys[tag], ids[place], title)
            for place, tag, title in zip(
                owner.tolist(), tags.tolist(), is_title.tolist(), strict=True
            )
        )
        counts = (
            phrases.candidate_counts,
            phrases.support,
            phrases.anchor_counts,
            phrases.given_counts,
        )
        columns = [count.tolist() for count in counts]
        used = phrases.in_use.tolist()
        vocabulary = sorted(
            row
            for row, is_used in zip(zip(keys, *columns, strict=True), used, strict=True)
            if is_used
        )
    return Content(_checksum(postings), _checksum(vocabulary), len(postings), rankings)


def _checksum(value: Any) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]


def differences(dataset: Dataset, engine: Engine) -> list[str]:
    """Build a set in several ways, and return what differs from ``add``."""
    questions = [query.text for query in dataset.queries]
    lines = []
    in_order = dataset.corpus
    shuffled = tuple(random.Random(7).sample(in_order, len(in_order)))
    with TemporaryDirectory(prefix="hebbgraph-equal-") as folder:
        expected = _content_by_add(Path(folder) / "add", in_order, questions)
        cases = [(f"{n} partitions", in_order, n, expected) for n in _PARTITIONS]
        reordered = _content_by_add(Path(folder) / "other", shuffled, questions)
        if reordered[:3] != expected[:3]:
            lines.append(f"{dataset.name}: add depends on the order of the chunks")
        cases.append(("7 in another order", shuffled, 7, reordered))
        for name, chunks, n, expected_content in cases:
            built = _content_by_build(Path(folder) / name, chunks, n, engine, questions)
            lines += [
                f"{dataset.name}, {name}: other {field}"
                for field, built_value, expected_value in zip(
                    Content._fields, built, expected_content, strict=True
                )
                if built_value != expected_value
            ]
    print(  # noqa: T201
        f"{dataset.name}: {len(in_order)} chunks, {expected.n_postings} postings "
        f"{expected.postings}, vocabulary {expected.vocabulary}, {len(questions)} questions: "
        f"{'DIFFERS' if lines else 'equal'} with {', '.join(case[0] for case in cases)}",
        flush=True,
    )
    return lines


def _content_by_add(path: Path, chunks: Sequence[Chunk], questions: Sequence[str]) -> Content:
    with HebbianIndex.open(path) as index:
        index.add(chunks)
        return content_of(index, questions)


def _content_by_build(
    path: Path, chunks: Sequence[Chunk], n: int, engine: Engine, questions: Sequence[str]
) -> Content:
    bounds = [len(chunks) * part // n for part in range(n + 1)]
    parts = [ChunkList(list(chunks[a:b]), a, b - a) for a, b in pairwise(bounds)]
    with HebbianIndex.open(path) as index:
        recipe = new_recipe(index.settings)
        driver = BuildDriver(index.parts, engine, path.with_name(f"{path.name}-shelf"), recipe)
        driver.run(parts, None)
        if "assemble" not in driver.seconds:
            raise SystemExit("the graph took an ordinary step: nothing was compared")
        return content_of(index, questions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.build_equal")
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument("--engine", choices=("processes", "ray"), default="processes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--address", help="of a Ray cluster")
    options = parser.parse_args(arguments)
    engine = engine_named(options.engine, options.workers, options.address)
    try:
        lines = [line for path in options.sets for line in differences(load(path), engine)]
    finally:
        engine.close()
    print("\n".join(lines) or "all equal")  # noqa: T201
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
