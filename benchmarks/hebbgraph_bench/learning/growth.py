"""The cost of many feedbacks: learned edges, recall time, time to reinforce.

Each question is a window of 8 to 16 words of a random chunk, so nearly all differ. With an
embedder, its vector is the chunk's vector, rotated at random to a cosine of 0.8. The chunk is cited
if it is a hit, otherwise the first hit; in half of the cases one more hit is cited.

Recall is timed on the set's own questions, against the same index without feedback. The two
alternate, so noise and cold caches affect both. Each question is asked once before: lessons about a
tag are read when the tag is first met, so the first question costs more, and is reported apart.
Processor time of the calling thread is reported beside wall time. ``reinforce`` is also reported
without the database's commit, which waits for the disk. With an embedder, both indexes use
prepared vectors of questions; the model's own time is reported apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, thread_time

import numpy as np
from hebbgraph.embedders import passage_text
from hebbgraph.errors import ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.learning.memory import Memory
from hebbgraph.records import Chunk
from hebbgraph.settings import LearningSettings
from hebbgraph.store.sqlite import SqliteDriver

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning.lab import Lab
from hebbgraph_bench.scale.clock import clocked
from hebbgraph_bench.tables import Grid

__all__ = ["GrowthPoint", "grid", "measure_growth"]

_STEPS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_WINDOW = (8, 16)
_COSINE = 0.8
_ASKED = 100
_EMBEDDED = 20


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The state after a number of feedbacks.

    Times are medians in milliseconds. ``recall_ms`` and ``unlearned_ms`` are of the same recall
    with and without feedback; ``first_met_ms`` is of a recall that reads the lessons of its tags
    for the first time; ``reinforce_ms`` and ``beside_commit_ms`` are of one ``reinforce`` since
    the last point, with and without its commit. ``ratio`` is of processor times, without
    ``embedding_ms`` for the question. ``edges`` counts learned edges by family. ``folding_ms`` is
    the processor time of reading the whole log, ``opening_ms`` that of reading the stored state.
    """

    feedbacks: int
    edges: dict[str, int]
    recall_ms: float
    unlearned_ms: float
    ratio: float
    first_recall_ms: float
    first_met_ms: float
    reinforce_ms: float | None
    beside_commit_ms: float | None
    embedding_ms: float | None = None
    folding_ms: float | None = None
    opening_ms: float | None = None

    @property
    def ratio_with_embedding(self) -> float | None:
        """Ratio of the wall times of recalls that embed their question."""
        if self.embedding_ms is None:
            return None
        return (self.recall_ms + self.embedding_ms) / (self.unlearned_ms + self.embedding_ms)


def measure_growth(
    dataset: Dataset,
    feedbacks: int = 10_000,
    *,
    embedder: CachingEmbedder | None = None,
    settings: LearningSettings | None = None,
    k: int = 10,
    seed: int = 0,
    on_point: Callable[[int], object] | None = None,
) -> list[GrowthPoint]:
    """Give many feedbacks, and measure along the way.

    Parameters
    ----------
    dataset : Dataset
    feedbacks : int
    embedder : CachingEmbedder, optional
    settings : LearningSettings, optional
    k : int
    seed : int
    on_point : callable, optional
        Called with the number of feedbacks of the next point.

    Returns
    -------
    list of GrowthPoint
        At 0, 100, 300, 1000, 3000, 10000 … and ``feedbacks``.

    Raises
    ------
    ParameterError
        If ``feedbacks`` is not positive.
    """
    if feedbacks < 1:
        raise ParameterError(f"feedbacks must be at least 1, got {feedbacks!r}")
    rng = random.Random(seed)
    questions = [query.text for query in dataset.queries]
    questions = rng.sample(questions, min(_ASKED, len(questions)))
    points = []
    with (
        Lab(dataset, embedder) as lab,
        Lab.of_copy(lab) as copy,
        lab.fresh(settings) as index,
        copy.fresh() as unlearned,
    ):
        giver = _FeedbackGiver(index, dataset, embedder, rng, k)
        embedding = None if embedder is None else _embedding_ms(embedder, questions)
        feedbacks_given = 0
        for stop in [0, *(step for step in _STEPS if step < feedbacks), feedbacks]:
            if on_point is not None:
                on_point(stop)
            wall, beside = giver.give(stop - feedbacks_given)
            feedbacks_given = stop
            point = _point(feedbacks_given, index, unlearned, questions, k, wall, beside)
            folding, opening = _opening_ms(index) if feedbacks_given else (None, None)
            points.append(
                replace(point, embedding_ms=embedding, folding_ms=folding, opening_ms=opening)
            )
    return points


def grid(points: Sequence[GrowthPoint]) -> Grid:
    """Lay out one row per point."""
    families = list(points[-1].edges)
    rows = [
        (
            str(point.feedbacks),
            *(str(point.edges.get(family, 0)) for family in families),
            f"{point.recall_ms:.2f}",
            f"{point.unlearned_ms:.2f}",
            f"{point.ratio:.2f}",
            f"{point.first_recall_ms:.1f}",
            f"{point.first_met_ms:.2f}",
            *(
                "–" if value is None else f"{value:.2f}"
                for value in (
                    point.reinforce_ms,
                    point.beside_commit_ms,
                    point.folding_ms,
                    point.opening_ms,
                    point.embedding_ms,
                    point.ratio_with_embedding,
                )
            ),
        )
        for point in points
    ]
    headings = (
        "feedbacks",
        *(f"{family} edges" for family in families),
        "recall ms",
        "unlearned ms",
        "ratio (CPU)",
        "first recall ms",
        "first met ms",
        "reinforce ms",
        "beside its commit ms",
        "folding the log ms",
        "opening instead ms",
        "embedding ms",
        "ratio with it",
    )
    return Grid("growth with feedback", headings, rows)


