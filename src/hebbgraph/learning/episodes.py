"""Past queries that led to citations, and which of them a new query is like."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    GrowableArray,
    IntArray,
    concatenated_ranges,
    top_n,
    unique,
    unique_inverse,
)
from hebbgraph.learning.feedback import hash_term
from hebbgraph.learning.names import Names
from hebbgraph.learning.postings import Postings
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings

__all__ = [
    "ActiveEpisodes",
    "Episodes",
    "episode_node",
    "features_of",
    "question_features",
]

#: Active past queries, at most: further ones are hardly like the question.
_MOST_ACTIVE = 16
#: Active past queries whose cosine is at least this count as one, however often they were asked.
_NEARLY_THE_SAME = 0.95
#: Most similar past queries that are checked for near-duplicates.
_CANDIDATES = 32
#: With more past queries than this, of at least this dimension, a sketch of three words of 64 bits
#: chooses those to compare ...
_SKETCH_FROM, _SKETCH_DIMENSION, _SKETCH_WORDS = 2048, 64, 3
_SKETCH_BITS = 64 * _SKETCH_WORDS
#: ... at most this many, none this many standard deviations further away than expected.
_SKETCH_KEPT, _SKETCH_DEVIATIONS = 64, 3.0

_PACKED = ("feature_data", "feature_offsets", "feature_hashes", "feature_numbers")
_COLUMNS = ("nodes", "ends", "column", "share")
_POSTINGS = ("posting_starts", "posting_whose", "posting_shares")

_NO_INTS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0)


def half(vector: Sequence[float]) -> bytes:
    """Return an embedding in half precision."""
    return np.asarray(vector, dtype=np.float16).tobytes()


def episode_node(feedback: Feedback) -> str:
    """Return the node of a feedback's query; equal questions share it."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update((feedback.embedder or "").encode())
    digest.update(b"" if feedback.vector is None else half(feedback.vector))
    names = [*(cue.tag for cue in feedback.cues), *(term for term, _ in feedback.terms)]
    for name in sorted(names):
        digest.update(name.encode() + b"\x00")
    return f"e:{digest.hexdigest()}"


@dataclass(frozen=True, eq=False)
class ActiveEpisodes:
    """Past queries that are like a new one, the most similar first.

    Attributes
    ----------
    nodes : ndarray of int64, shape (m,)
        Their nodes, each followed by those of its near-duplicates, which count as one with it.
    owner : ndarray of int64, shape (m,), ascending
        Which past query each of the nodes belongs to.
    likeness : ndarray of float64, shape (n,), in (0, 1]
        0 at the threshold, 1 for the same question.
    """

    nodes: IntArray
    owner: IntArray
    likeness: FloatArray

    def __len__(self) -> int:
        return len(self.likeness)


def question_features(
    cues: Mapping[str, float], terms: Iterable[tuple[str, float]]
) -> dict[str, float]:
    """Return the weighted features of a query: phrase keys, and hashes of its words."""
    return _features(cues, ((hash_term(term), weight) for term, weight in terms))


def features_of(feedback: Feedback) -> dict[str, float]:
    """Return the weighted features of the question that a feedback is about."""
    return _features({cue.tag: cue.weight for cue in feedback.cues}, feedback.terms)


