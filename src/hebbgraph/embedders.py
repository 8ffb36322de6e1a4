"""Call embedders, name them, and adapt local models.

Any object with ``embed_documents`` and ``embed_query`` is an embedder
(:class:`hebbgraph.protocols.Embedder`), LangChain's ``Embeddings`` included. Wrap embedders that
call an API in :class:`ApiEmbedder`.
"""

from __future__ import annotations

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.calling import call, call_with_timeout
from hebbgraph.errors import EmbeddingError, HebbgraphError, ParameterError
from hebbgraph.extras import require
from hebbgraph.formulas.parameters import check_positive, check_range
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

__all__ = [
    "ApiEmbedder",
    "QuestionVectors",
    "SentenceTransformerEmbedder",
    "embed_in_batches",
    "embed_passages",
    "embed_question",
    "embedder_name",
    "given_vectors",
    "passage_text",
]

#: HTTP statuses that allow a retry: timeouts, conflicts, too early, too many requests.
_TRANSIENT = frozenset({408, 409, 425, 429})
#: Errors of the program or the text, which a retry would repeat.
_PERMANENT = (
    ValueError, TypeError, LookupError, AttributeError, NotImplementedError, AssertionError,
    ImportError, MemoryError, HebbgraphError,
)  # fmt: skip
_LONGEST_WAIT = 60.0
_GIVEN: ContextVar[Mapping[str, Any]] = ContextVar("hebbgraph_given_vectors")
_NAME_ATTRIBUTES = ("model_name", "model", "model_id", "model_name_or_path", "name")


def embedder_name(embedder: Embedder) -> str:
    """Return the name under which an embedder's vectors are saved.

    It is the model's name if an attribute has one, else the name of the class. Vectors
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
    r"""Return the text to embed for a chunk: its title, its context, then its text.

    Examples
    --------
    >>> passage_text(Chunk(title="Petrel", text="A small ship."))
    'Petrel\nA small ship.'
    """
    return "\n".join([part for part in (chunk.title, chunk.context) if part] + [chunk.text])


def embed_passages(embedder: Embedder, chunks: list[Chunk]) -> NDArray[np.float32]:
    """Embed chunks to unit length.

    Returns
    -------
    ndarray of float32, shape (len(chunks), dimension)

    Raises
    ------
    EmbeddingError
        If the embedder raises, or does not return one finite vector per chunk.
    """
    return np.concatenate(list(embed_in_batches(embedder, chunks)))


def embed_in_batches(embedder: Embedder, chunks: list[Chunk]) -> Iterator[NDArray[np.float32]]:
    """Yield the unit vectors of chunks in order: all at once, or in an ApiEmbedder's batches.

    Raises
    ------
    EmbeddingError
        Batches yielded before the error remain valid.
    """
    texts = [passage_text(chunk) for chunk in chunks]
    size = embedder.batch_size if isinstance(embedder, ApiEmbedder) else max(len(texts), 1)
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        if not (known := _GIVEN.get({})):
            yield _embedded(embedder, "embed_documents", batch, len(batch))
            continue
        if missing := list(dict.fromkeys(text for text in batch if text not in known)):
            vectors = _embedded(embedder, "embed_documents", missing, len(missing))
            known = {**known, **dict(zip(missing, vectors, strict=True))}
        yield _unit([known[text] for text in batch], len(batch), "vectors that were given")


@contextmanager
def given_vectors(vectors: Mapping[str, Sequence[float]]) -> Iterator[None]:
    """Use known vectors for texts, keyed by :func:`passage_text`, instead of embedding them.

    Examples
    --------
    >>> class Loud:
    ...     def embed_documents(self, texts):
    ...         print("embedding", texts)
    ...         return [[3.0, 4.0] for _ in texts]
    ...     def embed_query(self, text): ...
    >>> with given_vectors({"Owls hunt.": [1.0, 0.0]}):
    ...     embed_passages(Loud(), [Chunk(text="Owls hunt."), Chunk(text="Bread rises.")]).tolist()
    embedding ['Bread rises.']
    [[1.0, 0.0], [0.6000000238418579, 0.800000011920929]]
    """
    token = _GIVEN.set({**_GIVEN.get({}), **vectors})
    try:
        yield
    finally:
        _GIVEN.reset(token)


def embed_question(embedder: Embedder, query: str) -> NDArray[np.float32]:
    """Embed a query to unit length, shape (dimension,); raise EmbeddingError if that fails."""
    unit: NDArray[np.float32] = _embedded(embedder, "embed_query", query, None)[0]
    return unit


def _embedded(
    embedder: Embedder, method: str, argument: Any, expected: int | None
) -> NDArray[np.float32]:
    """Call an embedder for ``expected`` vectors, or a single one if None; check the answer."""
    try:
        answer = call(embedder, method, argument)
        return _unit([answer] if expected is None else answer, expected or 1, "it")
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise EmbeddingError(
            f"the embedder {embedder_name(embedder)!r} failed: {reason}"
        ) from error


class QuestionVectors:
    """An in-memory cache of question vectors: later recalls embed earlier turns again.

    Examples
    --------
    >>> class Loud:
    ...     def embed_documents(self, texts): ...
    ...     def embed_query(self, text):
    ...         print("embedding", text)
    ...         return [3.0, 4.0]
    >>> vectors, embedder = QuestionVectors(), Loud()
    >>> vectors.vector_of(embedder, "why?").tolist() == vectors.vector_of(embedder, "why?").tolist()
    embedding why?
    True
    """

    _MAX_SIZE = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def vector_of(self, embedder: Embedder, query: str) -> NDArray[np.float32]:
        """Return the vector of a question, embedding it if it is not cached."""
        with self._lock:
            if self._embedder is not embedder:
                self._embedder, self._vectors = embedder, OrderedDict()
            cache = self._vectors
            if query in cache:
                cache.move_to_end(query)
                return cache[query]
        vector = embed_question(embedder, query)
        with self._lock:
            cache[query] = vector
            while len(cache) > self._MAX_SIZE:
                cache.popitem(last=False)
        return vector

    def clear(self) -> None:
        """Drop all vectors."""
        with self._lock:
            self._vectors = OrderedDict()


def unit_vector(vector: Any) -> NDArray[np.float32]:
    """Scale a caller's vector to unit length; raise ParameterError if it is invalid."""
    unit: NDArray[np.float32] = _unit([vector], 1, "the given vector")[0]
    return unit


