"""An index of a set in a temporary directory, reopened untaught for each measurement."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.settings import LearningSettings, Settings

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder

__all__ = ["Lab"]


class Lab:
    """An index of one set in a temporary directory.

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

    @classmethod
    def of_copy(cls, lab: Lab) -> Self:
        """Copy the index of another lab, which must be closed, into a new lab."""
        copy = cls(lab.dataset, lab.embedder)
        shutil.copytree(lab.path, copy.path)
        return copy

    def __enter__(self) -> Self:
        if self.path.exists():
            return self
        with self._open() as index:
            index.add([chunk for chunk in self.dataset.corpus if chunk.title or chunk.text])
        return self

    @contextmanager
    def fresh(self, learning: LearningSettings | None = None) -> Iterator[HebbianIndex]:
        """Open the index and forget everything it learned."""
        with self._open(learning) as index:
            index.forget(everything=True)
            yield index

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
