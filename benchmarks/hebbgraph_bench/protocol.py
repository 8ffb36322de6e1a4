"""The retrieval protocol: index, ask every question once, judge.

Measurements:

- **quality**: the metrics of :mod:`hebbgraph_bench.metrics`, per question.
- **context**: title and text of the first ``k`` chunks, as a model would read them: its
  length by ``context_tokens``, and whether it holds an answer. Questions whose answers
  are unknown, or only *yes* and *no*, have no value there (NaN).
- **speed**: wall time of one ``retrieve`` call a question, one after another in one
  process, after a few calls that are not counted. Indexing speed is UTF-8 text over the
  wall time of ``index``. Time in the embedder is subtracted from both and reported apart.
- **memory**: the rise of resident memory from before ``index`` until the last question
  (:mod:`hebbgraph_bench.memory`). The text itself and shared vectors are there before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk

from hebbgraph_bench import metrics
from hebbgraph_bench.baselines import Conversational, RankedChunk, Retriever
from hebbgraph_bench.context import Context
from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.memory import PeakMemory
from hebbgraph_bench.results import AtTokens, EmbeddingCost, SetResult, SystemResult

__all__ = ["judge", "metrics_at", "run"]

_WARM_UP = 3
_Metric = Callable[[Sequence[str], Mapping[str, int]], float]


def metrics_at(k: int) -> dict[str, _Metric]:
    """Return the ranking metrics of the protocol by name, cut at ``k``.

    Examples
    --------
    >>> list(metrics_at(10))
    ['R@2', 'R@5', 'R@10', 'all-gold@10', 'nDCG@10', 'MRR']
    """

    def cut(function: Callable[[Sequence[str], Mapping[str, int], int], float], at: int) -> _Metric:
        return lambda ranked, relevant: function(ranked, relevant, at)

    cutoffs = sorted({k, *(cutoff for cutoff in (2, 5, 10) if cutoff < k)})
    return {
        **{f"R@{cutoff}": cut(metrics.recall_at_k, cutoff) for cutoff in cutoffs},
        f"all-gold@{k}": cut(metrics.all_relevant_at_k, k),
        f"nDCG@{k}": cut(metrics.ndcg_at_k, k),
        "MRR": cut(metrics.reciprocal_rank, k),
    }


def judge(
    rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]], k: int
) -> dict[str, FloatArray]:
    """Judge one ranking per question by every metric of :func:`metrics_at`."""
    pairs = list(zip(rankings, relevant, strict=True))
    return {
        name: np.array([metric(ranked, gold) for ranked, gold in pairs])
        for name, metric in metrics_at(k).items()
    }


def run(
    dataset: Dataset,
    retrievers: Sequence[Retriever],
    *,
    k: int = 10,
    at_tokens: Sequence[int] = (),
    embedder: CachingEmbedder | None = None,
    on_system: Callable[[str], object] | None = None,
) -> SetResult:
    """Measure retrievers on one set, one after another, and close each.

    Parameters
    ----------
    dataset : Dataset
        Its corpus is indexed in the order given; chunks without title and text are left
        out, and count as missed where they are relevant.
    retrievers : sequence of Retriever
        With distinct names, not yet indexed.
    k : int, at least 1
        Chunks retrieved per question.
    at_tokens : sequence of int
        Also compare at equal context, at each of these budgets in tokens.
    embedder : CachingEmbedder, optional
        Shared by the retrievers. All texts are embedded first.
    on_system : callable, optional
        Called with the name of each system before it starts.

    Returns
    -------
    SetResult

    Raises
    ------
    ParameterError
        If ``k`` or a budget is not positive, or two retrievers have one name.
    """
    names = [retriever.name for retriever in retrievers]
    if k < 1 or any(tokens < 1 for tokens in at_tokens):
        raise ParameterError(f"k and budgets must be at least 1, got {k!r} and {list(at_tokens)!r}")
    if len(set(names)) != len(names):
        raise ParameterError(f"every system needs its own name, got {names!r}")
    chunks = [chunk for chunk in dataset.corpus if chunk.title.strip() or chunk.text.strip()]
    context = Context(chunks)
    cost = _embed_all(embedder, context, dataset.queries) if embedder else None
    systems = []
    for retriever in retrievers:
        if on_system is not None:
            on_system(retriever.name)
        systems.append(
            _measure(retriever, chunks, dataset.queries, k, at_tokens, embedder, context)
        )
    return SetResult(
        name=dataset.name,
        k=k,
        chunks=len(chunks),
        query_ids=tuple(query.id for query in dataset.queries),
        skipped=dataset.skipped,
        megabytes=context.megabytes,
        systems=tuple(systems),
        embedding=cost,
        types=tuple(query.type for query in dataset.queries),
        variants=tuple(query.variant for query in dataset.queries),
    )


def _embed_all(
    embedder: CachingEmbedder, context: Context, queries: Sequence[Query]
) -> EmbeddingCost:
    before, read = embedder.seconds, embedder.read
    embedder.embed_documents(list(context.texts.values()))
    passages = embedder.seconds - before
    milliseconds = []
    for query in queries:
        before = embedder.seconds
        embedder.embed_query(query.text)
        milliseconds.append((embedder.seconds - before) * 1e3)
    return EmbeddingCost(passages, np.array(milliseconds), embedder.read - read)


def _measure(
    retriever: Retriever,
    chunks: Sequence[Chunk],
    queries: Sequence[Query],
    k: int,
    at_tokens: Sequence[int],
    embedder: CachingEmbedder | None,
    context: Context,
) -> SystemResult:
    def clock() -> float:
        return perf_counter() - (embedder.seconds if embedder else 0.0)

    try:
        with PeakMemory() as peak:
            began = clock()
            retriever.index(chunks)
            index_seconds = clock() - began
            for query in queries[:_WARM_UP]:
                _ask(retriever, query, k)
            rankings, query_ms = [], []
            for query in queries:
                began = clock()
                hits = _ask(retriever, query, k)
                query_ms.append((clock() - began) * 1e3)
                rankings.append(_ids(hits)[:k])
        budgets = _fill_budgets(retriever, queries, at_tokens, context)
    finally:
        retriever.close()
    return SystemResult(
        name=retriever.name,
        settings=_settings(retriever),
        values=_judge(rankings, queries, k, context),
        rankings=tuple(rankings),
        query_ms=np.array(query_ms),
        index_seconds=index_seconds,
        index_mb_per_second=context.megabytes / index_seconds,
        peak_memory_mb=peak.megabytes,
        at_tokens=budgets,
    )


def _ask(retriever: Retriever, query: Query, k: int) -> list[RankedChunk]:
    if isinstance(retriever, Conversational) and retriever.history:
        return retriever.retrieve(query.text, k, history=query.history)
    return retriever.retrieve(query.text, k)


def _ids(hits: Sequence[RankedChunk]) -> tuple[str, ...]:
    """Return the ids, best first, without repetitions."""
    return tuple(dict.fromkeys(hit.id for hit in hits))


def _judge(
    rankings: Sequence[Sequence[str]], queries: Sequence[Query], k: int, context: Context
) -> dict[str, FloatArray]:
    judged = [query.credited(r) for query, r in zip(queries, rankings, strict=True)]
    values = judge(judged, [query.relevant for query in queries], k)
    values["tokens"] = np.array([context.count_tokens(ranked) for ranked in rankings], dtype=float)
    values["answer"] = np.array(
        [
            context.holds_answer(query, ranked)
            for ranked, query in zip(rankings, queries, strict=True)
        ]
    )
    return values


def _fill_budgets(
    retriever: Retriever, queries: Sequence[Query], at_tokens: Sequence[int], context: Context
) -> tuple[AtTokens, ...]:
    """Ask again, deep enough for the largest budget; not timed."""
    if not at_tokens:
        return ()
    depth = context.enough_for(max(at_tokens))
    rankings = [_ids(_ask(retriever, query, depth)) for query in queries]
    results = []
    for tokens in at_tokens:
        rows = []
        for query, ranked in zip(queries, rankings, strict=True):
            fitted = context.fitting(ranked, tokens)
            judged = query.credited(fitted)
            rows.append(
                (
                    metrics.recall_at_k(judged, query.relevant, depth),
                    metrics.all_relevant_at_k(judged, query.relevant, depth),
                    context.holds_answer(query, fitted),
                    len(fitted),
                )
            )
        columns = np.array(rows, dtype=np.float64).T
        names = ("recall", "all-gold", "answer", "chunks")
        results.append(AtTokens(tokens, dict(zip(names, columns, strict=True))))
    return tuple(results)


def _settings(retriever: Retriever) -> dict[str, str | float | bool | None]:
    """Read the constructor's plain arguments, which retrievers store as attributes."""
    return {
        name: value
        for name, value in vars(retriever).items()
        if not name.startswith("_") and isinstance(value, str | int | float | bool | None)
    }
