"""Learned weights, kept in step with the log and the graph.

Each process folds the log for itself. If nothing is new, a recall only compares counters; after
a new feedback, the next recall folds it and updates the rows it changed.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hebbgraph.artifacts import remove
from hebbgraph.errors import HebbgraphError
from hebbgraph.formulas.evidence import EvidenceWeights
from hebbgraph.formulas.homeostasis import MIN_WEIGHT
from hebbgraph.graph.packed_strings import PackedStrings, pack_strings
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspection import TagCorrection
from hebbgraph.learning.actors import Actors, Voice, standing, voice_of
from hebbgraph.learning.corpus import CorpusMemory, CorpusParameters
from hebbgraph.learning.corrected import corrected_feedback
from hebbgraph.learning.episodes import Episodes, episode_node
from hebbgraph.learning.overlay import Overlay, Recollection
from hebbgraph.learning.snapshot import load_snapshot, save_snapshot
from hebbgraph.learning.traces import Family, traces_of
from hebbgraph.learning.weights import UNJUDGED_WITNESS, RawWeights
from hebbgraph.records import Feedback, LearnedParameter, PruneReport
from hebbgraph.settings import FamilyName, LearningSettings
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.truth import FeedbackState, Truth

__all__ = ["FAMILY_NAMES", "Event", "Events", "Memory"]

logger = logging.getLogger(__name__)

_EVENTS = ("event_data", "event_offsets")
#: After so many feedbacks, or a sixteenth of all, another snapshot is written.
_KEPT_AFTER = 2000

#: The names that settings and reports use.
FAMILY_NAMES: dict[Family, FamilyName] = {
    Family.CUE: "cue",
    Family.PAIR: "pair",
    Family.EPISODE: "episode",
    Family.HOP: "path",
    Family.ARRIVAL: "path",
}


class Event(NamedTuple):
    """Where a feedback came from."""

    feedback_id: str
    recall_id: str
    actor: str | None


class Events(Sequence[Event]):
    """Where each feedback came from, in the order of the log.

    >>> events = Events()
    >>> events.append(Event("f", "r", None))
    >>> list(Events(*events.packed()))
    [Event(feedback_id='f', recall_id='r', actor=None)]
    """

    def __init__(
        self, data: NDArray[np.uint8] | None = None, offsets: NDArray[np.int64] | None = None
    ) -> None:
        if data is None or offsets is None:
            data, offsets = pack_strings([])
        self._rows = PackedStrings(data, offsets)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, number: int, /) -> Event: ...
    @overload
    def __getitem__(self, number: slice, /) -> list[Event]: ...
    def __getitem__(self, number: int | slice, /) -> Event | list[Event]:
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        return Event(*json.loads(self._rows[number]))

    def append(self, event: Event) -> None:
        """Append one."""
        self._rows.append(json.dumps(event))

    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return all of them, packed."""
        return pack_strings(self._rows)


