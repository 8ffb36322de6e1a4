"""A LlamaIndex embedding model as a hebbgraph embedder."""

from __future__ import annotations

import logging

from llama_index.core.base.embeddings.base import BaseEmbedding

from hebbgraph import ParameterError

__all__ = ["LlamaIndexEmbedder"]

logger = logging.getLogger(__name__)


class LlamaIndexEmbedder:
    """Lets ``HebbianIndex.open(embedder=...)`` take any LlamaIndex embedding model.

    Parameters
    ----------
    embed_model : BaseEmbedding
        Its ``model_name`` is stored with the vectors; opening the index with a model of another
        name is an error that says what to do.

    Examples
    --------
    >>> from llama_index.core import MockEmbedding
    >>> LlamaIndexEmbedder(MockEmbedding(embed_dim=2)).embed_query("Where?")
    [0.5, 0.5]
    """

    def __init__(self, embed_model: BaseEmbedding) -> None:
        if not isinstance(embed_model, BaseEmbedding):
            hint = ""
            if isinstance(embed_model, str):
                hint = "; pass the model itself, such as resolve_embed_model(...) of llama_index"
            raise ParameterError(f"embed_model is a BaseEmbedding, got {embed_model!r:.80}{hint}")
        self.embed_model = embed_model
        self.embed_documents = embed_model.get_text_embedding_batch
        self.aembed_documents = embed_model.aget_text_embedding_batch
        self.embed_query = embed_model.get_query_embedding
        self.aembed_query = embed_model.aget_query_embedding
        self.model_name = embed_model.model_name
        if self.model_name in ("", "unknown"):
            kind = type(embed_model)
            self.model_name = f"{kind.__module__}.{kind.__qualname__}"

    def __reduce__(self) -> tuple[type[LlamaIndexEmbedder], tuple[BaseEmbedding]]:
        """Pickle the model; its methods cannot be pickled."""
        return type(self), (self.embed_model,)

    @property
    def dimension(self) -> int | None:
        """Length of the model's vectors; None if the model does not tell and cannot embed now."""
        for name in ("embed_dim", "dimensions", "output_dimensionality"):
            if isinstance(length := getattr(self.embed_model, name, None), int):
                return length
        try:
            return len(self.embed_query("dimension"))
        except Exception as error:  # the index can still be read
            logger.warning("%s cannot embed now: %s", self.model_name, error)
            return None
