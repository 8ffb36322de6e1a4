"""NAKG on public questions, and the growth of its cost.

The paper's tests [1]_ are not published. Here half of the questions of a set teach: of ten hits,
those that are relevant are cited. The other half is asked of NAKG as it starts, trained on tags,
and trained on tags and lessons, against the default strategy untaught and taught.

The paper claims O(N log N). The last table measures CPU seconds on drawn vectors around topics, of
about 120 chunks each; an exponent of 1 is linear, of 2 quadratic.

References
----------
.. [1] Gibbs, Neural Adaptive Knowledge Graphs.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
from hebbgraph_papers.nakg import Nakg
from hebbgraph_papers.nakg.links import cluster_chunks
from hebbgraph_papers.nakg.model import derive, untrained
from hebbgraph_papers.nakg.training import train
from numpy.typing import NDArray
from usebench.metrics import recall_at_k
from usebench.records import Event, UseSet
from usebench.tables import markdown, number

from hebbgraph import HebbianIndex
from hebbgraph.recall.strategies import Strategy
from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.sets import add_options, difference, opened_set, write_json

__all__ = ["add_arguments", "drawn", "growth", "run"]

_K, _CUT, _QUESTIONS = 10, 5, 400
_PER_TOPIC, _SPREAD, _DIMENSION = 120, 0.8, 384


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this experiment."""
    add_options(parser)
    parser.add_argument("--epochs", type=int, help="at most, of each phase [20 and 60]")
    text = "numbers of chunks in the table of growth, with commas between"
    parser.add_argument("--sizes", default="1000,2000,5000,10000,20000", help=text)
    parser.set_defaults(embedder="minilm", at_most=2 * _QUESTIONS)


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    figures: dict[str, Any] = {"sets": []}
    model = CachedModel(options.embedder, options.cache)
    for name in options.sets:
        uses = opened_set(name, options, order="shuffled")
        figures["sets"].append(_measured(uses, model, options))
        print(_table(figures["sets"][-1], options.seed), end="\n\n", flush=True)
    model.close()
    print(_training(figures["sets"]), end="\n\n", flush=True)
    figures["growth"] = growth(list(map(int, options.sizes.split(","))), options.seed)
    print(_growth_table(figures["growth"]), end="\n\n")
    write_json(options, figures)
    return 0


# -- questions --------------------------------------------------------------------------------


def _measured(uses: UseSet, model: CachedModel, options: argparse.Namespace) -> dict[str, Any]:
    """Return R@5 of each asked question by arm, and what training did."""
    events = sorted(uses.events, key=lambda event: event.id)
    random.Random(options.seed).shuffle(events)
    teaching, asked = events[: len(events) // 2], events[len(events) // 2 :]
    epochs = {}
    if options.epochs is not None:
        epochs = {"edge_epochs": options.epochs, "retrieval_epochs": options.epochs}

    def progress(step: str) -> str:
        print(f"{uses.name}: {step}", file=sys.stderr, flush=True)
        return step

    with HebbianIndex.open(":memory:", embedder=model) as index:
        index.add({"id": p.id, "title": p.title, "text": p.text} for p in uses.passages)
        values = {progress("spreading"): _values(index, asked, "spreading")}
        values[progress("NAKG, untrained")] = _values(index, asked, Nakg())
        on_tags = train(index, seed=options.seed, **epochs)
        values[progress("NAKG, on tags")] = _values(index, asked, on_tags)
        for event in teaching:
            recall = index.recall(event.question, _K)
            index.reinforce(recall, [hit.id for hit in recall if hit.id in event.gold])
        on_lessons = train(index, seed=options.seed, **epochs)
        values[progress("NAKG, on tags and lessons")] = _values(index, asked, on_lessons)
        values[progress("spreading, taught")] = _values(index, asked, "spreading")
    return {
        "name": uses.name,
        "chunks": len(uses.passages),
        "taught": len(teaching),
        "asked": len(asked),
        "values": values,
        "training": {"on tags": on_tags.report, "on tags and lessons": on_lessons.report},
    }


def _values(index: HebbianIndex, asked: Sequence[Event], strategy: str | Strategy) -> list[float]:
    found = (index.recall(event.question, _K, strategy=strategy) for event in asked)
    return [
        recall_at_k([hit.id for hit in recall], event.relevant, _CUT)
        for recall, event in zip(found, asked, strict=True)
    ]


def _table(result: dict[str, Any], seed: int) -> str:
    """Lay out R@5 of a set, and the differences to untaught spreading."""
    base = result["values"]["spreading"]
    rows = [
        [arm, number(float(np.mean(values))), difference(values, base, seed)[0]]
        for arm, values in result["values"].items()
    ]
    title = f"{result['name']}: {result['taught']} questions taught, {result['asked']} others asked"
    return markdown(title, ["arm", "R@5", "against spreading"], rows)


def _training(sets: Sequence[dict[str, Any]]) -> str:
    rows = [
        [f"{result['name']}, {arm}", *("–" if v is None else f"{v:,.3g}" for v in report.values())]
        for result in sets
        for arm, report in result["training"].items()
    ]
    return markdown("Training", ["set", *sets[0]["training"]["on tags"]], rows)


# -- growth -----------------------------------------------------------------------------------


def drawn(n: int, *, dimension: int = _DIMENSION, seed: int = 0) -> NDArray[np.float32]:
    """Draw unit vectors around topics, the larger topics first.

    Examples
    --------
    >>> vectors = drawn(50, dimension=8)
    >>> vectors.shape, bool(np.allclose(np.linalg.norm(vectors, axis=1), 1.0))
    ((50, 8), True)
    """
    rng, n_topics = np.random.default_rng(seed), max(1, n // _PER_TOPIC)
    topics = rng.standard_normal((n_topics, dimension)).astype(np.float32)
    share = 1.0 / np.sqrt(np.arange(1, n_topics + 1))
    topic = rng.choice(n_topics, size=n, p=share / share.sum())
    noise = rng.standard_normal((n, dimension)).astype(np.float32)
    vectors = topics[topic] + _SPREAD * noise
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def growth(sizes: Sequence[int], seed: int) -> list[dict[str, float]]:
    """Return what an untrained layer of growing collections costs, by stage."""
    rows = []
    for n in (min(sizes), *sizes):  # once untimed: libraries load on their first call
        vectors, model = drawn(n, seed=seed), untrained(_DIMENSION, seed)
        began = process_time()
        labels = cluster_chunks(vectors, seed=seed)
        clustered = process_time()
        layer = derive(model, vectors, labels)
        cost = {"clusters, CPU s": clustered - began, "layer, CPU s": process_time() - clustered}
        counts = {"chunks": n, "clusters": len(set(labels.tolist())), "edges": len(layer.sources)}
        rows.append(counts | cost)
    return rows[1:]


def _growth_table(rows: Sequence[dict[str, float]]) -> str:
    heads = list(rows[0])
    lines = [[f"{n:,}" if isinstance(n, int) else f"{n:.2f}" for n in row.values()] for row in rows]
    if len(rows) > 1:
        sizes = np.log([row["chunks"] for row in rows])
        costs = [np.log([max(row[head], 1e-3) for row in rows]) for head in heads[1:]]
        lines.append(["exponent", *(f"{np.polyfit(sizes, cost, 1)[0]:.2f}" for cost in costs)])
    return markdown("Growth, on drawn vectors", heads, lines)
