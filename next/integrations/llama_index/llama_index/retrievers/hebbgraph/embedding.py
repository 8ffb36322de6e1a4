"""An embedding model of LlamaIndex as an embedder of the index."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from llama_index.core.base.embeddings.base import BaseEmbedding

from hebbgraph.errors import ParameterError

__all__ = ["NodeEmbedder"]


class NodeEmbedder:
    """Embeds what comes without an embedding; ``model_name`` is stored with the vectors.

    >>> from llama_index.core import MockEmbedding
    >>> NodeEmbedder(MockEmbedding(embed_dim=2)).embed_query("Where?")
    [0.5, 0.5]
    """

    def __init__(self, embed_model: BaseEmbedding) -> None:
        if not isinstance(embed_model, BaseEmbedding):
            raise ParameterError(
                f"embed_model is a BaseEmbedding, got {embed_model!r:.80}; pass the model itself"
            )
        self.embed_model = embed_model
        name, kind = embed_model.model_name, type(embed_model)
        is_named = name not in ("", "unknown")
        self.model_name = name if is_named else f"{kind.__module__}.{kind.__qualname__}"
        self.embed_query = embed_model.get_query_embedding
        self._local = threading.local()

    @contextmanager
    def knowing(self, vectors: Mapping[str, list[list[float]]]) -> Iterator[None]:
        """Use these embeddings of texts, of equal ones in order, in the block and this thread."""
        self._local.vectors = vectors
        try:
            yield
        finally:
            self._local.vectors = {}

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        """Embed passages; those that are known are not embedded again."""
        known: Mapping[str, list[list[float]]] = getattr(self._local, "vectors", {})
        unknown = [text for text in texts if not known.get(text)]
        made = iter(self.embed_model.get_text_embedding_batch(unknown) if unknown else ())
        return [known[text].pop(0) if known.get(text) else next(made) for text in texts]
