"""From texts to vectors: a model, or latent semantic analysis."""

from __future__ import annotations

from collections.abc import Sequence
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

    def prepare(self, texts: Sequence[str], /) -> None:
        """Read the corpus first; models do not need it."""
        ...

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Return vectors of length 1, shape (n_texts, n_dimensions)."""
        ...


class Lsa:
    """TF-IDF projected onto the strongest directions of the corpus [1]_: weak, but no model.

    Parameters
    ----------
    dimensions : int
    sample : int
        Compute directions from at most so many passages, evenly over the corpus.

    References
    ----------
    .. [1] Deerwester et al. (1990), Indexing by Latent Semantic Analysis, JASIS 41(6).
    """

    name = "LSA"

    def __init__(self, *, dimensions: int = 128, sample: int = 2000) -> None:
        self.dimensions = dimensions
        self.sample = sample
        self._columns: dict[str, int] = {}
        self._idf: Vectors = np.zeros(0, dtype=np.float32)
        self._directions: Vectors = np.zeros((0, 0), dtype=np.float32)

    def prepare(self, texts: Sequence[str], /) -> None:
        """Compute inverse document frequencies and the directions."""
        step = max(1, -(-len(texts) // self.sample))
        tokens = terms_of_all(texts)
        frequency: dict[str, int] = {}
        for passage in tokens:
            for term in set(passage):
                frequency[term] = frequency.get(term, 0) + 1
        terms = sorted(term for term, count in frequency.items() if count > 1 or len(texts) < 50)
        self._columns = {term: column for column, term in enumerate(terms)}
        counts = np.array([frequency[term] for term in terms], dtype=np.float32)
        self._idf = np.log1p(len(texts) / counts) if terms else counts
        matrix = self._tfidf(tokens[::step])
        values, rows = np.linalg.eigh((matrix @ matrix.T).astype(np.float64))
        strongest = np.argsort(-values)[: self.dimensions]
        strongest = strongest[values[strongest] > 1e-6]
        scale = np.sqrt(values[strongest])
        self._directions = (matrix.T @ (rows[:, strongest] / scale)).astype(np.float32)

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Project texts onto the directions."""
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
    _cache: dict[tuple[str, str], Vectors] = {}  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name
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
        """Embed new texts, and look up the others."""
        new = [text for text in dict.fromkeys(texts) if (self.name, text) not in self._cache]
        if new:
            vectors = self._loaded[self.name].encode(
                new, batch_size=32, normalize_embeddings=True, show_progress_bar=False
            )
            for text, vector in zip(new, vectors, strict=True):
                self._cache[self.name, text] = vector
        return np.stack([self._cache[self.name, text] for text in texts])
