"""hebbgraph itself, as a system to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import RankedChunk
from hebbgraph_bench.datasets import Extraction

if TYPE_CHECKING:
    from hebbgraph.formulas.activation import SpreadingParameters
    from hebbgraph.hebbian_index import HebbianIndex
    from hebbgraph.recall import StrategyName
    from hebbgraph.settings import Settings

__all__ = ["HebbianRetriever", "with_tags"]


class HebbianRetriever:
    """A :class:`~hebbgraph.index.HebbianIndex` on disk, in a temporary directory.

    Parameters
    ----------
    strategy : str
        As in ``HebbianIndex.recall``. ``neighbourhood`` returns the ``k`` best.
    embedder : Embedder, optional
    extractions : mapping of chunk id to Extraction, optional
        Added to the tags of the tagger; the name then says so.
    parameters : SpreadingParameters, optional
        Replaces those of the index; see :meth:`use`.
    settings : Settings, optional
    tagger : Tagger, optional
    history : bool
        Recall with earlier turns; the name then says so.
    """

    def __init__(
        self,
        strategy: StrategyName = "spreading",
        *,
        embedder: Embedder | None = None,
        extractions: Mapping[str, Extraction] | None = None,
        parameters: SpreadingParameters | None = None,
        settings: Settings | None = None,
        tagger: Tagger | None = None,
        history: bool = False,
    ) -> None:
        self.strategy = strategy
        self.embedder = embedder
        self.extractions = extractions
        self.parameters = parameters
        self.settings = settings
        self.tagger = tagger
        self.history = history
        self._directory: TemporaryDirectory[str] | None = None
        self._index: HebbianIndex | None = None

    @property
    def name(self) -> str:
        """``hebbgraph``, the strategy, and whether it uses further tags or earlier turns."""
        more = (" + LLM tags" if self.extractions else "") + (" + history" if self.history else "")
        return f"hebbgraph {self.strategy}{more}"

    @property
    def opened(self) -> HebbianIndex:
        """The index, once :meth:`index` has made it."""
        if self._index is None:
            raise ParameterError("nothing is indexed yet; call index(chunks) first")
        return self._index

    @property
    def location(self) -> str:
        """The index's directory, once :meth:`index` has made it."""
        assert self._directory is not None
        return f"{self._directory.name}/index"

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Index from text to disk."""
        self._directory = TemporaryDirectory(prefix="hebbgraph-bench-")
        self._index = self._open(self.parameters)
        self._index.add(with_tags(chunks, self.extractions) if self.extractions else chunks)

    def use(self, parameters: SpreadingParameters | None, settings: Settings | None = None) -> None:
        """Reopen the index with these parameters and settings, without indexing again."""
        self.opened.close()
        self.settings = settings or self.settings
        self._index = self._open(parameters)

    def _open(self, parameters: SpreadingParameters | None) -> HebbianIndex:
        from hebbgraph.hebbian_index import HebbianIndex
        from hebbgraph.settings import Settings

        settings = self.settings
        if parameters is not None:
            settings = (settings or Settings()).model_copy(update={"recall": parameters})
        # Passed only if set, so an index without an embedder raises an error
        # instead of being reported as if it did.
        keywords = {"embedder": self.embedder, "settings": settings, "tagger": self.tagger}
        options: dict[str, Any] = {name: value for name, value in keywords.items() if value}
        return HebbianIndex.open(self.location, **options)

    def retrieve(self, query: str, k: int, /, history: Sequence[str] = ()) -> list[RankedChunk]:
        """Recall."""
        options: dict[str, Any] = {"history": history} if history else {}
        recall = self.opened.recall(query, k=k, strategy=self.strategy, **options)
        return [RankedChunk(hit.chunk.id, hit.score) for hit in recall.hits[:k]]

    def close(self) -> None:
        """Close the index and remove its directory."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None


def with_tags(chunks: Sequence[Chunk], extractions: Mapping[str, Extraction]) -> list[Chunk]:
    """Return the chunks with their extractions as further tags."""
    return [
        chunk.model_copy(update={"tags": (*chunk.tags, *extractions[chunk.id].phrases)})
        if chunk.id in extractions
        else chunk
        for chunk in chunks
    ]
