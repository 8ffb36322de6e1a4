"""Past queries that led to citations, and which of them a new query is like."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.arrays import GrowableArray
from hebbgraph.recall.grouping import best
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings

__all__ = [
    "ActiveEpisode",
    "Episodes",
    "Question",
    "episode_node",
    "hash_term",
    "question_features",
]

#: How many of the most similar past queries are looked at for near-duplicates.
_CANDIDATES = 32
#: From this many past queries on, those looked at are chosen by a sketch of so many
#: numbers, and so many are kept.
_SKETCH_FROM, _SKETCH, _SKETCH_KEPT = 2048, 48, 256


def hash_term(term: str) -> str:
    """Return 16 hex digits for a word: learning only asks whether words are the same."""
    return hashlib.blake2b(term.encode(), digest_size=8).hexdigest()


def half(vector: Sequence[float]) -> bytes:
    """Return an embedding in half precision."""
    return np.asarray(vector, dtype=np.float16).tobytes()


def episode_node(feedback: Feedback) -> str:
    """Return the node of a feedback's query; the same question has the same node."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update((feedback.embedder or "").encode())
    digest.update(b"" if feedback.vector is None else half(feedback.vector))
    names = [*(cue.tag for cue in feedback.cues), *(term for term, _ in feedback.terms)]
    for name in sorted(names):
        digest.update(name.encode() + b"\x00")
    return f"e:{digest.hexdigest()}"


class Question(NamedTuple):
    """A query as episodes see it: weights of its tags and (hashed) words, and its vector."""

    features: Mapping[str, float]
    vector: NDArray[np.float32] | None = None


class ActiveEpisode(NamedTuple):
    """A past query that is like the new one, and its near-duplicates.

    ``likeness`` lies in (0, 1]: 0 at the threshold, 1 for the same question.
    """

    nodes: tuple[str, ...]
    likeness: float


def question_features(
    cues: Mapping[str, float], terms: Iterable[tuple[str, float]]
) -> dict[str, float]:
    """Return the weighted features of a query: phrase keys, and hashes of its words."""
    return _features(cues, ((hash_term(term), weight) for term, weight in terms))


def _features(cues: Mapping[str, float], hashed: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {f"t:{key}": weight for key, weight in cues.items()} | dict(hashed)


class Episodes:
    """The past queries of a log.

    Parameters
    ----------
    settings : LearningSettings
        ``episode_similarity`` and the other ``episode_...`` ones.
    """

    def __init__(self, settings: LearningSettings) -> None:
        self._settings = settings
        self.nodes: list[str] = []
        self._numbers: dict[str, int] = {}
        self._embedders: dict[str, _Vectors] = {}
        self._postings: dict[str, _Posting] = {}
        self._norm = GrowableArray(np.float64)
        self._features: list[Mapping[str, float]] = []

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: str, feedback: Feedback) -> None:
        """Remember the query of a feedback, unless it is known."""
        number = self._numbers.setdefault(node, len(self.nodes))
        if number < len(self.nodes):
            return
        self.nodes.append(node)
        features = _features({cue.tag: cue.weight for cue in feedback.cues}, feedback.terms)
        self._features.append(features)
        self._norm.extend([_norm(features)])
        for name, weight in features.items():
            self._postings.setdefault(name, _Posting()).append(number, weight)
        if feedback.vector is not None:
            vectors = self._embedders.setdefault(feedback.embedder or "", _Vectors())
            vectors.append(number, np.asarray(feedback.vector, dtype=np.float32))

    def active(self, question: Question, embedder: str | None) -> list[ActiveEpisode]:
        """Return the past queries that are like a new one, the most similar first.

        Parameters
        ----------
        question : Question
        embedder : str, optional
            The model of the question's vector; vectors of others are not compared.
        """
        if question.vector is not None and self.compares(question.vector, embedder):
            found = self._by_vector(question.vector, self._embedders[embedder or ""])
        else:
            found = self._by_features(question)
        return self._merged(found)

    def compares(self, vector: NDArray[np.float32] | None, embedder: str | None) -> bool:
        """Tell whether a vector of a model can be compared with those of past queries."""
        vectors = self._embedders.get(embedder or "")
        return vector is not None and vectors is not None and vectors.dimension == len(vector)

    def _by_vector(self, vector: NDArray[np.float32], vectors: _Vectors) -> list[tuple[int, float]]:
        low = self._settings.episode_similarity
        at, cosine = vectors.nearest(vector, low)
        likeness = np.minimum((cosine - low) / (1.0 - low), 1.0)
        return list(zip(vectors.numbers[at].tolist(), likeness.tolist(), strict=True))

    def _by_features(self, question: Question) -> list[tuple[int, float]]:
        dot = np.zeros(len(self.nodes))
        for name, weight in question.features.items():
            if (posting := self._postings.get(name)) is not None:
                numbers, weights = posting.arrays()
                dot[numbers] += weight * weights
        at = np.flatnonzero(dot)
        norms = max(_norm(question.features), 1e-9) * np.maximum(self._norm.view[at], 1e-9)
        similarity = dot[at] / norms
        low = self._settings.episode_overlap
        kept = np.flatnonzero(similarity > low)
        if len(kept) > _CANDIDATES:
            kept = kept[best(similarity[kept], _CANDIDATES)]
        likeness = np.minimum((similarity[kept] - low) / (1.0 - low), 1.0)
        return list(zip(at[kept].tolist(), likeness.tolist(), strict=True))

    def _merged(self, found: list[tuple[int, float]]) -> list[ActiveEpisode]:
        """Count near-duplicates as one, and keep the most similar."""
        if len(found) < 2:
            return [ActiveEpisode((self.nodes[number],), likeness) for number, likeness in found]
        found = sorted(found, key=lambda pair: (-pair[1], self.nodes[pair[0]]))
        numbers = [number for number, _ in found]
        alike = self._alike(numbers)
        groups: list[ActiveEpisode] = []
        left = set(range(len(found)))
        for position, row in enumerate(alike.tolist()):
            if position in left and len(groups) < self._settings.episode_limit:
                members = [other for other in sorted(left) if row[other]]
                left.difference_update(members)
                nodes = tuple(self.nodes[numbers[member]] for member in members)
                groups.append(ActiveEpisode(nodes, found[position][1]))
        return groups

    def _alike(self, numbers: list[int]) -> NDArray[np.bool_]:
        """Tell, for each two of some past queries, whether they are nearly the same."""
        alike = np.eye(len(numbers), dtype=np.bool_)
        without = np.arange(len(numbers))
        for vectors in self._embedders.values():
            at = vectors.positions(numbers)
            here = np.flatnonzero(at >= 0)
            without = np.intersect1d(without, np.flatnonzero(at < 0))
            rows = vectors.rows(at[here])
            alike[np.ix_(here, here)] |= rows @ rows.T >= self._settings.episode_merge
        if len(without) > 1:
            alike[np.ix_(without, without)] |= self._overlap([numbers[at] for at in without])
        return alike

    def _overlap(self, numbers: list[int]) -> NDArray[np.bool_]:
        """Tell, for each two of some past queries, whether they use nearly the same words."""
        columns: dict[str, int] = {}
        entries = [
            (row, columns.setdefault(name, len(columns)), weight)
            for row, number in enumerate(numbers)
            for name, weight in self._features[number].items()
        ]
        weights = np.zeros((len(numbers), len(columns)))
        rows, at, values = zip(*entries, strict=True) if entries else ((), (), ())
        weights[list(rows), list(at)] = values
        norm = self._norm.view[numbers]
        near = self._settings.episode_merge * norm[:, None] * norm[None, :]
        return np.asarray(weights @ weights.T >= near)


