"""What may learn from citations: hebbgraph in all its settings, and trivial rivals."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.settings import LearningSettings, Settings
from hebbgraph.text.query import query_terms

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning.teachers import Event, Shown

__all__ = ["Ask", "IndexLearner", "Lab", "Learner", "MostCited", "Nothing", "QueryCache"]


Ask = Callable[[str, int], Shown]


class Learner(Protocol):
    """What is asked and taught."""

    def ask(self, text: str, k: int, /) -> Shown:
        """Return at most ``k`` chunks, best first."""
        ...

    def learn(self, event: Event, /) -> None:
        """Take a feedback in."""
        ...


class Lab:
    """One index of a set in a temporary directory, opened anew for each learner.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    """

    def __init__(self, dataset: Dataset, embedder: CachingEmbedder | None = None) -> None:
        self.dataset = dataset
        self.embedder = embedder
        self._directory = TemporaryDirectory(prefix="hebbgraph-lab-")
        self.path = Path(self._directory.name) / "index"
        self._unlearned: dict[tuple[str, int], Shown] = {}

    @classmethod
    def of_copy(cls, lab: Lab) -> Self:
        """Make a lab with a copy of another's index, which must be closed."""
        made = cls(lab.dataset, lab.embedder)
        shutil.copytree(lab.path, made.path)
        return made

    def __enter__(self) -> Self:
        if self.path.exists():
            return self
        with self._open() as index:
            index.add([chunk for chunk in self.dataset.corpus if chunk.title or chunk.text])
        return self

    @contextmanager
    def fresh(self, learning: LearningSettings | None = None) -> Iterator[HebbianIndex]:
        """Open the index as if it had never learned."""
        with self._open(learning) as index:
            index.forget(everything=True)
            yield index

    @contextmanager
    def unlearned(self) -> Iterator[Ask]:
        """Open the index for asking alone; the same question is recalled once a lab."""
        with self.fresh() as index:

            def ask(text: str, k: int) -> Shown:
                if (text, k) not in self._unlearned:
                    self._unlearned[text, k] = _ask(index, text, k)
                return self._unlearned[text, k]

            yield ask

    def _open(self, learning: LearningSettings | None = None) -> HebbianIndex:
        settings = Settings(keep_recalls=0, learning=learning or LearningSettings())
        options: dict[str, Any] = {"embedder": self.embedder} if self.embedder else {}
        return HebbianIndex.open(self.path, settings=settings, **options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._directory.cleanup()


class Nothing:
    """Learns nothing.

    Parameters
    ----------
    unlearned : callable
        Of a :class:`Lab`.
    """

    def __init__(self, unlearned: Ask) -> None:
        self._unlearned = unlearned

    def ask(self, text: str, k: int, /) -> Shown:
        """Recall."""
        return self._unlearned(text, k)

    def learn(self, event: Event, /) -> None:
        """Pass it over."""


class IndexLearner:
    """hebbgraph; it learns by ``reinforce``.

    Parameters
    ----------
    index : HebbianIndex
    """

    def __init__(self, index: HebbianIndex) -> None:
        self.index = index

    def ask(self, text: str, k: int, /) -> Shown:
        """Recall."""
        return _ask(self.index, text, k)

    def learn(self, event: Event, /) -> None:
        """Reinforce."""
        if event.shown.recall is not None:
            self.index.reinforce(event.shown.recall, event.cited, actor=event.actor)


class QueryCache:
    """Puts the citations of the nearest past question first, before the unlearned hits.

    Parameters
    ----------
    unlearned : callable
        Of a :class:`Lab`.
    embedder : CachingEmbedder, optional
        Near is then a cosine; without one, the overlap of terms (Jaccard).
    threshold : float
        A past question less near than this is passed over.
    """

    def __init__(
        self, unlearned: Ask, embedder: CachingEmbedder | None, *, threshold: float
    ) -> None:
        self._unlearned = unlearned
        self.embedder = embedder
        self.threshold = threshold
        self._terms: list[frozenset[str]] = []
        self._vectors: list[FloatArray] = []
        self._cited: list[list[str]] = []

    def ask(self, text: str, k: int, /) -> Shown:
        """Look up, then recall."""
        found = list(self._unlearned(text, k).ids)
        if self._cited:
            nearness = self._nearness(text)
            nearest = int(nearness.argmax())
            if nearness[nearest] >= self.threshold:
                found = list(dict.fromkeys([*self._cited[nearest], *found]))
        return Shown(text, tuple(found[:k]))

    def learn(self, event: Event, /) -> None:
        """Remember the question and its citations."""
        text = event.shown.text
        if self.embedder is not None:
            self._vectors.append(_unit(self.embedder.embed_query(text)))
        self._terms.append(_terms(text))
        self._cited.append(event.cited)

    def _nearness(self, text: str) -> FloatArray:
        if self.embedder is not None:
            vector = _unit(self.embedder.embed_query(text))
            cosines: FloatArray = np.stack(self._vectors) @ vector
            return cosines
        terms = _terms(text)
        return np.array([len(terms & past) / max(len(terms | past), 1) for past in self._terms])


class MostCited:
    """Orders the best ``2 k`` unlearned hits by how often each was cited, then by rank.

    Parameters
    ----------
    unlearned : callable
        Of a :class:`Lab`.
    """

    def __init__(self, unlearned: Ask) -> None:
        self._unlearned = unlearned
        self._times: Counter[str] = Counter()

    def ask(self, text: str, k: int, /) -> Shown:
        """Recall, then sort."""
        found = self._unlearned(text, 2 * k).ids
        ordered = sorted(found, key=lambda id_: -self._times[id_])
        return Shown(text, tuple(ordered[:k]))

    def learn(self, event: Event, /) -> None:
        """Count."""
        self._times.update(event.cited)


def _ask(index: HebbianIndex, text: str, k: int) -> Shown:
    recall = index.recall(text, k=k)
    return Shown(text, tuple(hit.chunk.id for hit in recall.hits), recall)


def _terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(text, Settings().language))


def _unit(vector: Sequence[float]) -> FloatArray:
    array = np.asarray(vector, dtype=np.float64)
    unit: FloatArray = array / (np.linalg.norm(array) or 1.0)
    return unit
