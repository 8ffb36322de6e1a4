"""Writes the feedback log: reinforce, forget, export, import, prune.

The verbs and their parameters are documented where users meet them, at :class:`HebbianIndex`.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arguments import check_ids
from hebbgraph.artifacts import whole_file
from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.learning.feedback import feedback_digest, feedback_of, hashed_terms, read_feedback
from hebbgraph.learning.forgetting import Forgotten, preview, unknown_in
from hebbgraph.learning.judgements import judgements_of
from hebbgraph.learning.survey import lessons_of, survey
from hebbgraph.learning.weighing import MIN_WEIGHT
from hebbgraph.limits import MAX_ID
from hebbgraph.namespace import Namespace
from hebbgraph.recall.question import weighted_terms
from hebbgraph.records import (
    AnswerRecord,
    Feedback,
    ForgetPreview,
    Forgetting,
    LessonRecord,
    PruneReport,
    Recall,
)
from hebbgraph.store.chunks import pages
from hebbgraph.store.database import translated_os
from hebbgraph.store.feedback_log import Selection
from hebbgraph.store.feedback_rows import anonymized, names_chunk, phrases_of, without_chunk

__all__ = ["Moment", "Teacher", "selected"]

logger = logging.getLogger(__name__)

Moment: TypeAlias = float | datetime
"""Seconds since the epoch, or a datetime (without a time zone: local time)."""

_DAY = 86_400.0
_EXPIRE_EVERY_SECONDS = 3600.0


class Teacher:
    """Writes the feedback log of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._log = namespace.log
        self._answers = namespace.answers
        self._derived = namespace.derived
        self._settings = namespace.settings.learning
        self._expired_at = 0.0
        self._forgotten = Forgotten()

    def reinforce(
        self,
        recall: Recall,
        cited: Iterable[str],
        rejected: Iterable[str] | None,
        shown: Iterable[str] | None,
        actor: str | None,
        trusted: bool,
        rating: Mapping[str, float] | float | None = None,
        reason: Mapping[str, str] | str | None = None,
        outdated: Mapping[str, str] | None = None,
        kind: str = "cited",
    ) -> Feedback:
        """See :meth:`hebbgraph.HebbianIndex.reinforce`."""
        recall = self._known(recall)
        feedback = feedback_of(
            recall,
            judgements_of(cited, rejected, rating, reason, outdated),
            shown,
            actor,
            trusted=trusted,
            kind=kind,
            namespace=self._namespace.name,
            settings=self._settings,
            terms=self._terms,
            hashes=self._hashes,
            vector=self._vector,
        )
        digest = feedback_digest(feedback)
        if recall.generation != self._namespace.truth.state().commit.generation:
            feedback = self._without_gone_phrases(feedback)
        [(stored, _)] = self._log.append([(feedback, digest)])
        self.expire_queries(every_seconds=_EXPIRE_EVERY_SECONDS)
        return stored

    def _known(self, recall: Recall) -> Recall:
        """Return a recall that this process issued, or what is kept of another one."""
        if recall.namespace != self._namespace.name or self._namespace.recalls.is_issued(recall):
            return recall  # of another namespace, it is refused later
        kept = self._namespace.recalls.get(recall.id)
        if kept is None:
            raise FeedbackError(
                f"recall {recall.id!r} is not as this index returned it, and none of that id is "
                "kept; pass the Recall itself, not a copy of it, or call keep_recalls() before "
                "asking"
            )
        return kept

    def _hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the hashes of the texts of those chunks that exist."""
        rows = self._namespace.truth.rows_of(ids)
        hashes = self._namespace.truth.text_hashes(sorted(rows.values()))
        return {id_: hashes[row] for id_, row in rows.items() if row in hashes}

    def _vector(self, recall: Recall) -> tuple[NDArray[np.float32] | None, str | None]:
        """Return the vector of a recall's question for memory, and the name of its model."""
        if recall.vector is None:
            return None, None
        vector = np.asarray(recall.vector, np.float32)
        with self._derived.held(at_least=recall.generation):
            return self._namespace.for_memory(self._derived.graph, recall.query, vector)

    def _terms(self, recall: Recall) -> Sequence[tuple[str, float]]:
        language = self._namespace.settings.language
        shares = weighted_terms(recall.query, recall.history, language)
        with self._derived.held(at_least=recall.generation):
            weights = self._derived.term_weights(list(shares))
        return [(term, shares[term] * weight) for term, weight in weights]

    def expire_queries(self, *, every_seconds: float = 0.0) -> None:
        """Erase the texts of questions that are too old."""
        now = time.time()
        if self._settings.store_queries and now - self._expired_at >= every_seconds:
            self._expired_at = now
            self._log.expire_queries(now - self._settings.query_retention_days * _DAY)

    def erase_gone_phrases(self) -> None:
        """Erase phrases that no chunk has any more from the log, such as a deleted title."""
        self._log.anonymize(self._gone(self._log.phrases()))
        self._answers.drop_phrases(self._gone)

    def _without_gone_phrases(self, feedback: Feedback) -> Feedback:
        """Keep late feedback from bringing back what was deleted since its recall."""
        gone = self._gone(phrases_of(feedback))
        return anonymized(feedback, gone, secrets.token_bytes(16)) if gone else feedback

    def _gone(self, phrases: Iterable[str]) -> set[str]:
        with self._derived.held():
            table = self._derived.graph.phrases
            in_use, numbers = table.in_use, {phrase: table.number(phrase) for phrase in phrases}
            corrected = {correction.into for correction in self._derived.corrections}
        return {
            phrase
            for phrase, number in numbers.items()
            if phrase not in corrected and (number is None or not in_use[number])
        }

    # -- what links answers to lessons ------------------------------------------------

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        """See :meth:`hebbgraph.HebbianIndex.keep_answer`."""
        for recall in record.recalls:
            if recall.namespace != self._namespace.name:
                raise FeedbackError(
                    f"recall {recall.id!r} belongs to namespace {recall.namespace!r}, "
                    f"this index sees {self._namespace.name!r}"
                )
        self._namespace.make()
        embedding = self._derived.embedding
        return self._answers.put(
            record.model_copy(
                update={
                    # They are trusted when read again, so forged ones must not be kept.
                    "recalls": tuple(
                        self._lasting(self._known(recall)) for recall in record.recalls
                    ),
                    "embedder": None if embedding is None else embedding.name,
                    "created_at": record.created_at or time.time(),
                }
            )
        )

    def find_answer(self, name: str) -> AnswerRecord | None:
        """See :meth:`hebbgraph.HebbianIndex.find_answer`."""
        answer, embedding = self._answers.find(name), self._derived.embedding
        if answer is None or (embedding is not None and answer.embedder == embedding.name):
            return answer
        issue = self._namespace.recalls.issue
        recalls = (issue(recall.model_copy(update={"vector": None})) for recall in answer.recalls)
        return answer.model_copy(update={"recalls": tuple(recalls)})

    def find_feedback(self, ids: Sequence[str]) -> list[Feedback]:
        """See :meth:`hebbgraph.HebbianIndex.find_feedback`."""
        return self._log.select(Selection(ids=ids))

    def lessons(
        self,
        actor: str | None,
        unnamed: bool,
        recall: str | None,
        since: Moment | None,
        until: Moment | None,
    ) -> list[LessonRecord]:
        """See :meth:`hebbgraph.HebbianIndex.lessons`."""
        log = self._log.select(_selection(None, actor, unnamed, recall, since, until))
        with self._namespace.held():
            return lessons_of(self._namespace.learned, self._derived.graph, log)

    def _lasting(self, recall: Recall) -> Recall:
        """Keep what learning reads; the question only if it may be kept."""
        changes: dict[str, Any] = {"terms": hashed_terms(recall, self._terms), "notes": ()}
        if not self._settings.store_queries:
            changes |= {"query": "", "history": ()}
        return recall.model_copy(update=changes)

    # -- taking back ----------------------------------------------------------------

    def forget(self, selection: Selection, chunk: str | None) -> list[Feedback]:
        """See :meth:`hebbgraph.HebbianIndex.forget`; return the records removed or changed."""
        if chunk is None:
            rows = self._log.remove(selection)
        else:
            rows = self._log.remove_chunk(chunk, selection)
        self._forgotten.keep(rows)
        removed = [row.feedback for row in rows]
        ids = [feedback.id for feedback in removed]
        self._answers.forget(
            named=ids,
            actor=selection.actor,
            unnamed=selection.unnamed,
            chunk=chunk,
            since=selection.since,
            until=selection.until,
            everything=chunk is None and selection == Selection(),
        )
        for unknown in unknown_in(self._log, selection, chunk, set(ids)):
            logger.warning("forget: %s", unknown)  # no error: forgotten twice is forgotten
        return removed

    def forgotten(self) -> list[Forgetting]:
        """See :meth:`hebbgraph.HebbianIndex.forgotten`."""
        return self._forgotten.records()

    def undo_forget(self, forgetting: str) -> int:
        """See :meth:`hebbgraph.HebbianIndex.undo_forget`."""
        rows = []
        for row in self._forgotten.removed_by(forgetting):
            feedback = row.feedback
            if not feedback.origin:
                feedback = self._without_gone_phrases(feedback)
            rows.append(row if feedback is row.feedback else row.rewritten(feedback))
        restored = self._log.restore(rows)
        self._forgotten.drop(forgetting)
        self.expire_queries()
        return restored

    def drop_forgotten(self) -> None:
        """Keep nothing of what was forgotten."""
        self._forgotten.clear()

    def preview(self, selection: Selection, chunk: str | None) -> ForgetPreview:
        """Return what :meth:`forget` would do, and do nothing."""
        touched = self._log.select(selection)
        rest: dict[str, Feedback | None] = dict.fromkeys(feedback.id for feedback in touched)
        if chunk is not None:
            touched = [feedback for feedback in touched if names_chunk(feedback, chunk)]
            rest = {feedback.id: without_chunk(feedback, chunk) for feedback in touched}
        with self._namespace.held():
            pass  # this brings what was learned up to date
        return preview(self._namespace.learned, touched, rest)

    # -- out and in -----------------------------------------------------------------

    def export(self, file: str | Path | IO[str]) -> int:
        """See :meth:`hebbgraph.HebbianIndex.export_feedback`."""
        if not isinstance(file, str | os.PathLike):
            return self._write(file)
        with (
            translated_os(str(file)),
            whole_file(Path(file)) as partial,
            partial.open("w", encoding="utf-8") as stream,
        ):
            return self._write(stream)

    def _write(self, stream: IO[str]) -> int:
        count = 0
        for _, feedback in self._log.after(0):
            stream.write(feedback.model_dump_json(exclude_none=True) + "\n")
            count += 1
        return count

    def import_(self, file: str | Path | IO[str], origin: str) -> int:
        """See :meth:`hebbgraph.HebbianIndex.import_feedback`."""
        if not (
            isinstance(origin, str)
            and origin.strip()
            and origin.isprintable()
            and len(origin) <= MAX_ID
        ):
            raise ParameterError(
                f"an origin is a printable str of at most {MAX_ID} characters, got {origin!r:.80}"
            )
        if not isinstance(file, str | os.PathLike):
            return self._read(file, origin)
        with translated_os(str(file)), Path(file).open(encoding="utf-8") as stream:
            return self._read(stream, origin)

    def _read(self, stream: Iterable[str], origin: str) -> int:
        checked = list(self._checked(stream, origin))
        self._namespace.make()
        entries = [(feedback, feedback_digest(feedback)) for feedback in checked]
        added = 0
        for batch in pages(entries):
            added += sum(new for _, new in self._log.append(batch))
        self.expire_queries()
        return added

    def _checked(self, stream: Iterable[str], origin: str) -> Iterator[Feedback]:
        seen: set[str] = set()
        for number, line in _lines(stream):
            if not isinstance(line, str):
                raise FeedbackError(f"line {number} is no text: {line!r:.80}")
            if not line.strip():
                continue
            feedback = read_feedback(line, number=number)
            if self._settings.require_actor and feedback.actor is None:
                raise FeedbackError(f"line {number}: feedback must name its actor here")
            if feedback.id in seen:
                raise FeedbackError(f"line {number}: id {feedback.id!r} occurs twice")
            seen.add(feedback.id)
            yield feedback.model_copy(
                update={
                    "namespace": self._namespace.name,
                    "origin": feedback.origin or origin,
                    "query": feedback.query if self._settings.store_queries else None,
                }
            )

    # -- clearing up ----------------------------------------------------------------

    def prune(self, min_weight: float | None, *, dry_run: bool) -> PruneReport:
        """See :meth:`hebbgraph.HebbianIndex.prune`."""
        threshold = MIN_WEIGHT if min_weight is None else min_weight
        if not (isinstance(threshold, int | float) and 0.0 <= threshold <= 1.0):
            raise ParameterError(f"min_weight lies in [0, 1], got {min_weight!r}")
        self._derived.keep_up()
        self._namespace.learned.refresh(self._derived.feedback)
        with self._derived.held():
            report, idle = survey(self._namespace.learned, self._derived.graph, float(threshold))
        if dry_run or not idle:
            return report
        erased = self._log.remove(Selection(ids=idle))
        return report.model_copy(update={"erased": len(erased)})


