"""Past queries that led to citations, and which of them a new query is like."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    BoolArray,
    GrowableArray,
    concatenated_ranges,
    sum_by,
    top_n,
    unique_inverse,
)
from hebbgraph.learning.feedback import hash_term
from hebbgraph.learning.names import Names, PackedNames
from hebbgraph.learning.rows import Rows
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings

__all__ = [
    "ActiveEpisode",
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

_PACKED = ("data", "offsets", "hashes", "numbers")
_COLUMNS = ("ends", "column", "whose", "share")
_POSTINGS = ("posting_columns", "posting_starts", "posting_positions")


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


class ActiveEpisode(NamedTuple):
    """A past query that is like the new one, with its near-duplicates.

    ``likeness`` lies in (0, 1]: 0 at the threshold, 1 for the same question.
    """

    nodes: tuple[str, ...]
    likeness: float


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
    """

    def __init__(self, settings: LearningSettings) -> None:
        self._settings = settings
        self.nodes = Names()
        self._embedders: dict[str, _Vectors] = {}
        self._columns = Names()
        #: Of each feature, the past queries that have it, as positions in ``_column``.
        self._postings = Rows()
        #: The features of all past queries, concatenated unit vectors.
        self._ends = GrowableArray(np.int64, np.zeros(1, np.int64))
        self._column = GrowableArray(np.int64)
        self._whose = GrowableArray(np.int64)
        self._share = GrowableArray(np.float64)

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: str, feedback: Feedback) -> None:
        """Remember the query of a feedback, unless it is known."""
        known = len(self.nodes)
        if (number := self.nodes.add(node)) < known:
            return
        features = features_of(feedback)
        norm = max(_norm(features), 1e-9)
        columns = [self._columns.add(name) for name in features]
        shares = [weight / norm for weight in features.values()]
        for at, column in enumerate(columns, start=len(self._column)):
            self._postings.append(column, at)
        self._column.extend(columns)
        self._whose.extend([number] * len(columns))
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
    ) -> list[ActiveEpisode]:
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
        return self._merged(found)

    def compares(self, vector: NDArray[np.float32] | None, embedder: str | None) -> bool:
        """Return whether there are past vectors to compare this one with."""
        vectors = self._embedders.get(embedder or "")
        return vector is not None and vectors is not None and vectors.dimension == len(vector)

    def _by_features(self, features: Mapping[str, float], low: float) -> list[tuple[int, float]]:
        columns = self._columns.numbers([*features])
        weighted = [
            (self._postings.of(column), weight)
            for column, weight in zip(columns, features.values(), strict=True)
            if column is not None
        ]
        if not weighted:
            return []
        norm = max(_norm(features), 1e-9)
        postings, weights = zip(*weighted, strict=True)
        at = np.concatenate(postings)
        products = np.repeat(weights, [len(one) for one in postings]) * self._share.view[at]
        dot = sum_by(self._whose.view[at], products, len(self.nodes))
        at = (dot > low * norm).nonzero()[0]
        if len(at) > _CANDIDATES:
            at = at[top_n(dot[at], _CANDIDATES)]
        return [
            (number, min((product / norm - low) / (1.0 - low), 1.0))
            for number, product in zip(at.tolist(), dot[at].tolist(), strict=True)
        ]

    def _merged(self, found: list[tuple[int, float]]) -> list[ActiveEpisode]:
        """Count near-duplicates as one, and keep the most similar."""
        tied = {like for like, n in Counter(like for _, like in found).items() if n > 1}
        found = sorted(
            found, key=lambda pair: (-pair[1], self.nodes[pair[0]] if pair[1] in tied else "")
        )
        alike = self._alike([number for number, _ in found]).tolist()
        groups: list[ActiveEpisode] = []
        left = list(range(len(found)))
        while left and len(groups) < _MOST_ACTIVE:
            first, *others = left
            members = [other for other in others if alike[first][other]]
            left = [other for other in others if not alike[first][other]]
            nodes = tuple(self.nodes[found[at][0]] for at in (first, *members))
            groups.append(ActiveEpisode(nodes, found[first][1]))
        return groups

    def _alike(self, numbers: list[int]) -> BoolArray:
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

    def _by_words(self, numbers: list[int]) -> BoolArray:
        first = self._ends.view[numbers]
        counts = self._ends.view[np.array(numbers, np.int64) + 1] - first
        at = concatenated_ranges(first, counts)
        different, column = unique_inverse(self._column.view[at])
        rows = np.zeros((len(numbers), len(different)))
        rows[np.arange(len(numbers)).repeat(counts), column] = self._share.view[at]
        return np.asarray(rows @ rows.T >= _NEARLY_THE_SAME)

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, of which :meth:`restored` makes the same."""
        found: dict[str, NDArray[Any]] = {}
        for name, names in (("question", self.nodes), ("feature", self._columns)):
            parts: Sequence[NDArray[Any]] = names.packed()
            for part, one in zip(_PACKED, parts, strict=True):
                found[f"{name}_{part}"] = one
        found |= {f"of_{name}": getattr(self, f"_{name}").view for name in _COLUMNS}
        found |= dict(zip(_POSTINGS, Rows.arrays(self._column.view), strict=True))
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
        arrays: Mapping[str, NDArray[Any]],
        embedders: Sequence[str],
    ) -> Episodes:
        """Make what :meth:`arrays` came from."""
        made = cls(settings)
        made.nodes, made._columns = (
            Names(_packed([arrays[f"{name}_{part}"] for part in _PACKED]))
            for name in ("question", "feature")
        )
        for name in _COLUMNS:
            column = arrays[f"of_{name}"]
            setattr(made, f"_{name}", GrowableArray(column.dtype, column))
        made._postings = Rows(*(arrays[name] for name in _POSTINGS))
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
) -> list[tuple[int, float]]:
    at, cosine = vectors.nearest(vector, low)
    likeness = np.minimum((cosine - low) / (1.0 - low), 1.0)
    return list(zip(vectors.numbers[at].tolist(), likeness.tolist(), strict=True))


def _packed(parts: Sequence[NDArray[Any]]) -> PackedNames:
    data, offsets, hashes, whose = parts
    return data, offsets, hashes, whose


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

    def positions(self, numbers: list[int]) -> NDArray[np.int64]:
        """Return where the vectors of some queries are; -1 for those without."""
        held, wanted = self._numbers.view, np.array(numbers, dtype=np.int64)
        if not len(held):
            return np.full(len(wanted), -1)
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