class _FeedbackGiver:
    """Asks about random passages and cites them."""

    def __init__(
        self,
        index: HebbianIndex,
        dataset: Dataset,
        embedder: CachingEmbedder | None,
        rng: random.Random,
        k: int,
    ) -> None:
        self._index = index
        self._chunks = [chunk for chunk in dataset.corpus if len(chunk.text.split()) >= 4]
        self._embedder = embedder
        self._rng = rng
        self._k = k
        self._noise = np.random.default_rng(rng.randrange(2**32))

    def give(self, n: int) -> tuple[list[float], list[float]]:
        """Give ``n`` feedbacks; return the milliseconds of each, with and without its commit."""
        wall, beside = [], []
        for _ in range(n):
            chunk = self._rng.choice(self._chunks)
            recall = self._index.recall(
                self._question(chunk), k=self._k, vector=self._vector(chunk)
            )
            ids = [hit.chunk.id for hit in recall.hits]
            cited = [chunk.id if chunk.id in ids else ids[0]]
            if self._rng.random() < 0.5:
                cited.append(self._rng.choice(ids))
            with clocked(SqliteDriver, "commit") as commits:
                began = perf_counter()
                self._index.reinforce(recall, list(dict.fromkeys(cited)))
                spent = perf_counter() - began
            wall.append(spent * 1e3)
            beside.append((spent - sum(commits)) * 1e3)
        return wall, beside

    def _question(self, chunk: Chunk) -> str:
        words = chunk.text.split()
        length = self._rng.randint(*_WINDOW)
        start = self._rng.randrange(max(1, len(words) - length + 1))
        return " ".join(words[start : start + length])

    def _vector(self, chunk: Chunk) -> list[float] | None:
        if self._embedder is None:
            return None
        vector = np.asarray(self._embedder.embed_documents([passage_text(chunk)])[0], np.float64)
        vector /= np.linalg.norm(vector)
        noise = self._noise.standard_normal(len(vector))
        noise -= (noise @ vector) * vector
        noise /= np.linalg.norm(noise)
        rotated: list[float] = (_COSINE * vector + np.sqrt(1 - _COSINE**2) * noise).tolist()
        return rotated


def _point(
    feedbacks: int,
    index: HebbianIndex,
    unlearned: HebbianIndex,
    questions: Sequence[str],
    k: int,
    wall: Sequence[float],
    beside: Sequence[float],
) -> GrowthPoint:
    began = perf_counter()
    index.recall(questions[0], k=k)  # reads new lessons
    first = perf_counter() - began
    first_met = [_recall_seconds(index, question, k)[0] for question in questions]
    for question in questions:
        unlearned.recall(question, k=k)
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    # The first of the two finds colder caches.
    for number, question in enumerate(questions):
        turns = [(index, ours), (unlearned, theirs)]
        for timed_index, times in turns if number % 2 else reversed(turns):
            times.append(_recall_seconds(timed_index, question, k))
    (our_wall, our_cpu), (their_wall, their_cpu) = (
        np.median(np.array(times), axis=0) * 1e3 for times in (ours, theirs)
    )
    return GrowthPoint(
        feedbacks=feedbacks,
        edges=dict(index.maintenance.prune(dry_run=True).edges),
        recall_ms=float(our_wall),
        unlearned_ms=float(their_wall),
        ratio=float(our_cpu / their_cpu),
        first_recall_ms=first * 1e3,
        first_met_ms=float(np.median(first_met)) * 1e3,
        reinforce_ms=float(np.median(wall)) if wall else None,
        beside_commit_ms=float(np.median(beside)) if beside else None,
    )


def _opening_ms(index: HebbianIndex) -> tuple[float, float]:
    """Return the milliseconds of reading the log, and of reading the stored state."""
    parts = index.parts
    parts.memory.save_snapshot()
    spent = []
    for path in (None, parts.memory.path):
        memory = Memory(parts.log, parts.truth, parts.settings.learning, path)
        began = thread_time()
        memory.refresh(parts.derived.feedback)
        spent.append((thread_time() - began) * 1e3)
    return spent[0], spent[1]


def _embedding_ms(embedder: CachingEmbedder, questions: Sequence[str]) -> float:
    """Return the model's median milliseconds for a question."""
    spent = []
    for question in [questions[0], *questions[:_EMBEDDED]]:
        began = perf_counter()
        embedder.inner.embed_query(question)
        spent.append(perf_counter() - began)
    return float(np.median(spent[1:])) * 1e3  # the first loads the model


def _recall_seconds(index: HebbianIndex, question: str, k: int) -> tuple[float, float]:
    began, began_cpu = perf_counter(), thread_time()
    index.recall(question, k=k)
    return perf_counter() - began, thread_time() - began_cpu