class _Posting:
    """The past queries that have a feature, and its weight in each."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._weights = array("d")
        self._held: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    def append(self, number: int, weight: float) -> None:
        self._numbers.append(number)
        self._weights.append(weight)
        self._held = None

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if self._held is None:
            self._held = np.array(self._numbers), np.array(self._weights)
        return self._held


class _Vectors:
    """Unit vectors of one model's past queries.

    When there are many, a fixed random projection to few dimensions sorts out most of
    them first: reading every vector would cost more than the rest of a recall.
    """

    def __init__(self) -> None:
        self._matrix = np.empty((0, 0), dtype=np.float32)
        self._sketch = np.empty((0, 0), dtype=np.float32)
        self._projection = np.empty((0, 0), dtype=np.float32)
        self._numbers = np.empty(0, dtype=np.int64)
        self._at: dict[int, int] = {}

    @property
    def dimension(self) -> int:
        return self._matrix.shape[1]

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self._numbers[: len(self._at)]

    def append(self, number: int, vector: NDArray[np.float32]) -> None:
        if not len(self._matrix):
            n = len(vector)
            self._matrix = np.empty((64, n), dtype=np.float32)
            self._numbers = np.empty(64, dtype=np.int64)
            drawn = np.random.default_rng(0).normal(size=(n, min(n, _SKETCH)))
            self._projection = np.linalg.qr(drawn)[0].astype(np.float32)
            self._sketch = np.empty((64, self._projection.shape[1]), dtype=np.float32)
        size = len(self._at)
        if len(vector) != self.dimension:
            return
        if size == len(self._matrix):
            self._matrix = np.concatenate((self._matrix, np.empty_like(self._matrix)))
            self._sketch = np.concatenate((self._sketch, np.empty_like(self._sketch)))
            self._numbers = np.concatenate((self._numbers, np.empty_like(self._numbers)))
        norm = float(np.linalg.norm(vector))
        self._matrix[size] = vector / norm if norm > 0 else vector
        sketch = self._matrix[size] @ self._projection
        self._sketch[size] = sketch / max(float(np.linalg.norm(sketch)), 1e-9)
        self._numbers[size] = number
        self._at[number] = size

    def nearest(
        self, query: NDArray[np.float32], low: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return positions and cosines above ``low``, at most so many as are looked at."""
        size = len(self._at)
        if size > _SKETCH_FROM:
            rough = self._sketch[:size] @ (query @ self._projection)
            near = np.argpartition(rough, size - _SKETCH_KEPT)[-_SKETCH_KEPT:]
            cosine = self._matrix[near] @ query
        else:
            near = np.arange(size)
            cosine = self._matrix[:size] @ query
        kept = np.flatnonzero(cosine > low)
        if len(kept) > _CANDIDATES:
            kept = kept[np.argpartition(cosine[kept], len(kept) - _CANDIDATES)[-_CANDIDATES:]]
        return near[kept], cosine[kept]

    def positions(self, numbers: list[int]) -> NDArray[np.int64]:
        """Return where the vectors of some queries are; -1 for those without."""
        return np.array([self._at.get(number, -1) for number in numbers], dtype=np.int64)

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._matrix[positions]


def _norm(features: Mapping[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in features.values()))
