"""Direct search: what a graph has to beat.

All baselines read title and text together, order their chunks by id and break ties by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import MissingExtraError, ParameterError
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk
from numpy.typing import NDArray

__all__ = [
    "BM25",
    "Conversational",
    "Dense",
    "Joined",
    "RankedChunk",
    "ReciprocalRankFusion",
    "Retriever",
    "WeightedSum",
    "embed_unit",
    "min_max",
    "passage_text",
    "ranked",
    "top",
    "unit",
]

_CANDIDATES = 100


class RankedChunk(NamedTuple):
    """The id of a retrieved chunk, and its score."""

    id: str
    score: float


class Retriever(Protocol):
    """A system that the benchmark can measure."""

    @property
    def name(self) -> str:
        """Name in tables."""
        ...

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Index the corpus; called once."""
        ...

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return at most ``k`` chunks, best first."""
        ...

    def close(self) -> None:
        """Free memory and files."""
        ...


@runtime_checkable
class Conversational(Protocol):
    """A retriever that also takes the earlier turns, if ``history`` is true."""

    history: bool

    def retrieve(self, query: str, k: int, /, history: Sequence[str] = ()) -> list[RankedChunk]:
        """Return at most ``k`` chunks, best first."""
        ...


class Joined:
    """A retriever that searches for earlier turns and question joined into one text.

    Parameters
    ----------
    inner : Retriever
    """

    def __init__(self, inner: Retriever) -> None:
        self.inner = inner
        self.history = True

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.inner.name}, turns joined"

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Index the corpus."""
        self.inner.index(chunks)

    def retrieve(self, query: str, k: int, /, history: Sequence[str] = ()) -> list[RankedChunk]:
        """Search for the joined text."""
        return self.inner.retrieve("\n".join((*history, query)), k)

    def close(self) -> None:
        """Close the inner retriever."""
        self.inner.close()


def passage_text(chunk: Chunk) -> str:
    r"""Join title and text as one passage.

    Examples
    --------
    >>> passage_text(Chunk(title="Synapse", text="It learns."))
    'Synapse\nIt learns.'
    """
    return f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text


class BM25:
    """BM25 in Lucene's form with English stemming, by the ``bm25s`` library [1]_.

    Tokens are lower-cased runs of two or more word characters, without 179 English stop words,
    stemmed by Snowball. Only chunks that share a token with the query are returned. (Lucene's 33
    stop words keep *who*, *which* and *did*, and give slightly worse results on questions.)

    Parameters
    ----------
    k1, b : float
        Saturation of term frequency, and normalisation by length.
    stopwords : str
        Name of a stop list of bm25s: ``english_plus`` (179 words), ``english`` (Lucene's 33).

    Raises
    ------
    MissingExtraError
        If ``bm25s`` is not installed.

    References
    ----------
    .. [1] Lù (2024), BM25S: Orders of magnitude faster lexical search via eager sparse
       scoring, arXiv:2407.03618.
    """

    name = "BM25"

    def __init__(
        self, *, k1: float = 1.2, b: float = 0.75, stopwords: str = "english_plus"
    ) -> None:
        try:
            import bm25s
            import Stemmer
        except ImportError as error:
            raise MissingExtraError(
                f"the BM25 baseline needs {error.name}, which is not installed;"
                ' run: pip install "hebbgraph[bench]"'
            ) from error
        self.k1 = k1
        self.b = b
        self.stopwords = stopwords
        self._library: Any = bm25s
        self._stemmer: Any = Stemmer.Stemmer("english")
        self._index: Any = None
        self.ids: list[str] = []

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Score every token of every chunk in advance."""
        ordered = sorted(chunks, key=lambda chunk: chunk.id)
        self.ids = [chunk.id for chunk in ordered]
        tokens = self._tokenize([passage_text(chunk) for chunk in ordered])
        # Set explicitly: otherwise bm25s uses numba if it happens to be installed.
        self._index = self._library.BM25(
            method="lucene", k1=self.k1, b=self.b, backend="numpy", auto_compile=False
        )
        self._index.index(tokens, show_progress=False)

    def scores(self, query: str) -> FloatArray:
        """Score all chunks, in the order of ``ids``; 0 without a shared token."""
        tokens = self.tokens(query)
        ids = self._index.get_tokens_ids(tokens) if tokens else []
        if not ids:
            return np.zeros(len(self.ids), dtype=np.float32)
        scores: FloatArray = self._index.get_scores_from_ids(ids)
        return scores

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return the best chunks that share a token with the query."""
        scores = self.scores(query)
        return ranked(self.ids, scores, [row for row in top(scores, k) if scores[row] > 0])

    def close(self) -> None:
        """Drop the index."""
        self._index, self.ids = None, []

    def tokens(self, text: str) -> list[str]:
        """Return the search tokens of a text."""
        return self._tokenize([text])[0]

    def _tokenize(self, texts: list[str]) -> list[list[str]]:
        tokens: list[list[str]] = self._library.tokenize(
            texts,
            stopwords=self.stopwords,
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )
        return tokens