def _lines(stream: Iterable[str]) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(stream, start=1):
            yield number, line
    except UnicodeDecodeError as error:
        raise FeedbackError(f"line {number + 1}: is not UTF-8 text ({error.reason})") from error


def selected(
    feedback: Feedback | str | Iterable[Feedback | str] | None,
    *,
    actor: str | None,
    unnamed: bool,
    chunk: str | None,
    since: Moment | None,
    until: Moment | None,
    everything: bool,
) -> Selection:
    """Return which feedback the arguments of :meth:`hebbgraph.HebbianIndex.forget` name."""
    if not isinstance(everything, bool):
        raise ParameterError(f"everything is True or False, got {everything!r:.80}")
    selection = _selection(feedback, actor, unnamed, None, since, until)
    nothing = chunk is None and selection == Selection()
    if everything and not nothing:
        raise ParameterError("everything=True cannot be combined with other criteria")
    if nothing and not everything:
        raise ParameterError(
            "forget takes a feedback, an actor, unnamed=True, a chunk, since or until; or "
            "everything=True"
        )
    if chunk is not None:
        check_ids([chunk], "a chunk id")
    return selection


def _selection(
    feedback: Feedback | str | Iterable[Feedback | str] | None,
    actor: str | None,
    unnamed: bool,
    recall: str | None,
    since: Moment | None,
    until: Moment | None,
) -> Selection:
    """Check criteria, and bring them into one form."""
    if not isinstance(unnamed, bool):
        raise ParameterError(f"unnamed is True or False, got {unnamed!r:.80}")
    if unnamed and actor is not None:
        raise ParameterError(
            f"unnamed=True means feedback of no actor, and actor={actor!r:.80} names one; "
            "leave either out"
        )
    if actor is not None:
        check_ids([actor], "an actor")
    return Selection(
        ids=None if feedback is None else _feedback_ids(feedback),
        actor=actor,
        unnamed=unnamed,
        recall=recall,
        since=None if since is None else _seconds("since", since),
        until=None if until is None else _seconds("until", until),
    )


def _feedback_ids(feedback: Feedback | str | Iterable[Feedback | str]) -> list[str]:
    if not isinstance(feedback, Feedback | str | Iterable):
        raise ParameterError(f"forget takes Feedback records or their ids, got {feedback!r}")
    several = [feedback] if isinstance(feedback, Feedback | str) else feedback
    ids = [each.id if isinstance(each, Feedback) else each for each in several]
    if not all(isinstance(id_, str) for id_ in ids):
        raise ParameterError("forget takes Feedback records or their ids")
    return ids


def _seconds(name: str, moment: Moment) -> float:
    if isinstance(moment, datetime):
        return moment.timestamp()
    is_number = isinstance(moment, int | float) and not isinstance(moment, bool)
    if is_number and not math.isnan(moment):  # PostgreSQL sorts NaN after every moment
        return float(moment)
    raise ParameterError(f"{name} is a datetime or seconds since the epoch, got {moment!r}")