def _unit(vectors: Any, expected: int, name: str) -> NDArray[np.float32]:
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


class ApiEmbedder:
    """Wraps an embedder that calls an API: adds batches, a timeout and retries.

    Retries follow timeouts, HTTP statuses 408, 409, 425, 429 and from 500, and errors without a
    status, except Python's own such as ValueError. After each attempt
    the wait doubles, up to a minute, with jitter; a ``Retry-After`` header is obeyed.

    Parameters
    ----------
    embedder : Embedder
        Calls the API. Vectors are saved under its name.
    batch_size : int, at least 1
        Texts per call.
    retries : int, at least 0
    wait_seconds : float, at least 0
        Wait before the first retry.
    timeout_seconds : float, positive
        A call that takes longer is abandoned and counts as failed.

    Examples
    --------
    >>> class Flaky:
    ...     calls = 0
    ...     def embed_documents(self, texts):
    ...         self.calls += 1
    ...         if self.calls == 2:
    ...             raise ConnectionError("reset by peer")
    ...         return [[1.0, float(len(text))] for text in texts]
    ...     def embed_query(self, text):
    ...         return [1.0, float(len(text))]
    >>> embedder = ApiEmbedder(Flaky(), batch_size=2, wait_seconds=0.0)
    >>> embedder.embed_documents(["a", "bc", "def"])
    [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
    >>> embedder.embedder.calls
    3
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        batch_size: int = 100,
        retries: int = 5,
        wait_seconds: float = 1.0,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.embedder = embedder
        self.model_name = embedder_name(embedder)
        self.batch_size = batch_size
        self.retries = retries
        self.wait_seconds = wait_seconds
        self.timeout_seconds = timeout_seconds
        check_range(self, ("batch_size",), 1)
        check_range(self, ("retries", "wait_seconds"), 0)
        check_positive(self, ("timeout_seconds",))

    def embed_documents(self, texts: list[str], /) -> list[Any]:
        """Embed passages."""
        vectors: list[Any] = []
        for start in range(0, len(texts), self.batch_size):
            batch = texts[start : start + self.batch_size]
            vectors += self._call_with_retries("embed_documents", batch)
        return vectors

    def embed_query(self, text: str, /) -> Any:
        """Embed one query."""
        return self._call_with_retries("embed_query", text)

    def _call_with_retries(self, method: str, argument: Any) -> Any:
        wait = self.wait_seconds
        for left in range(self.retries, -1, -1):
            try:
                return call_with_timeout(
                    self.timeout_seconds, lambda: call(self.embedder, method, argument)
                )
            except Exception as error:
                if not left or not _is_transient(error):
                    raise
                retry_after = _retry_after(error)
            time.sleep(min(retry_after or wait * random.uniform(0.5, 1.0), _LONGEST_WAIT))
            wait *= 2
        raise AssertionError("unreachable")


def _is_transient(error: Exception) -> bool:
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", getattr(response, "status_code", None))
    if isinstance(status, int):
        return status in _TRANSIENT or status >= 500
    return not isinstance(error, _PERMANENT)


def _retry_after(error: Exception) -> float:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(float(headers.get("retry-after", 0)), 0.0)
    except (TypeError, ValueError):  # a date: fall back to the doubling wait
        return 0.0


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
        Prefixes for models that were trained with them (``"query: "``).

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
