"""A LlamaIndex embedding model as a hebbgraph embedder."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from llama_index.core.base.embeddings.base import BaseEmbedding

from hebbgraph import ParameterError

__all__ = ["LlamaIndexEmbedder", "check_embed_model"]

logger = logging.getLogger(__name__)


def check_embed_model(embed_model: object) -> None:
    """Raise ParameterError unless this is an embedding model, or None."""
    if not (embed_model is None or isinstance(embed_model, BaseEmbedding)):
        hint = ""
        if isinstance(embed_model, str):
            hint = "; hand the model itself over, such as resolve_embed_model(...) of llama_index"
        raise ParameterError(f"embed_model is a BaseEmbedding, got {embed_model!r:.80}{hint}")


class LlamaIndexEmbedder:
    """Lets ``HebbianIndex.open(embedder=...)`` take any LlamaIndex embedding model.

    Parameters
    ----------
    embed_model : BaseEmbedding
        Its ``model_name`` names the vectors: an index opened with a model of another
        name is an error that says what to do.

    Examples
    --------
    >>> from llama_index.core import MockEmbedding
    >>> LlamaIndexEmbedder(MockEmbedding(embed_dim=2)).embed_query("Where?")
    [0.5, 0.5]
    """

    def __init__(self, embed_model: BaseEmbedding) -> None:
        check_embed_model(embed_model)
        self.embed_model = embed_model
        kind = type(embed_model)
        named = embed_model.model_name not in ("", "unknown")
        self.model_name = (
            embed_model.model_name if named else f"{kind.__module__}.{kind.__qualname__}"
        )

    @property
    def dimension(self) -> int | None:
        """How many numbers its vectors have, so that another model is refused; None if unknown."""
        for name in ("embed_dim", "dimensions", "output_dimensionality"):
            if isinstance(told := getattr(self.embed_model, name, None), int):
                return told
        try:
            return len(self.embed_query("dimension"))
        except Exception as error:  # without it the index can be read all the same
            logger.warning("%s does not embed now: %s", self.model_name, error)
            return None

    def embed_documents(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        """Embed passages."""
        return self.embed_model.get_text_embedding_batch(texts)

    async def aembed_documents(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        """Async twin of :meth:`embed_documents`."""
        return await self.embed_model.aget_text_embedding_batch(texts)

    def embed_query(self, text: str, /) -> Sequence[float]:
        """Embed one query."""
        return self.embed_model.get_query_embedding(text)

    async def aembed_query(self, text: str, /) -> Sequence[float]:
        """Async twin of :meth:`embed_query`."""
        return await self.embed_model.aget_query_embedding(text)