def _features(cues: Mapping[str, float], hashed: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {f"t:{key}": weight for key, weight in cues.items()} | dict(hashed)


class Episodes:
    """The past queries of a log.

    Parameters
    ----------
    settings : LearningSettings
        ``episode_similarity`` and ``episode_overlap``.
    names : sequence of str
        The names of nodes by number, to order past queries that are equally like a new one.
    """

    def __init__(self, settings: LearningSettings, names: Sequence[str]) -> None:
        self._settings = settings
        self._names = names
        #: The node of each past query; they ascend.
        self._nodes = GrowableArray(np.int64)
        self._embedders: dict[str, _Vectors] = {}
        self._columns = Names()
        #: Of each feature, the past queries that have it.
        self._postings = Postings()
        #: The features of all past queries, concatenated unit vectors.
        self._ends = GrowableArray(np.int64, np.zeros(1, np.int64))
        self._column = GrowableArray(np.int64)
        self._share = GrowableArray(np.float64)
        #: Of each past query, its overlap with a question; zeros between questions.
        self._overlap: NDArray[np.float64] = np.zeros(0)
        #: Room for numbers of columns.
        self._place: NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: int, feedback: Feedback) -> None:
        """Remember the query of a feedback, unless it is known.

        Parameters
        ----------
        node : int
            The number of its node, above those of all earlier queries if it is new.
        feedback : Feedback
        """
        number = len(self)
        if number and node <= self._nodes.view[-1]:
            return
        self._nodes.extend([node])
        features = features_of(feedback)
        norm = max(_norm(features), 1e-9)
        columns = [self._columns.add(name) for name in features]
        shares = [weight / norm for weight in features.values()]
        for column, share in zip(columns, shares, strict=True):
            self._postings.append(column, number, share)
        self._column.extend(columns)
        self._share.extend(shares)
        self._ends.extend([len(self._column)])
        if feedback.vector is not None:
            vector = np.asarray(feedback.vector, dtype=np.float32)
            name = feedback.embedder or ""
            if name not in self._embedders:
                self._embedders[name] = _Vectors(len(vector))
            self._embedders[name].append(number, vector)

    def active(
        self,
        features: Mapping[str, float],
        vector: NDArray[np.float32] | None,
        embedder: str | None,
        *,
        similarity: float | None = None,
        overlap: float | None = None,
    ) -> ActiveEpisodes:
        """Return the past queries that are like a new one, the most similar first.

        Parameters
        ----------
        features : dict of str to float
            Weights of the new query's tags and hashed words. Not read if vectors can be compared.
        vector : ndarray of float32, optional
        embedder : str, optional
            The model of the vector; vectors of other models are not compared.
        similarity, overlap : float, in [0, 1), optional
            From which cosine, or overlap of features, past queries count. By default the
            ``episode_similarity`` and ``episode_overlap`` of the settings.
        """
        settings = self._settings
        if vector is not None and self.compares(vector, embedder):
            low = settings.episode_similarity if similarity is None else similarity
            found = _by_vector(vector, self._embedders[embedder or ""], low)
        else:
            low = settings.episode_overlap if overlap is None else overlap
            found = self._by_features(features, low)
        return self._merged(*found)

    def compares(self, vector: NDArray[np.float32] | None, embedder: str | None) -> bool:
        """Return whether there are past vectors to compare this one with."""
        vectors = self._embedders.get(embedder or "")
        return vector is not None and vectors is not None and vectors.dimension == len(vector)

    def _by_features(
        self, features: Mapping[str, float], low: float
    ) -> tuple[IntArray, FloatArray]:
        columns = self._columns.numbers([*features])
        weighted = [
            (*self._postings.of(column), weight)
            for column, weight in zip(columns, features.values(), strict=True)
            if column is not None
        ]
        if not weighted:
            return _NO_INTS, _NO_FLOATS
        norm = max(_norm(features), 1e-9)
        postings, shares, weights = zip(*weighted, strict=True)
        whose = np.concatenate(postings)
        products = np.concatenate(shares)
        products *= np.repeat(weights, [len(one) for one in postings])
        if len(self._overlap) < len(self):
            self._overlap = np.zeros(2 * len(self))
        # Only what the question touches is read: this must not take longer with every lesson.
        overlap = self._overlap
        try:
            np.add.at(overlap, whose, products)
            at = unique(whose[overlap[whose] > low * norm])
            dot = overlap[at]
        finally:
            overlap[whose] = 0.0
        if len(at) > _CANDIDATES:
            best = top_n(dot, _CANDIDATES)
            at, dot = at[best], dot[best]
        return at, np.minimum((dot / norm - low) / (1.0 - low), 1.0)

    def _merged(self, at: IntArray, likeness: FloatArray) -> ActiveEpisodes:
        """Count near-duplicates as one, and keep the most similar."""
        if len(at) < 2:
            return ActiveEpisodes(self._nodes.view[at], np.arange(len(at)), likeness)
        order: IntArray = (-likeness).argsort(kind="stable")
        likeness = likeness[order]
        if (likeness[1:] == likeness[:-1]).any():
            nodes = self._nodes.view[at].tolist()
            names = {place: self._names[node] for place, node in enumerate(nodes)}
            by_place = zip(order.tolist(), likeness.tolist(), strict=True)
            ranked = sorted(by_place, key=lambda pair: (-pair[1], names[pair[0]]))
            order = np.array([place for place, _ in ranked])
        at = at[order]
        alike = self._alike(at)
        owner: IntArray = np.arange(len(at))
        if np.count_nonzero(alike) > len(at):
            # Each belongs to the first that is like it and belongs to no other.
            rows, free = alike.tolist(), [True] * len(at)
            for first, row in enumerate(rows):
                if free[first]:
                    for other in range(first, len(at)):
                        if row[other] and free[other]:
                            free[other], owner[other] = False, first
            order = owner.argsort(kind="stable")
            at, owner = at[order], owner[order]
            firsts, owner = unique_inverse(owner)
            likeness = likeness[firsts]
        kept = owner < _MOST_ACTIVE
        return ActiveEpisodes(self._nodes.view[at[kept]], owner[kept], likeness[:_MOST_ACTIVE])

    def _alike(self, numbers: IntArray) -> BoolArray:
        """Return which past queries are nearly the same as which.

        Their vectors say so, or their words if neither has one.
        """
        if not self._embedders:
            return self._by_words(numbers)
        alike = np.eye(len(numbers), dtype=np.bool_)
        has_vector = np.zeros(len(numbers), np.bool_)
        for vectors in self._embedders.values():
            at = vectors.positions(numbers)
            here = (at >= 0).nonzero()[0]
            rows = vectors.rows(at[here])
            alike[here[:, None], here] |= rows @ rows.T >= _NEARLY_THE_SAME
            has_vector[here] = True
        if has_vector.all():
            return alike
        by_words = self._by_words(numbers)
        return np.where(has_vector[:, None] | has_vector, alike, by_words)

    def _by_words(self, numbers: IntArray) -> BoolArray:
        first = self._ends.view[numbers]
        counts = self._ends.view[numbers + 1] - first
        at = concatenated_ranges(first, counts)
        column = self._column.view[at]
        # Of each column, the last place where it stands: that needs no sorting.
        if len(self._place) < len(self._columns):
            self._place = np.empty(2 * len(self._columns), np.int64)
        self._place[column] = np.arange(len(at))
        rows = np.zeros((len(numbers), len(at)))
        rows[np.arange(len(numbers)).repeat(counts), self._place[column]] = self._share.view[at]
        return np.asarray(rows @ rows.T >= _NEARLY_THE_SAME)

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, of which :meth:`restored` makes the same."""
        features: Sequence[NDArray[Any]] = self._columns.packed()
        found: dict[str, NDArray[Any]] = dict(zip(_PACKED, features, strict=True))
        found |= {f"of_{name}": getattr(self, f"_{name}").view for name in _COLUMNS}
        inverted: Sequence[NDArray[Any]] = Postings.arrays(
            self._column.view, self._ends.view, self._share.view, len(self._columns)
        )
        found |= dict(zip(_POSTINGS, inverted, strict=True))
        for at, vectors in enumerate(self._embedders.values()):
            found |= {f"vectors_{at}_{name}": one for name, one in vectors.arrays().items()}
        return found

    @property
    def embedders(self) -> list[str]:
        """The models of the vectors, in the order of :meth:`arrays`."""
        return list(self._embedders)

    @classmethod
    def restored(
        cls,
        settings: LearningSettings,
        names: Sequence[str],
        arrays: Mapping[str, NDArray[Any]],
        embedders: Sequence[str],
    ) -> Episodes:
        """Make what :meth:`arrays` came from."""
        made = cls(settings, names)
        data, offsets, hashes, numbers = (arrays[name] for name in _PACKED)
        made._columns = Names((data, offsets, hashes, numbers))
        for name in _COLUMNS:
            column = arrays[f"of_{name}"]
            setattr(made, f"_{name}", GrowableArray(column.dtype, column))
        made._postings = Postings(*(arrays[name] for name in _POSTINGS))
        for at, embedder in enumerate(embedders):
            first = f"vectors_{at}_"
            made._embedders[embedder] = _Vectors.restored(
                {
                    name.removeprefix(first): one
                    for name, one in arrays.items()
                    if name.startswith(first)
                }
            )
        return made


def _by_vector(
    vector: NDArray[np.float32], vectors: _Vectors, low: float
) -> tuple[IntArray, FloatArray]:
    at, cosine = vectors.nearest(vector, low)
    # Cosines are float32; likeness goes on in double precision.
    likeness = np.minimum((cosine - low) / (1.0 - low), 1.0).astype(np.float64)
    return vectors.numbers[at], likeness


class _Vectors:
    """Unit vectors of one model's past queries.

    If there are many, a sketch rules most of them out; reading every vector would cost more than
    the rest of a recall.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._matrix = GrowableArray(np.float32, np.empty((0, dimension), np.float32))
        self._numbers = GrowableArray(np.int64)
        self._signs = _Signs(dimension)
        self._sketch = [GrowableArray(np.uint64) for _ in range(_SKETCH_WORDS)]

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self._numbers.view

    def append(self, number: int, vector: NDArray[np.float32]) -> None:
        if len(vector) != self.dimension:
            return
        norm = float(np.linalg.norm(vector))
        self._matrix.extend((vector / norm if norm > 0 else vector)[None, :])
        self._numbers.extend([number])
        for words, word in zip(self._sketch, self._signs.of(vector), strict=True):
            words.extend([word])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays."""
        sketch = {f"sketch_{at}": one.view for at, one in enumerate(self._sketch)}
        return {"matrix": self._matrix.view, "numbers": self._numbers.view, **sketch}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> _Vectors:
        """Make the vectors that :meth:`arrays` came from."""
        made = cls(arrays["matrix"].shape[1])
        made._matrix = GrowableArray(np.float32, arrays["matrix"])
        made._numbers = GrowableArray(np.int64, arrays["numbers"])
        made._sketch = [
            GrowableArray(np.uint64, arrays[f"sketch_{at}"]) for at in range(_SKETCH_WORDS)
        ]
        return made

    def nearest(
        self, query: NDArray[np.float32], low: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return positions and cosines above ``low``, at most ``_CANDIDATES``."""
        matrix = self._matrix.view
        if len(matrix) > _SKETCH_FROM and self.dimension >= _SKETCH_DIMENSION:
            apart = differing_bits([word.view for word in self._sketch], self._signs.of(query))
            near = (apart <= int(self._signs.most_apart(low))).nonzero()[0]
            if len(near) > _SKETCH_KEPT:
                near = near[np.argpartition(apart[near], _SKETCH_KEPT)[:_SKETCH_KEPT]]
            cosine = matrix[near] @ query
        else:
            near = np.arange(len(matrix))
            cosine = matrix @ query
        kept = (cosine > low).nonzero()[0]
        if len(kept) > _CANDIDATES:
            kept = kept[np.argpartition(cosine[kept], len(kept) - _CANDIDATES)[-_CANDIDATES:]]
        return near[kept], cosine[kept]

    def positions(self, wanted: IntArray) -> NDArray[np.int64]:
        """Return where the vectors of some queries are; -1 for those without."""
        held = self._numbers.view
        if not len(held):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(held.searchsorted(wanted), len(held) - 1)  # they ascend
        return np.where(held[at] == wanted, at, -1)

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self._matrix.view[positions]
        return rows


