"""The verbs that teach."""

from __future__ import annotations

from collections.abc import Iterable

from hebbgraph.errors import ParameterError
from hebbgraph.index.session import OpenNamespace, listed
from hebbgraph.learning import teaching
from hebbgraph.learning.fitting import fit_if_due
from hebbgraph.records import Lesson, Recall

__all__ = ["TeachingVerbs"]


class TeachingVerbs(OpenNamespace):
    """``reinforce``, ``forget``, ``lessons``."""

    def reinforce(
        self,
        recall: Recall,
        cited: Iterable[str] = (),
        rejected: Iterable[str] = (),
        *,
        rating: float | None = None,
        shown: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        reason: str | None = None,
    ) -> Lesson:
        """Learn from an answer: which chunks it cites, and which were wrong.

        Parameters
        ----------
        recall : Recall
            Of this index; it may have been kept or sent.
        cited, rejected : iterable of str
            Ids of chunks. Citing all of five or more shown chunks teaches nothing.
        rating : float, in [-1, 1], optional
            How good the cited chunks were; below 0 they count as rejected, by so much.
        shown : iterable of str, optional
            The chunks in the prompt; by default all hits.
        actor : str, optional
            Who says it. Use names that come from authentication. The last lesson of an actor on a
            question replaces the former, so say all that is cited and rejected in one call.
        trusted : bool
            Whether the application, or an editor, vouches for it: it counts at once.
        reason : str, optional
            Kept and listed.

        Returns
        -------
        Lesson
            ``note`` says why nothing is learned, if so; then it is not stored.

        Raises
        ------
        LessonError
            If a chunk is no hit and not in the index, or the recall is of another namespace.
        """
        self._check_text_version()
        self._check_recall(recall)
        with self._database.read() as session:
            lesson = teaching.prepare_lesson(
                session,
                recall,
                cited=listed(cited, "cited"),
                rejected=listed(rejected, "rejected"),
                rating=rating,
                shown=None if shown is None else listed(shown, "shown"),
                actor=actor,
                trusted=trusted,
                reason=reason,
            )
        if not lesson.note:
            with self._database.write() as session:
                teaching.reinforce(session, recall, lesson, self.settings)
            fit_if_due(self._database, quorum=self.settings.quorum)
        return lesson

    def forget(
        self,
        lesson: str | None = None,
        *,
        actor: str | None = None,
        chunk: str | None = None,
        since: float | None = None,
        until: float | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Forget lessons that fit all arguments; the index is as if they had never been.

        Raises
        ------
        ParameterError
            Without an argument.
        """
        chosen = {
            "lesson": lesson,
            "actor": actor,
            "chunk": chunk,
            "since": since,
            "until": until,
        }
        for name, value in chosen.items():
            types = (int, float) if name in ("since", "until") else (str,)
            if value is not None and not isinstance(value, types):
                raise ParameterError(f"{name} is a {types[-1].__name__}, got {value!r:.80}")
        if not everything and all(value is None for value in chosen.values()):
            raise ParameterError("forget takes a lesson, actor=, chunk=, since=, until=, or "
                                 "everything=True")  # fmt: skip
        with self._database.write() as session:
            n = teaching.forget(session, chosen, self.settings, dry_run=dry_run)
        if n and not dry_run:
            fit_if_due(self._database, quorum=self.settings.quorum, anew=True)
            self._database.erase_log(self.settings.wait)
        return n

    def lessons(self) -> list[Lesson]:
        """Return all lessons, from the first to the last."""
        with self._database.read() as session:
            return teaching.lessons(session)
