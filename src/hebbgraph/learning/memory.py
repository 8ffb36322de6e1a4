"""The memory of one namespace, kept in step with the feedback log and the graph.

Each process folds the log for itself. After new feedback, the next recall folds it; otherwise a
recall only compares counters. Lessons are columns (:mod:`hebbgraph.learning.lessons`), and what
follows from them belongs to an epoch (:mod:`hebbgraph.learning.epoch`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.array_file import write_arrays
from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.artifacts import remove
from hebbgraph.errors import HebbgraphError
from hebbgraph.formulas.credibility import Credibility
from hebbgraph.formulas.trust import KINDS, Trust
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.actors import TRUSTED, ActorKey, actor_key, search_agreement
from hebbgraph.learning.epoch import Epoch
from hebbgraph.learning.feedback import corrected_lesson
from hebbgraph.learning.kinds import UNKNOWN
from hebbgraph.learning.lessons import CITED, Event, Lessons
from hebbgraph.learning.recollection import Recollection
from hebbgraph.learning.slots import Slots
from hebbgraph.learning.snapshot import VERSION, load_snapshot, restored_lessons, snapshot_lock
from hebbgraph.learning.weighing import clock, exact_judgements
from hebbgraph.locks import LendableLock
from hebbgraph.records import Feedback, LearnedParameter, TagCorrection
from hebbgraph.settings import LearningSettings
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.feedback_rows import StoredLesson, lesson_of
from hebbgraph.store.state import FeedbackState
from hebbgraph.store.truth import Truth

__all__ = ["Memory"]

logger = logging.getLogger(__name__)

#: After this much new feedback, or a sixteenth of all, a snapshot is written.
_SAVED_AFTER = 2000


class Memory:
    """What was taught in one namespace.

    Parameters
    ----------
    log : FeedbackLog
    truth : Truth
    settings : LearningSettings
    path : Path, optional
        Where a snapshot is kept.
    wait_seconds : float, optional
        How long others wait while a recall runs a caller's own code.

    Attributes
    ----------
    lock : LendableLock
        Acquire it before the graph's.
    lessons : Lessons
    actors : dict of actor to int
        The number of each actor.
    state : FeedbackState
        How much of the log is folded.
    corrections : tuple of TagCorrection
        The corrections to tags that the log is read through.
    """

    def __init__(
        self,
        log: FeedbackLog,
        truth: Truth,
        settings: LearningSettings,
        path: Path | None = None,
        wait_seconds: float = math.inf,
    ) -> None:
        self._log = log
        self.path = path
        self._n_saved = 0
        self._truth = truth
        self._settings = settings
        self._takes_part = np.array([kind.split()[-1] in settings.families for kind in KINDS])
        self.lock = LendableLock(wait_seconds)
        self.corrections: tuple[TagCorrection, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Drop what was folded; the next refresh folds the whole log."""
        with self.lock.held():
            # A row is never used twice in one history, so a hash once read stays true.
            self._hash_of_row: dict[int, str] = {}
            self._breaks = self._truth.history.breaks
            self.state = FeedbackState()
            self._seq, self._last_id = 0, ""
            self.lessons = Lessons()
            self.actors: dict[ActorKey, int] = {None: TRUSTED}
            self._epoch: Epoch | None = None
            self._slots: Slots | None = None

    @property
    def has_learned(self) -> bool:
        """Whether anything was taught; otherwise recalls are the static ones."""
        return len(self.lessons.link_lesson) > 0

    @property
    def events(self) -> list[Event]:
        """Where each lesson came from, in the order of the log."""
        return [self.lessons.event(at) for at in range(len(self.lessons))]

    # -- folding the log ------------------------------------------------------------

    def refresh(
        self, state: FeedbackState, corrections: tuple[TagCorrection, ...] | None = None
    ) -> None:
        """Fold new feedback up to a state of the log.

        The fold starts over if feedback was removed, the log is another one, or ``corrections``
        are given and have changed.
        """
        changed = corrections is not None and corrections != self.corrections
        if state == self.state and not changed:
            return
        with self.lock.held():
            if corrections is not None and changed:
                self.corrections = corrections
                self.reset()
            if state.removed != self.state.removed or not self._log_continues():
                self.reset()
            if not self._seq:
                self._restore(state)
            for seq, lesson in self._log.lessons_after(self._seq):
                self.fold(lesson)
                self._seq, self._last_id = seq, lesson.id
            self.state = state
            self.save_snapshot(at_least=max(_SAVED_AFTER, len(self.lessons) // 16))

    def _log_continues(self) -> bool:
        """Return whether the log still holds the feedback that was folded last.

        It does not if the database was replaced by an old copy and taught something else.
        """
        return not self._seq or self._log.id_at(self._seq) == self._last_id

    def fold(self, lesson: StoredLesson) -> None:
        """Learn from one more lesson; the caller holds the lock, or shares this with nobody."""
        if self.corrections:
            lesson = corrected_lesson(lesson, self.corrections)
        actor = self.actors.setdefault(actor_key(lesson), len(self.actors))
        self.lessons.add(lesson, actor, *search_agreement(lesson.body))

    def with_log_as(self, changes: Mapping[str, Feedback | None]) -> Memory:
        """Return the memory that would follow if some feedback were other, or (None) gone."""
        other = Memory(self._log, self._truth, self._settings)
        other.corrections = self.corrections
        for _, lesson in self._log.lessons_after(0):
            if lesson.id not in changes:
                other.fold(lesson)
            elif (changed := changes[lesson.id]) is not None:
                other.fold(lesson_of(changed))
        return other

    # -- the snapshot ---------------------------------------------------------------

    def save_snapshot(self, *, at_least: int = 1) -> None:
        """Write a snapshot, if at least this much feedback was folded since the last one."""
        with self.lock.held():
            if self.path is None or abs(len(self.lessons) - self._n_saved) < at_least:
                return
            arrays, embedders = self.lessons.arrays()
            facts = {
                **self._fits(),
                "seq": self._seq,
                "last_id": self._last_id,
                "state": list(self.state),
                "actors": list(self.actors),
                "embedders": embedders,
            }
            try:
                with snapshot_lock(self.path):
                    if self._truth.state().feedback.removed != self.state.removed:
                        return  # forgotten feedback must not come back
                    facts["size"] = self._log.size(until=self._seq)
                    write_arrays(self.path, VERSION, facts, arrays)
            except (OSError, HebbgraphError) as error:
                why = "what was learned was not kept at %s (%s): the next open reads the log again"
                logger.warning(why, self.path, error)
            # After a failure too: another attempt for each feedback would take long.
            self._n_saved = len(self.lessons)

    def remove_snapshot(self) -> None:
        """Remove the snapshot, which names chunks and holds embeddings of questions."""
        with self.lock.held():
            if self.path is not None and self.path.parent.is_dir():
                with snapshot_lock(self.path):  # a process that saves now would bring it back
                    remove(self.path)
                self._n_saved = 0

    def _fits(self) -> dict[str, Any]:
        """Return what a snapshot must have been made with."""
        settings = self._settings.model_dump(
            mode="json", exclude={"store_queries", "query_retention_days", "require_actor"}
        )
        corrections = [repr(correction) for correction in self.corrections]
        return {"settings": settings, "corrections": corrections}

    def _restore(self, state: FeedbackState) -> None:
        """Continue from the snapshot, if there is one that fits."""
        snapshot = None if self.path is None else load_snapshot(self.path)
        if snapshot is None:
            return
        lessons = restored_lessons(snapshot, self._fits(), self._log, state)
        if lessons is None:
            return
        facts, _ = snapshot
        self.lessons = lessons
        self.actors = {actor: number for number, actor in enumerate(facts["actors"])}
        self._seq, self._last_id = facts["seq"], facts["last_id"]
        self.state = FeedbackState(*facts["state"])
        self._n_saved = len(lessons)

    # -- recalling ------------------------------------------------------------------

    def recollect(
        self,
        graph: TagGraph,
        cues: tuple[NDArray[np.uint64], NDArray[np.float32]],
        vector: NDArray[np.float32] | None,
        embedder: str | None,
        question: int = 0,
        n_words: int = 0,
    ) -> Recollection | None:
        """Return what a question brings back; None if nothing was ever taught.

        The caller has locked the graph. For ``cues`` and ``question`` see
        :mod:`hebbgraph.learning.cues`; ``embedder`` is the model of the vector, and ``n_words``
        is how many words the question has.
        """
        with self.lock.held():
            if not self.has_learned:
                return None
            epoch, slots = self._current_epoch(), self._slots
            associations, trust = epoch.associations(), epoch.trust
            if slots is None or not slots.fits(graph, self.lessons):
                rows = {} if slots is None else slots.rows
                slots = self._slots = Slots(graph, self.lessons, rows, self.resolve)
            slots.bring_up_to_date()
            return Recollection(
                self.lessons,
                associations,
                trust,
                slots,
                associations.query(cues, vector, embedder or ""),
                np.array(trust.gains) * self._takes_part,
                self._exact_judgements(question, n_words),
            )

    def _exact_judgements(self, question: int, n_words: int) -> tuple[IntArray, FloatArray]:
        """Return the nodes judged for the very question, and how far that is believed."""
        asked = self.lessons.on_question(question) if question and self._takes_part[0] else []
        links = self.lessons.links_of(asked) if asked else np.empty(0, np.int64)
        if not len(links):
            return links, np.empty(0)
        epoch = self._current_epoch()
        return exact_judgements(self.lessons, links, epoch.credibility(), epoch.weights(), n_words)

    def resolve(self, ids: Iterable[str]) -> dict[str, tuple[int, str]]:
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

    # -- what follows from the lessons ----------------------------------------------

    def _current_epoch(self) -> Epoch:
        until = clock(len(self.lessons))
        if self._epoch is None or self._epoch.until != until:
            self._epoch = Epoch(self.lessons, until, self._settings, self._takes_part)
        return self._epoch

    def amounts(self) -> NDArray[np.float64]:
        """Return what each lesson weighs: belief in its actor, decayed to the clock."""
        with self.lock.held():
            return self._current_epoch().weights().amount

    def credibility(self) -> Credibility:
        """Return whom to believe, and how far each lesson is believed."""
        with self.lock.held():
            return self._current_epoch().credibility()

    def weight_of(self, actor: ActorKey, kind: str = "cited") -> float:
        """Return what feedback of an actor and a kind weighs, before it ages."""
        weights = self.credibility().weights
        weight = float(weights[min(self.actors.get(actor, len(weights)), len(weights) - 1)])
        return weight if kind == "cited" else weight * self.kind_weights().get(kind, UNKNOWN)

    def kind_weights(self) -> dict[str, float]:
        """Return what each kind of implicit feedback weighs beside a citation, by its name."""
        with self.lock.held():
            epoch = self._current_epoch()
            epoch.weights()
            known = () if epoch.implicit is None else epoch.implicit.by_kind
            kinds = list(enumerate(self.lessons.kinds))[CITED + 1 :]
            return {kind: float(known[at] if at < len(known) else UNKNOWN) for at, kind in kinds}

    def outdated(self, *, trusted: bool) -> dict[tuple[str, str, str], set[int]]:
        """Return which chunks no longer hold: (id, text hash, id of what does) to actors.

        ``trusted`` selects what the application vouches for; otherwise, what believed actors say.
        """
        with self.lock.held():
            lessons = self.lessons
            owners = lessons.outdated_lesson
            if not len(owners):
                return {}
            counts = lessons.actor[owners] == TRUSTED
            if not trusted:
                counts = ~counts & (self.amounts()[owners] > 0)
            return lessons.outdated(np.flatnonzero(counts))

    def learned(self) -> tuple[LearnedParameter, ...]:
        """Describe how far memory is trusted here, where exams have changed it."""
        with self.lock.held():
            if not self.has_learned:
                return ()
            epoch, default = self._current_epoch(), Trust()
            trust = epoch.trust
            n_actors = len(np.unique(self.lessons.actor[: epoch.until]))
            rows = zip(
                (*KINDS, "handicap"),
                (*trust.gains, trust.handicap),
                (*default.gains, default.handicap),
                (*self._takes_part.tolist(), True),
                strict=True,
            )
            return tuple(
                LearnedParameter(
                    name=name, value=value, default=usual, lessons=trust.exams, actors=n_actors
                )
                for name, value, usual, takes_part in rows
                if takes_part and abs(value - usual) >= 0.005
            )
