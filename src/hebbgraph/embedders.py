"""Call embedders and check what they return; sentence-transformers models as embedders."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from hebbgraph.arrays import Float32Array
from hebbgraph.errors import EmbeddingError, MissingExtraError, ParameterError, brief
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk
from hebbgraph.text.blocks import count_tokens

_NAMES = ("model_name", "model", "model_id", "model_name_or_path", "name")
#: Where embedders have the number of tokens that they read of a text, or a model that has it.
_LIMITS, _INNER = ("max_seq_length", "max_length"), ("_model", "_client", "client")
#: The same words in two orders; vectors nearer to each other than this do not show the order.
_ORDERS, _SAME = ("the dog bit the man", "man the bit dog the"), 0.01


def embedder_name(embedder: Embedder) -> str:
    """Return the name under which an embedder's vectors are stored: its model's, or its class's."""
    for attribute in _NAMES:
        value = getattr(embedder, attribute, None)
        if isinstance(value, str) and value:
            return value
    return f"{type(embedder).__module__}.{type(embedder).__qualname__}"


def agreed_model(model: Any, embedder: Embedder | None) -> Any:
    """Return name and dimension of the model that made an index's vectors, or else of this one."""
    name = None if embedder is None else embedder_name(embedder)
    if model is not None and name is not None and model["name"] != name:
        raise ParameterError(
            f"the index holds vectors of {model['name']!r}, and was opened with {name!r}; open "
            "it with that embedder, or make a new index with this one"
        )
    return model or {"name": name}


def embed_passages(embedder: Embedder, chunks: list[Chunk]) -> Float32Array:
    """Embed title and text of chunks to unit length; raise EmbeddingError if that fails."""
    texts = ["\n".join(filter(None, (chunk.title, chunk.text))) for chunk in chunks]
    return _asked(embedder, lambda: in_parts(embedder, embedder.embed_documents, texts), len(texts))


def in_parts(model: Any, embed: Callable[[list[str]], Any], texts: list[str]) -> Any:
    """Embed texts; what is longer than a model says that it reads, as the mean of equal parts."""
    inner = [model, *(getattr(model, name, None) for name in _INNER)]
    limits = (getattr(part, name, None) for part in inner for name in _LIMITS)
    limit = next((n for n in limits if isinstance(n, int) and n > 8), None)
    if limit is None or not texts:
        return embed(texts)
    # An eighth less, since the model counts tokens in its own way.
    parts = [_equal_parts(text, limit - limit // 8) for text in texts]
    starts = np.cumsum([0, *map(len, parts[:-1])])
    return np.add.reduceat(_unit(embed([*chain(*parts)]), sum(map(len, parts))), starts)


def _equal_parts(text: str, limit: int) -> list[str]:
    size = -(-len(text) // max(1, -(-count_tokens(text) // limit)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def embed_question(embedder: Embedder, question: str) -> Float32Array:
    """Embed a question to unit length, shape (dimension,); raise EmbeddingError if that fails."""
    return _asked(embedder, lambda: [embedder.embed_query(question)], 1).ravel()


def unit_vector(vector: Any) -> Float32Array:
    """Return a caller's vector scaled to unit length; raise ParameterError if it is invalid."""
    return _unit([vector], 1).ravel()


def _asked(embedder: Embedder, ask: Any, expected: int) -> Float32Array:
    try:
        return _unit(ask(), expected)
    except Exception as error:
        raise EmbeddingError(
            f"the embedder {embedder_name(embedder)!r} failed: {brief(error)}"
        ) from error


def _unit(vectors: Any, expected: int) -> Float32Array:
    try:
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"vectors are lists of numbers of equal length: {error}") from error
    if array.ndim != 2 or len(array) != expected or array.shape[1] == 0:
        raise ParameterError(f"expected {expected} vectors, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ParameterError("a vector holds NaN or infinity")
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(array / np.where(norms == 0, 1.0, norms), np.float32)


def is_bag_of_words(embedder: Embedder) -> bool:
    """Return whether an embedder does not see the order of words; False if it fails."""
    try:
        one, other = _asked(embedder, lambda: embedder.embed_documents([*_ORDERS]), len(_ORDERS))
    except EmbeddingError:
        return False
    return float(np.linalg.norm(one - other)) < _SAME


class SentenceTransformerEmbedder:
    """A sentence-transformers model as an embedder (extra ``sentence-transformers``).

    Parameters
    ----------
    model_name : str
        Any name or path that sentence-transformers can load.
    device : str, optional
        ``"cpu"``, ``"cuda"``, …; by default chosen by sentence-transformers.
    batch_size : int
    prompts : dict, optional
        What it reads before texts, unless it says so itself, as ``{"query": "query: "}``.

    Raises
    ------
    MissingExtraError
        If sentence-transformers is not installed.
    """

    def __init__(
        self,
        model_name: str,
        *,
        device: str | None = None,
        batch_size: int = 32,
        prompts: dict[str, str] | None = None,
    ) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError(
                "SentenceTransformerEmbedder needs sentence-transformers; "
                'pip install "hebbgraph[sentence-transformers]"'
            ) from error
        self.model_name = model_name
        self.batch_size = batch_size
        self._model = SentenceTransformer(model_name, device=device, prompts=prompts)

    def embed_documents(self, texts: list[str], /) -> Float32Array:
        """Embed passages."""
        vectors = self._model.encode_document(
            texts, batch_size=self.batch_size, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def embed_query(self, text: str, /) -> Float32Array:
        """Embed one question."""
        return np.asarray(self._model.encode_query(text, show_progress_bar=False), np.float32)
