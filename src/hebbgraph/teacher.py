"""Writes lessons to the feedback log, and links answers to them.

The verbs and their parameters are documented where users meet them, at :class:`HebbianIndex`.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import FeedbackError
from hebbgraph.learning.feedback import feedback_digest, feedback_of, hashed_terms
from hebbgraph.learning.judgements import judgements_of
from hebbgraph.learning.lessons import shared_credit
from hebbgraph.learning.undo import ForgettingHistory
from hebbgraph.namespace import Namespace
from hebbgraph.recall.question import weighted_terms
from hebbgraph.records import AnswerRecord, Feedback, Recall
from hebbgraph.store.feedback_rows import anonymized, phrases_of

__all__ = ["Teacher"]

logger = logging.getLogger(__name__)

_DAY = 86_400.0
_EXPIRE_EVERY_SECONDS = 3600.0


class Teacher:
    """Writes the feedback log of one namespace; ``forgotten`` is what can still be undone."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._log = namespace.log
        self._answers = namespace.answers
        self._derived = namespace.derived
        self._settings = namespace.settings.learning
        self._expired_at = 0.0
        self.forgotten = ForgettingHistory()

    def reinforce(
        self,
        recall: Recall,
        cited: Iterable[str],
        *,
        rejected: Iterable[str] | None = None,
        rating: Mapping[str, float] | float | None = None,
        reason: Mapping[str, str] | str | None = None,
        outdated: Mapping[str, str] | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
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
            feedback = self.without_gone_phrases(feedback)
        [(stored, _)] = self._log.append([(feedback, digest)])
        self.expire_queries(every_seconds=_EXPIRE_EVERY_SECONDS)
        n_cited, n_known = len(feedback.cited), len(feedback.known_chunks)
        if n_cited and not feedback.rejected and not shared_credit(n_cited, n_known):
            logger.warning(
                "reinforce: all of %d chunks were cited, which prefers none of them, so nothing "
                "is learned",
                n_cited,
            )
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
        with self._derived.reading(at_least=recall.generation):
            return self._namespace.for_memory(self._derived.graph, recall.query, vector)

    def _terms(self, recall: Recall) -> Sequence[tuple[str, float]]:
        language = self._namespace.settings.language
        shares = weighted_terms(recall.query, recall.history, language)
        with self._derived.reading(at_least=recall.generation):
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

    def without_gone_phrases(self, feedback: Feedback) -> Feedback:
        """Keep late feedback from bringing back what was deleted since its recall."""
        gone = self._gone(phrases_of(feedback))
        return anonymized(feedback, gone, secrets.token_bytes(16)) if gone else feedback

    def _gone(self, phrases: Iterable[str]) -> set[str]:
        with self._derived.reading():
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

    def _lasting(self, recall: Recall) -> Recall:
        """Keep what learning reads; the question only if it may be kept."""
        changes: dict[str, Any] = {"terms": hashed_terms(recall, self._terms), "notes": ()}
        if not self._settings.store_queries:
            changes |= {"query": "", "history": ()}
        return recall.model_copy(update=changes)
