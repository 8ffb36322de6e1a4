"""Strategies: what they get (``Request``), what they return (``Ranking``), and the default one.

Another distribution offers a strategy as an entry point in the group ``hebbgraph.strategies``: a
class without arguments, imported on first use. Steps change what a strategy returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import ParameterError
from hebbgraph.filters import Rows
from hebbgraph.formulas.activation import Activation, spread
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.fitting import Trust
from hebbgraph.formulas.paths import CREDIT, Path, PathNode
from hebbgraph.formulas.spreading_step import SpreadingParameters
from hebbgraph.learning.applying import apply_lessons, read_evidence
from hebbgraph.learning.fitting import read_trust
from hebbgraph.learning.lessons import path_cues, question_cues, question_key
from hebbgraph.protocols import VectorSearch
from hebbgraph.recall.evidence import direct_evidence
from hebbgraph.recall.naming import show_named
from hebbgraph.recall.question import Question
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.records import Recall
from hebbgraph.settings import Settings

_GROUP = "hebbgraph.strategies"
#: Least confidence if the question names the subject of a chunk, answered or not.
_NAMED = NOTHING_KNOWN + 0.05
#: Of the chunks that search found, lessons are asked about so many at least.
_NEAR = 32
#: Of the tags that activation spread over, lessons read so many.
_ACTIVE = 24
NO_CUE = "no tag of the index is named in the question; paths start from what search finds"


@dataclass(eq=False)
class Request:
    """A question to one state of the index.

    Attributes
    ----------
    snapshot : Snapshot
        The graph; chunks are rows, tags are term ids.
    question : Question
    settings : Settings
    k : int
        How many chunks are wanted. A strategy may return more.
    allowed : Rows, optional
        The chunks that take part; called with rows, it returns which of them do.
    vectors : VectorSearch, optional
    """

    snapshot: Snapshot
    question: Question
    settings: Settings
    k: int
    allowed: Rows | None = None
    vectors: VectorSearch | None = field(default=None, repr=False)
    #: What :attr:`evidence` has found; None before its first use.
    searched: Evidence | None = field(default=None, init=False, repr=False)

    @property
    def evidence(self) -> Evidence:
        """Direct evidence by row; the searches run on first use."""
        # cached_property would let one recall of a process wait for another, in Python 3.11.
        if self.searched is None:
            self.searched = direct_evidence(
                self.snapshot,
                self.question,
                share=self.shares[0],
                vectors=self.vectors,
                allowed=self.allowed,
                language=self.settings.language,
            )
        return self.searched

    @property
    def trust(self) -> Trust:
        """How far lessons, vectors and the graph are trusted here."""
        session, cache = self.snapshot.session, self.snapshot.cache
        return cache.known("trust", [""], lambda _: {"": read_trust(session)}, 0)[""]

    @property
    def shares(self) -> tuple[float, float]:
        """The share of vectors in direct evidence, and the weight of the graph."""
        trust, chosen = self.trust, self.settings
        vectors = trust.vectors if chosen.vectors is None else chosen.vectors
        graph = trust.graph if chosen.graph is None else chosen.graph
        return vectors, graph


@dataclass(frozen=True)
class Ranking:
    """Chunks in order, as a strategy ranked them.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Distinct chunks, including all that tie with the k-th. The caller breaks ties by id
        (scores that agree to nine decimals) and cuts.
    scores : ndarray of float64, shape (n,), at least 0
        Multiplied by ``confidence`` to give the scores of hits.
    path : callable
        Maps a row to the path that led there, by default the chunk alone; called for hits only.
    arrived : callable
        Maps a row to the activation that arrived there, before its weight, in [0, 1].
    untaught : callable, optional
        Maps a row to its score without lessons, times the confidence; the score by default.
    active : mapping of str to float
        The tags that activation spread over most, with its mass.
    notes : tuple of str
    confidence : float, in [0, 1], optional
        How sure it is that the index answers the question. Without it, scores stay unchanged.
    pads : bool
        Whether chunks without a score fill up the hits to k, at score 0.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    path: Callable[[int], Path] = lambda row: (PathNode("chunk", row, 0.0),)
    arrived: Callable[[int], float | None] = lambda _: None
    untaught: Callable[[int], float] | None = None
    active: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    pads: bool = True


@runtime_checkable
class Strategy(Protocol):
    """A way to rank chunks, for ``recall(strategy=...)``; one object may serve many threads."""

    @property
    def name(self) -> str:
        """The value of :attr:`Recall.strategy <hebbgraph.Recall.strategy>`."""
        ...

    def rank(self, request: Request, /) -> Ranking:
        """Rank the chunks that take part."""
        ...


