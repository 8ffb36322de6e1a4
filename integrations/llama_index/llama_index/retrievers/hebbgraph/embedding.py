"""A LlamaIndex embedding model as a hebbgraph embedder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from llama_index.core.base.embeddings.base import BaseEmbedding

from hebbgraph import ParameterError

__all__ = ["LlamaIndexEmbedder", "check_embed_model"]

_GIVEN: ContextVar[Mapping[str, Sequence[float]]] = ContextVar("hebbgraph_given_vectors")


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

    def embed_documents(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        """Embed passages, but for those whose vectors are given."""
        missing = _missing(texts)
        return _found(texts, missing, self.embed_model.get_text_embedding_batch(missing))

    async def aembed_documents(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        """Async twin of :meth:`embed_documents`."""
        missing = _missing(texts)
        return _found(texts, missing, await self.embed_model.aget_text_embedding_batch(missing))

    def embed_query(self, text: str, /) -> Sequence[float]:
        """Embed one query."""
        return self.embed_model.get_query_embedding(text)

    async def aembed_query(self, text: str, /) -> Sequence[float]:
        """Async twin of :meth:`embed_query`."""
        return await self.embed_model.aget_query_embedding(text)

    @staticmethod
    @contextmanager
    def given(vectors: Mapping[str, Sequence[float]]) -> Iterator[None]:
        """Take these vectors for these texts, so that nothing is embedded twice."""
        token = _GIVEN.set(vectors)
        try:
            yield
        finally:
            _GIVEN.reset(token)


def _missing(texts: list[str]) -> list[str]:
    given = _GIVEN.get({})
    return list(dict.fromkeys(text for text in texts if text not in given))


def _found(
    texts: list[str], missing: list[str], vectors: Sequence[Sequence[float]]
) -> Sequence[Sequence[float]]:
    found = {**_GIVEN.get({}), **dict(zip(missing, vectors, strict=True))}
    return [found[text] for text in texts]
