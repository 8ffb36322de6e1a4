"""A store in memory for graph-retriever that finds the chunks of a tag by an index.

The library's own store reads every chunk for every tag, and holds vectors as lists of Python
floats: a question over 6,000 chunks takes seconds, unlike with a database. This store returns the
same hits. It imports the library, which is in the extra ``peers``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from graph_retriever import Content
from graph_retriever.adapters import Adapter
from hebbgraph.arrays import FloatArray
from hebbgraph.protocols import Embedder

__all__ = ["IndexedAdapter"]


class IndexedAdapter(Adapter):
    """Chunks with tags; finds the nearest chunks with a tag.

    Parameters
    ----------
    embedder : Embedder
        Asked for the vectors of questions.
    vectors : ndarray, shape (n_chunks, dimension)
        Unit vectors, or zeros.
    ids, texts : sequence of str
    tags : sequence of sequence of str
        Of each chunk.
    """

    def __init__(
        self,
        embedder: Embedder,
        vectors: FloatArray,
        ids: Sequence[str],
        texts: Sequence[str],
        tags: Sequence[Sequence[str]],
    ) -> None:
        super().__init__()
        self._embedder = embedder
        self._vectors = vectors
        self._at = {id_: at for at, id_ in enumerate(ids)}
        self._contents = [
            Content(id=id_, content=text, embedding=vector, metadata={"tags": list(of)})
            for id_, text, vector, of in zip(ids, texts, vectors, tags, strict=True)
        ]
        tagged: dict[str, list[int]] = defaultdict(list)
        for at, of in enumerate(tags):
            for tag in of:
                tagged[tag].append(at)
        self._tagged = {tag: np.array(places) for tag, places in tagged.items()}

    def search_with_embedding(
        self, query: str, k: int = 4, filter: dict[str, Any] | None = None, **_: Any
    ) -> tuple[list[float], list[Content]]:
        """Embed a question, and return the nearest."""
        vector = np.asarray(self._embedder.embed_query(query), dtype=np.float64).tolist()
        return vector, self.search(vector, k, filter)

    def search(
        self, embedding: list[float], k: int = 4, filter: dict[str, Any] | None = None, **_: Any
    ) -> list[Content]:
        """Return the nearest chunks, of those that have the tag ``filter["tags"]`` if given."""
        places = np.arange(len(self._contents))
        if filter is not None:
            places = self._tagged.get(filter["tags"], places[:0])
        likeness = self._vectors[places] @ np.asarray(embedding)
        return [self._contents[places[place]] for place in np.argsort(-likeness, kind="stable")[:k]]

    def get(
        self, ids: Sequence[str], filter: dict[str, Any] | None = None, **_: Any
    ) -> list[Content]:
        """Return chunks by their ids."""
        wanted = None if filter is None else filter["tags"]
        contents = [self._contents[self._at[id_]] for id_ in ids if id_ in self._at]
        return [
            content for content in contents if wanted is None or wanted in content.metadata["tags"]
        ]