class _Signs:
    """Sign bits of a vector: the side of some planes on which it lies.

    A random plane separates two vectors at an angle with probability angle / π [1]_. Here, each
    plane is where two coordinates are equal, so no matrix is needed, and what all coordinates have
    in common cancels.

    References
    ----------
    .. [1] Charikar (2002), Similarity estimation techniques from rounding algorithms.
    """

    def __init__(self, dimension: int) -> None:
        drawn = np.random.default_rng(0)
        pairs: list[NDArray[np.int64]] = []
        while dimension > 1 and sum(map(len, pairs)) < _SKETCH_BITS:
            # Different coordinates, so that the planes are orthogonal.
            pairs.append(drawn.permutation(dimension)[: dimension // 2 * 2].reshape(-1, 2))
        every = np.concatenate(pairs) if pairs else np.zeros((_SKETCH_BITS, 2), np.int64)
        self._one, self._other = every[:_SKETCH_BITS].T.copy()

    def of(self, vector: NDArray[np.float32]) -> NDArray[np.uint64]:
        """Return the bits, in words."""
        return np.packbits(vector[self._one] > vector[self._other]).view(np.uint64)

    @staticmethod
    def most_apart(cosine: float) -> float:
        """Return how many bits may differ between vectors of at least this cosine, nearly always.

        >>> _Signs.most_apart(1.0), round(_Signs.most_apart(0.5), 1)
        (0.0, 83.6)
        """
        share = math.acos(cosine) / math.pi
        deviation = math.sqrt(_SKETCH_BITS * share * (1.0 - share))
        return _SKETCH_BITS * share + _SKETCH_DEVIATIONS * deviation


def differing_bits(
    words: Sequence[NDArray[np.uint64]], row: NDArray[np.uint64]
) -> NDArray[np.uint8]:
    """Return the number of bits, at most 255, in which each of n rows differs from another row.

    ``words`` holds the first words of all rows, then the second ones, and so on.

    Examples
    --------
    >>> words = np.array([[0b101, 0b110], [0, 1]], dtype=np.uint64)
    >>> differing_bits(words, np.array([0b100, 0], dtype=np.uint64)).tolist()
    [1, 2]
    """
    apart = np.zeros(len(words[0]), np.uint8)
    for held, word in zip(words, row, strict=True):
        apart += np.bitwise_count(held ^ word)
    return apart


def _norm(features: Mapping[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in features.values()))