class Dense:
    """Exact cosine between the vectors of the question and of all passages.

    Parameters
    ----------
    embedder : Embedder
    """

    name = "dense"

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.ids: list[str] = []
        self._vectors: FloatArray = np.zeros((0, 0), dtype=np.float32)

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Embed all passages."""
        ordered = sorted(chunks, key=lambda chunk: chunk.id)
        self.ids = [chunk.id for chunk in ordered]
        vectors = self.embedder.embed_documents([passage_text(chunk) for chunk in ordered])
        self._vectors = unit(np.asarray(vectors, dtype=np.float32))

    def scores(self, query: str) -> FloatArray:
        """Score all chunks, in the order of ``ids``."""
        vector = unit(np.asarray(self.embedder.embed_query(query), dtype=np.float32))
        scores: FloatArray = self._vectors @ vector
        return scores

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return the nearest chunks."""
        scores = self.scores(query)
        return ranked(self.ids, scores, top(scores, k))

    def close(self) -> None:
        """Drop the vectors."""
        self.ids, self._vectors = [], np.zeros((0, 0), dtype=np.float32)


class _Fusion:
    """Two searches over the same chunks; subclasses combine their scores."""

    def __init__(self, embedder: Embedder, *, candidates: int) -> None:
        self.candidates = candidates
        self._dense = Dense(embedder)
        self._lexical = BM25()

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Index for both searches."""
        self._dense.index(chunks)
        self._lexical.index(chunks)

    def close(self) -> None:
        """Drop both indexes."""
        self._dense.close()
        self._lexical.close()


class WeightedSum(_Fusion):
    """A weighted sum of dense and BM25 scores, each min-max scaled over the candidates.

    Parameters
    ----------
    embedder : Embedder
    weight : float, in [0, 1]
        Weight of the dense score; BM25 gets the rest.
    candidates : int
        Take this many of the best hits of each search (at least ``k``); scale and sum over the
        union.

    Raises
    ------
    ParameterError
        If ``weight`` lies outside [0, 1].
    """

    def __init__(
        self, embedder: Embedder, *, weight: float = 0.7, candidates: int = _CANDIDATES
    ) -> None:
        if not 0 <= weight <= 1:
            raise ParameterError(f"the weight of the dense score lies in [0, 1], got {weight!r}")
        super().__init__(embedder, candidates=candidates)
        self.weight = weight

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.weight:g} dense + {1 - self.weight:g} BM25"

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return the chunks with the highest sum."""
        dense, lexical = self._dense.scores(query), self._lexical.scores(query)
        depth = max(k, self.candidates)
        rows = np.union1d(top(dense, depth), top(lexical, depth))
        summed = self.weight * min_max(dense[rows]) + (1 - self.weight) * min_max(lexical[rows])
        ids = [self._dense.ids[row] for row in rows]
        return ranked(ids, summed, top(summed, k))


class ReciprocalRankFusion(_Fusion):
    """The sum over both searches of ``1 / (smoothing + rank)`` [1]_.

    Parameters
    ----------
    embedder : Embedder
    smoothing : int
        ``k`` of the paper.
    candidates : int
        Take this many of the best hits of each search (at least ``k``).

    References
    ----------
    .. [1] Cormack, Clarke and Buettcher (2009), Reciprocal Rank Fusion outperforms
       Condorcet and individual Rank Learning Methods, SIGIR.
    """

    name = "RRF"

    def __init__(
        self, embedder: Embedder, *, smoothing: int = 60, candidates: int = _CANDIDATES
    ) -> None:
        super().__init__(embedder, candidates=candidates)
        self.smoothing = smoothing

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return the chunks with the highest sum."""
        depth = max(k, self.candidates)
        summed: dict[str, float] = {}
        for search in (self._dense, self._lexical):
            for rank, (chunk_id, _) in enumerate(search.retrieve(query, depth), 1):
                summed[chunk_id] = summed.get(chunk_id, 0.0) + 1 / (self.smoothing + rank)
        best = sorted(summed.items(), key=lambda item: (-item[1], item[0]))
        return [RankedChunk(chunk_id, score) for chunk_id, score in best[:k]]


def top(scores: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the rows of the ``k`` highest scores, descending; ties by row, thus by id."""
    if k >= scores.size:
        return np.argsort(-scores, kind="stable")
    threshold = np.partition(scores, scores.size - k)[scores.size - k]
    rows = np.flatnonzero(scores >= threshold)
    best: NDArray[np.intp] = rows[np.argsort(-scores[rows], kind="stable")][:k]
    return best


def ranked(
    ids: Sequence[str], scores: FloatArray, rows: Sequence[int] | NDArray[np.intp]
) -> list[RankedChunk]:
    """Return the id and score of each row."""
    return [RankedChunk(ids[row], float(scores[row])) for row in rows]


def unit(vectors: FloatArray) -> FloatArray:
    """Scale vectors to length 1; zeros stay zeros."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatArray = vectors / np.where(length > 0, length, 1)
    return scaled


def embed_unit(embedder: Embedder, texts: list[str]) -> FloatArray:
    """Return unit vectors of the texts; without texts, no rows."""
    if not texts:
        return np.zeros((0, 1), dtype=np.float32)
    return unit(np.asarray(embedder.embed_documents(texts), dtype=np.float32))


def min_max(values: FloatArray) -> FloatArray:
    """Scale to [0, 1]; equal values become 0."""
    spread = values.max(initial=-np.inf) - values.min(initial=np.inf)
    if not spread > 0:
        return np.zeros_like(values)
    scaled: FloatArray = (values - values.min()) / spread
    return scaled
