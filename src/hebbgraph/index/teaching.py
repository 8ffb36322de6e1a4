"""The verbs that teach: ``reinforce``, ``forget``, ``lessons``, and what learners keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, overload

from hebbgraph.arguments import check_ids, check_str, known_names
from hebbgraph.calling import in_thread
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.index.session import Session
from hebbgraph.records import (
    AnswerRecord,
    Feedback,
    ForgetPreview,
    LessonRecord,
    Recall,
)

if TYPE_CHECKING:
    from hebbgraph.teacher import Moment

__all__ = ["TeachingVerbs"]


class TeachingVerbs(Session):
    """Verbs that give feedback, take it back and list it."""

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
            The Recall that this process returned, hours later if need be. A copy of it, from
            JSON or in another process, counts as what is kept of it (:meth:`keep_recalls`).
        cited : iterable of str
            Chunk ids. Citing all of many shown chunks teaches nothing.
        rejected : iterable of str, optional
            Chunks that were wrong.
        rating : mapping of str to float in [-1, 1], or one float, optional
            How good chunks were, by id: above 0 they count as cited, by so much, below 0 as
            rejected. One float is for all that are named.
        reason : mapping of str to str, or one str, optional
            Why, by chunk id or for all that are named: ``"outdated"``, ``"wrong"``, ``"never for
            this"``, or other short words. Reasons are kept and listed.
        outdated : mapping of str to str, optional
            For each chunk that no longer holds, the one that holds now: ``{"old": "new"}``. The
            first counts as rejected, the other one as cited. If the feedback is trusted, the new
            one supersedes the old in all recalls, until the feedback is forgotten; otherwise
            :meth:`lessons` and ``doctor`` list it as a proposal.
        shown : iterable of str, optional
            The chunks in the prompt; by default, all hits of the recall.
        actor : str, optional
            Who gave the feedback. How far an actor is believed depends on what the actor cited
            so far; all feedback without a name counts as one actor's.
        trusted : bool
            Whether the application vouches for this feedback, such as that of an editor. It
            then counts in full at once, with a name or without.
        kind : str
            What people did, if they did not say it: ``"opened"``, ``"copied"``, ``"asked again"``
            or other short words, whatever their case; a misspelt one is refused. Such feedback
            weighs little, and as much as the citations for questions like it say of its kind.

        Returns
        -------
        Feedback
            The existing record if the same recall, citation and actor were given before.

        Raises
        ------
        NotFoundError
            If only the recall's id is given, and the recall is no longer kept.
        FeedbackError
            If the index holds no such chunk, ``shown`` names what the recall did not find,
            nothing was cited, rejected or rated, or the recall belongs to another namespace.
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
            rejected,
            shown,
            actor,
            trusted,
            rating,
            reason,
            outdated,
            kind,
        )

    @overload
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: Literal[False] = False,
    ) -> int: ...

    @overload
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: Literal[True],
    ) -> ForgetPreview: ...

    @known_names
    def forget(
        self,
        feedback: Feedback | str | Iterable[Feedback | str] | None = None,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        chunk: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        erase: bool = False,
        dry_run: bool = False,
    ) -> int | ForgetPreview:
        """Take back feedback and what it taught; return how many records were removed or changed.

        Afterwards recalls are as if it had never been given. Criteria combine:
        ``forget(actor="eve", since=yesterday)``. For some minutes, :meth:`undo_forget` is the way
        back.

        Parameters
        ----------
        feedback : Feedback or its id, or several, optional
            One that is not there counts nothing and raises nothing, as what is forgotten twice is
            forgotten; a warning in the log names it, and so of actors and chunks.
        actor : str, optional
        unnamed : bool
            Only what no actor is named for.
        chunk : str, optional
            Only what was said about this chunk; the rest of each record still counts.
        since, until : float or datetime, optional
            A period, in seconds since the epoch; ``until`` is exclusive.
        everything : bool
            All feedback of this namespace.
        erase : bool
            Also erase every byte of it from all files: actors, questions and cues. This rewrites
            the database, and recent recalls of this namespace are no longer found by id. Without
            it, the next :meth:`compact` does that.
        dry_run : bool
            Do nothing, and return a :class:`ForgetPreview`: which feedback it is, and which
            learned edges would go or change. Takes as long as reading the whole log.

        Raises
        ------
        IndexLockedError
            With ``erase``, as :meth:`compact`. The feedback is forgotten all the same.
        """
        self._check_exists()
        from hebbgraph.teacher import selected

        selection = selected(
            feedback,
            actor=actor,
            unnamed=unnamed,
            chunk=chunk,
            since=since,
            until=until,
            everything=everything,
        )
        if dry_run:
            return self._teacher.preview(selection, chunk)
        touched = self._teacher.forget(selection, chunk)
        if feedback is None:  # what is taken back by its id may be judged anew
            self._parts.recalls.discard([one.recall_id for one in touched])
        if erase:
            self._teacher.drop_forgotten()
            self._erase(self._parts.scrub)
        return len(touched)

    def lessons(
        self,
        *,
        actor: str | None = None,
        unnamed: bool = False,
        recall: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> list[LessonRecord]:
        """List what the index was taught, oldest first: chunks, actor, and whether it still counts.

        Parameters
        ----------
        actor : str, optional
            Only lessons of this actor.
        unnamed : bool
            Only lessons that no actor is named for.
        recall : str, optional
            Only lessons of the recall with this id.
        since, until : float or datetime, optional
            A period, in seconds since the epoch; ``until`` is exclusive.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "text": "Owls hunt at night."},
        ...                         {"id": "b", "text": "Owls hunt voles."}])
        ...     feedback = index.reinforce(
        ...         index.recall("What do owls hunt?"), cited=["b"], actor="ida"
        ...     )
        ...     [(one.cited, one.actor, one.active > 0) for one in index.lessons(actor="ida")]
        [(('b',), 'ida', True)]
        """
        self._check_exists()
        if recall is not None:
            check_ids([recall], "a recall id")
        return self._teacher.lessons(actor, unnamed, recall, since, until)

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        """Keep what links an answer to its lessons, for later verdicts and turns.

        For learners (:class:`hebbgraph.citations.Learner`). Rows of the database, found by other
        processes, bounded by ``Settings(keep_recalls)`` and
        ``LearningSettings(query_retention_days)``.

        Parameters
        ----------
        record : AnswerRecord
            With ``number``, it takes the place of the one kept before.

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
        """Return the answer that was kept of a run, a recall or a feedback, by its id, or None.

        Its recalls have no texts; :meth:`get` has them.
        """
        self._check_exists()
        check_str(name, "the name of an answer")
        return self._teacher.find_answer(name)

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        """Return what the latest turns of a conversation recalled, oldest first.

        As far as answers of it were kept; with the present texts, like :meth:`find_recall`.
        """
        self._check_exists()
        check_str(conversation, "the name of a conversation")
        from hebbgraph.store.recalls import whole

        found, issue = self._parts.answers.earlier(conversation), self._parts.recalls.issue
        return [issue(whole(recall, self._parts.truth)) for recall in found]

    def find_feedback(self, ids: Iterable[str]) -> list[Feedback]:
        """Return the feedback with these ids that is in the log, in its order."""
        self._check_exists()
        return self._teacher.find_feedback(check_ids(ids, "the id of a feedback"))

    def _resolve(self, recall: Recall | str) -> Recall:
        if isinstance(recall, Recall):
            return recall
        check_ids([recall], "a recall id")
        found = self._parts.recalls.get(recall)
        if found is None:
            raise NotFoundError(
                f"no recall {recall!r} is kept: the latest of a namespace are, as the setting "
                "keep_recalls has it, until the index is compacted or erased; ask again, or give "
                "the whole recall in place of its id"
            )
        return self._parts.recalls.issue(found)

    areinforce = in_thread(reinforce)
    aforget = in_thread(forget)
    alessons = in_thread(lessons)
    akeep_answer = in_thread(keep_answer)
    afind_answer = in_thread(find_answer)
    aearlier_recalls = in_thread(earlier_recalls)
    afind_feedback = in_thread(find_feedback)
