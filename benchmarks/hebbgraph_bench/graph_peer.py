"""DataStax ``langchain-graph-retriever`` (Apache-2.0) over the tags that hebbgraph finds.

It takes dense hits, and from each the chunks that share a tag with it. It needs the extra
``peers``, and is imported when created.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import RankedChunk, passage_text
from hebbgraph_bench.peers import load_peer

__all__ = ["GraphRetrieverPeer"]


class GraphRetrieverPeer:
    """``GraphRetriever`` of langchain-graph-retriever over an indexed store in memory.

    Parameters
    ----------
    embedder : Embedder
    start_k : int
        Dense hits to start the traversal from.
    adjacent_k : int
        Nearest chunks to follow per tag.
    max_depth : int
        Maximal number of steps.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Notes
    -----
    Hits are taken in the order of their similarity to the question (its ``Scored``
    strategy): its ``Eager`` one returns what it found in no particular order.
    """

    name = "langchain-graph-retriever"

    def __init__(
        self, embedder: Embedder, *, start_k: int = 5, adjacent_k: int = 10, max_depth: int = 1
    ) -> None:
        self._library = load_peer(
            self.name,
            "graph_retriever.strategies",
            "langchain_graph_retriever",
            "hebbgraph_bench.graph_store",
        )
        self.embedder = embedder
        self.start_k = start_k
        self.adjacent_k = adjacent_k
        self.max_depth = max_depth
        self._retriever: Any = None

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Tag as hebbgraph does, and fill the store."""
        strategies, library, stores = self._library
        tags = _tags(chunks)
        texts = [passage_text(chunk) for chunk in chunks]
        vectors = np.asarray(self.embedder.embed_documents(texts), dtype=np.float64)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        store = stores.IndexedAdapter(
            self.embedder,
            vectors / np.where(length > 0, length, 1),
            [chunk.id for chunk in chunks],
            texts,
            [tags[chunk.id] for chunk in chunks],
        )
        self._retriever = library.GraphRetriever(
            store=store, edges=[("tags", "tags")], strategy=strategies.Eager()
        )

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Traverse."""
        strategy = self._library[0].Scored(
            scorer=lambda node: node.similarity_score,
            select_k=k,
            start_k=self.start_k,
            adjacent_k=self.adjacent_k,
            max_depth=self.max_depth,
        )
        documents = self._retriever.invoke(query, strategy=strategy)
        return [
            RankedChunk(document.id, float(document.metadata["_similarity_score"]))
            for document in documents
        ]

    def close(self) -> None:
        """Drop the store."""
        self._retriever = None


def _tags(chunks: Sequence[Chunk]) -> dict[str, list[str]]:
    """Return the tags that hebbgraph gives each chunk."""
    from hebbgraph.hebbian_index import HebbianIndex

    with HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        graph = index.inspect.to_networkx("incidence")
    return {
        chunk.id: sorted(graph.nodes[node]["label"] for node in graph[f"chunk:{chunk.id}"])
        for chunk in chunks
    }
