"""What taggers are worth, and how much the graph owes to the quality of its tags.

Each tagger indexes a set anew and answers its questions by spreading and, as BambooKG
has it, by neighbours. The ablation that the paper [1]_ suggests then spoils the tags of the
model-free index, each way under several seeds: postings are changed, nothing else is.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from hebbgraph.evaluation.bootstrap import Difference, paired_bootstrap
from hebbgraph.evaluation.datasets import Dataset, Extraction
from hebbgraph.evaluation.embedding import CachingEmbedder
from hebbgraph.evaluation.ours import HebbianRetriever
from hebbgraph.evaluation.protocol import judge
from hebbgraph.evaluation.tables import Grid
from hebbgraph.graph.incidence import Incidence, Postings
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.protocols import Tagger
from hebbgraph.recalling import StrategyName
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings
from hebbgraph.tagging import tokenize
from hebbgraph.tagging.segment import stop_words
from hebbgraph.typing import FloatArray

__all__ = [
    "MODEL_FREE",
    "Arm",
    "TaggingResult",
    "arms_for",
    "generic_added",
    "grids",
    "measure_taggers",
    "randomised",
    "thinned",
]

MODEL_FREE = "model-free"
_STRATEGIES: tuple[StrategyName, ...] = ("spreading", "neighbourhood")
_KEPT = ("R@5", "nDCG@10")
_N_GENERIC = 5  # generic tags that each chunk gets


class Arm(NamedTuple):
    """A tagger on the bench: beside the model-free tags, or in their place."""

    name: str
    tagger: Tagger | None = None
    text_tags: bool = True
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaggingResult:
    """One arm on one set.

    ``values`` holds, by strategy and metric, one value a question; those of a spoilt
    graph are means over seeds.
    """

    name: str
    tags_per_chunk: float
    edges_per_chunk: float
    density: float
    seconds: float | None
    calls: int
    values: Mapping[str, Mapping[str, FloatArray]]


# -- taggers ------------------------------------------------------------------------


def arms_for(dataset: Dataset, embedder: CachingEmbedder | None) -> list[Arm]:
    """Return the taggers that can run on a set, here."""
    arms = [
        Arm(MODEL_FREE),
        Arm("titles alone", text_tags=False),
        Arm("callable: frequent words, + model-free", _frequent_words),
    ]
    if extractions := dataset.extractions:
        entities = {id_: Extraction(one.entities) for id_, one in extractions.items()}
        arms += [
            Arm("LLM tags alone", _stored(extractions), text_tags=False),
            Arm("LLM tags + model-free", _stored(extractions)),
            Arm("LLM entities alone", _stored(entities), text_tags=False),
            Arm("LLM entities + model-free", _stored(entities)),
        ]
    if embedder is not None:
        from hebbgraph.taggers import KeyphraseTagger

        keyphrases = KeyphraseTagger(embedder)
        arms += [
            Arm("keyphrases alone", keyphrases, text_tags=False),
            Arm("keyphrases + model-free", keyphrases),
        ]
    if (spacy := _spacy_tagger()) is not None:
        arms += [Arm("spaCy alone", spacy, text_tags=False), Arm("spaCy + model-free", spacy)]
    arms += [
        Arm("model-free, aliases: spelling", aliases=("spelling",)),
        Arm("model-free, aliases: acronyms", aliases=("acronyms",)),
        Arm("model-free, aliases: both", aliases=("spelling", "acronyms")),
    ]
    if embedder is not None:
        arms.append(Arm("model-free, aliases: vectors", aliases=("vectors",)))
    return arms


def _stored(extractions: Mapping[str, Extraction]) -> Tagger:
    def stored(chunk: Chunk, /) -> tuple[str, ...]:
        found = extractions.get(chunk.id)
        return () if found is None else found.phrases

    return stored


def _frequent_words(chunk: Chunk, /) -> list[str]:
    """What a first attempt would do: the ten most frequent content words."""
    counts: dict[str, int] = {}
    for token in tokenize(chunk.text):
        if token not in stop_words() and len(token) > 2:
            counts[token] = counts.get(token, 0) + 1
    return sorted(counts, key=lambda token: (-counts[token], token))[:10]


def _spacy_tagger(name: str = "en_core_web_sm") -> Tagger | None:
    try:
        import spacy
    except ImportError:
        return None
    if not spacy.util.is_package(name):
        return None
    from hebbgraph.taggers import SpacyTagger

    return SpacyTagger(name)


# -- spoiling -----------------------------------------------------------------------

Spoil = Callable[[TagGraph, np.random.Generator], Postings]


def randomised(graph: TagGraph, rng: np.random.Generator) -> Postings:
    """Deal all tags but titles to the chunks anew: as many a chunk, as many of each."""
    slots, tags, is_title = _pairs(graph)
    dealt = tags.copy()
    dealt[~is_title] = rng.permutation(tags[~is_title])
    return _postings(graph, slots, dealt, is_title)


def thinned(graph: TagGraph, rng: np.random.Generator, share: float = 0.3) -> Postings:
    """Remove a share of all tags, titles included."""
    slots, tags, is_title = _pairs(graph)
    kept = rng.random(len(tags)) >= share
    return _postings(graph, slots[kept], tags[kept], is_title[kept])


def generic_added(
    graph: TagGraph, rng: np.random.Generator, pool: int = 20, count: int = _N_GENERIC
) -> Postings:
    """Give each chunk some tags out of a few that say nothing."""
    slots, tags, is_title = _pairs(graph)
    generic = np.array(graph.phrases.intern([f"generic tag {at}" for at in range(pool)]))
    live = np.flatnonzero(graph.alive)
    drawn = rng.random((len(live), pool)).argsort(axis=1)[:, :count]
    return _postings(
        graph,
        np.concatenate((slots, np.repeat(live, count))),
        np.concatenate((tags, generic[drawn].ravel())),
        np.concatenate((is_title, np.zeros(drawn.size, np.bool_))),
    )


def _pairs(graph: TagGraph) -> tuple[Any, Any, Any]:
    indptr, tags, is_title = graph.incidence.postings(np.arange(graph.n_slots))
    slots = np.repeat(np.arange(graph.n_slots), np.diff(indptr))
    return slots, tags.astype(np.int64), is_title


def _postings(graph: TagGraph, slots: Any, tags: Any, is_title: Any) -> Postings:
    n_tags = len(graph.phrases)
    pairs = slots * n_tags + tags
    unique = np.unique(pairs)
    counts = np.bincount(unique // n_tags, minlength=graph.n_slots)
    return Postings(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        (unique % n_tags).astype(np.int32),
        np.isin(unique, pairs[is_title]),
    )


SPOILT: Mapping[str, Spoil] = {
    "random tags, titles kept": randomised,
    "30 % of tags removed": thinned,
    "5 generic tags added, of 20": generic_added,
    "5 generic tags added, of 500": lambda graph, rng: generic_added(graph, rng, pool=500),
}


# -- measuring ----------------------------------------------------------------------


def measure_taggers(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    k: int = 10,
    n_seeds: int = 3,
    seed: int = 0,
    arms: Sequence[Arm] | None = None,
    on_arm: Callable[[str], object] | None = None,
) -> list[TaggingResult]:
    """Measure every tagger, then the model-free graph with its tags spoilt.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    k : int, at least 1
    n_seeds : int, at least 1
        How often tags are spoilt each way.
    seed : int
    arms : sequence of Arm, optional
        Left out, :func:`arms_for`.
    on_arm : callable, optional
        Told each name before it starts.

    Returns
    -------
    list of TaggingResult
        ``model-free`` first.
    """
    chunks = [chunk for chunk in dataset.corpus if chunk.title or chunk.text]
    results = []
    for arm in arms_for(dataset, embedder) if arms is None else arms:
        if on_arm is not None:
            on_arm(arm.name)
        settings = Settings(text_tags=arm.text_tags, aliases=arm.aliases)
        retriever = HebbianRetriever(embedder=embedder, settings=settings, tagger=_timed(arm))
        try:
            retriever.index(chunks)
            results.append(_result(arm.name, retriever, dataset, k, retriever.tagger))
            if arm.name == MODEL_FREE:
                results += _spoilt(retriever, dataset, k, n_seeds, seed, on_arm)
        finally:
            retriever.close()
    # Spoilt ones after the taggers.
    return sorted(results, key=lambda result: result.name in SPOILT)


class _Timed:
    """A tagger with a clock."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self.seconds = 0.0
        self.calls = 0

    def __call__(self, chunk: Chunk, /) -> list[str]:
        began = perf_counter()
        found = list(self._tagger(chunk))
        self.seconds += perf_counter() - began
        self.calls += 1
        return found


