"""An index of a set, opened anew for each way to teach it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Protocol, Self

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.settings import LearningSettings, Settings

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning.teachers import Event, Shown

__all__ = ["IndexLearner", "Lab", "Learner"]

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
            self.index.reinforce(
                event.shown.recall, event.cited, rejected=event.rejected, actor=event.actor
            )


def _ask(index: HebbianIndex, text: str, k: int) -> Shown:
    recall = index.recall(text, k=k)
    return Shown(text, tuple(hit.chunk.id for hit in recall.hits), recall)
