"""Parameters of the corpus that follow from the latest citations.

What is learned of single questions and chunks lies in edges. This is learned of the corpus as a
whole: how much its dense evidence is worth, and how much alike two questions must be to want the
same.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray
from hebbgraph.formulas.calibration import ShownEvidence, dense_shift, likeness_threshold
from hebbgraph.formulas.evidence import EvidenceWeights
from hebbgraph.learning.actors import Voice, voice_of
from hebbgraph.learning.episodes import episode_node, features_of
from hebbgraph.learning.weights import clock
from hebbgraph.records import Feedback, LearnedParameter
from hebbgraph.settings import LearningSettings

__all__ = ["CorpusMemory", "CorpusParameters"]

#: A few parameters need no more lessons than these, the latest; of each, so many shown chunks.
_LESSONS, _SHOWN = 512, 20
#: The fit is made anew after so many lessons, or more often; see :func:`_clock`.
_STEP = 64
#: Earlier questions that each one is compared with: the most alike ...
_MOST_ALIKE = 4
#: ... if they are at least so much alike, less than any threshold would ask for.
_HARDLY_ALIKE = 0.2


@dataclass(frozen=True)
class CorpusParameters:
    """What citations say about the corpus; the defaults without any.

    Parameters
    ----------
    dense_shift : float
        Added to :attr:`EvidenceWeights.dense`.
    episode_similarity, episode_overlap : float
        Instead of the settings of that name.
    """

    dense_shift: float
    episode_similarity: float
    episode_overlap: float

    @classmethod
    def by_default(cls, settings: LearningSettings) -> CorpusParameters:
        return cls(0.0, settings.episode_similarity, settings.episode_overlap)


class _Lesson(NamedTuple):
    """What the fit reads of one feedback."""

    number: int
    voice: Voice
    question: str
    cited: frozenset[str]
    embedder: str | None
    vector: NDArray[np.float32] | None
    features: Mapping[str, float]
    #: Lexical, dense and final score of the shown chunks, by rank, and the credit of each.
    shown: NDArray[np.float64]
    share: float
    used: float


class CorpusMemory:
    """The latest lessons, and the parameters of the corpus that follow from them.

    Parameters
    ----------
    settings : LearningSettings
    """

    def __init__(self, settings: LearningSettings) -> None:
        self._settings = settings
        self._lessons: deque[_Lesson] = deque(maxlen=_LESSONS + _STEP)
        self._fitted = _Fitted(CorpusParameters.by_default(settings))
        self._as_of = 0

    def __len__(self) -> int:
        return len(self._lessons)

    @property
    def most(self) -> int:
        """How many lessons are remembered, the latest."""
        return _LESSONS + _STEP

    def add(self, feedback: Feedback, number: int) -> None:
        """Add a feedback, which is the ``number``-th of all."""
        self._lessons.append(_lesson(feedback, number))

    def parameters(self, n_lessons: int, scale_of: Callable[[Voice], float]) -> CorpusParameters:
        """Return the parameters as of the last fit that is due.

        Parameters
        ----------
        n_lessons : int
            How many there were.
        scale_of : callable
            How much the lessons of a voice count, each.
        """
        if (now := _clock(n_lessons)) != self._as_of:
            self._as_of = now
            # Every process sees the same, whenever it reads.
            seen = [one for one in self._lessons if now - _LESSONS < one.number <= now]
            self._fitted = _Fit(seen, self._settings, scale_of).all()
        return self._fitted.parameters

    def learned(self, default: EvidenceWeights) -> tuple[LearnedParameter, ...]:
        """Describe the parameters that have moved, as they were last read."""
        fitted, settings = self._fitted, self._settings
        moved = []
        for name, value, before, heard in (
            (
                "dense",
                default.shifted(fitted.parameters.dense_shift).dense,
                default.dense,
                fitted.of_dense,
            ),
            (
                "episode_similarity",
                fitted.parameters.episode_similarity,
                settings.episode_similarity,
                fitted.of_similarity,
            ),
            (
                "episode_overlap",
                fitted.parameters.episode_overlap,
                settings.episode_overlap,
                fitted.of_overlap,
            ),
        ):
            if value != before:
                moved.append(
                    LearnedParameter(
                        name=name,
                        value=round(value, 4),
                        default=before,
                        lessons=len(heard),
                        actors=len(set(heard)),
                    )
                )
        return tuple(moved)


def _clock(n_lessons: int) -> int:
    """Return the number of lessons as of which parameters are read.

    That of :func:`~hebbgraph.learning.weights.clock`, but never more than 64 lessons ago.

    >>> [_clock(n) for n in (3, 33, 1001, 100_001)]
    [3, 32, 992, 99968]
    """
    return max(clock(n_lessons), n_lessons - n_lessons % _STEP)


class _Fitted(NamedTuple):
    """Parameters, and whose lessons each follows from."""

    parameters: CorpusParameters
    of_dense: Sequence[Voice] = ()
    of_similarity: Sequence[Voice] = ()
    of_overlap: Sequence[Voice] = ()


class _Fit:
    """The fit to some lessons."""

    def __init__(
        self,
        lessons: Sequence[_Lesson],
        settings: LearningSettings,
        scale_of: Callable[[Voice], float],
    ) -> None:
        self._lessons = lessons
        self._settings = settings
        # A question that is asked again and again says the same again.
        asked = Counter(lesson.question for lesson in lessons)
        scale = {voice: scale_of(voice) for voice in {lesson.voice for lesson in lessons}}
        self._weight = np.array([scale[one.voice] / asked[one.question] for one in lessons])

    def all(self) -> _Fitted:
        """Fit each parameter by itself."""
        shift, of_dense = self._dense()
        similarity, of_similarity = self._threshold(
            self._cosines, self._settings.episode_similarity
        )
        overlap, of_overlap = self._threshold(self._overlaps, self._settings.episode_overlap)
        return _Fitted(
            CorpusParameters(shift, similarity, overlap), of_dense, of_similarity, of_overlap
        )

    def _dense(self) -> tuple[float, list[Voice]]:
        known = [at for at, lesson in enumerate(self._lessons) if len(lesson.shown)]
        if not known:
            return 0.0, []
        lessons = [self._lessons[at] for at in known]
        most = max(len(lesson.shown) for lesson in lessons)
        columns = np.zeros((4, len(known), most))
        is_shown = np.zeros((len(known), most), np.bool_)
        for at, lesson in enumerate(lessons):
            columns[:, at, : len(lesson.shown)] = lesson.shown.T
            is_shown[at, : len(lesson.shown)] = True
        lexical, dense, score, cited = columns
        shift = dense_shift(
            ShownEvidence(
                lexical,
                dense,
                score,
                is_shown,
                cited,
                np.array([lesson.share for lesson in lessons]),
                np.array([lesson.used for lesson in lessons]),
                self._weight[known],
            )
        )
        return shift, [lesson.voice for lesson in lessons]

    def _threshold(
        self, alike: Callable[[], FloatArray], default: float
    ) -> tuple[float, list[Voice]]:
        """Fit a threshold to what each lesson and the earlier ones most like it cited."""
        likeness = np.tril(alike(), -1)
        later, earlier = (likeness > _HARDLY_ALIKE).nonzero()
        # The most alike first; of these, a few for each lesson.
        order = np.lexsort((earlier, -likeness[later, earlier], later))
        later, earlier = later[order], earlier[order]
        nth = np.arange(len(later)) - np.searchsorted(later, later)
        later, earlier = later[nth < _MOST_ALIKE], earlier[nth < _MOST_ALIKE]
        lessons = self._lessons
        agreed = [
            bool(lessons[one].cited & lessons[other].cited)
            for one, other in zip(later.tolist(), earlier.tolist(), strict=True)
        ]
        threshold = likeness_threshold(
            likeness[later, earlier],
            np.array(agreed, np.float64),
            np.minimum(self._weight[later], self._weight[earlier]),
            default,
        )
        return threshold, [lessons[at].voice for at in dict.fromkeys(later.tolist())]

    def _cosines(self) -> FloatArray:
        """Return the cosine of each two questions; 0 where their vectors cannot be compared."""
        n = len(self._lessons)
        cosines = np.zeros((n, n))
        models: dict[tuple[str | None, int], list[int]] = {}
        for at, lesson in enumerate(self._lessons):
            if lesson.vector is not None:
                models.setdefault((lesson.embedder, len(lesson.vector)), []).append(at)
        for held in models.values():
            vectors = np.stack([self._lessons[at].vector for at in held])  # type: ignore[misc]
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
            cosines[np.ix_(held, held)] = vectors @ vectors.T
        return cosines

    def _overlaps(self) -> FloatArray:
        """Return the weighted overlap of the words and tags of each two questions."""
        names = {
            name: at for at, name in enumerate({n: 0 for x in self._lessons for n in x.features})
        }
        rows = np.zeros((len(self._lessons), len(names)), np.float32)
        for row, lesson in zip(rows, self._lessons, strict=True):
            row[[names[name] for name in lesson.features]] = list(lesson.features.values())
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        overlaps: FloatArray = (rows @ rows.T).astype(np.float64)
        return overlaps


def _lesson(feedback: Feedback, number: int) -> _Lesson:
    cited = set(feedback.cited)
    rows = [
        (one.lexical, one.dense, one.score, float(one.chunk_id in cited))
        for one in feedback.shown[:_SHOWN]
        if one.lexical is not None and one.dense is not None and one.score is not None
    ]
    shown = np.array(rows, np.float64).reshape(-1, 4)
    n_cited = shown[:, 3].sum()
    if feedback.dense_share is None or not 0 < n_cited < len(shown):
        shown = shown[:0]
    shown[:, 3] /= max(n_cited, 1.0)
    return _Lesson(
        number,
        voice_of(feedback),
        episode_node(feedback),
        frozenset(cited),
        feedback.embedder,
        None if feedback.vector is None else np.array(feedback.vector, np.float32),
        {} if feedback.vector is not None else features_of(feedback),
        shown,
        (feedback.dense_share or 0.0) - feedback.dense_shift,
        feedback.dense_share or 0.0,
    )
