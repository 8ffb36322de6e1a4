"""From texts to vectors: a model if there is one, else latent semantic analysis.

An embedder counts the texts that it embeds (``calls``) and the seconds that this would have taken
without a cache (``hidden_seconds``), so that systems which share a cache are still told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from usebench.errors import MissingError
from usebench.ranking import unit
from usebench.text import terms_of_all

__all__ = ["Embedder", "Lsa", "Model", "Vectors"]

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """What the drivers that use vectors need."""

    name: str
    calls: int
    hidden_seconds: float

    def prepare(self, texts: Sequence[str], /) -> None:
        """Look at the corpus first; models pass this over."""
        ...

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Return vectors of length 1, shape (n_texts, n_dimensions)."""
        ...


class Lsa:
    """TF-IDF projected on the strongest directions of the corpus [1]_; no model, and weak.

    Parameters
    ----------
    dimensions : int
    sample : int
        The directions are those of at most so many passages, evenly over the corpus.

    References
    ----------
    .. [1] Deerwester et al. (1990), Indexing by Latent Semantic Analysis, JASIS 41(6).
    """

    name = "LSA"

    def __init__(self, *, dimensions: int = 128, sample: int = 2000) -> None:
        self.dimensions = dimensions
        self.sample = sample
        self.calls = 0
        self.hidden_seconds = 0.0
        self._columns: dict[str, int] = {}
        self._idf: Vectors = np.zeros(0, dtype=np.float32)
        self._directions: Vectors = np.zeros((0, 0), dtype=np.float32)

    def prepare(self, texts: Sequence[str], /) -> None:
        """Weigh terms by how few texts hold them, and find the directions."""
        step = max(1, -(-len(texts) // self.sample))
        tokens = terms_of_all(texts)
        frequency: dict[str, int] = {}
        for passage in tokens:
            for term in set(passage):
                frequency[term] = frequency.get(term, 0) + 1
        kept = sorted(term for term, count in frequency.items() if count > 1 or len(texts) < 50)
        self._columns = {term: column for column, term in enumerate(kept)}
        counts = np.array([frequency[term] for term in kept], dtype=np.float32)
        self._idf = np.log1p(len(texts) / counts) if kept else counts
        matrix = self._tfidf(tokens[::step])
        values, rows = np.linalg.eigh((matrix @ matrix.T).astype(np.float64))
        strongest = np.argsort(-values)[: self.dimensions]
        strongest = strongest[values[strongest] > 1e-6]
        scale = np.sqrt(values[strongest])
        self._directions = (matrix.T @ (rows[:, strongest] / scale)).astype(np.float32)

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Project."""
        blocks = [texts[start : start + 1000] for start in range(0, len(texts), 1000)]
        return unit(
            np.concatenate(
                [self._tfidf(terms_of_all(block)) @ self._directions for block in blocks]
            )
        )

    def _tfidf(self, tokens: Sequence[Sequence[str]]) -> Vectors:
        matrix = np.zeros((len(tokens), len(self._columns)), dtype=np.float32)
        for row, passage in enumerate(tokens):
            for term in passage:
                column = self._columns.get(term)
                if column is not None:
                    matrix[row, column] += 1
        return unit(np.log1p(matrix) * self._idf)


class Model:
    """A sentence-transformers model, by name or path; each text is embedded once a process.

    Raises
    ------
    MissingError
        If sentence-transformers is not installed.
    """

    _loaded: dict[str, Any] = {}  # noqa: RUF012 (shared on purpose)
    _cache: dict[tuple[str, str], tuple[Vectors, float]] = {}  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.hidden_seconds = 0.0
        if name not in self._loaded:
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                raise MissingError(
                    f"the model {name!r} needs sentence-transformers;"
                    ' run: pip install "usebench[models]"'
                ) from error
            self._loaded[name] = SentenceTransformer(name, device="cpu")

    def prepare(self, texts: Sequence[str], /) -> None:
        """Do nothing: a model does not depend on the corpus."""

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Embed what is new, and look up the rest."""
        self.calls += len(texts)
        new = [text for text in dict.fromkeys(texts) if (self.name, text) not in self._cache]
        self.hidden_seconds += sum(self._cache[self.name, t][1] for t in texts if t not in set(new))
        if new:
            began = perf_counter()
            vectors = self._loaded[self.name].encode(
                new, batch_size=8, normalize_embeddings=True, show_progress_bar=False
            )
            each = (perf_counter() - began) / len(new)
            self._cache.update(
                {(self.name, text): (v, each) for text, v in zip(new, vectors, strict=True)}
            )
        return np.stack([self._cache[self.name, text][0] for text in texts])
