"""A weak embedder, to see what vectors cost where they are worse than words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hebbgraph.errors import MissingExtraError
from numpy.typing import NDArray

__all__ = ["LatentSemantic"]


class LatentSemantic:
    """Latent semantic analysis: TF-IDF of a corpus, reduced by a singular value decomposition.

    Parameters
    ----------
    texts : sequence of str
        The corpus to fit.
    dimension : int
        Length of a vector; less if the corpus has fewer texts or words.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.
    """

    model_name = "LSA"

    def __init__(self, texts: Sequence[str], dimension: int = 256) -> None:
        try:
            from sklearn.decomposition import TruncatedSVD
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError as error:
            raise MissingExtraError(
                "the weak embedder needs scikit-learn; run: pip install scikit-learn"
            ) from error
        self._words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
        counted = self._words.fit_transform(texts)
        self._reduce = TruncatedSVD(min(dimension, *(n - 1 for n in counted.shape)), random_state=0)
        self._reduce.fit(counted)

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Embed passages."""
        vectors = self._reduce.transform(self._words.transform(texts))
        # Give texts without a known word a tiny vector; their cosines are near 0.
        vectors[np.abs(vectors).max(1) == 0, 0] = 1e-6
        embedded: NDArray[np.float32] = vectors.astype(np.float32)
        return embedded

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Embed one question."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector
