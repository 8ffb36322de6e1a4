"""hebbgraph itself, as one of the systems that are measured."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hebbgraph.errors import ParameterError
from hebbgraph.evaluation.baselines import RankedChunk
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

if TYPE_CHECKING:
    from hebbgraph.index import HebbianIndex
    from hebbgraph.recalling import StrategyName

__all__ = ["HebbianRetriever"]


class HebbianRetriever:
    """A :class:`~hebbgraph.index.HebbianIndex` on disk, in a directory that goes with it.

    Parameters
    ----------
    strategy : str
        As in ``HebbianIndex.recall``. ``neighbourhood`` is cut to the ``k`` best.
    embedder : Embedder, optional
    """

    def __init__(
        self, strategy: StrategyName = "spreading", *, embedder: Embedder | None = None
    ) -> None:
        self.strategy = strategy
        self.embedder = embedder
        self._directory: TemporaryDirectory[str] | None = None
        self._index: HebbianIndex | None = None

    @property
    def name(self) -> str:
        """``hebbgraph`` and the strategy."""
        return f"hebbgraph {self.strategy}"

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Index from text to disk."""
        from hebbgraph.index import HebbianIndex

        self._directory = TemporaryDirectory(prefix="hebbgraph-bench-")
        # Passed only when given, so that an index that cannot embed refuses it aloud
        # instead of being reported as if it did.
        options: dict[str, Any] = {} if self.embedder is None else {"embedder": self.embedder}
        self._index = HebbianIndex.open(f"{self._directory.name}/index", **options)
        self._index.add(chunks)

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Recall."""
        if self._index is None:
            raise ParameterError("nothing is indexed yet; call index(chunks) first")
        recall = self._index.recall(query, k=k, strategy=self.strategy)
        return [RankedChunk(hit.chunk.id, hit.score) for hit in recall.hits[:k]]

    def close(self) -> None:
        """Close the index and remove its directory."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None