def _timed(arm: Arm) -> _Timed | None:
    return None if arm.tagger is None else _Timed(arm.tagger)


def _spoilt(
    retriever: HebbianRetriever,
    dataset: Dataset,
    k: int,
    n_seeds: int,
    seed: int,
    on_arm: Callable[[str], object] | None,
) -> list[TaggingResult]:
    derived = retriever.opened._derived
    graph, original = derived.graph, derived.graph.incidence
    results = []
    for name, spoil in SPOILT.items():
        if on_arm is not None:
            on_arm(name)
        runs = []
        for turn in range(n_seeds):
            graph.incidence = original
            postings = spoil(graph, np.random.default_rng(seed + turn))
            graph.incidence = Incidence(postings, len(graph.phrases))
            runs.append(_result(name, retriever, dataset, k, None))
        graph.incidence = original
        results.append(_mean(runs))
    return results


def _result(
    name: str, retriever: HebbianRetriever, dataset: Dataset, k: int, tagger: Any
) -> TaggingResult:
    stats = retriever.opened.stats()
    values: dict[str, dict[str, FloatArray]] = {}
    for strategy in _STRATEGIES:
        retriever.strategy = strategy
        rankings = [
            [hit.id for hit in retriever.retrieve(query.text, k)] for query in dataset.queries
        ]
        judged = judge(rankings, [query.relevant for query in dataset.queries], k)
        values[strategy] = {metric: judged[metric] for metric in _metrics(k)}
    return TaggingResult(
        name,
        stats.tags_per_chunk,
        stats.edges / max(stats.chunks, 1),
        stats.density,
        None if tagger is None else tagger.seconds,
        0 if tagger is None else tagger.calls,
        values,
    )


