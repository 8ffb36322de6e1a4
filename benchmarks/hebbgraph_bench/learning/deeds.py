"""Does learning from what people open help or harm?

Three quarters of the questions teach: 30 % by a citation of a relevant chunk, the others by opening
a hit: a relevant one, any hit, the first hit, or a relevant one half of the time and any hit
otherwise. The rest is asked. ``python -m hebbgraph_bench.learning.deeds DIR`` prints the mean
reciprocal rank of the first relevant hit, and the weight of an opened hit.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from hebbgraph.hebbian_index import HebbianIndex

from hebbgraph_bench.datasets import Dataset, Query, load

__all__ = ["DEEDS", "measure_deeds"]

DEEDS = ("none", "any", "first", "half", "right")
_QUESTIONS, _CITED, _ACTORS, _K = 900, 0.3, 20, 10


def measure_deeds(dataset: Dataset, deed: str, *, seed: int = 0) -> tuple[float, float]:
    """Return the mean reciprocal rank after one kind of opening, and the weight of an opening."""
    queries, rng = list(dataset.queries), random.Random(seed)
    rng.shuffle(queries)
    queries = queries[:_QUESTIONS]
    n_taught = len(queries) * 3 // 4
    with HebbianIndex.open(":memory:") as index:
        index.add(dataset.corpus)
        for query in queries[:n_taught]:
            recall = index.recall(query.text, k=_K)
            shown = [hit.chunk.id for hit in recall.hits]
            right = [id_ for id_ in shown if id_ in query.relevant][:1]
            actor = f"reader-{rng.randrange(_ACTORS)}"
            if rng.random() < _CITED:
                if right:
                    index.reinforce(recall, cited=right, actor=actor)
            elif opened := _opened(deed, shown, right, rng):
                index.reinforce(recall, cited=opened, actor=actor, kind="opened")
        reciprocal_rank = _mean_reciprocal_rank(index, queries[n_taught:])
        weights = [lesson.weight for lesson in index.lessons() if lesson.kind == "opened"]
        return reciprocal_rank, max(weights, default=0.0)


def _opened(
    deed: str, shown: Sequence[str], right: Sequence[str], rng: random.Random
) -> Sequence[str]:
    if deed == "half":
        deed = rng.choice(["right", "any"])
    if not shown or deed == "none":
        return []
    return {"right": right, "first": shown[:1], "any": [rng.choice(shown)]}[deed]


def _mean_reciprocal_rank(index: HebbianIndex, queries: Sequence[Query]) -> float:
    total = 0.0
    for query in queries:
        hits = index.recall(query.text, k=_K).hits
        total += max(
            (1.0 / hit.rank for hit in hits if hit.chunk.id in query.relevant), default=0.0
        )
    return total / max(len(queries), 1)


def main() -> None:
    """Print a line for each kind of opening."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    dataset = load(parser.parse_args().dataset)
    for deed in DEEDS:
        reciprocal_rank, weight = measure_deeds(dataset, deed)
        sys.stdout.write(f"{deed:6} MRR {reciprocal_rank:.3f}, a deed counts {weight:.2f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
