"""Recall over a VectorStoreIndex, beside an index with the same embedder. No test; run it alone.

    python tests/recall_over_stores.py MODEL CACHE DATASET_DIR...

MODEL names a sentence-transformers model, CACHE a folder for its vectors. A data set has
``corpus.jsonl`` and ``queries.jsonl``, as ``hebbgraph bench`` reads them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hebbgraph_bench.embedding import LazyEmbedder, caching
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from pydantic import PrivateAttr

from hebbgraph.embedders import passage_text
from llama_index.retrievers.hebbgraph import HebbianRetriever
from llama_index.retrievers.hebbgraph.nodes import node_to_chunk

MOST_QUESTIONS = 150


class Cached(BaseEmbedding):
    """LlamaIndex's face of hebbgraph's cached embedder."""

    _inner: Any = PrivateAttr()

    def __init__(self, inner: Any) -> None:
        super().__init__(model_name="cached")
        self._inner = inner

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(one) for one in self._inner.embed_documents([text])[0]]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(one) for one in self._inner.embed_query(query)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def recall_at_5(retriever: BaseRetriever, questions: Sequence[dict[str, Any]]) -> float:
    total = 0.0
    for one in questions:
        gold = {str(id_) for id_ in one["supporting_ids"]}
        found = {node.node_id for node in retriever.retrieve(one["question"])[:5]}
        total += len(gold & found) / min(5, len(gold))
    return total / len(questions)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main(model: str, cache: str, *folders: str) -> None:
    for folder in map(Path, folders):
        questions = [one for one in lines(folder / "queries.jsonl") if one.get("supporting_ids")]
        nodes = [
            TextNode(id_=str(one["id"]), text=one["text"], metadata={"title": one.get("title", "")})
            for one in lines(folder / "corpus.jsonl")
        ]
        with caching(LazyEmbedder(model), cache) as inner:
            assert inner is not None
            texts = [passage_text(node_to_chunk(node)) for node in nodes]
            for node, vector in zip(nodes, inner.embed_documents(texts), strict=True):
                node.embedding = [float(one) for one in vector]
            embed_model, most = Cached(inner), questions[:MOST_QUESTIONS]
            alone = HebbianRetriever.from_nodes(nodes, embed_model=embed_model, similarity_top_k=5)
            vectors = VectorStoreIndex(nodes, embed_model=embed_model)
            over = HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=5)
            one, other = recall_at_5(alone, most), recall_at_5(over, most)
        print(f"{folder.name:24} {len(most)} alone {one:.3f}  over {other:.3f}  {other - one:+.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