def _metrics(k: int) -> tuple[str, str]:
    return f"R@{min(5, k)}", f"nDCG@{k}"


def _mean(runs: Sequence[TaggingResult]) -> TaggingResult:
    def mean(attribute: str) -> float:
        return float(np.mean([getattr(run, attribute) for run in runs]))

    return TaggingResult(
        runs[0].name,
        mean("tags_per_chunk"),
        mean("edges_per_chunk"),
        mean("density"),
        None,
        0,
        {
            strategy: {
                metric: np.mean([run.values[strategy][metric] for run in runs], axis=0)
                for metric in metrics
            }
            for strategy, metrics in runs[0].values.items()
        },
    )


# -- reporting ----------------------------------------------------------------------


def against(
    results: Sequence[TaggingResult], result: TaggingResult, metric: str, *, seed: int = 0
) -> Difference:
    """Compare with the model-free tags, by spreading."""
    base = next(one for one in results if one.name == MODEL_FREE)
    return paired_bootstrap(
        result.values["spreading"][metric], base.values["spreading"][metric], seed=seed
    )


def grids(by_set: Mapping[str, Sequence[TaggingResult]], k: int, *, seed: int = 0) -> list[Grid]:
    """Lay out one table a set, one row a tagger."""
    recall, gain = _metrics(k)
    tables = []
    for name, results in by_set.items():
        rows = []
        for result in results:
            spreading, neighbours = (result.values[strategy] for strategy in _STRATEGIES)
            found = against(results, result, recall, seed=seed)
            sure = "*" if found.low > 0 or found.high < 0 else ""
            rows.append(
                (
                    result.name,
                    f"{result.tags_per_chunk:.1f}",
                    f"{result.edges_per_chunk:.0f}",
                    f"{result.density:.4f}",
                    "" if result.seconds is None else f"{result.seconds:.1f}",
                    f"{spreading[recall].mean():.3f}",
                    ""
                    if result.name == MODEL_FREE
                    else f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]{sure}",
                    f"{spreading[gain].mean():.3f}",
                    f"{neighbours[recall].mean():.3f}",
                )
            )
        headings = ("tags", "tags/chunk", "edges/chunk", "density", "tagger s")
        measured = (recall, f"{recall} minus {MODEL_FREE}", gain, f"{recall} by neighbours")
        tables.append(Grid(name, (*headings, *measured), rows))
    return tables


def as_dict(by_set: Mapping[str, Sequence[TaggingResult]], *, seed: int = 0) -> dict[str, Any]:
    """Gather the figures as what JSON can hold."""
    return {
        name: {
            result.name: {
                "tags_per_chunk": result.tags_per_chunk,
                "edges_per_chunk": result.edges_per_chunk,
                "density": result.density,
                "tagger_seconds": result.seconds,
                "tagger_calls": result.calls,
                "means": {
                    strategy: {metric: float(values.mean()) for metric, values in metrics.items()}
                    for strategy, metrics in result.values.items()
                },
            }
            for result in results
        }
        for name, results in by_set.items()
    }