class Memory:
    """The learned weights of one namespace.

    Parameters
    ----------
    log : FeedbackLog
    truth : Truth
        Knows which chunks exist, and their text.
    settings : LearningSettings
    path : Path, optional
        Where a snapshot is kept (:mod:`hebbgraph.learning.snapshot`).
    """

    def __init__(
        self,
        log: FeedbackLog,
        truth: Truth,
        settings: LearningSettings,
        path: Path | None = None,
    ) -> None:
        self._log = log
        #: A rule of the caller's cannot be told from another one, so nothing is kept of it.
        self.path = path if isinstance(settings.rule, str) else None
        self._kept = 0
        self._truth = truth
        self._settings = settings
        self._lock = threading.RLock()
        #: The corrections to tags that the log is read through.
        self.corrections: tuple[TagCorrection, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Forget what was folded; the next refresh folds the whole log."""
        with self._lock:
            # Rows are never used twice in one history, so what was read of one stays true.
            self._hash_of_row: dict[int, str] = {}
            self._breaks = self._truth.history.breaks
            #: How much of the log was folded.
            self.state = FeedbackState()
            self._seq = 0
            self._last_id = ""
            self.weights = RawWeights(self._settings)
            self.episodes = Episodes(self._settings, self.weights.nodes)
            self.corpus = CorpusMemory(self._settings)
            self.events = Events()
            self._overlay: Overlay | None = None
            #: Whether anything was learned; else recalls are the static ones.
            self.has_learned = False

    # -- keeping in step ------------------------------------------------------------

    def refresh(
        self, state: FeedbackState, corrections: tuple[TagCorrection, ...] | None = None
    ) -> None:
        """Fold new feedback; start over if feedback was removed or the log is another one.

        Parameters
        ----------
        state : FeedbackState
        corrections : tuple of TagCorrection, optional
            To read the log through, if they may have changed: then the fold starts over too.
        """
        changed = corrections is not None and corrections != self.corrections
        if state == self.state and not changed:
            return
        with self._lock:
            if corrections is not None and changed:
                self.corrections = corrections
                self.reset()
            if state.removed != self.state.removed or not self._goes_on():
                self.reset()
            if not self._seq:
                self._restore(state)
            for seq, feedback in self._log.after(self._seq):
                self.fold(feedback)
                self._seq, self._last_id = seq, feedback.id
            self.state = state
            self.keep(at_least=max(_KEPT_AFTER, len(self.events) // 16))

    # -- between openings -------------------------------------------------------------

    def keep(self, *, at_least: int = 1) -> None:
        """Write a snapshot, if so many feedbacks were folded since the last one."""
        with self._lock:
            if self.path is None or abs(len(self.events) - self._kept) < at_least:
                return
            facts = {
                **self._fits(),
                "seq": self._seq,
                "last_id": self._last_id,
                "state": list(self.state),
                "actors": self.weights.actors.facts(),
                "embedders": self.episodes.embedders,
            }
            try:
                if self._truth.state().feedback.removed != self.state.removed:
                    return  # what was taken back must not come back
                facts["size"] = self._log.size(until=self._seq)
                arrays = self.weights.arrays() | self.episodes.arrays()
                arrays |= zip(_EVENTS, self.events.packed(), strict=True)
                save_snapshot(self.path, facts, arrays)
            except (OSError, HebbgraphError) as error:
                logger.warning(
                    "what was learned was not kept at %s (%s): the next open reads the log again",
                    self.path,
                    error,
                )
            # What failed is not tried again for each feedback: it takes long.
            self._kept = len(self.events)

    def discard(self) -> None:
        """Remove the snapshot, which names phrases and holds embeddings of questions."""
        with self._lock:
            if self.path is not None:
                remove(self.path)
                self._kept = 0

    def _fits(self) -> dict[str, Any]:
        """Return what a snapshot must have been made with."""
        settings = self._settings.model_dump(
            mode="json", exclude={"store_queries", "query_retention_days", "require_actor"}
        )
        corrections = [repr(one) for one in self.corrections]
        return {"settings": settings, "corrections": corrections}

    def _restore(self, state: FeedbackState) -> None:
        """Go on from the snapshot, if there is one that fits."""
        held = None if self.path is None else load_snapshot(self.path)
        if held is None:
            return
        facts, arrays = held
        fits = self._fits()
        if {name: facts.get(name) for name in fits} != fits:
            return
        if self._log.id_at(facts["seq"]) != facts["last_id"]:
            return
        events = Events(*(arrays[name] for name in _EVENTS))
        if self._log.count(until=facts["seq"]) != len(events):
            return
        folded = FeedbackState(*facts["state"])
        # What was taken back may be later than this; what was rewritten is shorter.
        if folded.removed != state.removed and (
            self._log.size(until=facts["seq"]) != facts["size"]
        ):
            return
        actors = Actors.restored(self._settings, facts["actors"])
        self.weights = RawWeights.restored(self._settings, arrays, actors)
        self.episodes = Episodes.restored(
            self._settings, self.weights.nodes, arrays, facts["embedders"]
        )
        self.events = events
        if "corpus" in self._settings.families:
            self._restore_corpus(facts["seq"])
        self.has_learned = len(self.weights) > 0 or len(self.corpus) > 0
        self._seq, self._last_id = facts["seq"], facts["last_id"]
        self.state = folded
        self._kept = len(events)

    def _restore_corpus(self, seq: int) -> None:
        """Read the latest feedbacks, of which the parameters of the corpus are a function."""
        latest = self._log.latest(self.corpus.most, until=seq)
        for number, one in enumerate(latest, start=self.weights.n_events - len(latest) + 1):
            self.corpus.add(corrected_feedback(one, self.corrections), number)

    def _goes_on(self) -> bool:
        """Return whether the log still holds the feedback that was folded last.

        It does not if the database was replaced by an old copy and taught something else.
        """
        return not self._seq or self._log.id_at(self._seq) == self._last_id

    def fold(self, feedback: Feedback) -> None:
        """Learn from one more feedback."""
        with self._lock:
            if self.corrections:
                feedback = corrected_feedback(feedback, self.corrections)
            node = episode_node(feedback)
            traces = traces_of(feedback, node, self._settings)
            changed = self.weights.fold(traces, voice_of(feedback), standing(feedback))
            if "episode" in self._settings.families and traces:
                self._remember(node, feedback)
            if "corpus" in self._settings.families:
                self.corpus.add(feedback, self.weights.n_events)
            self.has_learned = len(self.weights) > 0 or len(self.corpus) > 0
            self.events.append(Event(feedback.id, feedback.recall_id, feedback.actor))
            if self._overlay is not None:
                self._overlay.outdate(changed)

    def _remember(self, node: str, feedback: Feedback) -> None:
        if (number := self.weights.number(node)) is not None:
            self.episodes.add(number, feedback)

    def with_log_as(self, rest: Mapping[str, Feedback | None]) -> RawWeights:
        """Return the weights that would follow if some feedback were other, or (None) gone."""
        other = Memory(self._log, self._truth, self._settings)
        other.corrections = self.corrections
        for _, feedback in self._log.after(0):
            if (kept := rest.get(feedback.id, feedback)) is not None:
                other.fold(kept)
        return other.weights

    def edges_of(self, feedback: Feedback) -> set[tuple[Family, str, str]]:
        """Return the edges that a feedback speaks of, by the names of their ends."""
        feedback = corrected_feedback(feedback, self.corrections)
        traces = traces_of(feedback, episode_node(feedback), self._settings)
        return {(trace.family, trace.source, trace.target) for trace in traces}

    # -- reading --------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock everything for a reader of weights and events; take the graph's lock first."""
        with self._lock:
            yield

    def recollect(
        self,
        graph: TagGraph,
        features: Callable[[], Mapping[str, float]],
        vector: NDArray[np.float32] | None,
        embedder: str | None,
    ) -> Recollection | None:
        """Return what a question brings back; None if nothing was ever learned.

        Parameters
        ----------
        graph : TagGraph
            The caller holds its lock.
        features : callable
            Returns the question's features (:func:`hebbgraph.learning.episodes.question_features`);
            called only if vectors cannot be compared.
        vector : ndarray of float32, optional
        embedder : str, optional
            The model of the vector.
        """
        with self._lock:
            if not self.has_learned:
                return None
            by_vector = self.episodes.compares(vector, embedder)
            corpus = self.parameters()
            active = self.episodes.active(
                {} if by_vector else features(),
                vector,
                embedder,
                similarity=corpus.episode_similarity,
                overlap=corpus.episode_overlap,
            )
            return self.overlay(graph).recollection(active)

    def parameters(self) -> CorpusParameters:
        """Return the parameters of the corpus."""
        with self._lock:
            scale_of = partial(self.weights.scale_of, unjudged=UNJUDGED_WITNESS)
            return self.corpus.parameters(self.weights.n_events, scale_of)

    def learned(self, default: EvidenceWeights) -> tuple[LearnedParameter, ...]:
        """Describe the parameters of the corpus that have moved."""
        with self._lock:
            self.parameters()
            return self.corpus.learned(default)

    def overlay(self, graph: TagGraph) -> Overlay:
        """Return the weights in the numbers of a graph."""
        held = self._overlay
        if held is None or not held.fits(graph):
            rows = {} if held is None else held.rows
            held = Overlay(graph, self.weights, self._settings, rows, self._resolve)
            self._overlay = held
        held.bring_up_to_date()
        return held

    def _resolve(self, ids: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return the row and text hash of each chunk that exists."""
        rows = self._truth.rows_of(ids)
        if self._breaks != self._truth.history.breaks:
            self._hash_of_row, self._breaks = {}, self._truth.history.breaks
        unknown = sorted(row for row in rows.values() if row not in self._hash_of_row)
        self._hash_of_row.update(self._truth.text_hashes(unknown))
        return {
            id_: (row, self._hash_of_row[row])
            for id_, row in rows.items()
            if row in self._hash_of_row
        }

    # -- surveying ------------------------------------------------------------------

    def survey(self, graph: TagGraph, min_weight: float) -> tuple[PruneReport, list[str]]:
        """Count weak and masked edges, and list the feedback that has no other.

        The caller holds the lock on the graph.
        """
        with self._lock:
            families, masked = self._masked(graph)
            every = np.arange(len(self.weights))
            weak = np.abs(self.weights.weight(every)) < min_weight
            edges, events = self.weights.taught()
            useful = np.zeros(len(self.events), np.bool_)
            useful[events[~(weak | masked)[edges]]] = True
            idle = [
                event.feedback_id
                for event, teaches in zip(self.events, useful.tolist(), strict=True)
                if not teaches
            ]
            report = PruneReport(
                min_weight=min_weight,
                edges=_by_family(families),
                weak=_by_family(families[weak & ~masked]),
                masked=_by_family(families[masked]),
                feedback=len(idle),
            )
            return report, idle

    def effects(self, graph: TagGraph) -> dict[str, tuple[int, int]]:
        """Return for each feedback how many edges it shaped, and how many of them recalls follow.

        The caller holds the lock on the graph.
        """
        with self._lock:
            _, masked = self._masked(graph)
            every = np.arange(len(self.weights))
            weak = np.abs(self.weights.believed(every)) < MIN_WEIGHT
            edges, events = self.weights.taught()
            n = len(self.events)
            shaped = np.bincount(events, minlength=n)
            active = np.bincount(events[~(weak | masked)[edges]], minlength=n)
            return {
                event.feedback_id: (some, more)
                for event, some, more in zip(
                    self.events, shaped.tolist(), active.tolist(), strict=True
                )
            }

    def weight_of(self, voice: Voice) -> float:
        """Return how much of what a voice says counts: belief in it, within its bounds."""
        with self._lock:
            return self.weights.scale_of(voice)

    def _masked(self, graph: TagGraph) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Return the family of each edge, and whether it leads to or from what is gone."""
        overlay = self.overlay(graph)
        families, sources, targets = self.weights.all_edges()
        names = np.array([name[0] for name in self.weights.nodes] or [""])
        gone = (overlay.number < 0) & (names[: len(overlay.number)] != "e")
        masked: NDArray[np.bool_] = gone[sources] | gone[targets]
        return families, masked


def _by_family(families: NDArray[np.int8]) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(FAMILY_NAMES.values(), 0)
    for family, count in zip(*np.unique(families, return_counts=True), strict=True):
        counts[FAMILY_NAMES[Family(int(family))]] += int(count)
    return counts
