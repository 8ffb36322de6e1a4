"""Do communities keep navigation efficient as the graph grows, and are they stable?

BambooKG leaves the first question open (section 6). For a growing share of a corpus, the whole
context of its recall is compared with its part inside the colonies of the best direct hits. Then
some chunks are removed and added back. The adjusted Rand index over the remaining chunks
compares the partition before and after, and after with one computed from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from hebbgraph.records import Chunk

from hebbgraph_bench import metrics
from hebbgraph_bench.context import Context
from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.partitions import adjusted_rand_index
from hebbgraph_bench.tables import Grid

if TYPE_CHECKING:
    from hebbgraph.hebbian_index import HebbianIndex

__all__ = ["NavigationPoint", "grids", "measure_navigation"]

_SHARES = (0.25, 0.5, 1.0)
_TAKEN = 0.05
_WHOLE = 10_000
_GUIDES = 3


@dataclass(frozen=True, slots=True)
class NavigationPoint:
    """One size of a corpus.

    Attributes
    ----------
    chunks, colonies : int
    largest : float
        Share of the chunks in the largest colony.
    tokens, recall, milliseconds : float
        Of BambooKG's whole context.
    tokens_inside, recall_inside, milliseconds_inside : float
        Of its part in the colonies of the three best hits of spreading; the time is that of the
        second recall alone.
    agreement_removed, agreement_added : float
        Adjusted Rand index before against after an update.
    agreement_anew : float
        The updated partition against one computed from scratch.
    update_share : float
        Time of an update as a share of that of finding all colonies.
    """

    chunks: int
    colonies: int
    largest: float
    tokens: float
    recall: float
    milliseconds: float
    tokens_inside: float
    recall_inside: float
    milliseconds_inside: float
    agreement_removed: float
    agreement_added: float
    agreement_anew: float
    update_share: float


def measure_navigation(
    dataset: Dataset, *, seed: int = 0, shares: Sequence[float] = _SHARES
) -> list[NavigationPoint]:
    """Measure a corpus at several sizes; it always contains the gold of its questions."""
    rng = np.random.default_rng(seed)
    chunks = [chunk for chunk in dataset.corpus if chunk.title.strip() or chunk.text.strip()]
    gold = {id_ for query in dataset.queries for id_ in query.relevant}
    distractors = [chunk for chunk in chunks if chunk.id not in gold]
    order = rng.permutation(len(distractors))
    points = []
    for share in shares:
        n_drawn = max(int(share * len(chunks)) - (len(chunks) - len(distractors)), 0)
        drawn = {distractors[row].id for row in order[:n_drawn]}
        some = [chunk for chunk in chunks if chunk.id in gold or chunk.id in drawn]
        points.append(_measure(some, dataset, rng))
    return points


def _measure(
    chunks: Sequence[Chunk], dataset: Dataset, rng: np.random.Generator
) -> NavigationPoint:
    from hebbgraph.hebbian_index import HebbianIndex

    context = Context(chunks)
    with HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        colonies = index.inspect.colonies()
        colony = _partition(index)
        rows = []
        for query in dataset.queries:
            guides = index.recall(query.text, k=_GUIDES)
            allowed = sorted({colony[hit.chunk.id] for hit in guides.hits})
            row: list[float] = []
            for where in (None, {"$colony": {"$in": allowed}}):
                began = perf_counter()
                recall = index.recall(query.text, k=_WHOLE, where=where, strategy="neighbourhood")
                milliseconds = (perf_counter() - began) * 1e3
                ids = [hit.chunk.id for hit in recall.hits]
                row += [
                    context.count_tokens(ids),
                    metrics.recall_at_k(ids, query.relevant, max(len(ids), 1)),
                    milliseconds,
                ]
            rows.append(row)
        means = np.array(rows).mean(axis=0)
        medians = np.median(np.array(rows), axis=0)
        stability = _stability(index, chunks, colony, rng)
    removed, added, anew, share = stability
    return NavigationPoint(
        chunks=len(chunks),
        colonies=len(colonies),
        largest=colonies[0].chunks / len(chunks) if colonies else 0.0,
        tokens=float(means[0]),
        recall=float(means[1]),
        milliseconds=float(medians[2]),
        tokens_inside=float(means[3]),
        recall_inside=float(means[4]),
        milliseconds_inside=float(medians[5]),
        agreement_removed=removed,
        agreement_added=added,
        agreement_anew=anew,
        update_share=share,
    )


def _stability(
    index: HebbianIndex, chunks: Sequence[Chunk], colony: dict[str, int], rng: np.random.Generator
) -> tuple[float, float, float, float]:
    sample = [chunks[row] for row in rng.permutation(len(chunks))[: int(_TAKEN * len(chunks)) or 1]]
    stayed = [chunk.id for chunk in chunks if chunk not in sample]
    ids = [chunk.id for chunk in sample]
    changes: list[Callable[[], object]] = [lambda: index.delete(ids), lambda: index.add(sample)]
    seconds: list[float] = []
    agreements: list[float] = []
    before = colony
    for change in changes:
        change()
        index.stats()  # building the graph is not timed
        began = perf_counter()
        index.inspect.colonies()
        seconds.append(perf_counter() - began)
        after = _partition(index)
        agreements.append(_agreement(before, after, stayed))
        before = after
    began = perf_counter()
    index.inspect.colonies(rebuild=True)
    anew = perf_counter() - began
    found_anew = _agreement(before, _partition(index), list(before))
    return agreements[0], agreements[1], found_anew, float(np.mean(seconds)) / anew


def _partition(index: HebbianIndex) -> dict[str, int]:
    """Return colonies by chunk id; a chunk without one forms its own."""
    labels: dict[str, int] = dict(index.inspect.to_networkx("colonies").nodes(data="colony"))
    return {
        id_: number if number >= 0 else -2 - place
        for place, (id_, number) in enumerate(labels.items())
    }


def _agreement(first: dict[str, int], second: dict[str, int], ids: Sequence[str]) -> float:
    return adjusted_rand_index(
        np.array([first[id_] for id_ in ids]), np.array([second[id_] for id_ in ids])
    )


def grids(name: str, points: Sequence[NavigationPoint]) -> list[Grid]:
    """Lay out navigation and stability."""
    navigation = [
        (
            f"{point.chunks:,}",
            f"{point.colonies}",
            f"{100 * point.largest:.0f} %",
            f"{point.tokens:,.0f}",
            f"{point.recall:.3f}",
            f"{point.milliseconds:.1f}",
            f"{point.tokens_inside:,.0f}",
            f"{point.recall_inside:.3f}",
            f"{point.milliseconds_inside:.1f}",
        )
        for point in points
    ]
    stability = [
        (
            f"{point.chunks:,}",
            f"{point.agreement_removed:.3f}",
            f"{point.agreement_added:.3f}",
            f"{point.agreement_anew:.3f}",
            f"{100 * point.update_share:.0f} %",
        )
        for point in points
    ]
    return [
        Grid(
            f"{name}: BambooKG's context, whole and inside the colonies of three hits",
            (
                "chunks", "colonies", "largest", "tokens", "recall", "ms",
                "tokens inside", "recall inside", "ms inside",
            ),
            navigation,
        ),
        Grid(
            f"{name}: adjusted Rand index of colonies when 5 % of the chunks change",
            ("chunks", "taken away", "put back", "against found anew", "time of an update"),
            stability,
        ),
    ]  # fmt: skip
