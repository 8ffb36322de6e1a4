"""The cost of filters that every second, tenth and hundredth chunk passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.settings import Settings
from hebbgraph.text.query import query_terms

from hebbgraph_bench.scale.corpus import ClusteredEmbedder

__all__ = ["FilterTimes", "measure_filters"]

_WARM_UP = 5
_CANDIDATES = 200
_WHERE: dict[str, dict[str, Any] | None] = {
    "every_ms": None,
    "half_ms": {"hundredth": {"$lt": 50}},
    "tenth_ms": {"hundredth": {"$lt": 10}},
    "hundredth_ms": {"hundredth": 0},
}


@dataclass(frozen=True, slots=True)
class FilterTimes:
    """Median recall times by the share of chunks that pass.

    ``tantivy_200_ms`` is Tantivy's own search for the best 200, in turns with the recalls.
    """

    tantivy_200_ms: float
    every_ms: float
    half_ms: float
    tenth_ms: float
    hundredth_ms: float
    slowest_to_tantivy_200: float


def measure_filters(
    path: Path,
    questions: Sequence[str],
    *,
    embedder: ClusteredEmbedder | None,
    settings: Settings,
    k: int,
) -> FilterTimes:
    """Ask every question under every filter, the same number of times.

    Parameters
    ----------
    path : Path
        An index of :class:`~hebbgraph_bench.scale.corpus.Recombined` chunks.
    questions : sequence of str
    embedder : ClusteredEmbedder, optional
        The embedder of the index; its time is excluded.
    settings : Settings
    k : int
    """
    times: dict[str, list[float]] = {"tantivy_200_ms": [], **{name: [] for name in _WHERE}}
    with HebbianIndex.open(path, embedder=embedder, settings=settings) as index:
        for number, question in enumerate([*questions[:_WARM_UP], *questions]):
            vector = None if embedder is None else embedder.embed_query(question).tolist()
            terms = query_terms(question, settings.language)
            began = perf_counter()
            index.parts.derived.lexical.search(terms, _CANDIDATES)
            took = {"tantivy_200_ms": perf_counter() - began}
            for name, where in _WHERE.items():
                began = perf_counter()
                index.recall(question, k=k, where=where, vector=vector)
                took[name] = perf_counter() - began
            if number >= _WARM_UP:
                for name, seconds in took.items():
                    times[name].append(seconds * 1e3)
    medians = {name: float(np.median(values)) for name, values in times.items()}
    slowest = max(medians[name] for name in _WHERE)
    return FilterTimes(**medians, slowest_to_tantivy_200=slowest / medians["tantivy_200_ms"])
