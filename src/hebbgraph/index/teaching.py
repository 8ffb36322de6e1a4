"""The verbs that teach: ``reinforce``, and what learners keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hebbgraph.arguments import check_ids, check_str, known_names
from hebbgraph.calling import in_thread
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.index.session import Session
from hebbgraph.records import AnswerRecord, Feedback, Recall

__all__ = ["TeachingVerbs"]


class TeachingVerbs(Session):
    """Verbs that give feedback, and link answers to it."""

    @known_names
    def reinforce(
        self,
        recall: Recall | str,
        cited: Iterable[str] = (),
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
        """Learn from an answer: which of the chunks shown to the model it cites.

        Parameters
        ----------
        recall : Recall, or the id of a recent one
            The Recall that this process returned, even hours later. A copy, from JSON or in
            another process, counts as what is kept under its id (:meth:`keep_recalls`).
        cited : iterable of str
            Chunk ids. Citing all of many shown chunks teaches nothing.
        rejected : iterable of str, optional
            Chunks that were wrong.
        rating : mapping of str to float in [-1, 1], or one float, optional
            How good chunks were, by id: above 0 they count as cited, by so much, below 0 as
            rejected. One float is for all chunks that are named.
        reason : mapping of str to str, or one str, optional
            Why, by chunk id or for all chunks that are named: ``"outdated"``, ``"wrong"``,
            ``"never for this"``, or other short words. Reasons are kept and listed.
        outdated : mapping of str to str, optional
            For each chunk that no longer holds, the one that holds now: ``{"old": "new"}``. The
            first counts as rejected, the second as cited. If the feedback is trusted, the new
            chunk supersedes the old one in all recalls until the feedback is forgotten; otherwise
            :meth:`lessons` and ``doctor`` list a proposal.
        shown : iterable of str, optional
            The chunks in the prompt; by default, all hits of the recall.
        actor : str, optional
            Who gave the feedback. What an actor cited so far decides how far the actor is
            believed; all feedback without a name counts as one actor's.
        trusted : bool
            Whether the application vouches for this feedback, such as an editor's. It then counts
            in full at once, with a name or without.
        kind : str
            What people did, if they did not cite: ``"opened"``, ``"copied"``, ``"asked again"``
            or other short words, in any case; a misspelt common one is refused. Such feedback
            weighs little: citations for similar questions say how much.

        Returns
        -------
        Feedback
            The existing record if the same recall, citation and actor were given before.

        Raises
        ------
        NotFoundError
            If only the recall's id is given, and the recall is no longer kept.
        FeedbackError
            If a chunk is not in the index, ``shown`` names one that the recall did not find,
            nothing is cited, rejected or rated, or the recall belongs to another namespace.
        ParameterError

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "text": "Owls hunt at night."},
        ...                         {"id": "b", "text": "Owls hunt voles."}])
        ...     feedback = index.reinforce(index.recall("What do owls hunt?"), cited=["b"])
        >>> feedback.cited
        ('b',)
        """
        self._check_exists()
        return self._teacher.reinforce(
            self._resolve(recall),
            cited,
            rejected=rejected,
            rating=rating,
            reason=reason,
            outdated=outdated,
            shown=shown,
            actor=actor,
            trusted=trusted,
            kind=kind,
        )

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        """Keep what links an answer to its lessons, for later verdicts and turns.

        Learners call this (:class:`hebbgraph.citations.Learner`). Other processes find the
        record; ``Settings(keep_recalls)`` and ``LearningSettings(query_retention_days)`` bound how
        many are kept.

        Parameters
        ----------
        record : AnswerRecord
            With ``number``, it replaces the one kept before.

        Returns
        -------
        AnswerRecord
            As it is kept.
        """
        self._check_exists()
        if not isinstance(record, AnswerRecord):
            raise ParameterError(f"a record is an AnswerRecord, got {type(record).__name__}")
        return self._teacher.keep_answer(record)

    def find_answer(self, name: str) -> AnswerRecord | None:
        """Return the kept answer of a run, a recall or a feedback, by its id, or None.

        Its recalls have no texts; :meth:`get` returns these.
        """
        self._check_exists()
        check_str(name, "the name of an answer")
        return self._teacher.find_answer(name)

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        """Return what the latest turns of a conversation recalled, oldest first.

        As far as its answers are kept; with the present texts, like :meth:`find_recall`.
        """
        self._check_exists()
        check_str(conversation, "the name of a conversation")
        from hebbgraph.store.recalls import whole

        recalls, issue = self._parts.answers.earlier(conversation), self._parts.recalls.issue
        return [issue(whole(recall, self._parts.truth)) for recall in recalls]

    def _resolve(self, recall: Recall | str) -> Recall:
        if isinstance(recall, Recall):
            return recall
        check_ids([recall], "a recall id")
        kept = self._parts.recalls.get(recall)
        if kept is None:
            raise NotFoundError(
                f"no recall {recall!r:.200} is kept: an index keeps the latest recalls after "
                "keep_recalls(), as many as Settings(keep_recalls=...) says, until it is compacted "
                "or erased; ask again, or give the whole recall in place of its id"
            )
        return self._parts.recalls.issue(kept)

    areinforce = in_thread(reinforce)
    akeep_answer = in_thread(keep_answer)
    afind_answer = in_thread(find_answer)
    aearlier_recalls = in_thread(earlier_recalls)
