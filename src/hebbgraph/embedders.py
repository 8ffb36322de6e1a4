"""Call embedders, name them, and adapt local models.

Any object with ``embed_documents`` and ``embed_query`` is an embedder
(:class:`hebbgraph.protocols.Embedder`), LangChain's ``Embeddings`` included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

__all__ = [
    "SentenceTransformerEmbedder",
    "embed_passages",
    "embed_question",
    "embedder_name",
    "passage_text",
]

_NAME_ATTRIBUTES = ("model_name", "model", "model_id", "model_name_or_path", "name")


def embedder_name(embedder: Embedder) -> str:
    """Return the name under which an embedder's vectors are saved.

    It is the model's name if an attribute has it, otherwise the name of the class. Vectors
    saved under one name must be comparable.

    Examples
    --------
    >>> class Small:
    ...     model_name = "mini-384"
    >>> embedder_name(Small())
    'mini-384'
    """
    for attribute in _NAME_ATTRIBUTES:
        value = getattr(embedder, attribute, None)
        if isinstance(value, str) and value:
            return value
    kind = type(embedder)
    return f"{kind.__module__}.{kind.__qualname__}"


def passage_text(chunk: Chunk) -> str:
    r"""Return the text to embed for a chunk: its title, then its text.

    Examples
    --------
    >>> passage_text(Chunk(title="Petrel", text="A small ship."))
    'Petrel\nA small ship.'
    """
    return f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text


def embed_passages(embedder: Embedder, chunks: list[Chunk]) -> NDArray[np.float32]:
    """Embed chunks to unit length.

    Returns
    -------
    ndarray of float32, shape (len(chunks), dimension)

    Raises
    ------
    ParameterError
        If the embedder does not return one finite vector per chunk.
    """
    vectors = embedder.embed_documents([passage_text(chunk) for chunk in chunks])
    return _unit(vectors, len(chunks), embedder)


def embed_question(embedder: Embedder, query: str) -> NDArray[np.float32]:
    """Embed a query to unit length, shape (dimension,)."""
    return unit_vector(embedder.embed_query(query), embedder)


def unit_vector(vector: Any, source: object = "the given vector") -> NDArray[np.float32]:
    """Scale a vector to unit length; raise ParameterError if it is not one."""
    unit: NDArray[np.float32] = _unit([vector], 1, source)[0]
    return unit


def _unit(vectors: Any, expected: int, source: object) -> NDArray[np.float32]:
    name = source if isinstance(source, str) else embedder_name(source)  # type: ignore[arg-type]
    try:
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name}: vectors must have equal length: {error}") from error
    if array.ndim != 2 or len(array) != expected or array.shape[1] == 0:
        raise ParameterError(f"{name}: expected {expected} vectors, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ParameterError(f"{name}: a vector contains NaN or infinity")
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    norms[norms == 0] = 1.0
    unit: NDArray[np.float32] = array / norms
    return unit


class SentenceTransformerEmbedder:
    """A sentence-transformers model as an embedder (extra ``sentence-transformers``).

    Parameters
    ----------
    model_name : str
        Any name or path that sentence-transformers can load.
    device : str, optional
        ``"cpu"``, ``"cuda"``, …; by default chosen by sentence-transformers.
    batch_size : int
    query_prefix, passage_prefix : str
        Prepended to the text, for models trained with prefixes (``"query: "``).

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
        query_prefix: str = "",
        passage_prefix: str = "",
    ) -> None:
        library = require(
            "sentence_transformers",
            extra="sentence-transformers",
            purpose="SentenceTransformerEmbedder",
        )
        self.model_name = model_name
        self.batch_size = batch_size
        self.query_prefix = query_prefix
        self.passage_prefix = passage_prefix
        self._model = library.SentenceTransformer(model_name, device=device)

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Embed passages."""
        return self._encode([self.passage_prefix + text for text in texts])

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Embed one query."""
        vectors = self._encode([self.query_prefix + text])
        return vectors.reshape(-1)

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        return np.asarray(
            self._model.encode(texts, batch_size=self.batch_size, show_progress_bar=False),
            dtype=np.float32,
        )
