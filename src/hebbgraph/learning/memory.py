"""What was taught, kept in step with the log and the graph.

Each process folds the log for itself. If nothing is new, a recall only compares counters; after
a new feedback, the next recall folds it. Lessons are columns (:mod:`hebbgraph.learning.lessons`);
sums and trust are made of them when a question is asked, as of the last step of a clock that
counts lessons, plus the lessons since.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.artifacts import remove
from hebbgraph.errors import HebbgraphError
from hebbgraph.formulas.trust import KINDS, Trust
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.actors import Actors, Voice, standing, voice_of
from hebbgraph.learning.associations import Associations, Part, Rarity
from hebbgraph.learning.corrected import corrected_feedback
from hebbgraph.learning.exams import examined
from hebbgraph.learning.lessons import Event, Lessons, Node, chunk_node, question_digest
from hebbgraph.learning.recollection import Recollection, Slots
from hebbgraph.learning.snapshot import load_snapshot, save_snapshot, snapshot_lock
from hebbgraph.records import Feedback, LearnedParameter, PruneReport, TagCorrection
from hebbgraph.settings import LearningSettings
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.state import FeedbackState
from hebbgraph.store.truth import Truth

__all__ = ["MIN_WEIGHT", "Memory", "clock"]

logger = logging.getLogger(__name__)

#: A lesson that weighs less has no effect, not even among equals.
MIN_WEIGHT = 0.02
#: After so many feedbacks, or a sixteenth of all, another snapshot is written.
_KEPT_AFTER = 2000
#: What it says of an actor to cite what others cited for the same question, and to reject it.
_AGREES, _CONTRADICTS = 1.0, 1.5
#: Who is new since the clock moved counts half as a witness.
_UNJUDGED_WITNESS = 0.5
#: Earlier lessons on the same question that bear witness, the latest.
_WITNESSES = 64
#: The name of the one family of links, for people: from a question to a chunk.
QUESTION = "question"


def clock(n_events: int) -> int:
    """Return the event as of which what was taught is read: a step back of at most a sixteenth.

    Every feedback decays all others a little, and is an exam. Readers see that in steps that
    depend on the number of feedbacks alone: each one up to 32, then every second, fourth and so
    on. At ten thousand, a step is 3.5 % of a weight.

    >>> [clock(n) for n in (3, 31, 33, 1001)]
    [3, 31, 32, 992]
    """
    step = 1 << max((n_events // 16).bit_length() - 1, 0)
    return n_events - n_events % step


class Memory:
    """What was taught in one namespace.

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
        self.path = path
        self._kept = 0
        self._truth = truth
        self._settings = settings
        self._retention = 0.5 ** (1.0 / settings.half_life_events)
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
            self.lessons = Lessons()
            self.actors = Actors(self._settings)
            self._clock = 0
            self._scales: NDArray[np.float64] = self.actors.scales()
            self._base: tuple[int, Rarity, Part, Trust] | None = None
            self._whole: tuple[int, Associations] | None = None
            self._slots: Slots | None = None

    @property
    def has_learned(self) -> bool:
        """Whether anything was taught; else recalls are the static ones."""
        return len(self.lessons.link_lesson) > 0

    @property
    def events(self) -> list[Event]:
        """Where each lesson came from, in the order of the log."""
        return [self.lessons.event(at) for at in range(len(self.lessons))]

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
            self.keep(at_least=max(_KEPT_AFTER, len(self.lessons) // 16))

    # -- between openings -------------------------------------------------------------

    def keep(self, *, at_least: int = 1) -> None:
        """Write a snapshot, if so many feedbacks were folded since the last one."""
        with self._lock:
            if self.path is None or abs(len(self.lessons) - self._kept) < at_least:
                return
            arrays, embedders = self.lessons.arrays()
            facts = {
                **self._fits(),
                "seq": self._seq,
                "last_id": self._last_id,
                "state": list(self.state),
                "actors": self.actors.facts(),
                "clock": self._clock,
                "embedders": embedders,
            }
            arrays["scales"] = self._scales
            try:
                with snapshot_lock(self.path):
                    if self._truth.state().feedback.removed != self.state.removed:
                        return  # what was taken back must not come back
                    facts["size"] = self._log.size(until=self._seq)
                    save_snapshot(self.path, facts, arrays)
            except (OSError, HebbgraphError) as error:
                why = "what was learned was not kept at %s (%s): the next open reads the log again"
                logger.warning(why, self.path, error)
            # What failed is not tried again for each feedback: it takes long.
            self._kept = len(self.lessons)

    def discard(self) -> None:
        """Remove the snapshot, which names chunks and holds embeddings of questions."""
        with self._lock:
            if self.path is not None and self.path.parent.is_dir():
                with snapshot_lock(self.path):  # or who saves now would bring it back
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
        snapshot = None if self.path is None else load_snapshot(self.path)
        if snapshot is None:
            return
        facts, arrays = snapshot
        fits = self._fits()
        if {name: facts.get(name) for name in fits} != fits:
            return
        if self._log.id_at(facts["seq"]) != facts["last_id"]:
            return
        lessons = Lessons.restored(arrays, facts["embedders"])
        if self._log.count(until=facts["seq"]) != len(lessons):
            return
        folded = FeedbackState(*facts["state"])
        # What was taken back may be later than this; what was rewritten is shorter.
        if folded.removed != state.removed and (
            self._log.size(until=facts["seq"]) != facts["size"]
        ):
            return
        self.lessons = lessons
        self.actors = Actors.restored(self._settings, facts["actors"])
        self._clock, self._scales = facts["clock"], arrays["scales"]
        self._seq, self._last_id = facts["seq"], facts["last_id"]
        self.state = folded
        self._kept = len(lessons)

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
            voice = self.actors.number(voice_of(feedback))
            question = question_digest(feedback)
            self.actors.heard(voice, self._agreement(feedback, voice, question))
            self.lessons.add(feedback, voice, question)
            if (now := clock(len(self.lessons))) != self._clock:
                self._clock, self._scales = now, self.actors.scales()

    def _agreement(self, feedback: Feedback, voice: int, question: int) -> float:
        """Return how far a lesson agrees with direct evidence and with earlier lessons.

        Those on the same question count, others' as far as they are believed. Whoever repeats
        himself says nothing new, while rejecting what one has cited oneself says something.
        """
        agrees = standing(feedback)
        lessons = self.lessons
        earlier = lessons.asked(question)[-_WITNESSES:]
        if not earlier:
            return agrees
        hashes = {shown.chunk_id: shown.text_hash for shown in feedback.known_chunks}
        cited = {chunk_node(id_, hashes[id_]) for id_ in feedback.cited if id_ in hashes}
        rejected = {chunk_node(id_, hashes[id_]) for id_ in feedback.rejected if id_ in hashes}
        own: set[Node] = set()
        agree = against = 0.0
        links = lessons.links_of(earlier)
        links = links[lessons.link_credit[links] > 0]
        by = lessons.voice[lessons.link_lesson[links]].tolist()
        for number, witness in zip(lessons.link_node[links].tolist(), by, strict=True):
            node, believed = lessons.names[number], self._scale(witness, _UNJUDGED_WITNESS)
            if witness == voice:
                own.add(node)
            elif node in cited:
                agree = max(agree, believed)
            if node in rejected:
                against = max(against, believed)
        if cited <= own and not against:
            return 0.0
        return agrees + _AGREES * agree - _CONTRADICTS * against

    def with_log_as(self, rest: Mapping[str, Feedback | None]) -> Memory:
        """Return the memory that would follow if some feedback were other, or (None) gone."""
        other = Memory(self._log, self._truth, self._settings)
        other.corrections = self.corrections
        for _, feedback in self._log.after(0):
            if (kept := rest.get(feedback.id, feedback)) is not None:
                other.fold(kept)
        return other

    def links(self, ids: Iterable[str] | None = None) -> dict[tuple[int, Node], float]:
        """Return what was taught of each chunk for each question, by everyone together.

        Parameters
        ----------
        ids : iterable of str, optional
            Of questions that these feedbacks are about; all by default.
        """
        with self._lock:
            lessons = self.lessons
            wanted: NDArray[np.bool_] = np.ones(len(lessons), np.bool_)
            if ids is not None:
                known = set(ids)
                events = (lessons.event(at).feedback_id for at in range(len(lessons)))
                about = np.array([id_ in known for id_ in events], np.bool_)
                wanted = np.isin(lessons.question, lessons.question[about])
            owner = lessons.link_lesson
            amount = self._amount()[owner] * lessons.link_credit
            kept = np.flatnonzero(wanted[owner])
            found: dict[tuple[int, Node], float] = {}
            for question, node, value in zip(
                lessons.question[owner[kept]].tolist(),
                lessons.link_node[kept].tolist(),
                amount[kept].tolist(),
                strict=True,
            ):
                link = question, lessons.names[node]
                found[link] = found.get(link, 0.0) + value
            return found

    # -- reading --------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock everything for a reader of lessons; take the graph's lock first."""
        with self._lock:
            yield

    def recollect(
        self,
        graph: TagGraph,
        cues: tuple[NDArray[np.uint64], NDArray[np.float32]],
        vector: NDArray[np.float32] | None,
        embedder: str | None,
    ) -> Recollection | None:
        """Return what a question brings back; None if nothing was ever taught.

        Parameters
        ----------
        graph : TagGraph
            The caller holds its lock.
        cues : (keys, weights)
            See :func:`hebbgraph.learning.cues.cues_of`.
        vector : ndarray of float32, optional
        embedder : str, optional
            The model of the vector.
        """
        with self._lock:
            if not self.has_learned:
                return None
            associations, trust = self._associations()
            slots = self._slots
            if slots is None or not slots.fits(graph, self.lessons):
                slots = Slots(
                    graph, self.lessons, {} if slots is None else slots.rows, self._resolve
                )
                self._slots = slots
            slots.bring_up_to_date()
            asked = associations.read(cues, vector, embedder or "")
            families = frozenset(self._settings.families)
            return Recollection(self.lessons, associations, trust, slots, asked, families)

    def _associations(self) -> tuple[Associations, Trust]:
        """Return the sums of all lessons, and how far they are trusted."""
        n, lessons = len(self.lessons), self.lessons
        if self._base is None or self._base[0] != self._clock:
            amount = self._amount()
            rarity = Rarity.of(lessons, self._clock)
            part = Part(lessons, 0, self._clock, amount, rarity)
            trust = examined(lessons, self._clock, Associations(rarity, part), amount)
            self._base, self._whole = (self._clock, rarity, part, trust), None
        _, rarity, part, trust = self._base
        if self._whole is None or self._whole[0] != n:
            since = (
                None if n == self._clock else Part(lessons, self._clock, n, self._amount(), rarity)
            )
            self._whole = n, Associations(rarity, part, since)
        return self._whole[1], trust

    def _amount(self) -> NDArray[np.float64]:
        """Return what each lesson weighs: belief in its actor, decayed to the clock."""
        voice, scales = self.lessons.voice, self._scales
        scale = scales[np.minimum(voice, len(scales) - 1)]  # the last is any newcomer's
        # What nobody believes ages nothing.
        passed = np.cumsum(scale)
        age = np.maximum(passed[self._clock - 1] - passed, 0.0) if self._clock else 0.0 * passed
        amount = scale * self._retention**age / _times_said(voice, self.lessons.question) ** 2
        weighty: NDArray[np.float64] = np.where(amount < MIN_WEIGHT, 0.0, amount)
        return weighty

    def _scale(self, voice: int, unjudged: float) -> float:
        return float(self._scales[voice]) if voice < len(self._scales) - 1 else unjudged

    def weight_of(self, voice: Voice) -> float:
        """Return how much of what a voice says counts: belief in it, within its bounds."""
        with self._lock:
            number = self.actors.numbers.get(voice, len(self._scales))
            return self._scale(number, float(self._scales[-1]))

    def amounts(self) -> NDArray[np.float64]:
        """Return what each lesson weighs."""
        with self._lock:
            return self._amount()

    def learned(self) -> tuple[LearnedParameter, ...]:
        """Describe how far memory is trusted here, where exams have changed it."""
        with self._lock:
            if not self.has_learned:
                return ()
            trust, default = self._associations()[1], Trust()
            here = dict(zip((*KINDS, "handicap"), (*trust.gains, trust.handicap), strict=True))
            usual = dict(zip((*KINDS, "handicap"), (*default.gains, default.handicap), strict=True))
            actors = len(np.unique(self.lessons.voice[: self._clock]))
            return tuple(
                LearnedParameter(
                    name=name,
                    value=value,
                    default=usual[name],
                    lessons=trust.exams,
                    actors=actors,
                )
                for name, value in here.items()
                if abs(value - usual[name]) >= 0.005
            )

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
        """Count weak and masked links, and list the feedback that has no other.

        The caller holds the lock on the graph.
        """
        with self._lock:
            masked, weight = self._state_of_links(graph)
            weak = weight < min_weight
            owner = self.lessons.link_lesson
            useful = np.zeros(len(self.lessons), np.bool_)
            useful[owner[~(weak | masked)]] = True
            idle = [self.lessons.event(at).feedback_id for at in np.flatnonzero(~useful).tolist()]
            report = PruneReport(
                min_weight=min_weight,
                edges={QUESTION: len(owner)},
                weak={QUESTION: int((weak & ~masked).sum())},
                masked={QUESTION: int(masked.sum())},
                feedback=len(idle),
            )
            return report, idle

    def effects(self, graph: TagGraph) -> dict[str, tuple[int, int]]:
        """Return for each feedback how many links it taught, and how many of them are in force.

        The caller holds the lock on the graph.
        """
        with self._lock:
            masked, weight = self._state_of_links(graph)
            owner, n = self.lessons.link_lesson, len(self.lessons)
            taught = np.bincount(owner, minlength=n)
            active = np.bincount(owner[~masked & (weight >= MIN_WEIGHT)], minlength=n)
            return {
                self.lessons.event(at).feedback_id: (some, more)
                for at, (some, more) in enumerate(
                    zip(taught.tolist(), active.tolist(), strict=True)
                )
            }

    def _state_of_links(self, graph: TagGraph) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return whether each link leads to what is gone, and what it weighs."""
        lessons = self.lessons
        nothing = np.empty(0, np.uint64), np.empty(0, np.float32)
        recollection = self.recollect(graph, nothing, None, None)
        weight = self._amount()[lessons.link_lesson] * np.abs(lessons.link_credit)
        if recollection is None:
            return np.zeros(0, np.bool_), weight
        live = recollection.slots.of_node >= 0
        rejections, rejected = lessons.against
        live[rejections] = live[rejected]
        masked: NDArray[np.bool_] = ~live[lessons.link_node]
        return masked, weight


def _times_said(voice: NDArray[np.int32], question: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how often each lesson's actor has spoken of its question by then.

    Whoever repeats himself counts little more than once. What is trusted counts each time.
    """
    order = np.lexsort((np.arange(len(voice)), question, voice))
    if not len(order):
        return np.ones(0, np.int64)
    voices, questions = voice[order], question[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (voices[1:] != voices[:-1]) | (questions[1:] != questions[:-1]) | (voices[1:] == 0)
    at = np.arange(len(order))
    times = np.empty(len(order), np.int64)
    times[order] = at - np.maximum.accumulate(np.where(new, at, 0)) + 1
    return times
