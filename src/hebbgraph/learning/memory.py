"""What was taught, kept in step with the log and the graph.

Each process folds the log for itself. If nothing is new, a recall only compares counters; after
a new feedback, the next recall folds it. Lessons are columns (:mod:`hebbgraph.learning.lessons`);
sums and trust are made of them when a question is asked, as of the last step of a clock that
counts lessons, plus the lessons since.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.array_file import write_arrays
from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.artifacts import remove
from hebbgraph.errors import HebbgraphError
from hebbgraph.formulas.credibility import Judgement
from hebbgraph.formulas.trust import KINDS, Trust
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.actors import TRUSTED, Voice, judgement_of, standing, voice_of
from hebbgraph.learning.associations import Associations, Part, Rarity
from hebbgraph.learning.corrected import corrected_feedback
from hebbgraph.learning.exams import examined
from hebbgraph.learning.kinds import UNKNOWN
from hebbgraph.learning.lessons import CITED, Event, Lessons
from hebbgraph.learning.recollection import Recollection, Slots
from hebbgraph.learning.snapshot import VERSION, load_snapshot, snapshot_lock
from hebbgraph.learning.weighing import Deeds, amounts, clock, said_of, spoken_again
from hebbgraph.locks import LendableLock
from hebbgraph.records import Feedback, LearnedParameter, TagCorrection
from hebbgraph.settings import LearningSettings
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.state import FeedbackState
from hebbgraph.store.truth import Truth

__all__ = ["Memory"]

logger = logging.getLogger(__name__)

#: After so many feedbacks, or a sixteenth of all, another snapshot is written.
_KEPT_AFTER = 2000
#: So many lessons are few: what follows from them is made anew with each further one.
_FEW = 512


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
    wait_seconds : float, optional
        How long others wait while a recall runs a caller's own code.
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
        self._kept = 0
        self._truth = truth
        self._settings = settings
        self._retention = 0.5 ** (1.0 / settings.half_life_events)
        #: Of each kind, whether its family takes part.
        self._takes_part = np.array([kind.split()[-1] in settings.families for kind in KINDS])
        #: Whoever takes the graph's lock, too, takes that first.
        self.lock = LendableLock(wait_seconds)
        #: The corrections to tags that the log is read through.
        self.corrections: tuple[TagCorrection, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Forget what was folded; the next refresh folds the whole log."""
        with self.lock.held():
            # Rows are never used twice in one history, so what was read of one stays true.
            self._hash_of_row: dict[int, str] = {}
            self._breaks = self._truth.history.breaks
            #: How much of the log was folded.
            self.state = FeedbackState()
            self._seq = 0
            self._last_id = ""
            self.lessons = Lessons()
            #: The number of each voice.
            self.voices: dict[Voice, int] = {None: TRUSTED}
            self._judged: tuple[int, Judgement] | None = None
            self._spoken: IntArray = np.empty(0, np.int64)
            self._deeds: tuple[int, Deeds] | None = None
            self._base: tuple[int, Rarity, Part, Trust] | None = None
            self._since: dict[tuple[int, int], Part] = {}
            self._whole: tuple[int, Associations] | None = None
            self._slots: Slots | None = None
            self._weighed: tuple[NDArray[np.float64], IntArray] | None = None

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
        with self.lock.held():
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
        with self.lock.held():
            if self.path is None or abs(len(self.lessons) - self._kept) < at_least:
                return
            arrays, embedders = self.lessons.arrays()
            facts = {
                **self._fits(),
                "seq": self._seq,
                "last_id": self._last_id,
                "state": list(self.state),
                "voices": list(self.voices),
                "embedders": embedders,
            }
            try:
                with snapshot_lock(self.path):
                    if self._truth.state().feedback.removed != self.state.removed:
                        return  # what was taken back must not come back
                    facts["size"] = self._log.size(until=self._seq)
                    write_arrays(self.path, VERSION, facts, arrays)
            except (OSError, HebbgraphError) as error:
                why = "what was learned was not kept at %s (%s): the next open reads the log again"
                logger.warning(why, self.path, error)
            # What failed is not tried again for each feedback: it takes long.
            self._kept = len(self.lessons)

    def discard(self) -> None:
        """Remove the snapshot, which names chunks and holds embeddings of questions."""
        with self.lock.held():
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
        self.voices = {voice: number for number, voice in enumerate(facts["voices"])}
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
        with self.lock.held():
            if self.corrections:
                feedback = corrected_feedback(feedback, self.corrections)
            voice = self.voices.setdefault(voice_of(feedback), len(self.voices))
            self.lessons.add(feedback, voice, standing(feedback))

    def with_log_as(self, rest: Mapping[str, Feedback | None]) -> Memory:
        """Return the memory that would follow if some feedback were other, or (None) gone."""
        other = Memory(self._log, self._truth, self._settings)
        other.corrections = self.corrections
        for _, feedback in self._log.after(0):
            if (kept := rest.get(feedback.id, feedback)) is not None:
                other.fold(kept)
        return other

    # -- reading --------------------------------------------------------------------

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

        Parameters
        ----------
        graph : TagGraph
            The caller holds its lock.
        cues : (keys, weights)
            See :func:`hebbgraph.learning.cues.cues_of`.
        vector : ndarray of float32, optional
        embedder : str, optional
            The model of the vector.
        question : int
            See :func:`hebbgraph.learning.cues.question_number`.
        n_words : int
            How many words that number stands for.
        """
        with self.lock.held():
            if not self.has_learned:
                return None
            associations, trust = self._associations()
            slots = self._slots
            if slots is None or not slots.fits(graph, self.lessons):
                slots = Slots(
                    graph, self.lessons, {} if slots is None else slots.rows, self.resolve
                )
                self._slots = slots
            slots.bring_up_to_date()
            asked = associations.read(cues, vector, embedder or "")
            gains = np.array(trust.gains) * self._takes_part
            said = self._said_of(question, n_words)
            return Recollection(self.lessons, associations, trust, slots, asked, gains, said)

    def _said_of(self, question: int, n_words: int) -> tuple[IntArray, FloatArray]:
        """Return what was cited and rejected for the very question, and how far it is believed."""
        lessons = self.lessons
        known = question and self._takes_part[0]
        links = lessons.links_of(lessons.asked(question) if known else [])
        if not len(links):
            return links, np.empty(0)
        amount, spoken = self._amounts()
        return said_of(lessons, links, self._judgement(), amount, spoken, n_words)

    def _associations(self) -> tuple[Associations, Trust]:
        """Return the sums of all lessons, and how far they are trusted."""
        n, lessons = len(self.lessons), self.lessons
        if self._base is None or self._base[0] != self._clock:
            amount = self.amounts()
            rarity = Rarity.of(lessons, self._clock, amount)
            part = Part(lessons, 0, self._clock, amount, rarity)
            associations = Associations(rarity, part)
            trust = examined(lessons, self._clock, associations, amount, self._takes_part)
            self._base, self._since, self._whole = (self._clock, rarity, part, trust), {}, None
        _, rarity, part, trust = self._base
        if self._whole is None or self._whole[0] != n:
            spans = self._spans()
            if any(span not in self._since for span in spans):
                amount = self.amounts()
                self._since = {
                    span: self._since.get(span) or Part(lessons, *span, amount, rarity)
                    for span in spans
                }
            self._whole = n, Associations(rarity, part, *self._since.values())
        return self._whole[1], trust

    def amounts(self) -> NDArray[np.float64]:
        """Return what each lesson weighs: belief in its actor, decayed to the clock."""
        return self._amounts()[0]

    def _amounts(self) -> tuple[NDArray[np.float64], IntArray]:
        """Return what each lesson weighs, and how often its voice spoke of the question again."""
        with self.lock.held():
            lessons, n = self.lessons, len(self.lessons)
            if self._weighed is not None and len(self._weighed[0]) == n:
                return self._weighed
            judgement, at = self._judgement(), self._clock
            # Sums of a span are kept, so what comes after it changes nothing of it.
            since = (spoken_again(lessons, *span) for span in self._spans())
            spoken = np.concatenate((self._spoken, *since))
            weights, worth = judgement.weights, judgement.worth
            # The last is any newcomer's.
            scale: FloatArray = weights[np.minimum(lessons.voice, len(weights) - 1)]
            scale[:at] = np.maximum(scale[:at], np.where(spoken[:at], 0.0, judgement.spared))
            if len(lessons.kinds) > 1:
                if self._deeds is None or self._deeds[0] != at:
                    cited = np.where(lessons.kind == CITED, scale, 0.0)
                    said = amounts(at, cited, spoken, worth, self._retention)
                    self._deeds = at, Deeds.of(lessons, at, said, self._settings)
                scale *= self._deeds[1].share(lessons)
            self._weighed = amounts(at, scale, spoken, worth, self._retention), spoken
            return self._weighed

    def _spans(self) -> list[tuple[int, int]]:
        """Return the lessons since the clock's last step, in two: the next costs few sums anew."""
        n = len(self.lessons)
        ends = pairwise((self._clock, max(self._clock, n - n % _FEW), n))
        return [(first, until) for first, until in ends if first < until]

    @property
    def _clock(self) -> int:
        return clock(len(self.lessons))

    def _judgement(self) -> Judgement:
        """Return whom to believe as of the clock."""
        at = self._clock
        if self._judged is None or self._judged[0] != at:
            n_voices = int(self.lessons.voice[:at].max(initial=TRUSTED)) + 1
            self._judged = at, judgement_of(self.lessons, at, n_voices, self._settings)
            self._spoken = spoken_again(self.lessons, 0, at)
        return self._judged[1]

    def judgement(self) -> Judgement:
        """Return whom to believe as of the clock."""
        with self.lock.held():
            return self._judgement()

    def weight_of(self, voice: Voice, kind: str = "cited") -> float:
        """Return how much of what a voice says, or does, counts: belief in it, in its bounds."""
        with self.lock.held():
            weights = self._judgement().weights
            weight = float(weights[min(self.voices.get(voice, len(weights)), len(weights) - 1)])
            return weight if kind == "cited" else weight * self.believed().get(kind, UNKNOWN)

    def believed(self) -> dict[str, float]:
        """Return what each kind of feedback counts beside a citation, by its name."""
        with self.lock.held():
            self.amounts()
            known = () if self._deeds is None else self._deeds[1].believed
            kinds = list(enumerate(self.lessons.kinds))[CITED + 1 :]
            return {kind: float(known[at] if at < len(known) else UNKNOWN) for at, kind in kinds}

    def outdated(self, *, trusted: bool) -> dict[tuple[str, str, str], set[int]]:
        """Return who says what holds now: (id, text hash, id in its place) to their numbers.

        Of those whom the application vouches for, or of all others who are believed.
        """
        with self.lock.held():
            lessons = self.lessons
            owners = lessons.outdated_lesson
            if not len(owners):
                return {}
            said = lessons.voice[owners] == TRUSTED
            if not trusted:
                said = ~said & (self.amounts()[owners] > 0)
            return lessons.replaced(np.flatnonzero(said))

    def learned(self) -> tuple[LearnedParameter, ...]:
        """Describe how far memory is trusted here, where exams have changed it."""
        with self.lock.held():
            if not self.has_learned:
                return ()
            trust, default = self._associations()[1], Trust()
            takes_part = self._takes_part.tolist()
            here, usual = (
                dict(zip((*KINDS, "handicap"), (*one.gains, one.handicap), strict=True))
                for one in (trust, default)
            )
            actors = len(np.unique(self.lessons.voice[: self._clock]))
            told = {"lessons": trust.exams, "actors": actors}
            return tuple(
                LearnedParameter(name=name, value=value, default=usual[name], **told)
                for (name, value), counts in zip(here.items(), (*takes_part, True), strict=True)
                if counts and abs(value - usual[name]) >= 0.005
            )

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