class Spreading:
    """The default: spreading activation (:mod:`hebbgraph.formulas.activation`)."""

    name = "spreading"

    def rank(self, request: Request) -> Ranking:
        """Return the most active chunks."""
        plain = _spread(request)
        # How sure it is that the index speaks of this question.
        named = _NAMED if plain.layers[0].mass[CREDIT].any() else 0.0
        sure = 1.0 - (1.0 - request.evidence.confidence) * (1.0 - named)
        tags, mass = plain.active_tags(_ACTIVE)
        keys = request.snapshot.keys(tags.tolist())
        active = {keys[tag]: m for tag, m in zip(tags.tolist(), mass.tolist(), strict=True)}
        activation, confidence = _with_lessons(request, plain, sure, active)
        rows, scores = activation.top(request.k)
        weight = request.shares[1] or 1.0
        has_cues = request.question.cues or not len(rows)
        return Ranking(
            rows,
            scores,
            activation.path,
            lambda row: min(activation.at(row, activation.arrived) / weight, 1.0) or None,
            lambda row: sure * plain.at(row, plain.scores),
            active,
            notes=() if has_cues else (NO_CUE,),
            confidence=confidence,
        )


def _spread(request: Request) -> Activation:
    """Spread activation, then raise titles that the question names."""
    question, evidence = request.question, request.evidence
    # A tag that was only given to chunks is no title, so activation on it would be lost.
    known = [cue for cue in question.cues if cue.is_known]
    activation = spread(
        request.snapshot,
        np.array([cue.id for cue in known], np.int64),
        evidence,
        parameters=SpreadingParameters(graph_weight=request.shares[1]),
        allowed=request.allowed,
        cue_trust=np.array([question.trust.get(cue.id, 1.0) for cue in known]),
    )
    return show_named(activation, request.snapshot, question)


def _with_lessons(
    request: Request, plain: Activation, confidence: float, active: Mapping[str, float]
) -> tuple[Activation, float]:
    """Return activation and confidence with what lessons add."""
    question, snapshot = request.question, request.snapshot
    # "And why?" is another question each time, so nothing that was taught about it holds.
    if question.says_nothing or snapshot.session.meta.get("lessons", "0") == "0":
        return plain, confidence
    tags = {cue.tag: cue.weight for cue in question.cue_records(snapshot.n_chunks)}
    lessons = read_evidence(
        snapshot.session,
        question_key(question.words),
        question_cues(question.terms(snapshot.n_chunks), tags),
        path_cues(active),
        question.vector,
        plain.top(max(_NEAR, 2 * request.k))[0],
        request.allowed,
        snapshot.cache,
    )
    if lessons is None:
        return plain, confidence
    return apply_lessons(plain, lessons, confidence, request.trust)


def named_strategy(strategy: str | Strategy) -> Strategy:
    """Return a strategy by name, or the caller's own."""
    if isinstance(strategy, Strategy) and not isinstance(strategy, type):
        return strategy
    if strategy == Spreading.name:
        return Spreading()
    points = {point.name: point for point in entry_points(group=_GROUP)}
    if strategy in points:
        loaded: Strategy = points[strategy].load()()
        return loaded
    known = ", ".join(sorted({Spreading.name, *points}))
    raise ParameterError(
        f"strategy is one of {known}, or an object with name and rank(request); got {strategy!r}; "
        'those of papers need: pip install "hebbgraph[papers]"'
    )


class RankStep:
    """One step of a recall. Subclass it and override what the step changes.

    A recall calls, in this order, each for all of its steps: :meth:`depth`, to know how many chunks
    to rank; :meth:`rank`, within the transaction, where no model may be asked; and
    :meth:`finish`, on the recall as the caller would get it. One object may serve several threads.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> class OnePerDocument(RankStep):
    ...     def depth(self, k):
    ...         return 3 * k
    ...     def finish(self, recall, k):
    ...         best = {hit.document_id: hit for hit in reversed(recall.hits)}
    ...         hits = sorted(best.values(), key=lambda hit: hit.rank)
    ...         return recall.model_copy(update={"hits": tuple(hits)})
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "1", "text": "Owls hunt.", "document_id": "owls"},
    ...                         {"id": "2", "text": "Owls hunt voles.", "document_id": "owls"}])
    ...     recall = index.recall("What do owls hunt?", k=2, steps=[OnePerDocument()])
    >>> [hit.id for hit in recall]
    ['1']
    """

    def depth(self, k: int) -> int:
        """Return how many hits the step wants to choose k from."""
        return k

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        """Return the ranking in another order; its rows are in order, and the first are hits."""
        return ranking

    def finish(self, recall: Recall, k: int) -> Recall:
        """Return the recall with other hits; the first k reach the caller, ranked by position."""
        return recall
